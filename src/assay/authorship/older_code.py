"""Pieces of older code, which people certainly wrote: what a reference is made of."""

from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path

from assay.authorship.units import CodeUnit, ReferenceUnit, added_units, adds_lines, units_of
from assay.corpora import (
    CorpusSettings,
    PastPatch,
    middle_day,
    patches_before,
    skip_by_name,
    skip_by_text,
    source_texts,
    texts_before,
)
from assay.errors import DataError

COMMITS_A_PIECE = 2
"""Commits of a repository that are read for each piece that a reference of patches may have: most add few lines."""


def older_units(
    paths: Sequence[str], before: date | None, by: ReferenceUnit, most: int | None
) -> tuple[list[CodeUnit], dict[str, str]]:
    """Return the distinct pieces of older code in a known language, and digest → project of their newer half."""
    units: dict[str, CodeUnit] = {}
    newer: dict[str, str] = {}
    for path in paths:
        middle = None if before is None else middle_day(Path(path), before)
        if middle is None:
            units |= {unit.text: unit for unit in _units_in(path, before, by, most)}
            continue
        half = most and max(1, most // 2)
        older = {unit.text: unit for unit in _units_in(path, middle, by, half)}
        later = {unit.text: unit for unit in _units_in(path, before, by, half, after=middle)}
        units |= older | later
        newer |= {unit.digest: Path(path).resolve().name for text, unit in later.items() if text not in older}
    if not units:
        raise DataError(f"{', '.join(paths)}: no source file in a known language")
    return list(units.values()), newer


def _units_in(
    path: str, before: date | None, by: ReferenceUnit, most: int | None, after: date | None = None
) -> Iterator[CodeUnit]:
    """Yield the pieces of a tree, or of the patches since a day, in a known language."""
    if by == "patch" and before is not None:
        for past in patches_before(Path(path), before, after=after, most=most and COMMITS_A_PIECE * most):
            yield from (unit for unit in past_units(past) if unit.language)
    elif by != "patch":
        for text in source_texts([path]) if before is None else texts_before(Path(path), before):
            yield from (unit for unit in units_of(text.path, text.text, text.language, by) if unit.language)


def past_units(past: PastPatch) -> list[CodeUnit]:
    """Return the added lines of a commit by file, without files that a program wrote."""
    units = added_units(past.patch, [past.file]) if adds_lines(past.patch) else ()
    people = CorpusSettings()
    named = (unit for unit in units if not skip_by_name(unit.path, None, people))
    return [unit for unit in named if unit.surroundings and not skip_by_text(unit.surroundings.text, people)]
