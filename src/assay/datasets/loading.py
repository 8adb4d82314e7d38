"""From the name of a benchmark or the path of a table to a `Dataset`."""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import partial
from itertools import chain, islice, starmap, tee
from pathlib import Path

from assay.datasets.benchmarks import BenchmarkInfo, benchmark, is_benchmark
from assay.datasets.columns import number_have, samples_from, shortened
from assay.datasets.dataset import Dataset
from assay.datasets.families.selection import Selection
from assay.datasets.harnesses import HARNESSES, harness_rows
from assay.datasets.hub import LOCAL_COPY, HubPart, hub_is_installed, hub_rows
from assay.datasets.selection import DataSelection
from assay.datasets.sources import (
    Note,
    SourceRow,
    UnreadRow,
    data_files,
    names_split,
    read_rows,
    require_exists,
    splits_named,
    with_split,
)
from assay.errors import DataError, MissingExtra, install_command
from assay.languages import language_named
from assay.types import Sample

# Rows of a benchmark from its official files or folders, or from the hub.

_SHORT = {"javascript": "js"}  # as the official files spell it


def local_rows(info: BenchmarkInfo, selection: Selection, path: Path, note: Note) -> Iterator[SourceRow]:
    """Yield the rows of a benchmark from a file, or from a folder that holds its official files or layout at any depth.

    Raises:
        DataError: the benchmark is not there, or it cannot be read.
    """
    require_exists(path)
    if path.is_file():
        yield from with_split(read_rows(path, note), path.name, selection.split)
        return
    if info.folders:
        seen = False
        for row in info.folders(path, note):
            seen = True
            yield row
        if seen:
            return
    files = official_files(info, selection, path)
    if not files:
        raise DataError(f"{path}: no file of {info.title} in this folder; expected {expected_files(info, selection)}")
    names = {file: file.relative_to(path).as_posix() for file in files}
    if selection.split is None:
        _note_splits(path, splits_named(names.values()), note)
    for file, name in names.items():
        yield from with_split(read_rows(file, note), name, selection.split)


def _note_splits(path: Path, splits: Sequence[str], note: Note) -> None:
    if len(splits) > 1:
        note(f"{path} has files of the splits {', '.join(splits)}, and all were taken; --split takes one")


def rows_from_hub(info: BenchmarkInfo, selection: Selection) -> Iterator[SourceRow]:
    """Yield the rows of a benchmark from the cache of the hub, or the hub.

    Raises:
        DataError: the hub does not hold it, `datasets` is not installed, or the hub cannot be reached.
    """
    parts = info.hub(selection)
    if not parts:
        raise DataError(
            f"{info.name}: it is not on the hub; expected a copy of {info.url}, named with {LOCAL_COPY} "
            f"(files: {expected_files(info, selection)})"
        )
    if not hub_is_installed():
        raise DataError(
            f"{info.name}: expected {expected_files(info, selection)} (named with {LOCAL_COPY}), "
            f"or the hub data set {info.hub_id} ({install_command('hub')})"
        )
    for part in parts:
        yield from hub_rows(part)


def expected_files(info: BenchmarkInfo, selection: Selection) -> str:
    """Return the official file names, for a message."""
    return " or ".join(_patterns(info, selection))


def official_files(info: BenchmarkInfo, selection: Selection, folder: Path) -> list[Path]:
    """Return the files that match the first pattern with a match; without a match, every data file of the folder.

    If names of files contain the requested split, only those files.
    """
    names = {file: file.relative_to(folder).as_posix() for file in data_files(folder)}
    files = list(names)
    for pattern in _patterns(info, selection):
        fitting = [file for file, name in names.items() if fnmatchcase(f"/{name}", f"*/{pattern}")]
        if fitting:
            files = fitting
            break
    # without a file of that split, the column may tell: the rows are filtered later
    split = selection.split
    return [file for file in files if split and names_split(names[file], split)] or files


def _patterns(info: BenchmarkInfo, selection: Selection) -> tuple[str, ...]:
    """Return the patterns of the file names for a request."""
    subset = selection.subset or info.default_subset or "*"
    language = selection.language or "*"
    patterns = info.subset_files.get(subset, info.files)
    return tuple(pattern.format(subset=subset, language=_SHORT.get(language, language)) for pattern in patterns)


HUB = "hf:"
"""Prefix of owner/name: a hub data set that is not a named benchmark."""


def read_dataset(name_or_path: str | Path, selection: DataSelection | None = None) -> Dataset:
    """Read samples of a benchmark, or of any table.

    A benchmark is read from `data` if it is there, else from the local cache of the hub or the hub itself, through
    the `datasets` package if it is installed; nothing else opens a connection. A table is a file or folder of any
    form that `read_rows` reads, or a hub data set named "hf:OWNER/NAME".

    Raises:
        UnknownBenchmark: neither a benchmark nor a path.
        DataError: the data cannot be found or read, or do not hold what was requested; one line.
    """
    return read_datasets(name_or_path, (selection or DataSelection(),))[0]


def read_datasets(name_or_path: str | Path, selections: Sequence[DataSelection]) -> tuple[Dataset, ...]:
    """Read several selections of one benchmark or table; its source is read once.

    Args:
        name_or_path: as `read_dataset`.
        selections: they differ in the texts alone: `text` and `label` of a table, `part` of a benchmark.

    Raises:
        UnknownBenchmark: neither a benchmark nor a path.
        DataError: as `read_dataset`.
    """
    chosen, name, notes = selections[0], str(name_or_path), list[str]()
    # what is said of the source holds for every set, what is said of the texts of one for that alone
    own_notes: list[list[str]] = [[] for _ in selections]
    if isinstance(name_or_path, str) and (is_benchmark(name) or chosen.data is not None):
        info = benchmark(name)
        _refuse(name, "a benchmark has its own columns", chosen, "text", "id", "label", "group")
        requests = list(map(partial(_checked, info), selections))
        # rows are streamed: samples of a part are made while the file is read
        rows, source = _rows_of_benchmark(info, selection=requests[0], data=chosen.data, note=notes.append)
        # `tee` reads the source once, however many texts are taken from a row
        texts = [
            _samples(info, copy, request, source=source, note=own.append)
            for copy, request, own in zip(tee(rows, len(requests)), requests, own_notes, strict=True)
        ]
        title = info.name
    else:
        _refuse(name, "only a benchmark has it", chosen, "data", "subset", "part")
        rows, title, source = _table(name, chosen.split, notes.append, streamed=chosen.limit is not None)
        texts = [
            samples_from(copy, each, name=title, source=source, note=own.append)
            for copy, each, own in zip(
                tee(islice(rows, chosen.limit), len(selections)), selections, own_notes, strict=True
            )
        ]
    return tuple(
        Dataset.of(title, islice(samples, each.limit), source=source, notes=chain(notes, own), repeated=each.repeated)
        for samples, each, own in zip(texts, selections, own_notes, strict=True)
    )


def rows_named(name: str, note: Note) -> Iterator[SourceRow]:
    """Return the rows of a benchmark, a table or a hub data set as they are, found as `read_dataset` finds them.

    Raises:
        UnknownBenchmark: neither a benchmark nor a path.
        DataError: the data cannot be found or read.
    """
    if is_benchmark(name):
        return _rows_of_benchmark(benchmark(name), Selection(), data=None, note=note)[0]
    return _table(name, None, note, streamed=False)[0]


def _table(name: str, split: str | None, note: Note, *, streamed: bool) -> tuple[Iterator[SourceRow], str, str]:
    """Return the rows of a table, its name, and its source."""
    if name.startswith(HUB):
        part = HubPart(name.removeprefix(HUB), split=split)
        if not hub_is_installed():
            raise MissingExtra("datasets", purpose=f"hub data set {part}")
        return hub_rows(part, streamed=streamed), part.id, f"hub {part}"
    if name.startswith(HARNESSES):
        return harness_rows(name), name.partition(":")[2], name
    path = Path(name).expanduser()
    # `humanevl` is more likely a misspelt benchmark than a missing file
    if path.parent == Path() and not path.suffix and not path.exists():
        benchmark(name)  # a word and not a path: raises with the closest names
    rows = read_rows(path, note)
    if split:
        rows = _of_split(rows, split, str(path))
    elif path.is_dir():
        first = next(rows, None)
        # files of data beside code are not read, and then no row is of a split
        if first is not None and "split" in first:
            _note_splits(path, splits_named(file.relative_to(path).as_posix() for file in data_files(path)), note)
        rows = chain(filter(None, (first,)), rows)
    stem = path.resolve().name
    return rows, stem.split(".")[0] or stem, str(path)


def _of_split(rows: Iterator[SourceRow], split: str, source: str) -> Iterator[SourceRow]:
    """Yield the rows whose "split" column holds the split."""
    splits: dict[str, None] = {}
    for row in rows:
        splits[str(row.get("split"))] = None
        if row.get("split") == split:
            yield row
    if split not in splits:
        raise DataError(f"{source}: no row of split {split!r}; the column 'split' holds {shortened(splits)}")


def _rows_of_benchmark(
    info: BenchmarkInfo, selection: Selection, data: str | Path | None, note: Note
) -> tuple[Iterator[SourceRow], str]:
    """Return the rows of a benchmark, and their source."""
    if data is None:
        return rows_from_hub(info, selection), f"hub {', '.join(map(str, info.hub(selection))) or info.name}"
    path = Path(data).expanduser()
    return local_rows(info, selection=selection, path=path, note=note), str(path)


def _samples(
    info: BenchmarkInfo, rows: Iterator[SourceRow], selection: Selection, *, source: str, note: Note
) -> Iterator[Sample]:
    """Yield the samples of a benchmark's rows that are of the requested language and split."""
    seen: dict[tuple[str, str], None] = {}
    selected, bare = False, 0
    for number, row in enumerate(rows):
        if isinstance(row, UnreadRow):
            yield Sample(row.name, text="")
            continue
        where = f"{source}: row {number + 1}"
        _check_columns(info, row, where)
        try:
            samples = list(info.samples(row, number, selection))
        except DataError as fault:
            raise DataError(f"{where}: {fault}") from fault
        for sample in samples:
            split = sample.metadata.get("split")
            # what there is, for the message where nothing fits the request
            seen[sample.language or "no language", f"split {split}" if split else "no split"] = None
            if selection.language in (None, sample.language) and selection.split in (None, split):
                selected = True
                bare += sample.metadata.get("canonical_solution") == "" and selection.part == "full"
                yield sample
    if seen and not selected:
        request = " and ".join(filter(None, (selection.language, selection.split and f"split {selection.split}")))
        present = shortened(starmap("{} ({})".format, seen))
        raise DataError(f"{source}: no sample of {request}; found {present}")
    if bare:
        note(f"{number_have(bare, 'sample')} no solution: the text is the prompt alone")


def _check_columns(info: BenchmarkInfo, row: SourceRow, where: str) -> None:
    present = {name for name, value in row.items() if value is not None}
    absent = [names for names in info.columns if present.isdisjoint(names.split("|"))]
    if absent:
        raise DataError(
            f"{where} has no {shortened(absent)}, expected the columns of {info.title} "
            f"({shortened(info.columns)}); found {shortened(row)}"
        )


def _checked(info: BenchmarkInfo, chosen: DataSelection) -> Selection:
    """Return the request, checked against the parts, subsets and languages of the benchmark."""
    language = None if chosen.language in (None, "all") else language_named(chosen.language)
    for option, value, values in (
        ("part", chosen.part, tuple(info.parts)),
        ("subset", chosen.subset, info.subsets),
        ("language", language, info.languages),
    ):
        if value is not None and value not in values:
            raise DataError(f"{info.name}: received {option} {value!r}, expected {' or '.join(values) or 'none'}")
    return Selection(chosen.part or "full", subset=chosen.subset, language=language, split=chosen.split)


def _refuse(name: str, reason: str, chosen: DataSelection, *options: str) -> None:
    for option in options:
        value = getattr(chosen, option)
        if value is not None:
            raise DataError(f"{name}: received {option} {str(value)!r}, but {reason}")
