"""The code that is judged, and the signals that it declares: files, folders, tables, patches or standard input."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assay.authorship.declared import Signal, in_patch, in_text
from assay.authorship.surroundings import declared_around
from assay.authorship.units import CodeUnit, UnitKind, added_units, files_below, line_range, units_of
from assay.code import languages_of_text
from assay.corpora import CorpusSettings, SourceText, enclosing_repository, read_source_text, source_texts
from assay.datasets import DataSelection, read_dataset
from assay.errors import DataError

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
        texts = list(_texts(path, language, text))
        for source in texts:
            signals += in_text(source.text, source.path)
        for source in texts:
            if patch:
                units += added_units(source.text, [files_below(root) for root in _roots(path)])
                declared_there = in_patch(source.text)
                signals += declared_there or []
                unread += [WITHOUT_MESSAGE] if declared_there is None else []
            elif lines is not None:
                units.append(line_range(source.path, source.text, source.language, lines))
            else:
                units += units_of(source.path, source.text, source.language, by)
        if str(path) != STDIN and not patch:
            declared, unread_there = declared_around(path)
            signals += declared
            unread += unread_there
    if not units:
        raise DataError(f"{', '.join(map(str, paths))}: no source file in a known language")
    if not patch and any(str(path) == STDIN for path in paths) and any(unit.language is None for unit in units):
        unread.append(WITHOUT_LANGUAGE)
    return JudgedCode(units, list(dict.fromkeys(signals)), unread)


def _texts(path: Path, language: str | None, column: str | None) -> Iterator[SourceText]:
    if column is not None or _TABLE.search(path.name):
        selection = DataSelection(text=column, language=language, labels="as-is", repeated="number")
        for sample in read_dataset(path, selection).samples:
            yield SourceText(f"{path.as_posix()}#{sample.id}", sample.text, sample.language)
    elif path.is_dir():
        # a file that says who generated it declares a signal, so it is not skipped
        for text in source_texts([str(path)], CorpusSettings(generated=True)):
            yield SourceText(f"{path.as_posix().rstrip('/')}/{text.path}", text.text, text.language)
    else:
        source = read_source_text(path, language)
        shown = () if source.language else languages_of_text(source.text)
        yield replace(source, language=shown[0]) if shown else source


def _roots(patch: Path) -> list[Path]:
    """Return the folders that the paths of a patch may be relative to: this one, and the repositories around."""
    working = Path.cwd()
    around = [enclosing_repository(working)] + ([enclosing_repository(patch)] if str(patch) != STDIN else [])
    return list(dict.fromkeys([working, *(root for root in around if root is not None)]))
