"""The engine: every (text, model) pair that the plan needs is run exactly once.

Samples are taken in blocks, so that results stream in input order and memory stays bounded. Inside a block the model
sees distinct texts only; statistics that a later block needs again are kept until their last use. Rewritings are made
block by block and are dropped with their block: the cache keeps those of a text that occurs again.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter

import numpy as np

from assay.errors import Unscorable
from assay.scores import Derived, ModelRole, SampleInputs, ScoreRequest, View
from assay.scoring.continuing import continuations_of, cut_block
from assay.scoring.planning import Plan
from assay.scoring.views import Rewritten, view_text
from assay.types import Float64Array, Rejected, Sample, Score, TokenLogProbs, TokenStatistics

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

    values: Mapping[str, Float64Array]
    reasons: Mapping[str, tuple[str | None, ...]]
    counts: Mapping[tuple[str, str], int]


def pairs_to_run(samples: Sequence[Sample], plan: Plan) -> Counter[Pair]:
    """Count how often each (role, text) pair is needed; each key is a text that will be run."""
    return Counter(_own_pairs(samples, plan))


def _own_pairs(samples: Iterable[Sample], plan: Plan) -> Iterator[Pair]:
    for sample in samples:
        for view in plan.views:
            yield view.role, view_text(sample.text, view.form)


def _rewritten_pairs(rewritings: Iterable[Rewritten], plan: Plan) -> Iterator[Pair]:
    for rewriting in rewritings:
        for text in rewriting.texts[: plan.scored_variants]:
            yield "target", text


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
        chosen = samples[begin : begin + size]
        rewritings: Sequence[Rewritten] = [UNCHANGED] * len(chosen)
        if plan.variants:
            rewritings = plan.rewriter(chosen, plan.variants)
        rewritten = list(_rewritten_pairs(rewritings, plan))
        uses.update(rewritten)
        pairs = [*_own_pairs(chosen, plan), *rewritten]
        cut = cut_block([(s.text, *rewriting.texts) for s, rewriting in zip(chosen, rewritings, strict=True)], plan)
        prompts += len(cut.questions)
        left = len(samples) - begin - len(chosen)
        # of the samples to come: as many rewritings as asked for at most, and as many prompts as here
        total = len(uses) + plan.scored_variants * left + prompts + len(cut.questions) * left // len(chosen)
        report = partial(_report, progress, total)
        for count in _run(pairs, plan, statistics):
            done += count
            report(done)
        continuations = continuations_of(cut, plan.generator, progress=partial(report, since=done))
        done += len(cut.questions)
        # without continuations each sample has none
        columns = (chosen, rewritings, continuations or [{}] * len(chosen), _derived(chosen, plan))
        rows = zip(*columns, strict=True)
        for index, (sample, rewriting, own_continuations, own_derived) in enumerate(rows, begin):
            inputs = SampleInputs(
                text=sample.text,
                views=dict(zip(plan.views, map(statistics.__getitem__, _own_pairs([sample], plan)), strict=True)),
                frequencies=plan.frequencies,
                variants=tuple(map(statistics.__getitem__, _rewritten_pairs([rewriting], plan))),
                no_variants=rewriting.reason,
                continuations=own_continuations,
                derived=own_derived,
            )
            yield score_sample(index, sample.id, inputs, plan=plan)
            if isinstance(own := inputs.views.get(View()), TokenLogProbs):
                for observer in observe:
                    observer(index, own)
        # what no later block needs is dropped, so memory holds a block and what repeats
        uses.subtract(pairs)
        for pair in dict.fromkeys(pairs):
            if not uses[pair]:
                del statistics[pair]


def _derived(samples: Sequence[Sample], plan: Plan) -> list[dict[str, Derived | Rejected]]:
    """Return the derivations of each sample by name."""
    rows: list[dict[str, Derived | Rejected]] = [{} for _ in samples]
    for name, n in plan.derivations.items():
        for row, derivation in zip(rows, plan.derivers[name](samples, n), strict=True):
            row[name] = derivation
    return rows


def _run(pairs: Sequence[Pair], plan: Plan, statistics: dict[Pair, TokenLogProbs | Rejected]) -> Iterator[int]:
    """Run what is missing in the statistics, each text once; yield the number of texts of each batch."""
    # one role after the other: a model is used up before the next one needs its memory
    for role in plan.roles:
        missing = [text for other, text in dict.fromkeys(pairs) if other == role and (role, text) not in statistics]
        for batch in plan.models[role].completed(missing):
            for index, reply in batch:
                statistics[role, missing[index]] = reply
            yield len(batch)


def _report(progress: Progress | None, total: int, done: int, *, since: int = 0) -> None:
    if progress:
        progress(since + done, total)


def score_sample(index: int, sample_id: str, inputs: SampleInputs, *, plan: Plan) -> ScoredSample:
    """Compute every requested score of one sample."""
    own = inputs.views.get(View())
    counts: dict[tuple[str, str], int] = {}
    for request in plan.requests:
        if isinstance(own, TokenStatistics):
            for words, count in request.definition.counts.items():
                counts[request.name, words] = count(own)
    for request in plan.requests:
        for derivation in request.definition.derivations.values():
            derived = inputs.derived[derivation.name]
            if isinstance(derived, Derived):
                for words, number in derived.failures.items():
                    counts[request.name, words] = number
    scores = tuple(computed(sample_id, request, inputs) for request in plan.requests)
    return ScoredSample(index, scores, counts)


def computed(sample_id: str, request: ScoreRequest, inputs: SampleInputs) -> Score:
    """Return one value, or NaN and the reason why there is none."""
    try:
        return Score(sample_id, request.name, request(inputs))
    except Unscorable as outcome:
        return Score(sample_id, request.name, math.nan, reason=str(outcome))


def score_samples(
    samples: Sequence[Sample],
    plan: Plan,
    *,
    progress: Progress | None = None,
    observe: Sequence[Observer] = (),
) -> ScoreTable:
    """Score all samples, and return columns."""
    columns: dict[str, list[Score]] = {request.name: [] for request in plan.requests}
    counts: Counter[tuple[str, str]] = Counter()
    for scored in score_stream(samples, plan, progress=progress, observe=observe):
        counts.update(scored.counts)
        for score in scored.scores:
            columns[score.name].append(score)
    values: dict[str, Float64Array] = {}
    reasons: dict[str, tuple[str | None, ...]] = {}
    for name, scores in columns.items():
        values[name] = np.fromiter(map(attrgetter("value"), scores), np.float64, len(scores))
        reasons[name] = tuple(map(attrgetter("reason"), scores))
    return ScoreTable(values, reasons, dict(counts))
