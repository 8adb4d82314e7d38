"""Power by planted doses: which texts are planted, what that costs, and the model that is tuned."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assay.api.opening import Opener
from assay.datasets import Dataset
from assay.errors import DataError, MissingCapability
from assay.leakage import PLANTED_RATE, Planting, check_doses, plot_of
from assay.models import CachedScorer, is_remote
from assay.progress import inform
from assay.scores import ScoreRequest, View
from assay.scoring import Plan, Progress
from assay.types import MEMBER, NONMEMBER

PLANTED, TUNING = "planting", "fine-tuning"
"""Folders, inside the state of a run, of a training on planted doses, and for methods of the literature."""


@dataclass(frozen=True, slots=True)
class PlantOptions:
    """Doses that are planted in a copy of the audited model.

    Attributes:
        doses: times that a planted text is trained on; none plants nothing.
        rate: learning rate; None for the default.
        seed: which texts are planted, and the order of the training.
    """

    doses: tuple[int, ...] = ()
    rate: float | None = None
    seed: int = 0

    @classmethod
    def of(cls, doses: Sequence[int] | None, rate: float | None, seed: int) -> "PlantOptions":
        """Return the options that `--plant` and `--plant-rate` give.

        Args:
            doses: in any order; None plants nothing.
            rate: learning rate, above 0 and at most 1; None for the default.
            seed: which texts are planted, and the order of the training.

        Raises:
            DataError: the doses are not different whole numbers from 1, the rate is out of range, or there is a rate
                without doses.
        """
        if doses is None:
            if rate is not None:
                raise DataError("--plant-rate is for planted doses: expected --plant 1,2,4 as well")
            return cls()
        if rate is not None and not 0 < rate <= 1:
            raise DataError(f"--plant-rate {rate:g}: expected a number above 0, at most 1")
        return cls(check_doses(doses), rate, seed)

    def check(self, model: str, dataset: Dataset, unseen: Dataset | None, access: str) -> None:
        """Check, before a model is opened, that texts can be planted.

        Raises:
            DataError: there are no unseen texts, or too few, or the benchmark has labels.
            MissingCapability: the model only generates text, or is behind a server.
        """
        if not self.doses:
            return
        if is_remote(model):
            raise _without_weights(model)
        if access != "gray":
            raise MissingCapability(
                "--plant trains a copy of the model: expected --access gray and a model with weights"
            )
        if unseen is None:
            raise DataError("--plant trains on a part of the unseen texts: expected --unseen DATA")
        if any(sample.label in (MEMBER, NONMEMBER) for sample in dataset.samples):
            raise DataError(f"--plant states the power of a verdict without labels; {dataset.name} has labels")
        plot_of(unseen.samples, self.doses, seed=self.seed)

    def opened(
        self,
        plan: Plan,
        primary: ScoreRequest,
        sides: tuple[Dataset, Dataset | None],
        opener: Opener,
        folder: Path | None,
    ) -> Planting | None:
        """Return the model that is tuned and its settings, and print the cost; None where nothing is planted.

        Args:
            plan: of the audit.
            primary: score of the headline.
            sides: the benchmark and the unseen texts.
            opener: of the models.
            folder: of the state of the training; None keeps none.

        Raises:
            MissingCapability: the model does not show its weights, or the score takes more than one pass.
        """
        unseen = sides[1]
        if not self.doses or unseen is None:
            return None
        from assay.models import TransformersModel  # noqa: PLC0415  it imports torch

        scorer = plan.models["target"]
        model = scorer.scorer if isinstance(scorer, CachedScorer) else scorer
        if not isinstance(model, TransformersModel) or not isinstance(scorer, CachedScorer | TransformersModel):
            raise _without_weights(plan.name)
        if set(primary.definition.views.values()) != {View()} or primary.variants:
            raise MissingCapability(
                f"--plant takes a headline score of one pass, such as mid_pit; received {primary.name} (--primary)"
            )
        fresh = unseen.samples
        exposures = plot_of(fresh, self.doses, seed=self.seed).exposures
        inform(
            f"planted doses: {exposures:,} training passes, each about three forward passes, and {len(fresh):,} "
            f"forward passes, beside {len(sides[0]) + len(fresh):,} of the audit"
        )
        return Planting(
            model=model,
            scorer=scorer,
            doses=self.doses,
            rate=PLANTED_RATE if self.rate is None else self.rate,
            seed=self.seed,
            cache=opener.open_cache(),
            folder=folder,
        )


def _without_weights(model: str) -> MissingCapability:
    return MissingCapability(
        f"--plant trains a copy of the model, and {model} does not show its weights: expected a model folder, a hub "
        "id, a GGUF file or a built-in model; without --plant the report states the power from the scores alone"
    )


def with_progress(planting: Planting | None, report: Progress | None) -> Planting | None:
    """Return the same planting, whose training moves a progress bar."""
    if planting is None or report is None:
        return planting
    return replace(planting, progress=lambda record, steps: report(int(record["step"]), steps))
