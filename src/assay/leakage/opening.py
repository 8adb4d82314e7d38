"""An audit as a user asks for it: its names are checked before anything is read, and then its models are opened."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import DataError, NothingToCompare, did_you_mean
from assay.evaluation import BlindBaseline
from assay.ground_truth import trained_texts
from assay.leakage.inputs import AuditInputs, AuditLabels, ComparisonData, DecisionSettings, headline_of
from assay.leakage.negative_control import Control
from assay.leakage.outlook import Outlook, closed_ways, outlook_of
from assay.leakage.settings import NO_CONTROL, AuditSettings
from assay.leakage.texts import AuditedTexts
from assay.models import default_control, display_name, gguf_note
from assay.progress import Phases, inform
from assay.scores import ScoreRequest, dataset_requests, requests
from assay.scoring import Opener, Plan, ScoreSelection, plan_scores

if TYPE_CHECKING:
    from assay.leakage.literature import Literature
    from assay.leakage.planting import Planting

PLANTED, TUNING = "planting", "fine-tuning"
"""Folders, inside the state of a run, of a training on planted doses, and for methods of the literature."""


@dataclass(frozen=True, slots=True)
class RequestedAudit:
    """An audit that a user asks for.

    Attributes:
        model: name of the audited model.
        settings: what it compares with, and how it decides.
        selection: the scores.
        opener: opens models.
        same_form: the unseen text has the form of the benchmark.
    """

    model: str
    settings: AuditSettings
    selection: ScoreSelection
    opener: Opener
    same_form: bool = False

    @property
    def control(self) -> str | None:
        """The parent or the negative control by name; "none" for no control, None for the default one."""
        return self.settings.parent or self.settings.control

    @property
    def score(self) -> str:
        """Name of the score of the verdict."""
        return self.settings.primary or headline_of(requests(self.selection.specification()))

    def identity(self, texts: AuditedTexts) -> dict[str, object]:
        """Return what can change a value of the run beside the settings."""
        scores = self.selection.specification()
        return {"model": self.model, "scores": scores, "same_form": self.same_form, **texts.digests()}


def check_names(request: RequestedAudit) -> None:
    """Check methods, scores and models by name, before anything is loaded.

    Raises:
        AssayError: one of them does not exist.
    """
    if request.settings.methods:
        dataset_requests(request.settings.methods)
    check_primary(request.settings.primary, requests(request.selection.specification()))
    control = None if request.control == NO_CONTROL else request.control
    request.opener.check(request.model, *request.selection.other_models(), control)


def check_primary(primary: str | None, scores: Sequence[ScoreRequest]) -> None:
    """Check that the score of the verdict is among the requested ones.

    Raises:
        DataError: it is not.
    """
    names = [score.name for score in scores]
    if primary is not None and primary not in names:
        raise DataError(
            f"--primary {primary}: expected one of the requested scores, {', '.join(names)}"
            f"{did_you_mean(primary, names)}"
        )


def check_texts(request: RequestedAudit, texts: AuditedTexts, *, shown: bool = True) -> Outlook:
    """Return what an audit of the texts can decide.

    Args:
        request: the audit.
        texts: the benchmark and what it is compared with.
        shown: print what would settle the question where this audit cannot.

    Raises:
        NothingToCompare: there will be no verdict, whatever the model does, and no description is asked for.
        AssayError: doses cannot be planted in them.
    """
    outlook = outlook_of(request, texts)
    if request.settings.plant:
        from assay.leakage.planting import check_planting  # noqa: PLC0415  it imports the training

        check_planting(request.model, texts, request.settings, access=request.selection.access)
    # where the audit goes on its caller prints the ways, once the run folder is claimed
    if outlook.foregone is not None and not request.settings.describe:
        if shown:
            # no report follows that would have them
            for note in texts.notes:
                inform(note)
            outlook.report()
        raise NothingToCompare(outlook.foregone)
    return outlook


@dataclass(frozen=True, slots=True, eq=False)
class PlannedAudit:
    """An audit whose scores can be computed.

    Attributes:
        request: what is asked for.
        texts: the benchmark and the unseen text.
        plan: of the scores.
        notes: what a reader needs to know of the plan.
        blind: see `Outlook`.
    """

    request: RequestedAudit
    texts: AuditedTexts
    plan: Plan
    notes: tuple[str, ...]
    blind: BlindBaseline | None = None

    def check(self) -> None:
        """Check that the plan has the score of the verdict, and what the calibration file was measured with.

        Raises:
            DataError: it has not.
        """
        settings = self.request.settings
        # once more: a list of scores may have left some out that this model cannot give
        check_primary(settings.primary, self.plan.requests)
        if self.texts.calibration is not None:
            self.texts.calibration.check(self.plan, Path(str(settings.calibration)))


def open_audit(planned: PlannedAudit, *, state: Path | None = None, progress: Phases | None = None) -> AuditInputs:
    """Open what the benchmark is compared with: the control, the planted copy, and methods of the literature.

    Args:
        planned: the audit.
        state: folder that keeps the state of trainings; None keeps none.
        progress: called after every batch.

    Raises:
        AssayError: a model cannot be opened, or cannot give what is asked of it.
    """
    texts, plan, settings = planned.texts, planned.plan, planned.request.settings
    planned.check()
    # a calibration file has no texts that a control could score
    control, control_notes = opened_control(planned) if texts.fresh else (None, ())
    return AuditInputs(
        samples=texts.dataset.samples,
        plan=plan,
        benchmark=texts.dataset.name,
        comparison=ComparisonData(
            unseen=texts.unseen,
            unseen_source=texts.fresh.source if texts.fresh else "",
            same_form=planned.request.same_form,
            blind=planned.blind,
            calibration=texts.calibration,
            control=control,
            planting=_planting(planned, state=state, progress=progress),
            literature=_literature(planned, state=state, progress=progress),
            closed=closed_ways(planned.request, texts),
        ),
        decision=DecisionSettings(
            primary=settings.primary,
            ties=settings.ties,
            seed=settings.seed,
            weights=settings.weights,
            allow_confounded=settings.allow_confounded,
            whole=settings.whole,
        ),
        labels=AuditLabels(
            model=settings.model_name or display_name(planned.request.model),
            notes=(*texts.notes, *planned.notes, *filter(None, [gguf_note(plan.target)]), *control_notes),
        ),
        progress=progress,
        phase=None if progress is None else progress.phase,
    )


def opened_control(planned: PlannedAudit) -> tuple[Control | None, tuple[str, ...]]:
    """Open the negative control.

    Returns:
        The control, and a note where it is not the one that a reader would expect. None where there is no control.

    Raises:
        DataError: the named control is the audited model.
    """
    request = planned.request
    name, audited = request.control, request.model
    if name == NO_CONTROL or (name is None and request.selection.access == "black"):
        return None, ()
    chosen, is_parent = name or default_control(audited), request.settings.parent is not None
    own = plan_scores(request.selection.for_control(), chosen, request.opener.of_other_model())[0]
    # by digest: a copy of the model under another name says just as little
    if name == audited or own.digests.get("target", ("", ""))[1] == planned.plan.digests.get("target", ("", None))[1]:
        option = "--parent" if is_parent else "--control"
        raise DataError(f"{option} {chosen} is the audited model itself; expected one that never saw the benchmark")
    trained = trained_texts(chosen)
    notes: tuple[str, ...] = ()
    # the default control was itself to be audited
    if name is None and chosen != default_control():
        notes = (f"{audited} is audited itself, so {chosen} is the control.",)
    return Control(own, None if trained is None else trained.contain, is_parent), notes


def _planting(planned: PlannedAudit, *, state: Path | None, progress: Phases | None) -> "Planting | None":
    if not planned.request.settings.plant:
        return None
    from assay.leakage.planting import open_planting  # noqa: PLC0415  it imports the training

    return open_planting(
        planned.request.settings,
        planned.plan,
        planned.texts,
        cache=planned.request.opener.open_cache(),
        folder=state and state / PLANTED,
        progress=progress,
    )


def _literature(planned: PlannedAudit, *, state: Path | None, progress: Phases | None) -> "Literature | None":
    settings = planned.request.settings
    if not settings.methods:
        return None
    from assay.leakage.literature import literature_of  # noqa: PLC0415  these import torch
    from assay.leakage.measured_model import TuningOptions  # noqa: PLC0415

    return literature_of(
        dataset_requests(settings.methods),
        planned.plan,
        planned.texts,
        tuning=TuningOptions(rate=settings.rate, seed=settings.seed, folder=state and state / TUNING),
        cache=planned.request.opener.open_cache(),
        progress=progress,
    )


def resolved(texts: AuditedTexts, inputs: AuditInputs) -> dict[str, object]:
    """Return the settings of an audit as they were used, for the manifest of its run."""
    comparison, values = inputs.comparison, texts.sources()
    values["variant_engine"] = inputs.plan.rewriter.name
    values["control"] = comparison.control and comparison.control.plan.name
    values["plant"] = comparison.planting and {"doses": comparison.planting.doses, "rate": comparison.planting.rate}
    # a rate that is searched is known only now that the methods ran
    values["rate"] = comparison.literature and comparison.literature.model.rate_used
    return values
