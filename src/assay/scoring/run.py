"""The engine: every (text, model) pair that the plan needs is run exactly once.

Samples are taken in blocks, so that results stream in input order and memory stays bounded. Inside a block the model
sees distinct texts only; statistics that a later block needs again are held until their last use. Rewritings are made
block by block and go with their block: those of a text that stands again in a later one are the cache's to remember.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from assay.errors import Unscorable
from assay.scores import Inputs, Role, ScoreRequest, View
from assay.scoring.continuing import continued, cut_block
from assay.scoring.planning import Plan
from assay.scoring.views import Rewritten, view_text
from assay.types import Sample, Score, TokenLogProbs, TokenStatistics, Unread

Pair = tuple[Role, str]
Progress = Callable[[int, int], None]
"""Told after every batch: texts and prompts done so far, those to be run in all."""
Observer = Callable[[int, TokenLogProbs], None]
"""Shown what the target said of every sample that it took, by its position in the input."""


@dataclass(frozen=True, slots=True)
class Variants:
    """What the model said of a sample's rewritings; `reason` where there are fewer than were asked for."""

    statistics: tuple[TokenLogProbs | Unread, ...] = ()
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class ScoredSample:
    """All scores of one sample, in the order asked for, and what they counted."""

    index: int
    scores: tuple[Score, ...]
    counts: Mapping[tuple[str, str], int]


@dataclass(frozen=True, slots=True, eq=False)
class ScoreTable:
    """A column of values per score.

    Attributes:
        values: score name → float64 [samples]; NaN exactly where there is a reason.
        reasons: score name → reason or None per sample.
        counts: (score name, words) → total over all samples.
    """

    values: Mapping[str, NDArray[np.float64]]
    reasons: Mapping[str, tuple[str | None, ...]]
    counts: Mapping[tuple[str, str], int]


def pairs_to_run(samples: Sequence[Sample], plan: Plan) -> Counter[Pair]:
    """How often each (role, text) pair is needed; the number of keys is the number of texts that will be run."""
    return Counter((view.role, view_text(sample.text, view.form)) for sample in samples for view in plan.views)


def score_stream(
    samples: Sequence[Sample],
    plan: Plan,
    *,
    block: int = 1024,
    progress: Progress | None = None,
    observe: Observer | None = None,
) -> Iterator[ScoredSample]:
    """Scores in input order, block by block.

    Raises:
        ModelError: when a model cannot be run.
    """
    uses = pairs_to_run(samples, plan)
    done = asked = 0
    held: dict[Pair, TokenLogProbs | Unread] = {}
    size = max(1, block // (1 + plan.variants))
    for begin in range(0, len(samples), size):
        positions = range(begin, min(begin + size, len(samples)))
        texts: list[Pair] = [
            (view.role, view_text(samples[position].text, view.form)) for position in positions for view in plan.views
        ]
        made = plan.rewriter([samples[position] for position in positions], plan.variants) if plan.variants else ()
        variants = dict(zip(positions, made, strict=False))
        further: list[Pair] = [
            ("target", text) for one in variants.values() for text in one.texts[: plan.scored_variants]
        ]
        uses.update(further)
        texts += further
        cut = cut_block([[samples[at].text, *(variants[at].texts if at in variants else ())] for at in positions], plan)
        asked += len(cut.questions)
        left = len(samples) - positions.stop
        # of the samples to come: as many rewritings as asked for at most, and as many prompts as here
        total = len(uses) + plan.scored_variants * left + asked + len(cut.questions) * left // len(positions)
        for role in plan.roles:
            wanted = [
                text for pair_role, text in dict.fromkeys(texts) if pair_role == role and (role, text) not in held
            ]
            for batch in plan.models[role].completed(wanted):
                held.update({(role, wanted[index]): statistics for index, statistics in batch})
                done += len(batch)
                if progress:
                    progress(done, total)
        written = continued(cut, plan.generator, told=partial(tell, progress, done, total))
        done += len(cut.questions)
        for position in positions:
            sample = samples[position]
            views = {view: held[view.role, view_text(sample.text, view.form)] for view in plan.views}
            found = variants_of(variants.get(position), held, plan)
            answers = written[position - begin] if written else {}
            inputs = Inputs(sample.text, views, plan.frequencies, found.statistics, found.reason, answers)
            yield score_sample(position, sample.id, inputs, plan)
            if observe and isinstance(said := views.get(View()), TokenLogProbs):
                observe(position, said)
        for pair in texts:
            uses[pair] -= 1
            if not uses[pair]:
                del held[pair]


def tell(progress: Progress | None, before: int, total: int, since: int) -> None:
    """Report `since` more done than there were `before`."""
    if progress:
        progress(before + since, total)


def variants_of(found: Rewritten | None, held: Mapping[Pair, TokenLogProbs | Unread], plan: Plan) -> Variants:
    """The statistics of a sample's rewritings, and why there are too few."""
    if found is None:
        return Variants()
    return Variants(tuple(held["target", text] for text in found.texts[: plan.scored_variants]), found.reason)


def score_sample(index: int, sample_id: str, inputs: Inputs, plan: Plan) -> ScoredSample:
    """Every requested score of one sample whose inputs are there."""
    own = inputs.views.get(View())
    counts = {
        (one.name, words): counted(own)
        for one in plan.requests
        if isinstance(own, TokenStatistics)
        for words, counted in one.definition.counts.items()
    }
    return ScoredSample(index, tuple(one_score(sample_id, one, inputs) for one in plan.requests), counts)


def one_score(sample_id: str, request: ScoreRequest, inputs: Inputs) -> Score:
    """One value, or NaN and the reason why there is none."""
    try:
        return Score(sample_id, request.name, request(inputs))
    except Unscorable as outcome:
        return Score(sample_id, request.name, math.nan, str(outcome))


def score_samples(
    samples: Sequence[Sample],
    plan: Plan,
    *,
    progress: Progress | None = None,
    observe: Observer | None = None,
) -> ScoreTable:
    """All samples at once, as columns."""
    names = [one.name for one in plan.requests]
    values = {name: np.full(len(samples), np.nan) for name in names}
    reasons: dict[str, list[str | None]] = {name: [None] * len(samples) for name in names}
    counts: Counter[tuple[str, str]] = Counter()
    for scored in score_stream(samples, plan, progress=progress, observe=observe):
        counts.update(scored.counts)
        for found in scored.scores:
            values[found.name][scored.index] = found.value
            reasons[found.name][scored.index] = found.reason
    return ScoreTable(values, {name: tuple(column) for name, column in reasons.items()}, dict(counts))
