"""`assay.audit`, `assay.calibrate` and `assay.score`: a model and texts, by name or as values."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

from assay.api.audit_settings import AuditSettings
from assay.api.planning import named_control, opened_control, plan_scores
from assay.api.scores import Scores
from assay.datasets import DataSelection, Dataset, RepeatedIds, read_dataset
from assay.errors import DataError, did_you_mean
from assay.evaluation import unseen_note
from assay.leakage import (
    Audit,
    AuditedTexts,
    AuditLabels,
    ComparisonData,
    UnseenScores,
    describe_run,
    headline_of,
    literature_of,
    report_cost,
    write_run,
)
from assay.leakage import audit as audit_samples
from assay.models import ModelSettings, display_name, gguf_note, gguf_of
from assay.progress import Phases, progress_bar, warn
from assay.reports import write_html
from assay.run import PAGE, Run
from assay.scores import ScoreRequest, dataset_requests, requests
from assay.scoring import Plan, ScoredSample, report_spending, score_stream
from assay.scoring.opening import Opener
from assay.scoring.selection import ScoreSelection
from assay.types import Sample

Texts = str | Path | Dataset | Sequence[Sample] | Callable[[], Dataset]
"""A benchmark's name, a file or folder, a data set that `assay.load` returned, samples, or a function that loads a data
set once the other arguments have been checked."""

PLANTED, TUNING = "planting", "fine-tuning"
"""Folders, inside the state of a run, of a training on planted doses, and for methods of the literature."""

_TEXTS_EXPECTED = (
    "expected a benchmark's name, a file, a folder, or samples such as assay.Sample('name', 'def f(x): ...')"
)


def audit(
    model: str,
    benchmark: Texts,
    *,
    unseen: Texts | None = None,
    same_form: Texts | None = None,
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
        unseen: text of the same kind that the model has certainly not seen. It supports "familiar".
        same_form: instead, such text of the same form: tasks of the benchmark that were kept private, or later ones. It
            supports "contaminated", and names tasks.
        scores: names with commas between them, a list (`one-pass`, `black`, `all`), or a `ScoreSelection`; None for the
            default list.
        settings: what the audit compares with, and how it decides.
        model_settings: how the models are opened.
        progress: show cost and progress.
        out: write the run folder, with the report, here; an unfinished run with the same settings is continued. A
            `Run` may be numbered, and may replace another run.

    Raises:
        NothingToCompare: there will be no verdict, and the setting `describe` is not set.
        AssayError: bad input; one line says what was received and what was expected.
    """
    options, selection = settings or AuditSettings(), _selection(scores)
    run = out if out is None or isinstance(out, Run) else Run(out, "audit")
    if run:
        run.refuse_finished()
    options.check(
        unseen=unseen is not None,
        same_form=same_form is not None,
        access=selection.access,
    )
    methods = dataset_requests(options.methods) if options.methods else ()
    specification = selection.specification()  # a misspelt score is reported before anything is loaded
    _check_primary(options.primary, requests(specification))
    opener = Opener(model_settings or ModelSettings())
    second = options.parent or options.control
    opener.check(model, *selection.other_models(), named_control(second))
    dataset = options.published(dataset_of(benchmark))
    others = unseen if same_form is None else same_form
    unseen_set = None if others is None else dataset_of(others, repeated="number")
    needs_unseen = not options.describe and not options.compares(unseen=others is not None)
    texts = AuditedTexts.of(dataset, unseen_set, needs_unseen=needs_unseen)
    if (foregone := texts.foregone) and not options.describe:
        warn(foregone)
    planted = options.planted()
    planted.check(model, texts, selection.access)
    unseen_scores = None if options.calibration is None else UnseenScores.load(Path(options.calibration))
    identity = {"model": model, "scores": specification, "same_form": same_form is not None, **texts.digests()}
    # claimed before a model is loaded; what is refused from here on leaves no folder
    with run.begun(selection, options, opener.settings, **identity) if run else nullcontext():
        plan, notes = plan_scores(selection, model, opener)
        report_spending(model, plan, texts.samples, opener.settings)
        if note := gguf_note(plan.target):
            notes = (*notes, note)
        _check_primary(options.primary, plan.requests)
        if unseen_scores is not None:
            unseen_scores.check(plan, Path(str(options.calibration)))
        facts, cache = facts_of(plan, dataset), opener.open_cache()
        with _reported(f"auditing {dataset.name}", plan, shown=progress) as report:
            contrast, control_notes = (
                opened_control(second, model, plan, selection, opener, parent=options.parent is not None)
                if texts.fresh
                else (None, ())
            )
            primary = options.primary or headline_of(plan.requests)
            headline = next(entry for entry in plan.requests if entry.name == primary)
            planting = planted.opened(
                plan, headline, texts, cache=cache, folder=run.state / PLANTED if run else None, progress=report
            )
            literature = literature_of(
                methods,
                plan,
                texts,
                cache=cache,
                rate=options.rate,
                seed=options.seed,
                folder=run.state / TUNING if run else None,
                progress=report,
            )
            if progress:
                report_cost(
                    plan,
                    texts.samples,
                    contrast,
                    literature,
                    power=None if same_form or contrast is None else texts.power(parent=options.parent is not None),
                )
            result = audit_samples(
                dataset.samples,
                plan,
                benchmark=dataset.name,
                comparison=ComparisonData(
                    unseen=texts.unseen,
                    unseen_source=texts.fresh.source if texts.fresh else "",
                    same_form=same_form is not None,
                    release=options.lot(plan.target, run.state if run else None),
                    calibration=unseen_scores,
                    control=contrast,
                    planting=planting,
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
            write_run(run.path, result, run.record(resolved, **facts), redact=options.redact)
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
        with _reported(f"scoring {dataset.name}", plan, shown=progress) as report:
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
    with _reported(f"scoring {dataset.name}", plan, shown=progress) as report:
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
def _reported(description: str, plan: Plan, *, shown: bool) -> Iterator[Phases | None]:
    """Show progress; when the block ends, report which rewritings were rejected, what stayed as it was, and why."""
    with progress_bar(description, shown=shown) as report:
        yield report
    for reason, count in sorted(plan.rewriter.counts.items(), key=lambda entry: -entry[1]):
        warn(f"rewritings by {plan.rewriter.name}: {count} {reason}")
