"""The negative control of an audit or of a judgement: which model it is, and how it is opened."""

from assay.api.opening import Opener
from assay.api.planning import plan_scores
from assay.api.selection import ScoreSelection
from assay.errors import DataError
from assay.ground_truth import trained_texts
from assay.leakage import Control
from assay.models import default_control

NO_CONTROL = "none"


def named_control(name: str | None) -> str | None:
    """Return the model that a user named as negative control; None for none, or for the default."""
    return None if name == NO_CONTROL else name


def opened_control(
    name: str | None, audited: str, selection: ScoreSelection, opener: Opener
) -> tuple[Control | None, tuple[str, ...]]:
    """Open the negative control.

    Args:
        name: a model; None for the default one, "none" for no control.
        audited: name of the audited model.
        selection: the scores of the audit.
        opener: opens models.

    Returns:
        The control, and a note where it is not the one that a reader would expect. None where there is no control.

    Raises:
        DataError: the named control is the audited model.
    """
    if name == NO_CONTROL or (name is None and selection.access == "black"):
        return None, ()
    if name == audited:
        raise DataError(f"--control {name} is the audited model itself; expected one that never saw the benchmark")
    chosen = name or default_control(audited)
    plan = plan_scores(selection.for_control(), chosen, opener.of_other_model())[0]
    trained = trained_texts(chosen)
    notes = (
        () if name or chosen == default_control() else (f"{audited} is audited itself, so {chosen} is the control.",)
    )
    return Control(plan, None if trained is None else trained.contain), notes
