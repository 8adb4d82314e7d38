"""The driver of experiments: check the settings, find the data, run, write the JSON, render the table from the JSON."""

import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain, repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from assay.errors import DataError, SandboxUnavailable
from assay.files import write_json
from assay.reports import Column as ReportColumn
from assay.reports import ColumnKind, Report, Row, Table
from assay_lab.experiments.declaration import FULL, WORK, Column, Data, Experiment
from assay_lab.mappings import enumerated
from assay_lab.measuring import LAB, RESULTS, machine, shortened
from assay_lab.pages.table_cells import number

Content = Mapping[str, Any]
"""What the JSON of a result holds."""


def drive(experiment: Experiment, scale: str, seed: int, given: Data, out: Path | None = None) -> tuple[Report, str]:
    """Run an experiment and write its JSON, or render the JSON that is committed where data are missing.

    Args:
        experiment: that is run.
        scale: one of its scales.
        seed: of its draws.
        given: name → place of data.
        out: JSON file that is written; None for the place in `lab/results`, which takes the scale "full" alone.

    Returns:
        The report, and what is missing; "" where it was run.

    Raises:
        DataError: the experiment has no such scale or data, or figures of a small scale would be kept.
    """
    check(experiment, scale, given=given, out=out)
    places = {**shared_data(experiment), **given}
    if missing := experiment.missing(scale, places):
        words = enumerated(missing, "{} ({})", separator="; ")
        return committed(experiment), f"not run, its data are missing: {words}"
    began = time.perf_counter()
    with TemporaryDirectory(prefix="assay-lab-") as temporary:
        try:
            result = experiment.run(experiment.scales[scale], seed, {WORK: Path(temporary), **places})
        except SandboxUnavailable as reason:
            return committed(experiment), f"not run, it needs the sandbox: {reason}"
    data = "".join(f" --data {name}={Path(place).name}" for name, place in given.items())
    content = {
        "experiment": experiment.name,
        "command": f"assay lab run {experiment.name} --scale {scale} --seed {seed}{data}",
        "commit": commit(),
        "measured": datetime.now(UTC).date().isoformat(),
        "seconds_in_all": time.perf_counter() - began,
        "scale": scale,
        "seed": seed,
        "machine": machine(),
        "results": result.rows,
        "notes": result.notes,
    }
    path = out or RESULTS / experiment.result_path
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, shortened(content))
    # read again from the file, so that the table shows what is kept
    return report_of(experiment, json.loads(path.read_text("utf-8"))), ""


def committed(experiment: Experiment) -> Report:
    """Return the report of the JSON that is committed; without rows where there is none."""
    path = RESULTS / experiment.result_path
    content: Content = {"results": []}
    if path.exists():
        content = json.loads(path.read_text("utf-8"))
    return report_of(experiment, content)


def check(experiment: Experiment, scale: str, given: Data, out: Path | None) -> None:
    """Check what was asked of an experiment.

    Raises:
        DataError: it has no such scale or data, or figures of a small scale would be kept.
    """
    if scale not in experiment.scales:
        raise DataError(
            f"{experiment.name}: received the scale {scale}, expected one of {', '.join(experiment.scales)}"
        )
    names = (*experiment.needs, *experiment.takes, WORK)
    for name in given:
        if name not in names:
            raise DataError(f"{experiment.name}: received the data {name}, expected some of {', '.join(names)}")
    if scale != FULL and out is None:
        raise DataError(f"{experiment.name}: figures of the scale {scale} are not kept; expected --out FILE")


def shared_data(experiment: Experiment) -> dict[str, Path]:
    """Return the data in the folder of shared data: `$ASSAY_SHARED/data`, or `../shared/data` of a checkout."""
    folder = Path(os.environ.get("ASSAY_SHARED", LAB.parents[1] / "shared")) / "data"
    return {name: folder / name for name in (*experiment.needs, *experiment.takes) if (folder / name).exists()}


def commit() -> str:
    """Return the commit of the working tree, with a plus where it has changes; "" outside of a repository."""
    # no tag counts, so this is always the commit itself
    command = ["git", "-C", str(LAB), "describe", "--always", "--abbrev=12", "--dirty=+", "--exclude=*"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603  our own


def report_of(experiment: Experiment, content: Content) -> Report:
    """Return the report of a result: one table, made of the columns that the experiment declares."""
    # some files have their single row at the top
    is_one_row = experiment.columns[:1] and experiment.columns[0] in content
    rows = list(rows_of({"rows": [content]} if is_one_row else content))
    columns = experiment.columns or scalar_keys(rows)
    kinds: Iterator[ColumnKind] = chain(["name"], repeat("text"))
    lines = []
    for row in rows:
        cells = tuple(cell(looked_up(row, column)) for column in columns)
        if any(cells):
            lines.append(Row(cells))
    table = Table(
        name="results",
        title=experiment.title,
        columns=tuple(map(ReportColumn, map(heading, columns), kinds)),
        rows=tuple(lines),
    )
    return Report(experiment.name, "", (table,), notes=tuple(content.get("notes", ())), data=content)


def rows_of(content: Content) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a result; a row that holds a list of rows stands for those.

    Older files have figures by title in place of rows; the title is then the value of "name".
    """
    rows = content.get("results", content.get("rows"))
    if rows is None:
        rows = [{"name": name, **value} for name, value in content.items() if isinstance(value, Mapping)]
    for row in rows:
        outer = {key: value for key, value in row.items() if not isinstance(value, list)}
        inner = [value for value in row.values() if isinstance(value, list) and value and isinstance(value[0], Mapping)]
        for each in chain.from_iterable(inner):
            yield {**outer, **each}
        if not inner:
            yield row


def scalar_keys(rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the keys of all values that a cell can show."""
    keys: dict[str, None] = {}
    for row in rows:
        keys |= dict.fromkeys(key for key, value in row.items() if isinstance(value, str | int | float))
    return tuple(keys)


def heading(column: Column) -> str:
    """Return the heading of a column."""
    return ", ".join(keys_of(column)).replace("_", " ")


def keys_of(column: Column) -> tuple[str, ...]:
    """Return the keys on the way to a value."""
    return (column,) if isinstance(column, str) else column


def looked_up(row: Mapping[str, Any], column: Column) -> Any:  # noqa: ANN401  whatever JSON holds
    """Return the value of a column, None where the row has none."""
    value: Any = row
    for key in keys_of(column):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def cell(value: Any) -> str:  # noqa: ANN401  whatever JSON holds
    """Return a value as text: numbers with three digits, an estimate or the spread of rounds with both ends."""
    if value is None:
        return ""
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, int | float):
        return number(value) if isinstance(value, float) else f"{value:,}"
    return _cell_of_several(value) if isinstance(value, Mapping) else ", ".join(map(cell, value))


def _cell_of_several(values: Mapping[str, Any]) -> str:
    if "low" in values:
        return f"{cell(values['value'])} [{cell(values['low'])}, {cell(values['high'])}]"
    if "median" in values:
        return f"{cell(values['median'])} ({cell(values['min'])}–{cell(values['max'])})"
    return ", ".join(f"{key} {cell(each)}" for key, each in values.items())
