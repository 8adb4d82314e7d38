"""`load`: from the name of a benchmark or the path of a table to a `Dataset`."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from assay.datasets.benchmarks import BenchmarkInfo, benchmark, is_benchmark
from assay.datasets.columns import Labels, Mapped, listed, samples_from
from assay.datasets.dataset import Dataset
from assay.datasets.families.selection import Selection
from assay.datasets.hub import HubPart, hub_is_installed, hub_rows
from assay.datasets.official import local_rows, rows_from_hub
from assay.datasets.sources import Note, Row, read_rows
from assay.errors import DataError, MissingExtra
from assay.languages import language_named
from assay.types import Sample

HUB = "hf:"
"""Before owner/name: a hub data set that is no benchmark of the table."""


def load(
    name_or_path: str | Path,
    *,
    data: str | Path | None = None,
    text: str | None = None,
    id: str | None = None,  # noqa: A002  the column is called what `Sample` calls it
    label: str | None = None,
    labels: Labels = "membership",
    group: str | None = None,
    language: str | None = None,
    split: str | None = None,
    variant: str | None = None,
    part: str | None = None,
    limit: int | None = None,
) -> Dataset:
    """Samples of a benchmark, or of any table.

    A benchmark is read from `data` where it is given, else from the local cache of the hub or the hub itself,
    through the `datasets` package where that is installed; nothing else opens a connection. A table is a file
    or folder of any form that `read_rows` knows, or a hub data set named "hf:OWNER/NAME".

    Args:
        name_or_path: a benchmark's name, a path, or "hf:OWNER/NAME". A file called like a benchmark is named
            with its folder: "./humaneval".
        data: the benchmark's official file, folder or checkout; parts of it do as well.
        text: of a table: its text column, or several joined by "+".
        id: of a table: its id column; "row" numbers the rows.
        label: of a table: its label column.
        labels: "membership" (1/0, true/false, member/nonmember, seen/unseen), or "as-is" for generators'
            names.
        group: of a table: the column whose equal values stay together in evaluation.
        language: of a benchmark: only this language ("all" for all). Of a table: its language column, or the
            language of all its rows.
        split: only this split; None for all of them. Of a table: rows whose column "split" says so.
        variant: of a benchmark: which of its variants, see `BenchmarkInfo.variants`.
        part: of a benchmark: what the text is, see `BenchmarkInfo.parts`.
        limit: only the first so many samples; notes then speak of what was read for them.

    Raises:
        UnknownBenchmark: neither a benchmark nor a path.
        DataError: the data cannot be found or read, or do not hold what was asked; one line.
    """
    if limit is not None and limit < 1:
        raise DataError(f"received limit {limit}, expected at least 1")
    name, notes = str(name_or_path), list[str]()
    if isinstance(name_or_path, str) and (is_benchmark(name) or data is not None):
        info = benchmark(name)
        _refuse(name, "a benchmark has its own columns", text=text, id=id, label=label, group=group)
        wanted = _selection(info, part=part, variant=variant, language=language, split=split)
        samples, source = _of_benchmark(info, wanted, data, notes.append)
        return Dataset.of(info.name, islice(samples, limit), source=source, notes=notes)
    _refuse(name, "only a benchmark has it", data=data, variant=variant, part=part)
    columns = Mapped(text=text, id=id, label=label, group=group, language=language, labels=labels)
    rows, called, source = _table(name, split, notes.append)
    samples = samples_from(islice(rows, limit), columns, name=called, source=source, note=notes.append)
    return Dataset.of(called, samples, source=source, notes=notes)


def _table(name: str, split: str | None, note: Note) -> tuple[Iterator[Row], str, str]:
    """The rows of a table, what to call it, and where it is."""
    if name.startswith(HUB):
        part = HubPart(name.removeprefix(HUB), split=split)
        if not hub_is_installed():
            raise MissingExtra("datasets", purpose=f"hub data set {part}")
        return hub_rows(part), part.id, f"hub {part}"
    path = Path(name).expanduser()
    if path.parent == Path() and not path.suffix and not path.exists():
        benchmark(name)  # a word, and no path: raises with the names that are close
    rows = read_rows(path, note)
    stem = path.resolve().name
    return (_of_split(rows, split, str(path)) if split else rows), stem.split(".")[0] or stem, str(path)


def _of_split(rows: Iterator[Row], split: str, source: str) -> Iterator[Row]:
    """Rows whose "split" column holds the split."""
    found: dict[str, None] = {}
    for row in rows:
        found[str(row.get("split"))] = None
        if row.get("split") == split:
            yield row
    if split not in found:
        raise DataError(f"{source}: no row of split {split!r}; the column 'split' holds {listed(found)}")


def _of_benchmark(
    info: BenchmarkInfo, wanted: Selection, data: str | Path | None, note: Note
) -> tuple[Iterator[Sample], str]:
    """The samples of a benchmark, and where they are from."""
    if data is None:
        source = f"hub {', '.join(map(str, info.hub(wanted))) or info.name}"
        return _samples(info, rows_from_hub(info, wanted), wanted, source, note), source
    path = Path(data).expanduser()
    return _samples(info, local_rows(info, wanted, path, note), wanted, str(path), note), str(path)


def _samples(info: BenchmarkInfo, rows: Iterator[Row], wanted: Selection, source: str, note: Note) -> Iterator[Sample]:
    """Samples of the rows of a benchmark, of the language and split that were asked for."""
    seen: dict[tuple[str, str], None] = {}
    found, bare = False, 0
    for number, row in enumerate(rows):
        where = f"{source}: row {number + 1}"
        _check_columns(info, row, where)
        try:
            samples = list(info.samples(row, number, wanted))
        except DataError as fault:
            raise DataError(f"{where}: {fault}") from fault
        for sample in samples:
            split = sample.metadata.get("split")
            seen[sample.language or "no language", f"split {split}" if split else "no split"] = None
            if wanted.language in (None, sample.language) and wanted.split in (None, split):
                found = True
                bare += sample.metadata.get("canonical_solution") == "" and wanted.part == "full"
                yield sample
    if seen and not found:
        asked = " and ".join(filter(None, (wanted.language, wanted.split and f"split {wanted.split}")))
        there = listed(f"{language} ({split})" for language, split in seen)
        raise DataError(f"{source}: no sample of {asked}; found {there}")
    if bare:
        note(f"{bare} sample{'s have' if bare > 1 else ' has'} no solution: the text is the prompt alone")


def _check_columns(info: BenchmarkInfo, row: Row, where: str) -> None:
    absent = [names for names in info.columns if all(row.get(name) is None for name in names.split("|"))]
    if absent:
        raise DataError(
            f"{where} has no {listed(absent)}, expected the columns of {info.title} "
            f"({listed(info.columns)}); found {listed(row)}"
        )


def _selection(
    info: BenchmarkInfo, *, part: str | None, variant: str | None, language: str | None, split: str | None
) -> Selection:
    """What is wanted, checked against what the benchmark has."""
    spoken = None if language in (None, "all") else language_named(language)
    for option, value, known in (
        ("part", part, tuple(info.parts)),
        ("variant", variant, info.variants),
        ("language", spoken, info.languages),
    ):
        if value is not None and value not in known:
            raise DataError(f"{info.name}: received {option} {value!r}, expected {' or '.join(known) or 'none'}")
    return Selection(part or "full", variant, spoken, split)


def _refuse(name: str, why: str, **options: object) -> None:
    for option, value in options.items():
        if value is not None:
            raise DataError(f"{name}: received {option} {str(value)!r}, but {why}")
