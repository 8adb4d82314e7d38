"""`assay.audit`, `assay.calibrate` and `assay.score`: a model and texts, by name or as values."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assay.api.audit_settings import AuditSettings
from assay.api.control import named_control, opened_control
from assay.api.estimating import report_cost, report_spending
from assay.api.opening import Opener
from assay.api.planning import plan_scores
from assay.api.planting import PLANTED, TUNING, PlantOptions, with_progress
from assay.api.scores import Scores
from assay.api.selection import ScoreSelection
from assay.datasets import DataSelection, Dataset, RepeatedIds, read_dataset
from assay.errors import DataError, NothingToCompare, did_you_mean
from assay.evaluation import GROUPS_FOR_INTERVAL, check_unseen, unseen_note
from assay.leakage import (
    Audit,
    AuditLabels,
    ComparisonData,
    UnseenScores,
    describe_run,
    fit_all,
    headline_of,
    redacted,
    without,
    write_run,
)
from assay.leakage import audit as audit_samples
from assay.models import CachedLogProbScorer, ModelSettings, display_name, gguf_note, gguf_of
from assay.progress import progress_bar, warn
from assay.reports import number_of, write_html
from assay.run import PAGE, Run
from assay.scores import DatasetRequest, ScoreRequest, dataset_requests, requests
from assay.scoring import Plan, Progress, Rewriter, ScoredSample, score_stream
from assay.types import MEMBER, NONMEMBER, Sample

if TYPE_CHECKING:
    from assay.leakage import Literature

Texts = str | Path | Dataset | Sequence[Sample] | Callable[[], Dataset]
"""A benchmark's name, a file or folder, a data set that `assay.load` returned, samples, or a function that loads a data
set once the other arguments have been checked."""

NO_VERDICT = (
    "there will be no verdict, because there is no text to compare with that the model has certainly not seen: "
    "expected --unseen DATA (`assay unseen build REPOSITORY… --like BENCHMARK` makes it), or --describe to see the "
    "scores alone"
)
_TEXTS_EXPECTED = (
    "expected a benchmark's name, a file, a folder, or samples such as assay.Sample('name', 'def f(x): ...')"
)


def audit(
    model: str,
    benchmark: Texts,
    *,
    unseen: Texts | None = None,
    labelled: Texts | None = None,
    scores: ScoreSelection | str | None = None,
    settings: AuditSettings | None = None,
    model_settings: ModelSettings | None = None,
    progress: bool = True,
    out: Path | str | Run | None = None,
) -> Audit:
    """Return the verdict on a benchmark, the share that looks trained on, and scores of every sample.

    Args:
        model: `builtin:small`, a folder, a hub id, a GGUF file, `vllm:ID` or `openai:MODEL@URL`.
        benchmark: what is audited.
        unseen: text of the same kind that the model has certainly not seen.
        labelled: with black access, other texts of known membership, on which the fitted detectors are fitted.
        scores: names with commas between them, a list (`one-pass`, `black`, `all`), or a `ScoreSelection`; None for the
            default list.
        settings: what the audit compares with, and how it decides.
        model_settings: how the models are opened.
        progress: show cost and progress.
        out: write the run folder, with the report, here; an unfinished run with the same settings is continued. A
            `Run` may be numbered, and may replace another run.

    Raises:
        NothingToCompare: there will be no verdict, and `settings.describe` is not set.
        AssayError: bad input; one line says what was received and what was expected.
    """
    options, selection = settings or AuditSettings(), _selection(scores)
    run = out if out is None or isinstance(out, Run) else Run(out, "audit")
    if run:
        run.refuse_finished()
    options.check(unseen=unseen is not None, labelled=labelled is not None, access=selection.access)
    planted = PlantOptions.of(options.plant or None, options.plant_rate, options.seed)
    methods = dataset_requests(options.methods) if options.methods else ()
    specification = selection.specification()  # a misspelt score is reported before anything is loaded
    _check_primary(options.primary, requests(specification))
    opener = Opener(model_settings or ModelSettings())
    opener.check(model, *selection.other_models(), named_control(options.control))
    texts = AuditedTexts.of(benchmark, unseen, labelled, options)
    if (foregone := texts.foregone) and not options.describe:
        warn(foregone)
    planted.check(model, texts.dataset, texts.fresh, selection.access)
    unseen_scores = None if options.calibration is None else UnseenScores.load(Path(options.calibration))
    identity = {"model": model, "scores": specification, **texts.digests()}
    # claimed before a model is loaded; what is refused from here on leaves no folder
    with run.begun(selection, options, opener.settings, **identity) if run else nullcontext():
        plan, notes = plan_scores(selection, model, opener)
        if note := gguf_note(plan.models.get("target", plan.generator)):
            notes = (*notes, note)
        _check_primary(options.primary, plan.requests)
        contrast, control_notes = (
            opened_control(options.control, model, selection, opener) if texts.fresh else (None, ())
        )
        if unseen_scores is not None:
            unseen_scores.check(plan, Path(str(options.calibration)))
        report_spending(model, plan, texts.samples, opener.settings)
        headline_name = options.primary or headline_of(plan.requests)
        headline = next(entry for entry in plan.requests if entry.name == headline_name)
        planting = planted.opened(
            plan, headline, (texts.dataset, texts.fresh), opener, run.state / PLANTED if run else None
        )
        learned = {}
        if texts.lessons and plan.generator:
            lessons = texts.lessons.samples
            learned = fit_all(lessons, plan.generator, unlabelled=texts.samples, seed=options.seed)
        with progress_bar(f"auditing {texts.dataset.name}", shown=progress) as report, _rejections(plan.rewriter):
            state = run.state / TUNING if run else None
            literature = literature_of(methods, plan, texts, opener, options, state=state, progress=report)
            if progress:
                report_cost(plan, texts.samples, contrast, literature)
            result = audit_samples(
                texts.dataset.samples,
                plan,
                benchmark=texts.dataset.name,
                comparison=ComparisonData(
                    unseen=texts.fresh.samples if texts.fresh else (),
                    unseen_source=texts.fresh.source if texts.fresh else "",
                    calibration=unseen_scores,
                    learned=learned,
                    control=contrast,
                    planting=with_progress(planting, report),
                    literature=literature,
                ),
                decision=options.decision(),
                labels=AuditLabels(
                    model=options.model_name or display_name(model),
                    notes=(*texts.notes, *notes, *control_notes),
                ),
                progress=report,
                phase=None if report is None else report.phase,
            )
        if run:
            resolved = {
                **texts.sources(),
                "variant_engine": plan.rewriter.name,
                "control": contrast and contrast.plan.name,
                "plant": planting and {"doses": planting.doses, "rate": planting.rate},
                "rate": literature and literature.model.rate_used,
            }
            record = run.record(resolved, **facts_of(plan, texts.dataset))
            write_run(run.path, redacted(result) if options.redact else result, record)
            write_html(describe_run(run.path), run.path / PAGE)
            run.finish()
    return result


def calibrate(
    model: str,
    unseen: Texts,
    *,
    selection: ScoreSelection | str | None = None,
    settings: ModelSettings | None = None,
    progress: bool = True,
    out: Path | str | Run | None = None,
) -> UnseenScores:
    """Score known-unseen text once, for later audits; the result holds scores and no text.

    Args:
        model: as `audit`.
        unseen: text that the model has certainly not seen, of the kind that will be audited.
        selection: the scores; names with commas between them, or a `ScoreSelection`.
        settings: how the model is opened.
        progress: show a progress bar on a terminal.
        out: write the calibration file here; an unfinished run with the same settings is continued.

    Raises:
        AssayError: bad input; one line.
    """
    chosen = _selection(selection)
    specification = chosen.specification()
    opener = Opener(settings or ModelSettings())
    opener.check(model, *chosen.other_models())
    dataset = dataset_of(unseen, repeated="number")
    run = out if out is None or isinstance(out, Run) else Run.beside(out, "calibration")
    identity = {"model": model, "scores": specification, "data": dataset.digest}
    with run.begun(chosen, opener.settings, **identity) if run else nullcontext():
        plan, notes = plan_scores(chosen, model, opener)
        for note in (*dataset.notes, *notes, unseen_note(len(dataset.samples))):
            if note:
                warn(note)
        with progress_bar(f"scoring {dataset.name}", shown=progress) as report, _rejections(plan.rewriter):
            result = UnseenScores.measure(dataset.samples, plan, source=dataset.source, progress=report)
        if run:
            result.save(run.result)
            run.finish()
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
    plan, notes = plan_scores(selection, model, opener)
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
    progress: bool = True,
) -> Scores:
    """Score texts under a model: one row per sample, in input order, higher = member.

    Args:
        model: as `audit`.
        texts: a benchmark's name, a file or folder, a data set, or samples.
        scores: names with commas between them, or a `ScoreSelection`.
        settings: how the model is opened.
        progress: show a progress bar on a terminal.

    Raises:
        AssayError: bad input; one line.
    """
    opener = Opener(settings or ModelSettings())
    with scored(model, texts, _selection(scores), opener, progress=progress) as (dataset, plan, samples):
        names = tuple(request.name for request in plan.requests)
        rows = {sample.index: sample.scores for sample in samples}
    ids = tuple(sample.id for sample in dataset.samples)
    return Scores(plan.name, dataset.name, names, ids, tuple(rows[index] for index in range(len(dataset))))


def facts_of(plan: Plan, dataset: Dataset) -> dict[str, object]:
    """Return what the record of a run says of its models, its texts and its scores."""
    files = {role: gguf_of(plan.models.get(role, plan.generator)) for role in plan.digests}
    return {
        "models": {
            role: {"name": name, "digest": digest} | ({} if (file := files[role]) is None else file.facts())
            for role, (name, digest) in plan.digests.items()
        },
        "data": {
            "name": dataset.name,
            "source": dataset.source,
            "digest": dataset.digest,
            "samples": len(dataset.samples),
        },
        "scores": [request.name for request in plan.requests],
    }


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


@dataclass(frozen=True, slots=True)
class AuditedTexts:
    """The texts of an audit, read and checked before a model is opened.

    Attributes:
        dataset: the benchmark.
        fresh: unseen text that is not in the benchmark; None without any.
        lessons: other texts of known membership, to fit detectors on; None without any.
        overlap: a note where unseen texts were in the benchmark.
    """

    dataset: Dataset
    fresh: Dataset | None
    lessons: Dataset | None
    overlap: tuple[str, ...]

    @classmethod
    def of(
        cls, benchmark: Texts, unseen: Texts | None, labelled: Texts | None, options: AuditSettings
    ) -> "AuditedTexts":
        """Read the texts.

        Raises:
            NothingToCompare: there will be no verdict.
            DataError: a text cannot be read, or there are too few.
        """
        dataset, fresh = dataset_of(benchmark), None
        overlap: tuple[str, ...] = ()
        if unseen is not None:
            unseen_set = dataset_of(unseen, repeated="number")
            kept, overlap = without(unseen_set.samples, dataset.samples)
            check_unseen(len(kept))
            fresh = Dataset.of(unseen_set.name, kept, source=unseen_set.source, notes=unseen_set.notes)
        elif options.calibration is None and not options.describe and not _is_labelled(dataset):
            raise NothingToCompare(f"{dataset.name}: {NO_VERDICT}")
        lessons = None if labelled is None else dataset_of(labelled)
        return cls(dataset, fresh, lessons, overlap)

    @property
    def samples(self) -> list[Sample]:
        """The benchmark, then the unseen text."""
        return [*self.dataset.samples, *(self.fresh.samples if self.fresh else ())]

    @property
    def foregone(self) -> str | None:
        """Why these texts admit no verdict, whatever the model does; None where they may."""
        if self.fresh is None or _is_labelled(self.dataset):
            return None
        for side, samples, advice in (
            ("benchmark", self.dataset.samples, "audit more of it"),
            ("unseen text", self.fresh.samples, "add text of other projects"),
        ):
            # a sample without a group is one by itself
            count = len({("sample", s.id) if s.group is None else ("group", s.group) for s in samples})
            if count < GROUPS_FOR_INTERVAL:
                return (
                    f"there will be no verdict: the {side} is of {number_of(count, 'group')}, expected at least "
                    f"{GROUPS_FOR_INTERVAL}; {advice}"
                )
        return None

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what a reader needs to know of the texts."""
        return (*self.dataset.notes, *(self.fresh.notes if self.fresh else ()), *self.overlap)

    def digests(self) -> dict[str, object]:
        """Return the texts as the identity of a run holds them."""
        return {
            "data": self.dataset.digest,
            "unseen": self.fresh and self.fresh.digest,
            "labelled": self.lessons and self.lessons.digest,
        }

    def sources(self) -> dict[str, object]:
        """Return the texts as the manifest of a run names them."""
        return {"unseen": self.fresh and self.fresh.source, "labelled": self.lessons and self.lessons.source}


def literature_of(
    methods: Sequence[DatasetRequest],
    plan: Plan,
    texts: AuditedTexts,
    opener: Opener,
    options: AuditSettings,
    *,
    state: Path | None,
    progress: Progress | None,
) -> "Literature | None":
    """Return the methods of the literature with the audited model as they use it; None without methods.

    Raises:
        MissingCapability: a method needs weights or hidden states, and the model shows none.
    """
    if not methods:
        return None
    from assay.leakage import Literature, MeasuredModel, TuningOptions  # noqa: PLC0415  they import torch

    scorer = plan.models["target"]
    measured = MeasuredModel(
        scorer.scorer if isinstance(scorer, CachedLogProbScorer) else scorer,
        texts.dataset.samples,
        texts.fresh.samples if texts.fresh else (),
        tuning=TuningOptions(rate=options.rate, seed=options.seed, folder=state),
        cache=opener.open_cache(),
        frequencies=plan.frequencies,
        progress=progress,
    )
    literature = Literature(measured, methods)
    literature.work()  # what this model cannot give is refused before anything runs
    return literature


def _is_labelled(dataset: Dataset) -> bool:
    """Return True if the samples are known to be seen and never seen."""
    labels = {sample.label for sample in dataset.samples}
    doses = {sample.metadata.get("dose") for sample in dataset.samples}
    return {MEMBER, NONMEMBER} <= labels or (0 in doses and len(doses) > 1)


def _selection(selection: ScoreSelection | str | None) -> ScoreSelection:
    return selection if isinstance(selection, ScoreSelection) else ScoreSelection(selection)


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
