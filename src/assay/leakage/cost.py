"""Cost of an audit before it begins: forward passes, and their time from a short trial."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from assay.leakage.inputs import AuditInputs
from assay.leakage.texts import AuditedTexts
from assay.models import CachedLogProbScorer
from assay.progress import inform, time_in_words
from assay.scores import SCORES_OF_BENCHMARK, SCORES_OF_UNSEEN, ModelRole
from assay.scoring import Deterministic, Plan, pairs_to_run
from assay.types import LogProbScorer, Sample

TRIAL = 3
"""Texts that are timed after a first one, which also prepares the model."""

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
    needed = [(model, _texts_of(samples, plan, role)) for role, model in plan.models.items()]
    if control is not None:
        needed.append((control.plan.models["target"], _texts_of(samples, control.plan, "target")))
    missing = [_missing(model, wanted) for model, wanted in needed]
    target = plan.models["target"]
    rewritings, cached = _rewritings(plan, samples)
    # what is scored for the audit itself is in the cache when a method wants it
    own = (SCORES_OF_BENCHMARK, SCORES_OF_UNSEEN) if isinstance(target, CachedLogProbScorer) else ()
    further = rewritings + (0 if literature is None else literature.passes(own))
    passes = sum(map(len, missing)) + further
    cached += sum(len(wanted) for _, wanted in needed) - sum(map(len, missing))
    inform(f"cost: {passes:,.0f} forward passes of one text{f'; the cache holds {cached:,.0f}' if cached else ''}")
    if control is not None and not inputs.comparison.same_form:
        for power in filter(None, [texts.power(parent=control.is_parent)]):
            inform(f"power: {power}")
    if not passes:
        return
    target_texts = missing[0]
    # a text that the cache holds says nothing about the model's speed: then the model runs without the cache
    timed = target.scorer if isinstance(target, CachedLogProbScorer) and not target_texts else target
    trial = (target_texts or [sample.text for sample in samples])[: TRIAL + 1]
    # per character, since texts differ in length; the first text warms the model up and is not timed
    seconds = _seconds(timed, trial) / max(1, sum(map(len, trial[1:] or trial)))
    lengths = sum(map(len, chain.from_iterable(missing)))
    # rewritings and training steps have no text yet: each counts as one of typical length
    typical = sum(len(sample.text) for sample in samples) / len(samples)
    characters = lengths + typical * further
    inform(f"time: about {time_in_words(characters * seconds)} at the speed of the first texts")


def _rewritings(plan: Plan, samples: Sequence[Sample]) -> tuple[float, float]:
    """Return how many rewritings have to be run, and how many the cache holds, judged by those of some samples."""
    target, requested = plan.models["target"], plan.scored_variants * len(samples)
    if not requested or not isinstance(plan.rewriter, Deterministic) or not isinstance(target, CachedLogProbScorer):
        return requested, 0
    chosen = samples[:: max(1, len(samples) // LOOKED_AT)][:LOOKED_AT]
    # with a count of its own: the report states what happened to the samples once
    rewritten = replace(plan.rewriter, counts=Counter())(chosen, plan.variants)
    texts = set(chain.from_iterable(rewriting.texts[: plan.scored_variants] for rewriting in rewritten))
    run = len(_missing(target, list(texts)))
    return run * len(samples) / len(chosen), (len(texts) - run) * len(samples) / len(chosen)


def _texts_of(samples: Sequence[Sample], plan: Plan, role: ModelRole) -> list[str]:
    """Return the texts that a plan runs under the model of a role, each once."""
    return [text for own, text in pairs_to_run(samples, plan) if own == role]


def _missing(model: LogProbScorer, texts: Sequence[str]) -> list[str]:
    return model.missing(texts) if isinstance(model, CachedLogProbScorer) else list(dict.fromkeys(texts))


def _seconds(model: LogProbScorer, trial: Sequence[str]) -> float:
    """Return the seconds of one pass over all but the first text, which prepares the model."""
    first, *rest = trial
    for _ in model.completed([first]):
        pass
    start = time.perf_counter()
    for _ in model.completed(rest or [first]):
        pass
    return time.perf_counter() - start
