"""Who wrote code: from paths to the answer for each piece."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from assay.authorship.choosing import DetectorChoice
from assay.authorship.detecting import Detection, answer_pieces, codes_of, without_scores
from assay.authorship.reading import read_code
from assay.authorship.reference import Reference
from assay.authorship.settings import DetectorSettings
from assay.authorship.units import ReferenceUnit, UnitKind
from assay.files import paths_of
from assay.progress import progress_bar

OTHER_UNIT = (
    "the pieces are of the unit {unit}, the reference is of the unit {other}; the bound on human code flagged need not "
    "hold (`assay authorship calibrate --by {unit}`)"
)


def detect(
    code: Sequence[Path | str] | Path | str,
    *,
    detector: DetectorSettings | None = None,
    reference: Path | str | None = None,
    by: UnitKind = "file",
    lines: str | None = None,
    patch: bool = False,
    language: str | None = None,
    text: str | None = None,
) -> Detection:
    """Return who wrote code: declared signals, scores and an answer for each file, function, patch or row.

    Args:
        code: files, folders, tables of texts (JSON lines or Parquet), or "-".
        detector: its settings; None for scores of the built-in model beside a reference.
        reference: file of `calibrate_authorship`; without it there is no verdict on style, and scores are computed only
            where `detector` names them, its model or its classifier.
        by: unit of code.
        lines: "FIRST-LAST" of one file.
        patch: the input is a unified diff; its added lines are judged.
        language: of texts whose name does not tell.
        text: column of texts; every path is a table then.

    Raises:
        DataError: a path cannot be read, or holds no code.
    """
    paths, past = paths_of(code), None
    if reference:
        past = Reference.load(Path(reference))
    settings = detector or DetectorSettings()
    choice = DetectorChoice(settings)
    choice.check(past)
    with progress_bar("reading"):
        read = read_code(paths, by=by, lines=lines, patch=patch, language=language, text=text)
        codes = codes_of(read.units)
    # values without human code to compare with give no answer, so they are computed only for a user who names them
    if past is None and not settings.names_a_detector:
        return answer_pieces(
            read.units, codes, without_scores(codes), signals=read.signals, reference=None, unread=read.unread
        )
    with progress_bar("opening the detector"):
        opened = choice.open()
    if past is not None:
        past.check(opened.name)
    with progress_bar("scoring") as report:
        scored = opened.score(read.units, report)
    unit: ReferenceUnit = "patch" if patch else by
    # a range of lines is no unit that could be calibrated, so there is nothing to advise
    if past is not None and past.unit not in {None, unit} and lines is None:
        scored = replace(scored, notes=(*scored.notes, OTHER_UNIT.format(unit=unit, other=past.unit)))
    return answer_pieces(
        read.units, codes=codes, scored=scored, signals=read.signals, reference=past, unread=read.unread
    )
