"""The driver of experiments: check the settings, find the data, run, write the JSON, render the table from the JSON."""

import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from assay.errors import DataError, SandboxUnavailable
from assay.files import write_json
from assay.reports import Column as ReportColumn
from assay.reports import Report, Row, Table
from assay_lab.experiments.declaration import FULL, WORK, Column, Data, Experiment
from assay_lab.measuring import LAB, RESULTS, machine, shortened

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
    check(experiment, scale, given, out)
    places = {**shared_data(experiment), **given}
    if missing := experiment.missing(scale, places):
        words = "; ".join(f"{name} ({how})" for name, how in missing.items())
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
    return report_of(experiment, json.loads(path.read_text("utf-8"))), ""


def committed(experiment: Experiment) -> Report:
    """Return the report of the JSON that is committed; without rows where there is none."""
    path = RESULTS / experiment.result_path
    return report_of(experiment, json.loads(path.read_text("utf-8")) if path.exists() else {"results": []})


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
    command = ["git", "-C", str(LAB), "describe", "--always", "--abbrev=12", "--dirty=+", "--exclude=*"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603  our own


def report_of(experiment: Experiment, content: Content) -> Report:
    """Return the report of a result: one table, made of the columns that the experiment declares."""
    first = experiment.columns[0] if experiment.columns else None
    rows = list(rows_of({"rows": [content]} if first in content else content))
    columns = experiment.columns or scalar_keys(rows)
    lines = [tuple(cell(looked_up(row, column)) for column in columns) for row in rows]
    table = Table(
        "results",
        experiment.title,
        tuple(ReportColumn(heading(column), "text" if at else "name") for at, column in enumerate(columns)),
        tuple(Row(cells) for cells in lines if any(cells)),
    )
    return Report(experiment.name, "", (table,), notes=tuple(content.get("notes", ())), data=content)


def rows_of(content: Content) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a result; a row that holds a list of rows stands for those.

    Older files have figures by title in place of rows; the title is then the value of "name".
    """
    found = content.get("results", content.get("rows"))
    if found is None:
        found = [{"name": name, **value} for name, value in content.items() if isinstance(value, Mapping)]
    for row in found:
        inner = [value for value in row.values() if isinstance(value, list) and value and isinstance(value[0], Mapping)]
        if inner:
            outer = {key: value for key, value in row.items() if not isinstance(value, list)}
            yield from ({**outer, **each} for rows in inner for each in rows)
        else:
            yield row


def scalar_keys(rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the keys of all values that a cell can show."""
    return tuple(
        dict.fromkeys(key for row in rows for key, value in row.items() if isinstance(value, str | int | float))
    )


def heading(column: Column) -> str:
    """Return the heading of a column."""
    return (column if isinstance(column, str) else ", ".join(column)).replace("_", " ")


def looked_up(row: Mapping[str, Any], column: Column) -> Any:  # noqa: ANN401  whatever JSON holds
    """Return the value of a column, None where the row has none."""
    value: Any = row
    for key in (column,) if isinstance(column, str) else column:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def cell(value: Any) -> str:  # noqa: ANN401  whatever JSON holds
    """Return a value as text: numbers with three digits, an estimate or the spread of rounds with both ends."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return "" if value is None else str(value)
    if isinstance(value, int | float):
        return f"{value:,.0f}" if isinstance(value, int) or abs(value) >= 100 else f"{value:.3g}"  # noqa: PLR2004  three digits
    if isinstance(value, Mapping) and "low" in value:
        return f"{cell(value['value'])} [{cell(value['low'])}, {cell(value['high'])}]"
    if isinstance(value, Mapping) and "median" in value:
        return f"{cell(value['median'])} ({cell(value['min'])}–{cell(value['max'])})"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {cell(each)}" for key, each in value.items())
    return ", ".join(map(cell, value))
