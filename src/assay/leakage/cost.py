"""Cost of an audit before it begins: forward passes, and their time from a short trial."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Self

from assay.leakage.inputs import AuditInputs
from assay.leakage.negative_control import Control
from assay.leakage.texts import AuditedTexts
from assay.models import CachedLogProbScorer
from assay.progress import OF_EACH_CORE, ProgressReport, WorkClock, inform, time_in_words
from assay.scores import SCORES_OF_BENCHMARK, SCORES_OF_UNSEEN, ModelRole
from assay.scoring import Deterministic, Plan, pairs_to_run
from assay.types import LogProbScorer, Sample, texts_of

TRIAL = 3
"""Texts that are timed after a first one, which also prepares the model."""
MOSTLY_UNSEEN = 0.8
"""Share of unseen text among all texts from which on the cost is nearly that of the unseen text."""
LOOKED_AT = 10
"""Samples that are rewritten to estimate how many rewritings the cache holds."""


def report_cost(inputs: AuditInputs, texts: AuditedTexts) -> None:
    """Print the forward passes of an audit that the cache does not hold, and then their time, from a short trial.

    The texts of the trial are part of the work: with a cache they are not computed again.

    Args:
        inputs: of the audit.
        texts: the benchmark and the unseen text.
    """
    plan, control, literature = inputs.plan, inputs.comparison.control, inputs.comparison.literature
    samples = texts.samples
    if not plan.models:
        return  # generated text is paid by request, see `report_spending`
    target = plan.models["target"]
    total, missing = 0, []
    for model, needed in _needed(plan, control, samples):
        total += len(needed)
        missing.append(_missing(model, needed))
    further, cached = _rewritings(plan, samples)
    if literature is not None:
        # what is scored for the audit itself is in the cache when a method wants it
        own = (SCORES_OF_BENCHMARK, SCORES_OF_UNSEEN) if isinstance(target, CachedLogProbScorer) else ()
        further += literature.passes(own)
    passes = sum(map(len, missing)) + further
    cached += total - sum(map(len, missing))
    holds = f"; the cache holds {cached:,.0f}" if cached else ""
    ends = "; ends at 40, 80, 160 … tasks where the answer is clear" if inputs.can_end_early else ""
    # who cut the benchmark for a first look is told why that saved little
    unseen = f"; {len(texts.unseen):,} of {len(samples):,} texts are unseen text, which --limit does not cut"
    mostly = unseen * (len(texts.unseen) > MOSTLY_UNSEEN * len(samples))
    inform(f"cost: {passes:,.0f} forward passes of one text{holds}{ends}{mostly}")
    if passes:
        every = texts_of(samples)
        # rewritings and training steps have no text yet: each counts as one of typical length
        typical = sum(map(len, every)) / len(every)
        characters = sum(map(len, chain.from_iterable(missing))) + typical * further
        seconds = characters * _seconds_a_character(target, missing[0], every)
        inform(f"time: about {time_in_words(seconds)}{OF_EACH_CORE}, at the speed of the first texts")


@dataclass(slots=True)
class WholeWork:
    """Progress of an audit as a whole, over all looks and both models, so that one time is left and not one a part.

    Attributes:
        report: called with the passes that are done, and with all that the cache did not hold at the beginning.
        passes: all of them.
        done: those of the parts that have begun.
    """

    report: ProgressReport
    passes: int
    done: int = 0

    @classmethod
    def of(cls, inputs: AuditInputs) -> Self | None:
        """Return the work of an audit; None where nobody asks, nothing is to be run, or it is not known beforehand."""
        control, texts = inputs.comparison.control, (*inputs.samples, *inputs.comparison.unseen)
        plans = [inputs.plan] if control is None else [inputs.plan, control.plan]
        # rewritings and questions are only known when it is their turn
        if inputs.progress is None or any(plan.variants or plan.derivations or plan.generator for plan in plans):
            return None
        passes = sum(_missing_passes(plan, texts) for plan in plans)
        return cls(inputs.progress, passes) if passes else None

    def part(self, plan: Plan, samples: Sequence[Sample]) -> ProgressReport:
        """Begin a part; return what is called with its texts that are done, and with all of them."""
        before, new = self.done, _missing_passes(plan, samples)
        self.done += new

        def report(done: int, total: int) -> None:
            # what the cache holds comes first, and takes no time
            self.report(before + max(0, done - (total - new)), self.passes)

        return report


def _missing_passes(plan: Plan, samples: Sequence[Sample]) -> int:
    return sum(len(_missing(model, _texts_of(samples, plan, role))) for role, model in plan.models.items())


def _needed(
    plan: Plan, control: Control | None, samples: Sequence[Sample]
) -> Iterator[tuple[LogProbScorer, Sequence[str]]]:
    """Yield each model of an audit, the audited one first, with the texts that run under it, each once."""
    for role, model in plan.models.items():
        yield model, _texts_of(samples, plan, role)
    if control is not None:
        yield control.plan.models["target"], _texts_of(samples, control.plan, "target")


def _seconds_a_character(model: LogProbScorer, missing: Sequence[str], texts: Sequence[str]) -> float:
    """Return the time of the first missing texts, per character, since texts differ in length."""
    # a text that the cache holds says nothing about the model's speed: then the model runs without the cache
    if isinstance(model, CachedLogProbScorer) and not missing:
        model = model.scorer
    trial = (missing or texts)[: TRIAL + 1]
    # the first text warms the model up and is not timed
    return _seconds(model, trial) / max(1, sum(map(len, trial[1:] or trial)))


def _rewritings(plan: Plan, samples: Sequence[Sample]) -> tuple[float, float]:
    """Return how many rewritings have to be run, and how many the cache holds, judged by those of some samples."""
    target, requested = plan.models["target"], plan.scored_variants * len(samples)
    if not requested or not isinstance(plan.rewriter, Deterministic) or not isinstance(target, CachedLogProbScorer):
        return requested, 0
    chosen = samples[:: max(1, len(samples) // LOOKED_AT)][:LOOKED_AT]
    # with a count of its own: the report states what happened to the samples once
    rewritten = replace(plan.rewriter, counts=Counter())(chosen, plan.variants)
    texts = set(chain.from_iterable(rewriting.texts[: plan.scored_variants] for rewriting in rewritten))
    # the share that the cache holds of the rewritings of some samples stands for that of all
    run = len(_missing(target, list(texts)))
    return run * len(samples) / len(chosen), (len(texts) - run) * len(samples) / len(chosen)


def _texts_of(samples: Sequence[Sample], plan: Plan, role: ModelRole) -> list[str]:
    """Return the texts that a plan runs under the model of a role, each once."""
    return [text for own, text in pairs_to_run(samples, plan) if own == role]


def _missing(model: LogProbScorer, texts: Sequence[str]) -> list[str]:
    return model.missing(texts) if isinstance(model, CachedLogProbScorer) else list(dict.fromkeys(texts))


def _seconds(model: LogProbScorer, trial: Sequence[str]) -> float:
    """Return the seconds of one pass over all but the first text, which prepares the model, see `WorkClock`."""
    first, *rest = trial
    for _ in model.completed([first]):
        pass
    clock = WorkClock()
    for _ in model.completed(rest or [first]):
        pass
    return clock()
