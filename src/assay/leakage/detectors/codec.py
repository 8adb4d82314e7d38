"""CoDeC: is a sample less likely after other samples of its own benchmark? (Zawalski et al., arXiv 2510.27055)."""

from collections.abc import Sequence

import numpy as np

from assay.leakage.detectors.mean import scored
from assay.scores import SCORES_OF_BENCHMARK, SCORES_OF_UNSEEN, Count, DatasetInputs, DatasetScore, Work, dataset_level
from assay.types import Float64Array, Sample, TokenLogProbs, TokenStatistics, texts_of

SEPARATOR = "\n\n"


def work(*, shots: int) -> tuple[Work, ...]:
    """Return what is run: the plain pass, and one over texts that are longer by the samples in front."""
    name = f"pass with {shots} samples in front"
    return SCORES_OF_BENCHMARK, SCORES_OF_UNSEEN, Work(name, shots + 1), Work(name, shots + 1, "unseen")


@dataset_level(
    name="codec",
    title="CoDeC, contamination detection via context",
    formula="share of samples with mean log p(x | c) < mean log p(x), c being other samples of the benchmark",
    reference="Zawalski et al. 2025, arXiv 2510.27055; the number of samples in front is ours",
    access="gray",
    flags={"default"},
    work=work,
)
def lowered_by_context(inputs: DatasetInputs, *, shots: Count = 1) -> DatasetScore:
    """Return the share of samples that context from their own benchmark makes less likely.

    Both sides are means over the same tokens: those that the model reads together with the whole context, without the
    first token of the sample, which has no prediction when it stands alone.
    """
    own, unseen = (scored(context_changes(inputs, side, shots)) for side in (inputs.samples, inputs.unseen))
    if not len(own):
        return DatasetScore(value=np.nan, reason="no sample has two tokens beside its context")
    return DatasetScore(
        value=float((own < 0).mean()),
        unseen_value=float((unseen < 0).mean()) if len(unseen) else np.nan,
        samples=len(own),
        details={"mean change": float(own.mean())},
    )


def context_changes(inputs: DatasetInputs, samples: Sequence[Sample], shots: int) -> Float64Array:
    """Return mean log p(x | c) - mean log p(x), float64 [samples]; NaN where it cannot be computed."""
    if len(samples) <= shots:
        return np.full(len(samples), np.nan)
    # other numbers of shots are other draws, not longer ones of the same
    random = np.random.default_rng([inputs.seed, shots])
    fronts = []
    for place in range(len(samples)):
        drawn = random.choice(len(samples) - 1, shots, replace=False)
        # drawn from all but the sample itself: places from its own on are shifted by one
        fronts.append("".join(samples[at + (at >= place)].text + SEPARATOR for at in drawn))
    texts = texts_of(samples)
    alone = inputs.model.statistics(texts)
    joined = inputs.model.statistics(list(map(str.__add__, fronts, texts)))
    values = []
    for plain, after, front in zip(alone, joined, fronts, strict=True):
        values.append(change(plain, after, start=len(front), context=inputs.model.context))
    return np.array(values, np.float64)  # None becomes NaN


def change(alone: TokenStatistics, joined: TokenStatistics, *, start: int, context: int | None) -> float | None:
    """Return the change of the mean log-probability over the tokens that both readings share; None below two tokens.

    Args:
        alone: statistics of the sample.
        joined: statistics of the sample after its context.
        start: where the sample begins in the joined text, in characters.
        context: tokens that the model reads at most; later tokens no longer see the whole context.
    """
    visible = joined.offsets[: None if context is None else context - 1]
    # tokens are paired by where they begin in the text: behind a context the tokenizer may cut the first ones otherwise
    places = {int(begin) - start: at for at, (begin, _) in enumerate(visible) if begin > start}
    pairs = [(at, places[int(begin)]) for at, (begin, _) in enumerate(alone.offsets) if int(begin) in places]
    if len(pairs) < 2:  # noqa: PLR2004  a mean of one token says nothing
        return None
    own, after = np.array(pairs).T
    return mean_of(joined, after) - mean_of(alone, own)


def mean_of(statistics: TokenLogProbs, places: np.ndarray[tuple[int], np.dtype[np.int64]]) -> float:
    """Return the mean log-probability of some tokens."""
    return float(statistics.log_probs[places].astype(np.float64).mean())
