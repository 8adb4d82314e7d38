"""Scores as JSONL, Parquet or CSV, one row per sample, written as they are computed.

A file appears under its name only when it is whole. JSONL is the contract: `{"id", "scores", "unscorable"}`.
"""

import csv
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import IO

from assay.cli.options import STANDARD_OUTPUT
from assay.errors import DataError
from assay.escaping import json_text, spreadsheet_cell
from assay.files import atomic_file
from assay.types import Score

ROW_GROUP = 4096


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One sample's scores: values by name, and reasons by name where there is no value."""

    id: str
    scores: Mapping[str, float]
    unscorable: Mapping[str, str]

    @classmethod
    def of(cls, sample_id: str, scores: Sequence[Score]) -> "ScoreRow":
        """The row of one sample."""
        values = {found.name: found.value for found in scores if found.reason is None}
        return cls(sample_id, values, {found.name: found.reason for found in scores if found.reason is not None})

    def json(self) -> str:
        """The row as one line, in full precision."""
        return json_text(
            {"id": self.id, "scores": dict(self.scores), "unscorable": dict(self.unscorable)}, ensure_ascii=False
        )


def write_jsonl(rows: Iterable[ScoreRow], file: IO[bytes], names: Sequence[str]) -> None:  # noqa: ARG001  one shape for all
    """One JSON object a line."""
    for row in rows:
        file.write(row.json().encode("utf-8", "surrogatepass") + b"\n")


def write_csv(rows: Iterable[ScoreRow], file: IO[bytes], names: Sequence[str]) -> None:
    """Write a column per score, empty where unscorable; the reasons as JSON in the last column.

    An id that a spreadsheet would read as a formula has an apostrophe before it.
    """
    import io

    # an id may hold half of a surrogate pair, as JSON allows, which UTF-8 alone refuses
    lines = io.TextIOWrapper(file, "utf-8", errors="surrogatepass", newline="", write_through=True)
    try:
        table = csv.writer(lines)
        table.writerow(["id", *names, "unscorable"])
        for row in rows:
            # repr is the shortest text that reads back as the same float
            values = [repr(row.scores[name]) if name in row.scores else "" for name in names]
            table.writerow([spreadsheet_cell(row.id), *values, json_text(dict(row.unscorable), ensure_ascii=False)])
    finally:
        # the file is the caller's to close
        lines.detach()


def write_parquet(rows: Iterable[ScoreRow], file: IO[bytes], names: Sequence[str]) -> None:
    """A float64 column per score, null where unscorable; the reasons as JSON in the last column."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([("id", pa.string()), *((name, pa.float64()) for name in names), ("unscorable", pa.string())])
    remaining = iter(rows)
    with pq.ParquetWriter(file, schema) as table:
        while group := list(islice(remaining, ROW_GROUP)):
            columns: dict[str, list[object]] = {"id": [row.id for row in group]}
            for name in names:
                columns[name] = [row.scores.get(name) for row in group]
            columns |= {"unscorable": [json_text(dict(row.unscorable), ensure_ascii=False) for row in group]}
            table.write_table(pa.table(columns, schema))


WRITERS: Mapping[str, Callable[[Iterable[ScoreRow], IO[bytes], Sequence[str]], None]] = MappingProxyType(
    {".jsonl": write_jsonl, ".parquet": write_parquet, ".csv": write_csv}
)


PRINTED: Mapping[str | None, str] = MappingProxyType({None: ".jsonl", "json": ".jsonl", "csv": ".csv"})
"""Format that is requested for standard output → the suffix of a file of that format."""


def checked_output(path: Path | None, form: str | None) -> tuple[Path | None, str]:
    """Return where and in which format scores are written; called before anything is computed.

    Args:
        path: of the file; None or "-" for standard output.
        form: the format that --format names.

    Returns:
        The path, None for standard output, and the format of standard output, a key of `WRITERS`.

    Raises:
        DataError: the suffix or the format does not do.
    """
    if path is None or path == STANDARD_OUTPUT:
        if form not in PRINTED:
            raise DataError(f"--format {form}: expected json (one line a sample) or csv")
        return None, PRINTED[form]
    if form is not None:
        raise DataError(f"--format {form} is for standard output; the name of -o {path} says the format")
    if path.suffix.lower() not in WRITERS:
        raise DataError(f"-o {path}: expected a name that ends in {', '.join(WRITERS)}")
    return path, path.suffix.lower()


def write_scores(rows: Iterable[ScoreRow], path: Path | None, names: Sequence[str], printed: str = ".jsonl") -> None:
    """Write all rows to a file, in the format of its suffix, or to standard output without a path.

    Args:
        rows: one per sample.
        path: of the file; None for standard output.
        names: of the scores.
        printed: format of standard output, a key of `WRITERS`.

    Raises:
        DataError: the file cannot be written.
    """
    if path is None:
        # as bytes: the encoding of a terminal may not hold every id
        WRITERS[printed](rows, sys.stdout.buffer, names)
        return
    with atomic_file(path) as file:
        WRITERS[path.suffix.lower()](rows, file, names)
