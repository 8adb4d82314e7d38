"""Cost of an audit before it begins: forward passes, and their time from a short trial."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.leakage.negative_control import Control
from assay.models import CachedLogProbScorer
from assay.progress import inform, time_in_words
from assay.scoring import Plan, pairs_to_run
from assay.types import LogProbScorer, Sample

if TYPE_CHECKING:  # it imports torch
    from assay.leakage.literature import Literature

TRIAL = 3
"""Texts that are timed after a first one, which also prepares the model."""


def report_cost(
    plan: Plan, samples: Sequence[Sample], control: Control | None = None, literature: "Literature | None" = None
) -> None:
    """Print the forward passes of an audit that the cache does not hold, and then their time, from a short trial.

    The texts of the trial are part of the work: with a cache they are not computed again.

    Args:
        plan: of the audit.
        samples: the benchmark and the unseen text.
        control: the negative control; None where none is run.
        literature: methods for whole benchmarks; None where none are asked for.
    """
    needed = {role: [text for of, text in pairs_to_run(samples, plan) if of == role] for role in plan.models}
    missing = [(plan.models[role], _missing(plan.models[role], texts)) for role, texts in needed.items()]
    if control is not None:
        own = [text for _, text in pairs_to_run(samples, control.plan)]
        missing.append((control.plan.models["target"], _missing(control.plan.models["target"], own)))
    rewritings = plan.scored_variants * len(samples)
    passes = sum(len(texts) for _, texts in missing) + rewritings + (0 if literature is None else literature.passes())
    cached = sum(map(len, needed.values())) - sum(len(texts) for _, texts in missing[: len(needed)])
    if not plan.models:
        return  # generated text is paid by request, see `report_spending`
    inform(f"cost: {passes:,.0f} forward passes of one text{f'; the cache holds {cached:,}' if cached else ''}")
    target, texts = missing[0]
    trial = texts[: TRIAL + 1] or [samples[0].text]
    # per character, since texts differ in length; the first text warms the model up and is not timed
    seconds = _seconds(target, trial) / max(1, sum(map(len, trial[1:] or trial)))
    lengths = sum(len(text) for _, texts in missing for text in texts)
    # rewritings and training steps have no text yet: each counts as one of typical length
    typical = sum(len(sample.text) for sample in samples) / len(samples)
    characters = lengths + typical * (passes - sum(len(texts) for _, texts in missing))
    inform(f"time: about {time_in_words(characters * seconds)} at the speed of the first texts")


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
