"""Who wrote code: detection, calibration on older code, training, evaluation and shortcut audits."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

import numpy as np

from assay.api.classifiers import OpenDetector, classifier_in, measured_folder, vectors_named
from assay.api.declared import declared_around
from assay.api.detector_models import NEEDED_FOR, DetectorModels, unused_models
from assay.api.opening import Opener
from assay.api.progress import progress_bar
from assay.authorship import (
    CLASSIFIER,
    DEFAULT_EVIDENCE,
    HIDDEN,
    LONGEST,
    SHORTEST,
    Classifier,
    CodeUnit,
    Detection,
    FitSettings,
    LabelledCode,
    Reference,
    ReferenceUnit,
    Signal,
    Transfer,
    UnitKind,
    added_units,
    adds_lines,
    by_scores_in_context,
    codes_of,
    detect,
    detector_name,
    files_below,
    fit_classifier,
    fit_generators,
    in_patch,
    in_text,
    judged_rows,
    leave_out,
    line_range,
    model_card,
    saturated_kinds,
    subsample,
    units_of,
)
from assay.datasets import DataSelection, read_dataset
from assay.errors import DataError
from assay.files import check_new_folder, check_target
from assay.models import default_control
from assay.provenance import (
    Filters,
    PastPatch,
    SourceText,
    enclosing_repository,
    patches_before,
    read_source_text,
    source_texts,
    texts_before,
)
from assay.scores import requests
from assay.types import Sample

STDIN = "-"
_TABLE = re.compile(r"\.(?:parquet|jsonl|ndjson)(?:\.(?:gz|zst|bz2|xz))?$", re.IGNORECASE)
COLLECTION = "collection"
"""Column that names the collection of a row; without it the file's name does."""

WITHOUT_MESSAGE = (
    "The patch has no commit message, so nothing is known of trailers and accounts; `git format-patch` and `git show` "
    "keep it."
)
OTHER_UNIT = (
    "the pieces are of the unit {unit}, the reference is of the unit {other}; the bound on human code flagged need not "
    "hold (`assay authorship calibrate --by {unit}`)"
)
WITHOUT_LANGUAGE = (
    "Standard input has no name that says its language: --language NAME allows an answer, and finds functions."
)
DEFAULT_SCORES = "fast_detect_gpt,loss,rank,log_rank,entropy,lrr"
"""Scores of one pass that detect machine-written text; the first one is the primary score."""

WINDOW = 1024
"""Tokens that the built-in surrogate reads at once. Twice as many would take more than twice the time: windows start
every 512 tokens, so that every token of a long file would be computed four times."""

COMMITS_A_PIECE = 2
"""Commits of a repository that are read for each piece that a reference of patches may have: most add few lines."""

MOST_REFERENCE = 500
"""Pieces of one language and length class that a reference takes; more hardly move its quantiles."""


@dataclass(frozen=True, slots=True)
class DetectorChoice:
    """The detector that scores code.

    Attributes:
        classifier: folder of a fitted or fine-tuned classifier; None for scores of a language model.
        model: the language model (surrogate); None for the built-in model that knows most languages.
        scores: names with commas between them; the first one is what an answer rests on.
        models: those that some scores need beside it.
        opener: opens models.
    """

    classifier: Path | None = None
    model: str | None = None
    scores: str = DEFAULT_SCORES
    models: DetectorModels = field(default_factory=DetectorModels)
    opener: Opener = field(default_factory=Opener)

    def check(self, reference: Reference | None = None) -> None:
        """Check all that can be known before a model is loaded.

        Args:
            reference: human code that the scores will be compared with.

        Raises:
            DataError: the reference was made with scores of another name.
            AssayError: a score or a model does not exist, or a model follows no instructions and has to.
        """
        chosen = requests(self.scores)
        if reference is not None:
            reference.check(chosen[0].name if self.classifier is None else CLASSIFIER)
        if self.classifier is None:
            self.opener.check(self.model or default_surrogate())
            self.models.check(chosen, self.opener)

    def open(self) -> OpenDetector:
        """Load the detector.

        Raises:
            AssayError: it cannot be opened, or cannot give what is requested.
        """
        if self.classifier is not None:
            return classifier_in(self.classifier, self.opener)
        surrogate, window = (self.model, None) if self.model is not None else (default_surrogate(), WINDOW)
        plan = self.models.plan(requests(self.scores), surrogate, self.opener, window=window)
        return OpenDetector(
            detector_name(plan),
            lambda units, progress: by_scores_in_context(units, plan, progress),
        )

    def unused(self) -> Mapping[str, str]:
        """Return option → why it has no effect on this detector, for those that have none."""
        if self.classifier is not None:
            reason = "a classifier needs no language model and no scores; expected no --classifier with it"
            return dict.fromkeys(("model", "scores", *NEEDED_FOR), reason)
        return unused_models(requests(self.scores))


def default_surrogate() -> str:
    """Return the built-in model of several languages."""
    return default_control()


@dataclass(frozen=True, slots=True)
class LabelledSelection:
    """How labelled code is read from tables.

    Attributes:
        label: column with the origin of each text.
        human: the label of people, in any case.
        text: column of texts.
        language: column of languages, or the language of all rows.
        group: column of tasks or projects.
    """

    label: str = "label"
    human: str = "human"
    text: str | None = None
    language: str | None = None
    group: str | None = None

    def read(self, paths: Iterable[str]) -> LabelledCode:
        """Return the texts of tables; a column `collection`, or the name of the file, names the collection.

        Raises:
            DataError: a table cannot be read, or a text has no label.
        """
        samples: list[Sample] = []
        collections: dict[str, str] = {}
        for path in paths:
            selection = DataSelection(
                text=self.text, label=self.label, labels="as-is", language=self.language, group=self.group
            )
            dataset = read_dataset(path, selection)
            for sample in dataset.samples:
                collection = str(sample.metadata.get(COLLECTION) or dataset.name)
                copy = Sample(f"{path}#{sample.id}", sample.text, sample.language, sample.label, sample.group)
                collections[copy.id] = collection
                samples.append(copy)
        return LabelledCode.of(samples, lambda sample: collections[sample.id], self.human)


def train_classifier(
    labelled: LabelledCode,
    out: Path,
    *,
    evidence: Sequence[str] = DEFAULT_EVIDENCE,
    hidden: str | None = None,
    per_class: int | None = 400,
    evaluate: bool = True,
    generators: bool = False,
    seed: int = 0,
) -> tuple[Classifier, Transfer | None]:
    """Fit a classifier and write it with its model card.

    Args:
        labelled: texts of people and of generators.
        out: folder that is written.
        evidence: kinds of evidence; `hidden` needs a model.
        hidden: that model.
        per_class: most texts of one class, collection and language.
        evaluate: measure the quality on left-out collections for the card.
        generators: also fit a model that names the generator that a text is most like.
        seed: of the choice of texts.

    Raises:
        DataError: the folder exists, or too few texts are of one class.
    """
    check_new_folder(out)
    settings = fit_settings(evidence, hidden, per_class, seed)
    vectors = vectors_named(hidden) if hidden else None
    transfer = leave_out(labelled, settings, vectors=vectors) if evaluate else None
    classifier = fit_classifier(labelled, settings, vectors=vectors)
    if generators:
        drawn = labelled.take(subsample(labelled, per_class, seed))
        classifier = replace(classifier, generators=fit_generators(drawn, seed=seed))
    classifier.save(out, model_card(classifier, transfer))
    return classifier, transfer


def evaluate_classifier(
    labelled: LabelledCode,
    *,
    by: str = "collection",
    classifier: Path | None = None,
    evidence: Sequence[str] = DEFAULT_EVIDENCE,
    hidden: str | None = None,
    per_class: int | None = 400,
    formatted: bool = False,
    seed: int = 0,
) -> Transfer:
    """Measure classifiers on what they were not fitted on.

    Args:
        labelled: texts of people and of generators.
        by: "collection", "language" or "generator": what is left out in turn.
        classifier: folder of a classifier that is measured on every collection instead; nothing is fitted then.
        evidence: kinds of evidence of a fit.
        hidden: model of the evidence `hidden`.
        per_class: most texts of one class, collection and language of a fit.
        formatted: test the texts as a formatter writes them, too.
        seed: of every choice of texts.

    Raises:
        DataError: no classifier in that folder, or too few texts to fit on.
    """
    if classifier is None:
        settings = fit_settings(evidence, hidden, per_class, seed)
        vectors = vectors_named(hidden) if hidden else None
        return leave_out(labelled, settings, by=by, vectors=vectors, formatted=formatted)
    return measured_folder(labelled, classifier, Opener(), formatted=formatted, seed=seed)


def fit_settings(evidence: Sequence[str], hidden: str | None, per_class: int | None, seed: int) -> FitSettings:
    """Return the settings of a fit; naming a model of hidden states adds that evidence."""
    kinds = dict.fromkeys([*evidence, *([HIDDEN] if hidden else [])])
    return FitSettings(tuple(kinds), per_class, seed)


def calibrate_authorship(
    paths: Sequence[str],
    out: Path,
    *,
    before: date | None,
    choice: DetectorChoice,
    by: ReferenceUnit = "file",
    most: int | None = MOST_REFERENCE,
) -> tuple[Reference, int]:
    """Score human code of one origin, and write the reference.

    Only pieces that can be judged are scored: those that are too short or too long cost nothing.

    Args:
        paths: git repositories; without `before`, any folders whose code people certainly wrote.
        out: file that is written.
        before: only files of the last commit before this day.
        choice: the detector.
        by: unit of code; "patch" takes the added lines of commits before the day, for `detect_code` with `patch`.
        most: pieces of one language and length class that are scored, drawn at random; None for all.

    Returns:
        The reference, and the number of pieces that are not in it.

    Raises:
        DataError: no git repository, or too few texts of one language.
    """
    check_target(out)
    if by == "patch" and before is None:
        raise DataError("patches come from a history: expected --before YYYY-MM-DD with --by patch")
    choice.check()
    with progress_bar("reading"):
        units = _past_units(paths, before, by, most)
        codes = codes_of(units)
    chosen = judged_rows(codes, most)
    judged, judged_codes = [units[row] for row in chosen], [codes[row] for row in chosen]
    if not judged:
        raise DataError(f"{', '.join(paths)}: none of {len(units)} pieces of code has {SHORTEST} to {LONGEST:,} tokens")
    with progress_bar("opening the detector"):
        detector = choice.open()
    with progress_bar("scoring") as report:
        scored = detector.score(judged, report)
    left_out = saturated_kinds(scored.parts, np.arange(len(judged)))
    reference = Reference.of(
        scored.detector,
        scored.without(left_out).tolist(),
        [unit.language for unit in judged],
        [len(code.tokens) for code in judged_codes],
        [unit.path for unit in judged],
        digests=[unit.digest for unit in judged],
        left_out=left_out,
        source=", ".join(Path(path).resolve().name for path in paths),
        before=before.isoformat() if before else None,
        unit=by,
    )
    reference.save(out)
    return reference, len(units) - len(reference)


def _past_units(paths: Sequence[str], before: date | None, by: ReferenceUnit, most: int | None) -> list[CodeUnit]:
    """Return the distinct pieces of older code in a known language."""
    units: dict[str, CodeUnit] = {}
    for path in paths:
        units |= {unit.text: unit for unit in _units_in(path, before, by, most) if unit.language}
    if not units:
        raise DataError(f"{', '.join(paths)}: no source file in a known language")
    return list(units.values())


def _units_in(path: str, before: date | None, by: ReferenceUnit, most: int | None) -> Iterator[CodeUnit]:
    if by == "patch" and before is not None:
        for past in patches_before(Path(path), before, most=most and COMMITS_A_PIECE * most):
            yield from past_units(past)
    elif by != "patch":
        for text in source_texts([path]) if before is None else texts_before(Path(path), before):
            yield from units_of(text.path, text.text, text.language, by)


def past_units(past: PastPatch) -> list[CodeUnit]:
    """Return the added lines of a commit by file, without files that a program wrote."""
    units = added_units(past.patch, [past.file]) if adds_lines(past.patch) else ()
    people = Filters()
    return [
        unit
        for unit in units
        if unit.surroundings and not (people.by_name(unit.path, None) or people.by_text(unit.surroundings.text))
    ]


def detect_code(
    paths: Sequence[Path],
    *,
    choice: DetectorChoice,
    reference: Path | None = None,
    by: UnitKind = "file",
    lines: str | None = None,
    patch: bool = False,
    language: str | None = None,
    text: str | None = None,
) -> Detection:
    """Return declared signals, scores and answers for files, folders, tables, patches or standard input.

    Args:
        paths: files, folders, tables of texts (JSON lines or Parquet), or "-".
        choice: the detector.
        reference: file of `calibrate_authorship`; without it the scores are a description and no verdict.
        by: unit of code.
        lines: "FIRST-LAST" of one file.
        patch: the input is a unified diff; its added lines are judged.
        language: of texts whose name does not tell.
        text: column of texts; every path is a table then.

    Raises:
        DataError: a path cannot be read, or holds no code.
    """
    past = Reference.load(reference) if reference else None
    choice.check(past)
    with progress_bar("reading"):
        read = _read(paths, by=by, lines=lines, patch=patch, language=language, text=text)
        codes = codes_of(read.units)
    with progress_bar("opening the detector"):
        detector = choice.open()
    if past is not None:
        past.check(detector.name)
    with progress_bar("scoring") as report:
        scored = detector.score(read.units, report)
    unit: ReferenceUnit = "patch" if patch else by
    if past is not None and past.unit not in {None, unit} and lines is None:
        scored = replace(scored, notes=(*scored.notes, OTHER_UNIT.format(unit=unit, other=past.unit)))
    return detect(read.units, codes, scored, read.signals, past, unread=read.unread)


@dataclass(frozen=True, slots=True)
class _Input:
    """The pieces of code of some paths, their declared signals, and sentences on signals that were not read."""

    units: Sequence[CodeUnit]
    signals: Sequence[Signal]
    unread: Sequence[str]


def _read(
    paths: Sequence[Path], *, by: UnitKind, lines: str | None, patch: bool, language: str | None, text: str | None
) -> _Input:
    """Read files, folders, tables, patches or standard input; see `detect_code`."""
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
            declared, unread_part = declared_around(path)
            signals += declared
            unread += [unread_part] if unread_part else []
    if not units:
        raise DataError(f"{', '.join(map(str, paths))}: no source file in a known language")
    if not patch and any(str(path) == STDIN for path in paths) and language is None:
        unread.append(WITHOUT_LANGUAGE)
    return _Input(units, list(dict.fromkeys(signals)), unread)


def _texts(path: Path, language: str | None, column: str | None) -> Iterator[SourceText]:
    if column is not None or _TABLE.search(path.name):
        selection = DataSelection(text=column, language=language, labels="as-is", repeated="number")
        for sample in read_dataset(path, selection).samples:
            yield SourceText(f"{path.as_posix()}#{sample.id}", sample.text, sample.language)
    elif path.is_dir():
        # a file that says who generated it declares a signal, so it is not skipped
        for text in source_texts([str(path)], Filters(generated=True)):
            yield SourceText(f"{path.as_posix().rstrip('/')}/{text.path}", text.text, text.language)
    else:
        yield read_source_text(path, language)


def _roots(patch: Path) -> list[Path]:
    """Return the folders that the paths of a patch may be relative to: this one, and the repositories around."""
    working = Path.cwd()
    around = [enclosing_repository(working)] + ([enclosing_repository(patch)] if str(patch) != STDIN else [])
    return list(dict.fromkeys([working, *(root for root in around if root is not None)]))
