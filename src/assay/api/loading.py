"""`assay.load`: samples of a benchmark or of any table; `assay.load_run`: a finished run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from assay import authorship
from assay.datasets import DataSelection, Dataset, read_dataset
from assay.errors import DataError, plain_reason
from assay.guard import json_file
from assay.leakage import UnseenScores, read_run
from assay.plug_ins import PlugIns
from assay.run import manifest_in


def _reference(file: Path) -> object:
    # looked up when it is called: a reference needs numba, which other runs do not wait for
    return authorship.Reference.load(file)


READERS: PlugIns[Callable[[Path], Any]] = PlugIns(
    "assay.runs",
    accepts=callable,
    description="a function of the path of a finished run",
    own={
        "audit": lambda folder: read_run(folder)[0],
        "calibration": UnseenScores.load,
        "reference": _reference,
    },
)
"""Kind of a run → what reads its result."""


def load(name_or_path: str | Path, selection: DataSelection | None = None, **settings: Any) -> Dataset:  # noqa: ANN401
    """Load samples of a benchmark, or of any table.

    A benchmark is read from `data` if it is there, else from the local cache of the hub or the hub itself, through the
    `datasets` package if it is installed; nothing else opens a connection. A table is a file or folder (JSON, CSV,
    Parquet, Arrow, code, text), or a hub data set named "hf:OWNER/NAME".

    Args:
        name_or_path: a benchmark's name, a path, or "hf:OWNER/NAME". For a file with the name of a benchmark, add its
            folder: "./humaneval".
        selection: the requested texts and their columns.
        settings: single settings of it by name: `assay.load("tasks.jsonl", text="prompt", limit=100)`.

    Raises:
        SettingError: there is no such setting, or a value is wrong.
        UnknownBenchmark: neither a benchmark nor a path.
        DataError: the data cannot be found or read, or do not hold what was requested; one line.
    """
    return read_dataset(name_or_path, (selection or DataSelection()).with_values(**settings))


def load_run(path: str | Path) -> Any:  # noqa: ANN401  the result of that kind of run
    """Open the result of a finished run as the value that its command returned; no model is run.

    Args:
        path: folder of a run, or file of `assay calibrate` or `assay authorship calibrate`.

    Raises:
        DataError: it holds no finished run, a run of a kind that is not known here, or a damaged file.
    """
    place = Path(path)
    if place.is_file():
        return READERS[_kind_of_file(place)](place)
    # an early manifest names no kind: only audits were runs then
    kind = manifest_in(place).get("kind", "audit")
    if kind not in READERS:
        raise DataError(f"{place} holds a run of the kind {kind!r}; expected {', '.join(READERS)}")
    return READERS[kind](place)


def _kind_of_file(path: Path) -> str:
    try:
        content = json_file(path)
    except (OSError, ValueError) as error:
        raise DataError(
            f"{path} is no result of a run: {plain_reason(error)}; expected {', '.join(READERS)}"
        ) from error
    # results of one file have no manifest: their keys tell them apart
    if isinstance(content, dict) and "values" in content:
        return "calibration"
    if isinstance(content, dict) and "cells" in content:
        return "reference"
    raise DataError(f"{path} is no result of a run; expected {', '.join(READERS)}")
