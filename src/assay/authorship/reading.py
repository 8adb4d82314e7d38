"""The code that is judged, and the signals that it declares: files, folders, tables, patches or standard input."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path

from assay.authorship.declared import Signal, in_patch, in_text
from assay.authorship.surroundings import declared_around
from assay.authorship.units import CodeUnit, UnitKind, added_units, files_below, line_range, units_of
from assay.code import languages_of_text
from assay.corpora import (
    SourceText,
    blocks_and_whole,
    enclosing_repository,
    is_archive,
    read_folder,
    read_source_text,
)
from assay.datasets import DataSelection, read_dataset
from assay.errors import DataError
from assay.reports import counts_by_reason

STDIN = "-"
_TABLE = re.compile(r"\.(?:parquet|jsonl|ndjson)(?:\.(?:gz|zst|bz2|xz))?$", re.IGNORECASE)
WITHOUT_MESSAGE = (
    "The patch has no commit message, so nothing is known of trailers and accounts; `git format-patch` and `git show` "
    "keep it."
)
WITHOUT_LANGUAGE = "Standard input shows no language: --language NAME allows an answer, and finds functions."


@dataclass(frozen=True, slots=True)
class JudgedCode:
    """The pieces of code of some paths, their declared signals, and sentences on signals that were not read."""

    units: Sequence[CodeUnit]
    signals: Sequence[Signal]
    unread: Sequence[str]


def read_code(
    paths: Sequence[Path], *, by: UnitKind, lines: str | None, patch: bool, language: str | None, text: str | None
) -> JudgedCode:
    """Read files, folders, tables, patches or standard input; see `detect`."""
    units: list[CodeUnit] = []
    signals: list[Signal] = []
    unread: list[str] = []
    for path in paths:
        skipped: Counter[str] = Counter()
        texts = list(_texts(path, language, column=text, skipped=skipped))
        if skipped:
            unread.append(f"Files in {path} that were not judged: {counts_by_reason(skipped)}.")
        for source in texts:
            signals += in_text(source.text, source.path)
        # the history of a patch is its own messages: what lies around the file on the disk declares nothing of it
        if patch:
            _read_patches(path, texts, (units, signals, unread))
            continue
        for source in texts:
            units += _units_in(source, by, lines)
        if str(path) != STDIN:
            declared, unread_there = declared_around(path)
            signals += declared
            unread += unread_there
    if not units:
        raise DataError(f"{', '.join(map(str, paths))}: no source file in a known language")
    if not patch and Path(STDIN) in paths and None in map(attrgetter("language"), units):
        unread.append(WITHOUT_LANGUAGE)
    # two paths of one repository declare the same
    return JudgedCode(units, list(dict.fromkeys(signals)), unread)


def _units_in(source: SourceText, by: UnitKind, lines: str | None) -> Iterable[CodeUnit]:
    """Return the pieces of one text: some lines of it, or its units of a kind."""
    if lines is not None:
        return [line_range(source.path, text=source.text, language=source.language, lines=lines)]
    units = units_of(source.path, text=source.text, language=source.language, by=by)
    above = source.first_line - 1
    return [replace(unit, first_line=above + unit.first_line, name=unit.name or source.name) for unit in units]


def _read_patches(
    path: Path, texts: Sequence[SourceText], read: tuple[list[CodeUnit], list[Signal], list[str]]
) -> None:
    """Add the pieces that patches add, what their commit messages declare, and that a patch has no message."""
    units, signals, unread = read
    for source in texts:
        units += added_units(source.text, list(map(files_below, _roots(path))))
        declared = in_patch(source.text)
        if declared is None:
            unread.append(WITHOUT_MESSAGE)
        signals += declared or []


def _texts(path: Path, language: str | None, *, column: str | None, skipped: Counter[str]) -> Iterator[SourceText]:
    if column is not None or _TABLE.search(path.name):
        selection = DataSelection(text=column, language=language, labels="as-is", repeated="number")
        for sample in read_dataset(path, selection).samples:
            yield SourceText(f"{path.as_posix()}#{sample.id}", sample.text, sample.language)
    elif path.is_dir() or (str(path) != STDIN and path.is_file() and is_archive(path)):
        yield from _in_folder(path, skipped)
    else:
        source = read_source_text(path, language)
        language = source.language or next(iter(languages_of_text(source.text)), None)
        yield replace(source, language=language)


def _in_folder(path: Path, skipped: Counter[str]) -> Iterator[SourceText]:
    """Yield the code of a folder or an archive, also blocks of code in notebooks and pages."""
    read = read_folder(path)
    for file in read.texts:
        texts = [text for text in blocks_and_whole(file) if text.language is not None]
        if not texts:
            skipped["no known language"] += 1
        for text in texts:
            yield text.below(f"{path.as_posix().rstrip('/')}/")
    skipped.update(read.no_code)
    # minified code is not skipped: its own answer says why it cannot be judged
    skipped.update(file.reason for file in read.unread if not file.reason.startswith("minified"))


def _roots(patch: Path) -> list[Path]:
    """Return the folders that the paths of a patch may be relative to: this one, and the repositories around."""
    working = Path.cwd()
    around = [working, enclosing_repository(working)]
    if str(patch) != STDIN:
        around.append(enclosing_repository(patch))
    return list(dict.fromkeys(filter(None, around)))
