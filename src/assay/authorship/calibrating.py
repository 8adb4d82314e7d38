"""A reference: scores of human code of one origin."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime
from operator import attrgetter
from pathlib import Path

from assay.authorship.choosing import DetectorChoice
from assay.authorship.detecting import codes_of
from assay.authorship.older_code import older_units
from assay.authorship.reference import LONGEST, SHORTEST, Reference, judged_rows
from assay.authorship.settings import DetectorSettings
from assay.authorship.units import ReferenceUnit
from assay.errors import DataError
from assay.files import check_target
from assay.progress import progress_bar

NOT_TAKEN = "too short, too long, or not drawn"
MOST_REFERENCE = 500
"""Pieces of one language and length class that a reference takes; more hardly move its quantiles."""


def calibrate_authorship(
    paths: Sequence[str],
    out: Path,
    *,
    before: date | None,
    detector: DetectorSettings | None = None,
    by: ReferenceUnit = "file",
    most: int | None = MOST_REFERENCE,
) -> tuple[Reference, Counter[str]]:
    """Score human code of one origin, and write the reference.

    Only pieces that can be judged are scored: those that are too short or too long cost nothing.

    Args:
        paths: git repositories; without `before`, any folders whose code people certainly wrote.
        out: file that is written.
        before: only files of the last commits before this day and before the middle of the history up to it.
        detector: its settings.
        by: unit of code; "patch" takes the added lines of commits before the day, for `detect` with `patch`.
        most: pieces of one language and length class that are scored, drawn at random; None for all.

    Returns:
        The reference, and the number of pieces and files that are not in it, by reason.

    Raises:
        DataError: no git repository, or too few texts of one language.
    """
    check_target(out)
    today = datetime.now(UTC).date()
    if before is not None and before > today:
        raise DataError(f"received the day {before}, expected one in the past (today is {today} by this clock)")
    if by == "patch" and before is None:
        raise DataError("patches come from a history: expected --before YYYY-MM-DD with --by patch")
    # what can be wrong is found before the history is read, which takes minutes, and before a model is loaded
    choice = DetectorChoice(detector or DetectorSettings())
    choice.check()
    left_out: Counter[str] = Counter()
    with progress_bar("reading"):
        units, newer = older_units(paths, before=before, by=by, most=most, skipped=left_out)
        codes = codes_of(units)
    chosen = judged_rows(codes, most)
    judged = list(map(units.__getitem__, chosen))
    if not judged:
        raise DataError(f"{', '.join(paths)}: none of {len(units)} pieces of code has {SHORTEST} to {LONGEST:,} tokens")
    with progress_bar("opening the detector"):
        opened = choice.open()
    with progress_bar("scoring") as report:
        scored = opened.score(judged, report)
    reference = Reference.of(
        scored.detector,
        scores=scored.values.tolist(),
        languages=list(map(attrgetter("language"), judged)),
        tokens=[len(codes[row].tokens) for row in chosen],
        groups=list(map(attrgetter("path"), judged)),
        digests=list(map(attrgetter("digest"), judged)),
        source=", ".join(Path(path).resolve().name for path in paths),
        before=before.isoformat() if before else None,
        unit=by,
    ).checked(newer)
    reference.save(out)
    left_out[NOT_TAKEN] = len(units) - len(reference)
    # unary plus drops the reasons with a count of 0
    return reference, +left_out
