"""Who wrote code: detection, and calibration on older code."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, date, datetime
from pathlib import Path

from assay.api.declared import declared_around
from assay.api.detector_models import NEEDED_FOR, DetectorModels, unused_models
from assay.authorship import (
    CLASSIFIER,
    LONGEST,
    SHORTEST,
    Classifier,
    CodeUnit,
    Detection,
    DetectorSettings,
    Reference,
    ReferenceUnit,
    Scored,
    ScoreModels,
    Signal,
    UnitKind,
    added_units,
    adds_lines,
    answer_pieces,
    by_classifier,
    by_scores_in_context,
    classifier_name,
    codes_of,
    detector_name,
    files_below,
    in_patch,
    in_text,
    judged_rows,
    line_range,
    units_of,
)
from assay.code import languages_of_text
from assay.corpora import (
    CorpusSettings,
    PastPatch,
    SourceText,
    enclosing_repository,
    middle_day,
    patches_before,
    read_source_text,
    source_texts,
    texts_before,
)
from assay.corpora.filters import skip_by_name, skip_by_text
from assay.datasets import DataSelection, read_dataset
from assay.errors import DataError
from assay.files import check_target
from assay.models import default_control
from assay.progress import progress_bar
from assay.scores import requests
from assay.scoring import Opener, Progress

STDIN = "-"
_TABLE = re.compile(r"\.(?:parquet|jsonl|ndjson)(?:\.(?:gz|zst|bz2|xz))?$", re.IGNORECASE)
WITHOUT_MESSAGE = (
    "The patch has no commit message, so nothing is known of trailers and accounts; `git format-patch` and `git show` "
    "keep it."
)
OTHER_UNIT = (
    "the pieces are of the unit {unit}, the reference is of the unit {other}; the bound on human code flagged need not "
    "hold (`assay authorship calibrate --by {unit}`)"
)
WITHOUT_LANGUAGE = "Standard input shows no language: --language NAME allows an answer, and finds functions."
WINDOW = 1024
"""Tokens that the built-in surrogate reads at once. Twice as many would take more than twice the time: windows start
every 512 tokens, so that every token of a long file would be computed four times."""

COMMITS_A_PIECE = 2
"""Commits of a repository that are read for each piece that a reference of patches may have: most add few lines."""

MOST_REFERENCE = 500
"""Pieces of one language and length class that a reference takes; more hardly move its quantiles."""


@dataclass(frozen=True, slots=True)
class OpenDetector:
    """A loaded detector.

    Attributes:
        name: with its digest, as a reference names it.
        score: returns the scores of pieces of code; its second argument is called after every batch.
    """

    name: str
    score: Callable[[Sequence[CodeUnit], Progress | None], Scored]


@dataclass(frozen=True, slots=True)
class DetectorChoice:
    """The detector that scores code: its settings, and what opens its models."""

    settings: DetectorSettings = field(default_factory=DetectorSettings)
    opener: Opener = field(default_factory=Opener)

    @property
    def models(self) -> DetectorModels:
        """The models beside the surrogate."""
        names = {entry.name: getattr(self.settings, entry.name) for entry in fields(ScoreModels)}
        return DetectorModels(**names)

    def check(self, reference: Reference | None = None) -> None:
        """Check all that can be known before a model is loaded.

        Args:
            reference: human code that the scores will be compared with.

        Raises:
            DataError: the reference was made with scores of another name.
            AssayError: a score or a model does not exist, or a model follows no instructions and has to.
        """
        chosen = requests(self.settings.scores)
        if reference is not None:
            reference.check(chosen[0].name if self.settings.classifier is None else CLASSIFIER)
        if self.settings.classifier is None:
            self.opener.check(self.settings.model or default_surrogate())
            self.models.check(chosen, self.opener)

    def open(self) -> OpenDetector:
        """Load the detector.

        Raises:
            AssayError: it cannot be opened, or cannot give what is requested.
        """
        if self.settings.classifier is not None:
            light = Classifier.load(self.settings.classifier)
            return OpenDetector(
                classifier_name(light.digest), lambda units, _: by_classifier(units, codes_of(units), light)
            )
        surrogate, window = (
            (self.settings.model, None) if self.settings.model is not None else (default_surrogate(), WINDOW)
        )
        plan = self.models.plan(requests(self.settings.scores), surrogate, self.opener, window=window)
        return OpenDetector(
            detector_name(plan),
            lambda units, progress: by_scores_in_context(units, plan, progress),
        )

    def unused(self) -> Mapping[str, str]:
        """Return option → why it has no effect on this detector, for those that have none."""
        if self.settings.classifier is not None:
            reason = "a classifier needs no language model and no scores; expected no --classifier with it"
            return dict.fromkeys(("model", "scores", *NEEDED_FOR), reason)
        return unused_models(requests(self.settings.scores))


def default_surrogate() -> str:
    """Return the built-in model of several languages."""
    return default_control()


def calibrate_authorship(
    paths: Sequence[str],
    out: Path,
    *,
    before: date | None,
    detector: DetectorSettings | None = None,
    by: ReferenceUnit = "file",
    most: int | None = MOST_REFERENCE,
) -> tuple[Reference, int]:
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
        The reference, and the number of pieces that are not in it.

    Raises:
        DataError: no git repository, or too few texts of one language.
    """
    check_target(out)
    if before is not None and before > datetime.now(UTC).date():
        raise DataError(f"received the day {before.isoformat()}, expected one in the past")
    if by == "patch" and before is None:
        raise DataError("patches come from a history: expected --before YYYY-MM-DD with --by patch")
    choice = DetectorChoice(detector or DetectorSettings())
    choice.check()
    with progress_bar("reading"):
        units, newer = _past_units(paths, before, by, most)
        codes = codes_of(units)
    chosen = judged_rows(codes, most)
    judged, judged_codes = [units[row] for row in chosen], [codes[row] for row in chosen]
    if not judged:
        raise DataError(f"{', '.join(paths)}: none of {len(units)} pieces of code has {SHORTEST} to {LONGEST:,} tokens")
    with progress_bar("opening the detector"):
        opened = choice.open()
    with progress_bar("scoring") as report:
        scored = opened.score(judged, report)
    reference = Reference.of(
        scored.detector,
        scored.values.tolist(),
        [unit.language for unit in judged],
        [len(code.tokens) for code in judged_codes],
        [unit.path for unit in judged],
        digests=[unit.digest for unit in judged],
        source=", ".join(Path(path).resolve().name for path in paths),
        before=before.isoformat() if before else None,
        unit=by,
    ).checked(newer)
    reference.save(out)
    return reference, len(units) - len(reference)


def _past_units(
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
        detector: its settings; None for scores of the built-in model.
        reference: file of `calibrate_authorship`; without it the scores are a description and no verdict.
        by: unit of code.
        lines: "FIRST-LAST" of one file.
        patch: the input is a unified diff; its added lines are judged.
        language: of texts whose name does not tell.
        text: column of texts; every path is a table then.

    Raises:
        DataError: a path cannot be read, or holds no code.
    """
    paths = [Path(path) for path in ([code] if isinstance(code, str | Path) else code)]
    past = Reference.load(Path(reference)) if reference else None
    choice = DetectorChoice(detector or DetectorSettings())
    choice.check(past)
    with progress_bar("reading"):
        read = _read(paths, by=by, lines=lines, patch=patch, language=language, text=text)
        codes = codes_of(read.units)
    with progress_bar("opening the detector"):
        opened = choice.open()
    if past is not None:
        past.check(opened.name)
    with progress_bar("scoring") as report:
        scored = opened.score(read.units, report)
    unit: ReferenceUnit = "patch" if patch else by
    if past is not None and past.unit not in {None, unit} and lines is None:
        scored = replace(scored, notes=(*scored.notes, OTHER_UNIT.format(unit=unit, other=past.unit)))
    return answer_pieces(read.units, codes, scored, read.signals, past, unread=read.unread)


@dataclass(frozen=True, slots=True)
class _Input:
    """The pieces of code of some paths, their declared signals, and sentences on signals that were not read."""

    units: Sequence[CodeUnit]
    signals: Sequence[Signal]
    unread: Sequence[str]


def _read(
    paths: Sequence[Path], *, by: UnitKind, lines: str | None, patch: bool, language: str | None, text: str | None
) -> _Input:
    """Read files, folders, tables, patches or standard input; see `detect`."""
    units: list[CodeUnit] = []
    signals: list[Signal] = []
    unread: list[str] = []
    for path in paths:
        texts = list(_texts(path, language, text))
        signals += [signal for source in texts for signal in in_text(source.text, source.path)]
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
    return _Input(units, list(dict.fromkeys(signals)), unread)


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
