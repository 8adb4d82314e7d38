"""The engine: every (text, model) pair that the plan needs is run exactly once.

Samples are taken in blocks, so that results stream in input order and memory stays bounded. Inside a block the model
sees distinct texts only; statistics that a later block needs again are kept until their last use. Rewritings are made
block by block and are dropped with their block: the cache keeps those of a text that occurs again.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from assay.errors import Unscorable
from assay.scores import Derived, ModelRole, SampleInputs, ScoreRequest, View
from assay.scoring.continuing import continuations_of, cut_block
from assay.scoring.planning import Plan
from assay.scoring.views import Rewritten, view_text
from assay.types import Rejected, Sample, Score, TokenLogProbs, TokenStatistics

Pair = tuple[ModelRole, str]
Progress = Callable[[int, int], None]
"""Called after every batch: texts and prompts done so far, and their number in all."""
Observer = Callable[[int, TokenLogProbs], None]
"""Called with the position of every sample that the target accepted, and its statistics."""


UNCHANGED = Rewritten((), None)


@dataclass(frozen=True, slots=True)
class ScoredSample:
    """All scores of one sample, in the order asked for, and the events that they counted."""

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
    """Count how often each (role, text) pair is needed; each key is a text that will be run."""
    return Counter((view.role, view_text(sample.text, view.form)) for sample in samples for view in plan.views)


def score_stream(
    samples: Sequence[Sample],
    plan: Plan,
    *,
    block: int = 1024,
    progress: Progress | None = None,
    observe: Sequence[Observer] = (),
) -> Iterator[ScoredSample]:
    """Yield scores in input order, block by block.

    Raises:
        ModelError: when a model cannot be run.
    """
    # how often each (model, text) is still needed: a result is kept until its last use, across blocks
    uses = pairs_to_run(samples, plan)
    done = prompts = 0
    statistics: dict[Pair, TokenLogProbs | Rejected] = {}
    # a block of samples is as small as their rewritings and derivations are many
    size = max(1, block // (1 + plan.variants + sum(plan.derivations.values())))
    for begin in range(0, len(samples), size):
        positions = range(begin, min(begin + size, len(samples)))
        texts: list[Pair] = [
            (view.role, view_text(samples[position].text, view.form)) for position in positions for view in plan.views
        ]
        chosen = [samples[position] for position in positions]
        variants = dict(zip(positions, plan.rewriter(chosen, plan.variants), strict=True)) if plan.variants else {}
        rewritings: list[Pair] = [
            ("target", text) for variant in variants.values() for text in variant.texts[: plan.scored_variants]
        ]
        uses.update(rewritings)
        texts += rewritings
        cut = cut_block([[samples[at].text, *(variants[at].texts if at in variants else ())] for at in positions], plan)
        prompts += len(cut.questions)
        left = len(samples) - positions.stop
        # of the samples to come: as many rewritings as asked for at most, and as many prompts as here
        total = len(uses) + plan.scored_variants * left + prompts + len(cut.questions) * left // len(positions)
        for role in plan.roles:
            missing = [text for other, text in dict.fromkeys(texts) if other == role and (role, text) not in statistics]
            for batch in plan.models[role].completed(missing):
                statistics.update({(role, missing[index]): reply for index, reply in batch})
                done += len(batch)
                if progress:
                    progress(done, total)
        continuations = continuations_of(cut, plan.generator, progress=partial(_report, progress, done, total))
        done += len(cut.questions)
        derived: dict[str, Sequence[Derived | Rejected]] = {
            name: plan.derivers[name](chosen, n) for name, n in plan.derivations.items()
        }
        for position in positions:
            sample = samples[position]
            views = {view: statistics[view.role, view_text(sample.text, view.form)] for view in plan.views}
            rewriting = variants.get(position, UNCHANGED)
            replies = tuple(statistics["target", text] for text in rewriting.texts[: plan.scored_variants])
            cuts = continuations[position - begin] if continuations else {}
            own_derived = {name: column[position - begin] for name, column in derived.items()}
            inputs = SampleInputs(sample.text, views, plan.frequencies, replies, rewriting.reason, cuts, own_derived)
            yield score_sample(position, sample.id, inputs, plan)
            if isinstance(own := views.get(View()), TokenLogProbs):
                for observer in observe:
                    observer(position, own)
        for pair in texts:
            uses[pair] -= 1
            if not uses[pair]:
                del statistics[pair]


def _report(progress: Progress | None, before: int, total: int, since: int) -> None:
    if progress:
        progress(before + since, total)


def score_sample(index: int, sample_id: str, inputs: SampleInputs, plan: Plan) -> ScoredSample:
    """Compute every requested score of one sample."""
    own = inputs.views.get(View())
    counts = {
        (request.name, words): count(own)
        for request in plan.requests
        if isinstance(own, TokenStatistics)
        for words, count in request.definition.counts.items()
    }
    for request in plan.requests:
        for derivation in request.definition.derivations.values():
            derived = inputs.derived[derivation.name]
            if isinstance(derived, Derived):
                counts |= {(request.name, words): count for words, count in derived.failures.items()}
    return ScoredSample(index, tuple(computed(sample_id, request, inputs) for request in plan.requests), counts)


def computed(sample_id: str, request: ScoreRequest, inputs: SampleInputs) -> Score:
    """Return one value, or NaN and the reason why there is none."""
    try:
        return Score(sample_id, request.name, request(inputs))
    except Unscorable as outcome:
        return Score(sample_id, request.name, math.nan, str(outcome))


def score_samples(
    samples: Sequence[Sample],
    plan: Plan,
    *,
    progress: Progress | None = None,
    observe: Sequence[Observer] = (),
) -> ScoreTable:
    """Score all samples, and return columns."""
    names = [request.name for request in plan.requests]
    values = {name: np.full(len(samples), np.nan) for name in names}
    reasons: dict[str, list[str | None]] = {name: [None] * len(samples) for name in names}
    counts: Counter[tuple[str, str]] = Counter()
    for scored in score_stream(samples, plan, progress=progress, observe=observe):
        counts.update(scored.counts)
        for score in scored.scores:
            values[score.name][scored.index] = score.value
            reasons[score.name][scored.index] = score.reason
    return ScoreTable(values, {name: tuple(column) for name, column in reasons.items()}, dict(counts))
