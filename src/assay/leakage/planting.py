"""Power by planted doses: unseen texts are trained on once, twice … in a copy of the model, and then audited.

Half of the unseen texts, by group, are planted: each gets a dose by lot, and some of them none. LoRA weights are
trained on them and taken off again, so neither the model in memory nor the files of the model change. The other half
calibrates under the tuned model. How far texts of a dose stand out from it says how large a leak of that dose the test
of the benchmark reveals, after its allowance for familiar projects.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from assay.errors import DataError, MissingCapability
from assay.evaluation import (
    MINIMUM_UNSEEN,
    Effect,
    UnseenTail,
    conformal_p_values,
    flag_rate,
)
from assay.leakage.contrasting import ALPHA
from assay.leakage.inputs import headline_of
from assay.leakage.results import BEYOND, PlantedDose, PlantedPower
from assay.leakage.settings import AuditSettings
from assay.leakage.texts import AuditedTexts, groups_of, is_labelled
from assay.leakage.unseen_test import Compared
from assay.leakage.verdict import Evidence, comparability, unfit_score
from assay.models import CachedScorer, StatisticsCache, is_remote
from assay.progress import inform
from assay.scores import FrequencyTable, ScoreRequest, View
from assay.scoring import Plan, Progress
from assay.training import TrainingSettings
from assay.types import Float64Array, Int64Array, Sample, TokenScorer, texts_of

if TYPE_CHECKING:  # these import torch, and an audit of a server has none
    from assay.models import TransformersModel
    from assay.training import TrainingProgress

PLANTED_RATE = 1e-3
SETTINGS = TrainingSettings(
    method="lora",
    optimiser="adamw",
    rate=PLANTED_RATE,
    batch=4,
    epochs=1,
    checkpoints=(1,),
    warm_up=4,
    rank=16,
    alpha=32,
)
POWER = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Planting:
    """Settings of planted doses, and the model that is tuned.

    Attributes:
        model: the audited one, opened from its weights.
        scorer: the same, behind the cache or not.
        doses: times that a planted text is trained on.
        rate: learning rate.
        seed: which texts are planted, and the order of the training.
        cache: of statistics under the tuned model; None keeps nothing.
        folder: keeps the state of the training, so that a killed one continues; None keeps nothing.
        progress: called after each step of the training.
    """

    model: "TransformersModel"
    scorer: TokenScorer
    doses: tuple[int, ...]
    rate: float = PLANTED_RATE
    seed: int = 0
    cache: StatisticsCache | None = None
    folder: Path | None = None
    progress: "TrainingProgress | None" = None


@dataclass(frozen=True, slots=True)
class Plot:
    """The unseen texts, divided.

    Attributes:
        planted: places of the texts of the planted groups.
        doses: int64 [planted], 0 for a text that is not trained on.
        held_out: places of the texts that calibrate.
    """

    planted: Int64Array
    doses: Int64Array
    held_out: Int64Array

    @property
    def exposures(self) -> int:
        """Texts that are trained on, each as often as its dose."""
        return int(self.doses.sum())


def check_planting(model: str, texts: AuditedTexts, settings: AuditSettings, *, access: str) -> None:
    """Check, before a model is opened, that doses can be planted in the unseen texts.

    Raises:
        DataError: there are no unseen texts, or too few, or the benchmark has labels.
        MissingCapability: the model only generates text, or is behind a server.
    """
    if is_remote(model):
        raise _without_weights(model)
    if access != "gray":
        raise MissingCapability("--plant trains a copy of the model: expected --access gray and a model with weights")
    if texts.fresh is None:
        raise DataError("--plant trains on a part of the unseen texts: expected --unseen DATA")
    if is_labelled(texts.dataset.samples):
        raise DataError(f"--plant states the power of a verdict without labels; {texts.dataset.name} has labels")
    plot_of(texts.unseen, settings.plant, seed=settings.seed)


def open_planting(
    settings: AuditSettings,
    plan: Plan,
    texts: AuditedTexts,
    *,
    cache: StatisticsCache | None,
    folder: Path | None,
    progress: Progress | None,
) -> Planting:
    """Return the model that is tuned, and how; print the cost.

    Args:
        settings: of the audit.
        plan: of the audit.
        texts: the benchmark and the unseen texts.
        cache: of statistics under the tuned model; None keeps nothing.
        folder: of the state of the training; None keeps none.
        progress: called after each step of the training.

    Raises:
        MissingCapability: the model does not show its weights, or the score takes more than one pass.
    """
    from assay.models import TransformersModel  # noqa: PLC0415  it imports torch

    scorer = plan.models["target"]
    model = scorer.scorer if isinstance(scorer, CachedScorer) else scorer
    if not isinstance(model, TransformersModel) or not isinstance(scorer, CachedScorer | TransformersModel):
        raise _without_weights(plan.name)
    primary = settings.primary or headline_of(plan.requests)
    headline = next(entry for entry in plan.requests if entry.name == primary)
    if set(headline.definition.views.values()) != {View()} or headline.variants:
        raise MissingCapability(
            f"--plant takes a headline score of one pass, such as mid_pit; received {primary} (--primary)"
        )
    doses = tuple(sorted(settings.plant))
    exposures = plot_of(texts.unseen, doses, seed=settings.seed).exposures
    inform(
        f"planted doses: {exposures:,} training passes, each about three forward passes, and {len(texts.unseen):,} "
        f"forward passes, beside {len(texts.samples):,} of the audit"
    )
    return Planting(
        model=model,
        scorer=scorer,
        doses=doses,
        rate=PLANTED_RATE if settings.plant_rate is None else settings.plant_rate,
        seed=settings.seed,
        cache=cache,
        folder=folder,
        progress=progress and (lambda record, steps: progress(int(record["step"]), steps)),
    )


def _without_weights(model: str) -> MissingCapability:
    return MissingCapability(
        f"--plant trains a copy of the model, and {model} does not show its weights: expected a model folder, a hub "
        "id, a GGUF file or a built-in model; without --plant the report states the power from the scores alone"
    )


def plot_of(unseen: Sequence[Sample], doses: Sequence[int], *, seed: int) -> Plot:
    """Divide unseen texts into those that are planted and those that calibrate, by group.

    Args:
        unseen: the texts.
        doses: times that a planted text is trained on; as many texts get none.
        seed: of the draw.

    Raises:
        DataError: a half has fewer than `MINIMUM_UNSEEN` texts.
    """
    # one generator for halves, order and doses: the seed alone tells which text got which dose
    random = np.random.default_rng(seed)
    groups: dict[Hashable, list[int]] = {}
    for place, group in enumerate(groups_of(unseen, "unseen")):
        groups.setdefault(group, []).append(place)
    halves: tuple[list[int], list[int]] = ([], [])
    members = list(groups.values())
    drawn = map(members.__getitem__, random.permutation(len(members)).tolist())
    for places in sorted(drawn, key=len, reverse=True):  # the largest first, so that the halves are even
        min(halves, key=len).extend(places)
    if min(map(len, halves)) < MINIMUM_UNSEEN:
        raise DataError(
            f"planted doses take half of the unseen texts, by group, and {len(unseen)} texts of {len(groups)} groups "
            f"give {min(map(len, halves))}; expected {MINIMUM_UNSEEN} or more in each half"
        )
    planted = random.permutation(np.array(halves[0], np.int64))
    # doses take turns in a random order, so that each has as many texts, and as many get none
    levels = np.array([0, *doses], np.int64)
    return Plot(planted, levels[np.arange(len(planted)) % len(levels)], np.array(sorted(halves[1]), np.int64))


def planted_power(
    planting: Planting,
    score: ScoreRequest,
    unseen: Sequence[Sample],
    compared: Compared,
    evidence: Evidence,
    *,
    frequencies: FrequencyTable | None = None,
) -> PlantedPower:
    """Tune a copy of the model on planted texts, score all unseen texts under it, and state the power that follows.

    Args:
        planting: model and doses.
        score: of the headline; it needs one pass alone.
        unseen: texts that the model has certainly not seen.
        compared: values and groups of the test whose power is stated.
        evidence: of the audit.
        frequencies: of tokens, for the scores that need them.

    Raises:
        DataError: too few unseen texts, see `plot_of`.
        ModelError: the model cannot be tuned or run.
    """
    from assay.leakage.measured_model import value_of  # noqa: PLC0415  it imports torch
    from assay.training import TunedModel, linear_layers  # noqa: PLC0415

    plot, texts = plot_of(unseen, planting.doses, seed=planting.seed), texts_of(unseen)
    tuned = TunedModel(
        planting.model,
        # a text of dose d stands d times in the training set
        list(map(texts.__getitem__, np.repeat(plot.planted, plot.doses))),
        replace(SETTINGS, rate=planting.rate, targets=linear_layers(planting.model.checkpoint.model)),
        seed=planting.seed,
        cache=planting.cache,
        folder=planting.folder,
        progress=planting.progress,
    )
    # under the model as it is: the audit has these in its cache
    before = list(planting.scorer.token_statistics(texts))
    # a text of one token has no prediction before and none after
    scored = np.flatnonzero(list(map(len, before))).tolist()
    values, gains = np.full((2, len(texts)), np.nan)
    for at, after in zip(scored, tuned.measure(list(map(texts.__getitem__, scored))).statistics, strict=True):
        values[at] = value_of(score, text=texts[at], statistics=after, frequencies=frequencies)
        gains[at] = after.log_probs.mean() - before[at].log_probs.mean()
    planted = _PlantedTexts(plot, values=values, gains=gains, groups=groups_of(unseen, "unseen"))
    # dose 0, texts of planted groups that were left out, shows what spills over
    doses = tuple(planted.of_dose(dose, compared, evidence) for dose in (0, *planting.doses))
    return PlantedPower(doses, planting.rate, held_out=len(plot.held_out), barred=conditions(evidence))


@dataclass(frozen=True, slots=True, eq=False)
class _PlantedTexts:
    """The unseen texts under the tuned model: values of the score, gains of the log-probability, and groups."""

    plot: Plot
    values: Float64Array
    gains: Float64Array
    groups: Sequence[Hashable]

    def of_dose(self, dose: int, compared: Compared, evidence: Evidence) -> PlantedDose:
        """Return what is flagged of the texts of a dose, and the smallest leak that it would have to be."""
        chosen, held_out = self.plot.planted[self.plot.doses == dose], self.values[self.plot.held_out]
        values = self.values[chosen]
        tail = UnseenTail.of(held_out, list(map(self.groups.__getitem__, self.plot.held_out)), ALPHA)
        groups = list(map(self.groups.__getitem__, chosen))
        flags = flag_rate(conformal_p_values(values, held_out), ALPHA, groups=groups, unseen=tail)
        own, others = values[~np.isnan(values)], held_out[~np.isnan(held_out)]
        smallest = math.nan
        # where the residual decides, `assay.leakage.form_test` states the power
        if dose and len(own) and len(others) and not evidence.decides_by_form:
            # the verdict takes the allowance off the benchmark, so a leak has only what is left to show
            effect = Effect.of(own - replace(compared, unseen=held_out).allowance(), others)
            smallest = max(compared.smallest_share(effect), beyond_control(evidence, flags.rate.value))
        gain = self.gains[chosen][np.isfinite(self.gains[chosen])]
        mean_gain = float(gain.mean()) if len(gain) else math.nan
        return PlantedDose(dose, flags, gain=mean_gain, detectable=smallest)


def conditions(evidence: Evidence) -> str:
    """Return the category of what forbids the verdict "contaminated" at any share; "" where nothing does."""
    control, unfit = evidence.control, unfit_score(evidence.score)
    # the residual has a power of its own, see `assay.leakage.form_test`
    if unfit is None and evidence.decides_by_form:
        return ""
    if unfit is None and control is not None and control.excess is not None and control.excess.has_interval:
        return ""  # the excess over the control decides, which grows with the share
    obstacle = unfit or comparability(evidence.blind, control, evidence.compared, significant=True)
    if obstacle is None:
        return ""
    return obstacle.reason


def beyond_control(evidence: Evidence, flagged: float) -> float:
    """Return the smallest leaked share that is clearly more than what the control flags, with 80 % power.

    0 where the texts may be compared without it. Without a leak the model is taken to flag what the control flags; the
    interval of the excess is as wide as in this audit.

    Args:
        evidence: of the audit.
        flagged: share of the leaked samples that is flagged.
    """
    control = evidence.control
    if control is None or control.excess is None or not control.excess.has_interval:
        return 0.0
    if comparability(evidence.blind, replace(control, excess=None), evidence.compared, significant=True) is None:
        return 0.0
    # the excess is symmetric about its value, so half its width is the distance of its lower end
    gained, half = flagged - control.flagged.rate.value, (control.excess.high - control.excess.low) / 2
    if not gained > 0:  # NaN as well
        return math.inf
    # the lower end of the excess has to clear `BEYOND` with 80 % probability; the half width says how far it scatters
    error = half / float(ndtri((1 + control.excess.level) / 2))
    return (BEYOND + half + float(ndtri(POWER)) * error) / gained
