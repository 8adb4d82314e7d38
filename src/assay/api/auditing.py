"""`assay.audit`, `assay.calibrate` and `assay.score`: a model and texts, by name or as values."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from assay import release
from assay.api.scores import Scores
from assay.datasets import DataSelection, Dataset, Texts, dataset_of
from assay.errors import DataError
from assay.evaluation import unseen_note
from assay.leakage import (
    Audit,
    AuditedTexts,
    AuditSettings,
    PlannedAudit,
    RequestedAudit,
    UnseenScores,
    audit_until_clear,
    check_names,
    check_texts,
    describe_run,
    facts_of,
    open_audit,
    report_cost,
    resolved,
    write_run,
)
from assay.models import ModelSettings
from assay.progress import warn
from assay.reports import write_html
from assay.run import PAGE, Run, begun, run_at
from assay.scoring import (
    Opener,
    Plan,
    ScoredSample,
    ScoreSelection,
    plan_scores,
    report_spending,
    reported,
    score_stream,
)
from assay.unseen import is_auto

NUMBERED = DataSelection(repeated="number")
"""Unseen text may come from several places that number their texts alike."""
RELEASE_TEST = "release.json"
"""File, inside the state of a run, of the test of a release: each test is logged, so that a run makes it once."""


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
        unseen: text of the same kind that the model has certainly not seen; `auto:YYYY-MM-DD` makes it from packages
            that are newer than that day. It supports "familiar".
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
    run, state = run_at(out, partial(Run, kind="audit")), None
    if run:
        run.refuse_finished()
        state = run.state
    selection, opener = ScoreSelection.named(scores), Opener(model_settings or ModelSettings())
    options, is_same_form = settings or AuditSettings(), same_form is not None
    # what costs nothing is checked first: settings, names, then texts, and only then a model
    options.check(unseen=unseen is not None, same_form=is_same_form, access=selection.access)
    request = RequestedAudit(model, options, selection, opener=opener, same_form=is_same_form)
    check_names(request)
    if options.download and not is_auto(unseen):
        raise DataError("--download is for --unseen auto: expected both")
    texts = _audited_texts(model, benchmark, others=(unseen, same_form), options=options)
    if options.release is not None:
        release.check_published(options.release, [sample.text for sample in texts.dataset.samples])
    outlook = check_texts(request, texts, shown=progress)
    # claimed before a model is loaded; what is refused from here on leaves no folder
    with begun(run, selection, options, opener.settings, **request.identity(texts)):
        if progress:
            outlook.report()
        plan, notes = plan_scores(selection, model, opener)
        report_spending(model, plan=plan, samples=texts.samples, settings=opener.settings)
        with reported(f"auditing {texts.dataset.name}", plan, shown=progress) as report:
            planned = PlannedAudit(request, texts, plan, notes=notes, blind=outlook.blind)
            inputs = open_audit(planned, state=state, progress=report)
            if progress:
                report_cost(inputs, texts)
            if options.release is not None:
                kept = state and state / RELEASE_TEST
                inputs = inputs.with_release(release.evidence_of_release(plan.target, options.release, kept=kept))
            result = audit_until_clear(inputs)
        # the record comes last, because it makes the run a finished one; see `assay.run`
        if run:
            record = run.record(resolved(texts, inputs), **facts_of(plan, texts.dataset))
            write_run(run.path, result, record, redact=options.redact)
            write_html(describe_run(run.path), run.path / PAGE)
            run.finish()
    return result


def _audited_texts(
    model: str, benchmark: Texts, others: tuple[Texts | None, Texts | None], options: AuditSettings
) -> AuditedTexts:
    """Return the benchmark and what it is compared with: `unseen`, or the text of the same form."""
    # one of them at most, see `AuditSettings.check`
    texts = next((data for data in others if data is not None), None)
    dataset, unseen, scores = dataset_of(benchmark), None, None
    if is_auto(texts):
        from assay.api.unseen import automatic_unseen  # noqa: PLC0415  slow to import

        has_parent = options.parent is not None
        unseen = automatic_unseen(str(texts), model, dataset, download=options.download, parent=has_parent)
    elif texts is not None:
        unseen = dataset_of(texts, NUMBERED)
    if options.calibration is not None:
        scores = UnseenScores.load(options.calibration)
    return AuditedTexts.of(dataset, unseen, scores)


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
    chosen = ScoreSelection.named(selection)
    specification = chosen.specification()
    opener = Opener(settings or ModelSettings())
    opener.check(model, *chosen.other_models())
    dataset = dataset_of(unseen, NUMBERED)
    run = run_at(out, partial(Run.beside, kind="calibration"))
    with begun(run, chosen, opener.settings, model=model, scores=specification, data=dataset.digest):
        plan, notes = plan_scores(chosen, model, opener)
        for note in (*dataset.notes, *notes, unseen_note(len(dataset.samples))):
            if note:
                warn(note)
        with reported(f"scoring {dataset.name}", plan, shown=progress) as report:
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
    # raises for an unknown score before a text is read
    selection.specification()
    opener.check(model, *selection.other_models())
    dataset = dataset_of(texts)
    plan, notes = plan_scores(selection, model, opener)
    for note in (*dataset.notes, *notes):
        warn(note)
    with reported(f"scoring {dataset.name}", plan, shown=progress) as report:
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
    with scored(model, texts=texts, selection=ScoreSelection.named(scores), opener=opener, progress=progress) as (
        dataset,
        plan,
        samples,
    ):
        names = tuple(request.name for request in plan.requests)
        rows = {sample.index: sample.scores for sample in samples}
    ids = tuple(sample.id for sample in dataset.samples)
    return Scores(
        model=plan.name,
        dataset=dataset.name,
        names=names,
        ids=ids,
        rows=tuple(rows[index] for index in range(len(dataset))),
    )
