"""The settings of an audit, what it compares with and how it decides, and those of a report of finished runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from assay.errors import DataError, MissingCapability
from assay.settings import Setting, Settings

NO_CONTROL = "none"
"""In place of the name of a control: none is asked."""

LARGEST_RATE = 1e6
"""Learning rate above which weights are no longer finite after a few steps, whatever the model."""
MOST_DOSES, LARGEST_DOSE = 8, 100


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSettings(Settings):
    """Settings of an audit, beside its texts, its scores and its models."""

    PANEL: ClassVar[str] = "Verdict"
    control: Annotated[
        str | None,
        Setting(
            "Negative control: a model that saw neither the benchmark nor the unseen text. It shows whether a score "
            "reacts to their difference. Default: `builtin:control`.",
            metavar="MODEL|none",
            completes="models",
        ),
    ] = None
    parent: Annotated[
        str | None,
        Setting(
            "The model that it was trained from, if older than the benchmark: the better control.",
            metavar="MODEL",
            common=True,
            completes="models",
        ),
    ] = None
    release: Annotated[
        Path | None,
        Setting(
            "Secret file of the release that the benchmark is of: adds an exact test, logged there, that names tasks.",
            metavar="SECRET",
            common=True,
        ),
    ] = None
    calibration: Annotated[
        Path | None, Setting("Instead of --unseen: a file of `assay calibrate`.", metavar="FILE")
    ] = None
    describe: Annotated[bool, Setting("Go on even if no verdict can be expected.", common=True, decides=False)] = False
    methods: Annotated[
        str,
        Setting(
            "Methods of the literature too: kds, fsd, srct, mean:SCORE, codec, di, permutation_test; `all`, `default`.",
            metavar="a,b:k=v,…",
            common=True,
            completes="methods",
        ),
    ] = ""
    plant: Annotated[
        tuple[int, ...],
        Setting(
            "State the power by planted doses: train a copy of the model on half of the unseen texts, so many times.",
            metavar="1,2,4",
        ),
    ] = ()
    allow_confounded: Annotated[
        bool,
        Setting("Decide although the result may have another cause than training. Every output says so."),
    ] = False
    download: Annotated[
        bool, Setting("With --unseen auto: packages may be downloaded by pip; no code of them is run.", decides=False)
    ] = False
    whole: Annotated[
        bool,
        Setting("Score every text. Else the test is made at 40, 80, 160 … tasks, and ends where the answer is clear."),
    ] = False
    primary: Annotated[
        str | None,
        Setting("Score of the verdict, instead of the declared one.", metavar="SCORE", completes="score"),
    ] = None
    weights: Annotated[
        Literal["none", "length", "control"],
        Setting("Weight p-values by how the texts differ: in length, or in the scores of the control."),
    ] = "none"
    ties: Annotated[
        Literal["strict", "inclusive"],
        Setting("Does a paper's own rule count a sample that equals its best variant?"),
    ] = "strict"
    rate: Annotated[
        float | None,
        Setting(
            "Learning rate of a fine-tuning for --methods. Default: the rate at which embeddings of the unseen text "
            "change by a thousandth.",
            metavar="NUMBER",
        ),
    ] = None
    plant_rate: Annotated[float | None, Setting("Learning rate of --plant (.001).", metavar="NUMBER")] = None
    model_name: Annotated[
        str | None, Setting("Name of the model for people (the last part of its path).", metavar="NAME")
    ] = None
    redact: Annotated[bool, Setting("Write ids, digests and values, but no texts.")] = False
    seed: Annotated[int, Setting("Seed of every random draw.", least=0, metavar="N")] = 0

    def __post_init__(self) -> None:
        """Check what needs neither data nor a model."""
        Settings.__post_init__(self)
        if self.parent is not None and self.control is not None:
            raise DataError("both --control and --parent were given; expected one of them")
        if self.rate is not None and not 0 < self.rate <= LARGEST_RATE:
            raise DataError(f"--rate {self.rate:g}: expected a number above 0 and at most {LARGEST_RATE:g}")
        if self.rate is not None and not self.methods:
            raise DataError("--rate is for methods that fine-tune: expected --methods kds, for example")
        # the permutation test, whose power doses state, has no weights
        if self.plant and self.weights != "none":
            raise DataError("--plant states the power of the test without weights: expected --weights none")

    def check(self, *, unseen: bool, same_form: bool, access: str) -> None:
        """Check the settings against the rest of the arguments, before anything is loaded.

        Raises:
            DataError: they contradict each other, or doses or a rate are out of range.
            MissingCapability: methods of the literature need token probabilities.
        """
        comparisons = {"--unseen": unseen, "--same-form": same_form, "--calibration": self.calibration is not None}
        named = [name for name, present in comparisons.items() if present]
        # each is the same role; with two nobody could say which one the verdict rests on
        if len(named) > 1:
            raise DataError(f"both {' and '.join(named)} were given; expected one of them")
        if not unseen and not same_form:
            self._check_second_model()
        if self.parent is not None and access == "black":
            raise MissingCapability("--parent needs token probabilities: expected --access gray")
        if self.methods and access == "black":
            raise MissingCapability("--methods needs token probabilities: expected --access gray")
        if self.plant:
            check_doses(self.plant)
        elif self.plant_rate is not None:
            raise DataError("--plant-rate is for planted doses: expected --plant 1,2,4 as well")
        if self.plant_rate is not None and not 0 < self.plant_rate <= 1:
            raise DataError(f"--plant-rate {self.plant_rate:g}: expected a number above 0, at most 1")

    def _check_second_model(self) -> None:
        """Refuse what needs unseen text where there is none; a calibration file holds scores alone."""
        # without any of these the audit ends by itself, and says what is missing
        if not self.describe and self.calibration is None and self.release is None:
            return
        used = {
            "--parent": self.parent is not None,
            "--control": self.control not in (None, NO_CONTROL),
            "--weights": self.weights != "none",
        }
        for option in compress(used, used.values()):
            raise DataError(f"{option} is for unseen text: expected --unseen DATA or --same-form DATA as well")

    def compares(self, *, unseen: bool) -> bool:
        """Return True if there is unseen text, a file with scores of such text, or a release to compare with."""
        return unseen or self.calibration is not None or self.release is not None


def check_doses(doses: Sequence[int]) -> None:
    """Check planted doses.

    Raises:
        DataError: there are none or too many, or a dose is below 1, too large, or given twice.
    """
    ordered, listed = sorted(doses), ",".join(map(str, doses))
    if not ordered or ordered[0] < 1 or len(set(ordered)) < len(ordered):
        raise DataError(f"doses {listed}: expected whole numbers from 1, each once, such as 1,2,4")
    if len(ordered) > MOST_DOSES or ordered[-1] > LARGEST_DOSE:
        raise DataError(f"doses {listed}: expected at most {MOST_DOSES}, none above {LARGEST_DOSE}")


ComparedFigure = Literal["verdict", "share", "flagged", "discoveries", "auroc", "coverage"]


@dataclass(frozen=True, slots=True)
class ReportSettings(Settings):
    """Parts of finished runs that are printed."""

    statement: Annotated[
        bool,
        Setting("Write a contamination statement for a paper, a model card or a leaderboard.", common=True),
    ] = False
    figure: Annotated[ComparedFigure | None, Setting("Figure in which runs are compared (verdict).", common=True)] = (
        None
    )
    score: Annotated[
        str | None,
        Setting("Score to compare runs by (each run's own).", metavar="SCORE", common=True, completes="score"),
    ] = None
