"""`assay.audit`, `assay.calibrate` and `assay.score`: a model and texts, by name or as values."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Literal

from assay.api.control import named_control, opened_control
from assay.api.estimating import report_spending
from assay.api.manifest import Stopwatch, manifest
from assay.api.opening import Opener
from assay.api.planting import PlantOptions, remove_state, with_progress
from assay.api.progress import inform, progress_bar, warn
from assay.api.scores import Scores
from assay.api.selection import ScoreSelection, Tier
from assay.datasets import DataSelection, Dataset, RepeatedIds, read_dataset
from assay.errors import DataError, did_you_mean
from assay.evaluation import check_unseen, unseen_note
from assay.leakage import (
    Audit,
    ComparisonData,
    DecisionSettings,
    RunFolder,
    Ties,
    UnseenScores,
    Weights,
    fit_all,
    headline_of,
    redacted,
    write_run,
)
from assay.leakage import audit as audit_samples
from assay.models import ModelSettings, gguf_note
from assay.reports import write_html
from assay.scores import ScoreRequest, requests
from assay.scoring import Plan, Rewriter, ScoredSample, score_stream
from assay.testbed import describe_run
from assay.types import Sample

PAGE = "report.html"

Texts = str | Path | Dataset | Sequence[Sample] | Callable[[], Dataset]
"""A benchmark's name, a file or folder, a data set that `assay.load` returned, samples, or a function that loads a data
set once the other arguments have been checked."""

_TEXTS_EXPECTED = (
    "expected a benchmark's name, a file, a folder, or samples such as assay.Sample('name', 'def f(x): ...')"
)


def audit(
    model: str,
    benchmark: Texts,
    *,
    unseen: Texts | None = None,
    calibration: Path | str | None = None,
    labelled: Texts | None = None,
    scores: str | None = None,
    access: Tier = "gray",
    variants: int = 0,
    variant_engine: str = "deterministic",
    variant_kinds: str = "function,variable",
    names_from: str | None = None,
    rename: Literal["all", "one"] = "all",
    reference: str | None = None,
    frequencies: Path | None = None,
    control: str | None = None,
    weights: Weights = "none",
    plant: Sequence[int] | None = None,
    plant_rate: float | None = None,
    primary: str | None = None,
    alpha: float = 0.05,
    ties: Ties = "strict",
    seed: int = 0,
    settings: ModelSettings | None = None,
    cache: bool = True,
    progress: bool = True,
    out: Path | str | RunFolder | None = None,
    force: bool = False,
    redact: bool = False,
) -> Audit:
    """Audit a model for a benchmark: scores of every sample, and what follows from them.

    Args:
        model: `builtin:small`, a folder, a hub id, a GGUF file, `vllm:ID` or `openai:MODEL@URL`.
        benchmark: what is audited.
        unseen: text of the same kind that the model has certainly not seen; it calibrates every score.
        calibration: instead of `unseen`, a file that `assay.calibrate` wrote.
        labelled: with black access, other texts of known membership, on which the fitted detectors are fitted.
        scores: names with commas between them, or a list (`one-pass`, `black`, `all`); None for the default list.
        access: "gray" for token probabilities, "black" for a model that only generates text.
        variants: rewritings of each sample for the scores that compare with them.
        variant_engine: "deterministic", or a model that follows instructions.
        variant_kinds: what a rewriting changes: function, variable, tests.
        names_from: source of new names: "dictionary", "synonyms", "self" for the audited model, or another model.
        rename: "all" names in each rewriting, as SrDetection does, or "one" in each.
        reference: second model, for scores of two models.
        frequencies: table of token frequencies for `dc_pdd`.
        control: negative control, a model that never saw the benchmark: the same audit of it shows whether a score
            reacts to the difference between the benchmark and the unseen text. None for `builtin:control` with gray
            access, "none" for no control.
        weights: weight p-values by how the texts differ: in "length", or in the scores of the "control".
        plant: state the power by planted doses: half of the unseen texts are trained on so many times in a copy of the
            model, `(1, 2, 4)` for example. None plants nothing.
        plant_rate: learning rate of that training; None for the default.
        primary: score of the headline; None for the declared one.
        alpha: nominal false-positive rate of calibrated decisions.
        ties: whether a paper's own rule counts a sample that equals its best variant.
        seed: of every resampling.
        settings: how the models are opened.
        cache: read and write the statistics cache.
        progress: show a progress bar on a terminal.
        out: write the run folder, with the report, here; an unfinished run with the same settings is continued. A
            `RunFolder` may be numbered, and brings its own `force`.
        force: replace a finished run in `out`, or one with other settings.
        redact: write digests instead of texts.

    Raises:
        AssayError: bad input; one line says what was received and what was expected.
    """
    watch = Stopwatch()
    folder = run_folder(out, force=force)
    if folder:
        folder.refuse_finished()
    _check_sources(unseen=unseen, calibration=calibration, labelled=labelled, access=access)
    decision = DecisionSettings(alpha=alpha, primary=primary, ties=ties, seed=seed, weights=weights)
    planted = PlantOptions.of(plant, plant_rate, seed)
    selection = ScoreSelection(
        scores, access, variants, variant_engine, variant_kinds, names_from, rename, reference, frequencies
    )
    specification = selection.specification()  # a misspelt score is reported before anything is loaded
    _check_primary(primary, requests(specification))
    opener = Opener(settings or ModelSettings(), cache)
    opener.check(model, *selection.other_models(), named_control(control))
    dataset, fresh, lessons = dataset_of(benchmark), _optional(unseen, repeated="number"), _optional(labelled)
    if fresh is not None:
        check_unseen(len(fresh))
    planted.check(model, dataset, fresh, access)
    unseen_scores = None if calibration is None else UnseenScores.load(Path(calibration))
    identity = {
        "model": model,
        "settings": opener.settings.deciding(),
        "data": dataset.digest,
        "unseen": fresh and fresh.digest,
        "labelled": lessons and lessons.digest,
        "calibration": calibration and str(calibration),
        "scores": specification,
        "access": access,
        "variants": (variant_engine, variant_kinds, names_from, rename),
        "reference": reference,
        "control": control,
        "frequencies": frequencies and str(frequencies),
        "decision": decision,
        "redacted": redact,
        **({"planted": planted} if plant else {}),
    }
    if folder:
        folder.check(identity)
    plan, notes = selection.plan(model, opener)
    if note := gguf_note(plan.models.get("target", plan.generator)):
        notes = (*notes, note)
    _check_primary(primary, plan.requests)
    contrast, control_notes = opened_control(control, model, selection, opener) if fresh is not None else (None, ())
    if unseen_scores is not None:
        unseen_scores.check(plan, Path(str(calibration)))
    report_spending(model, plan, [*dataset.samples, *(fresh.samples if fresh else ())], opener.settings)
    planting = None
    if plant and fresh is not None:
        headline = next(entry for entry in plan.requests if entry.name == (primary or headline_of(plan.requests)))
        planting = planted.opened(plan, headline, (dataset, fresh), opener, folder.path if folder else None)
    with begun(folder, identity) as continues:  # after all that can be refused
        if folder and not continues:
            remove_state(folder)
        learned = {}
        if lessons and plan.generator:
            judged = [*dataset.samples, *(fresh.samples if fresh else ())]
            learned = fit_all(lessons.samples, plan.generator, unlabelled=judged, seed=seed)
        with progress_bar(f"auditing {dataset.name}", shown=progress) as report, _rejections(plan.rewriter):
            result = audit_samples(
                dataset.samples,
                plan,
                benchmark=dataset.name,
                comparison=ComparisonData(
                    unseen=fresh.samples if fresh else (),
                    unseen_source=fresh.source if fresh else "",
                    calibration=unseen_scores,
                    learned=learned,
                    control=contrast,
                    planting=with_progress(planting, report),
                ),
                decision=decision,
                notes=(*dataset.notes, *(fresh.notes if fresh else ()), *notes, *control_notes),
                progress=report,
            )
    if folder:
        recorded = {
            "access": access,
            "variant_engine": plan.rewriter.name,
            "alpha": alpha,
            "ties": ties,
            "seed": seed,
            "unseen": fresh and fresh.source,
            "calibration": calibration and str(calibration),
            "labelled": lessons and lessons.source,
            "control": contrast and contrast.plan.name,
            "weights": weights,
            "plant": planting and {"doses": planting.doses, "rate": planting.rate},
        }
        written = redacted(result) if redact else result
        write_run(folder.path, written, manifest(plan, dataset, watch, recorded))
        folder.finish()
        remove_state(folder)
        write_html(describe_run(folder.path), folder.path / PAGE)
    return result


def calibrate(
    model: str,
    unseen: Texts,
    *,
    selection: ScoreSelection | str | None = None,
    settings: ModelSettings | None = None,
    cache: bool = True,
    progress: bool = True,
    out: Path | str | None = None,
) -> UnseenScores:
    """Score known-unseen text once, for later audits; the result holds scores and no text.

    Args:
        model: as `audit`.
        unseen: text that the model has certainly not seen, of the kind that will be audited.
        selection: the scores; names with commas between them, or a `ScoreSelection`.
        settings: how the model is opened.
        cache: read and write the statistics cache.
        progress: show a progress bar on a terminal.
        out: write the calibration file here.

    Raises:
        AssayError: bad input; one line.
    """
    chosen = _selection(selection)
    chosen.specification()
    opener = Opener(settings or ModelSettings(), cache)
    opener.check(model, *chosen.other_models())
    dataset = dataset_of(unseen, repeated="number")
    plan, notes = chosen.plan(model, opener)
    for note in (*dataset.notes, *notes, unseen_note(len(dataset.samples))):
        if note:
            warn(note)
    with progress_bar(f"scoring {dataset.name}", shown=progress) as report, _rejections(plan.rewriter):
        result = UnseenScores.measure(dataset.samples, plan, source=dataset.source, progress=report)
    if out is not None:
        result.save(Path(out))
    return result


@contextmanager
def scored(
    model: str,
    texts: Texts,
    selection: ScoreSelection,
    opener: Opener,
    *,
    progress: bool = True,
) -> Iterator[tuple[Dataset, Plan, Iterator[ScoredSample]]]:
    """Yield the data set, the plan and the scored samples, in input order, as they are computed."""
    selection.specification()
    opener.check(model, *selection.other_models())
    dataset = dataset_of(texts)
    plan, notes = selection.plan(model, opener)
    for note in (*dataset.notes, *notes):
        warn(note)
    with progress_bar(f"scoring {dataset.name}", shown=progress) as report, _rejections(plan.rewriter):
        yield dataset, plan, score_stream(dataset.samples, plan, progress=report)


def score(
    model: str,
    texts: Texts,
    scores: ScoreSelection | str | None = None,
    *,
    settings: ModelSettings | None = None,
    cache: bool = True,
    progress: bool = True,
) -> Scores:
    """Score texts under a model: one row per sample, in input order, higher = member.

    Args:
        model: as `audit`.
        texts: a benchmark's name, a file or folder, a data set, or samples.
        scores: names with commas between them, or a `ScoreSelection`.
        settings: how the model is opened.
        cache: read and write the statistics cache.
        progress: show a progress bar on a terminal.

    Raises:
        AssayError: bad input; one line.
    """
    opener = Opener(settings or ModelSettings(), cache)
    with scored(model, texts, _selection(scores), opener, progress=progress) as (dataset, plan, samples):
        names = tuple(request.name for request in plan.requests)
        rows = {sample.index: sample.scores for sample in samples}
    ids = tuple(sample.id for sample in dataset.samples)
    return Scores(plan.name, dataset.name, names, ids, tuple(rows[index] for index in range(len(dataset))))


def run_folder(out: Path | str | RunFolder | None, *, force: bool) -> RunFolder | None:
    """Return the run folder behind a path; None without one."""
    return out if out is None or isinstance(out, RunFolder) else RunFolder(Path(out), force=force)


@contextmanager
def begun(folder: RunFolder | None, settings: Mapping[str, object]) -> Iterator[bool]:
    """Begin a run in its folder, or continue an unfinished one with the same settings, and say so; yield True if so."""
    with folder.running(settings) if folder else nullcontext(False) as continues:
        if folder and continues:
            inform(f"continues the unfinished run in {folder.path}; what the cache holds is not computed again")
        yield continues


def dataset_of(texts: Texts, repeated: RepeatedIds = "refuse") -> Dataset:
    """Return the samples behind a name, a path, a function or values.

    Raises:
        DataError: they cannot be read, or are no samples.
    """
    if isinstance(texts, Dataset):
        return texts
    if isinstance(texts, str | Path):
        return read_dataset(texts, DataSelection(repeated=repeated))
    if callable(texts):
        return texts()
    if not isinstance(texts, Iterable):
        raise DataError(f"received {texts!r} for texts; {_TEXTS_EXPECTED}")
    samples = tuple(texts)
    for other in samples:
        if not isinstance(other, Sample):
            raise DataError(f"received texts that hold a {type(other).__name__}; {_TEXTS_EXPECTED}")
    return Dataset.of("samples", samples, source="samples")


def _optional(texts: Texts | None, repeated: RepeatedIds = "refuse") -> Dataset | None:
    return None if texts is None else dataset_of(texts, repeated)


def _selection(selection: ScoreSelection | str | None) -> ScoreSelection:
    return selection if isinstance(selection, ScoreSelection) else ScoreSelection(selection)


def _check_sources(*, unseen: object, calibration: object, labelled: object, access: Tier) -> None:
    if unseen is not None and calibration is not None:
        raise DataError("both --unseen and --calibration were given; expected one of them")
    if labelled is not None and access != "black":
        raise DataError("--labelled is for detectors that are fitted on generated text: expected --access black")


def _check_primary(primary: str | None, scores: Sequence[ScoreRequest]) -> None:
    names = [score.name for score in scores]
    if primary is not None and primary not in names:
        raise DataError(
            f"--primary {primary}: expected one of the requested scores, {', '.join(names)}"
            f"{did_you_mean(primary, names)}"
        )


@contextmanager
def _rejections(rewriter: Rewriter) -> Iterator[None]:
    """Report, when the block ends, which rewritings were rejected, what stayed as it was, and why."""
    yield
    for reason, count in sorted(rewriter.counts.items(), key=lambda entry: -entry[1]):
        warn(f"rewritings by {rewriter.name}: {count} {reason}")
