"""Pieces of older code, which people certainly wrote: what a reference is made of."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import chain, repeat
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
    paths: Sequence[str], before: date | None, by: ReferenceUnit, most: int | None, skipped: Counter[str]
) -> tuple[list[CodeUnit], dict[str, str]]:
    """Return the distinct pieces of older code in a known language, and digest → project of their newer half.

    Args:
        paths: git repositories, or folders where there is no day.
        before: the day.
        by: unit of code.
        most: pieces of one class that will be taken; None for all.
        skipped: is given the number of files that were not read, by reason.
    """
    units: dict[str, CodeUnit] = {}
    newer: dict[str, str] = {}
    for path in paths:
        middle = None if before is None else middle_day(Path(path), before)
        if middle is None:
            units |= _by_text(_units_in(path, before=before, by=by, most=most, skipped=skipped))
            continue
        # each half may give half of the pieces, so that neither crowds out the other in the draw
        half = most and max(1, most // 2)
        # the newer tree has the files of the older one, so they are counted once; patches of the halves are distinct
        of_older = skipped if by == "patch" else Counter[str]()
        older = _by_text(_units_in(path, before=middle, by=by, most=half, skipped=of_older))
        later = _by_text(_units_in(path, before=before, by=by, most=half, after=middle, skipped=skipped))
        units |= older | later
        # by text: a file that was moved is not new
        for text in later.keys() - older.keys():
            newer[later[text].digest] = Path(path).resolve().name
    if not units:
        raise DataError(f"{', '.join(paths)}: no source file in a known language")
    return list(units.values()), newer


def _units_in(
    path: str,
    *,
    before: date | None,
    by: ReferenceUnit,
    most: int | None,
    after: date | None = None,
    skipped: Counter[str],
) -> Iterator[CodeUnit]:
    """Yield the pieces of a tree, or of the patches since a day, in a known language."""
    pieces: Iterator[CodeUnit] = iter(())
    if by != "patch":
        texts = source_texts([path], skipped=skipped) if before is None else texts_before(Path(path), before, skipped)
        pieces = chain.from_iterable(
            units_of(text.path, text=text.text, language=text.language, by=by) for text in texts
        )
    elif before is not None:
        patches = patches_before(Path(path), before, after=after, most=most and COMMITS_A_PIECE * most)
        pieces = chain.from_iterable(map(past_units, patches, repeat(skipped)))
    for unit in pieces:
        if unit.language:
            yield unit
        else:
            skipped["no known language"] += 1


def _by_text(units: Iterator[CodeUnit]) -> dict[str, CodeUnit]:
    """Return text → the last piece that has it."""
    return {unit.text: unit for unit in units}


def past_units(past: PastPatch, skipped: Counter[str] | None = None) -> list[CodeUnit]:
    """Return the added lines of a commit by file, without files that a program wrote, which are counted."""
    if not adds_lines(past.patch):
        return []
    people = CorpusSettings()
    units = []
    for unit in added_units(past.patch, [past.file]):
        # by the name first: it costs nothing, and a lock file or a bundle has a name that tells
        reason: str | None = skip_by_name(unit.path, None, people)
        if reason is None:
            reason = "unreadable" if not unit.surroundings else skip_by_text(unit.surroundings.text, people)
        if reason is None:
            units.append(unit)
        elif skipped is not None:
            skipped[reason] += 1
    return units
