"""The audited model as dataset-level detectors use it: every text is run once, and fine-tuned once for all of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from assay.errors import MissingCapability, Unscorable
from assay.evaluation import MeanGradient, displacement
from assay.models import (
    CachedEmbedder,
    JointPass,
    StatisticsCache,
    TransformersModel,
    cached_scorer,
)
from assay.scores import (
    SCORES,
    FineTuning,
    FrequencyTable,
    SampleInputs,
    ScoreRequest,
    View,
    one_pass,
    request,
    requests,
)
from assay.scoring import Progress, plan, score_samples
from assay.training import KERNEL_DIVERGENCE, TrainingProgress, TrainingSettings, TunedModel, mean_gradient
from assay.types import (
    Float32Array,
    Float64Array,
    LogProbScorer,
    Sample,
    TokenScorer,
    TokenStatistics,
    gives,
    texts_of,
)

PAPER_RATE = KERNEL_DIVERGENCE.rate
WHOLE_BATCH_FACTOR = 100
"""Choi et al. use 0.01 for a step over the whole set, where a step over 4 texts has 0.0001."""
PROBE_TEXTS = 64
PROBE_CHANGE = 1e-3
"""Median change of an embedding at which the score is linear in the rate, and far above rounding in float32."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningOptions:
    """How the audited model is fine-tuned for a measurement.

    Attributes:
        rate: of plain gradient descent; None finds the rate of the model on unseen text, once for all sets.
        seed: of order, dropout and LoRA's first weights.
        folder: keeps the state of a fine-tuning, so that a killed one continues.
        progress: called after each step.
    """

    rate: float | None = None
    seed: int = 0
    folder: Path | None = None
    progress: TrainingProgress | None = None


class MeasuredModel:
    """The audited model for dataset-level detectors, each thing run once; see `assay.scores.DatasetModel`.

    Attributes:
        samples: the benchmark.
        unseen: text that the model has certainly not seen; may be empty.
    """

    def __init__(
        self,
        model: LogProbScorer,
        samples: Sequence[Sample],
        unseen: Sequence[Sample] = (),
        *,
        tuning: TuningOptions = TuningOptions(),
        cache: StatisticsCache | None = None,
        frequencies: FrequencyTable | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Prepare; nothing is run yet.

        Args:
            model: opened from its weights, for everything but scores.
            samples: the benchmark.
            unseen: text that the model has certainly not seen.
            tuning: see `TuningOptions`.
            cache: of statistics and hidden states; None runs without.
            frequencies: of tokens, for the scores that need them.
            progress: called after every batch of scores, and after every text of `statistics`.
        """
        self.samples, self.unseen = tuple(samples), tuple(unseen)
        self._model, self._cache, self._frequencies, self._progress = model, cache, frequencies, progress
        # scores go through the cache; gradients and weights need the model itself
        self._scorer = model if cache is None else cached_scorer(model, cache)
        self._options = tuning
        self._tables: dict[str, dict[str, Float64Array]] = {"benchmark": {}, "unseen": {}}
        self._tuned: dict[FineTuning, TunedModel] = {}
        self._measured: dict[tuple[FineTuning, int, str], JointPass] = {}
        self._embedded: dict[tuple[int, str], Float32Array] = {}
        self._rate: float | None = tuning.rate

    @property
    def name(self) -> str:
        """Name of the model."""
        return self._model.name

    @property
    def context(self) -> int | None:
        """Tokens that the model reads at most; None where it does not tell."""
        return getattr(self._model, "context", None)

    @property
    def weights(self) -> TransformersModel:
        """The model, opened from its weights.

        Raises:
            MissingCapability: it is behind a server, or in another engine.
        """
        if not isinstance(self._model, TransformersModel):
            raise MissingCapability(
                f"{self.name} shows neither hidden states nor weights: expected a model folder, a hub id or a built-in "
                "model, or methods that need only scores"
            )
        return self._model

    @property
    def one_pass_scores(self) -> tuple[str, ...]:
        """Names of the scores that one forward pass of this model gives."""
        return tuple(filter(self._gives, one_pass()))

    def _gives(self, name: str) -> bool:
        definition = SCORES[name]
        if definition.needs_frequencies and self._frequencies is None:
            return False
        return gives(self._scorer, definition.statistics)

    def scores(self, score: str, samples: Sequence[Sample], tuning: FineTuning | None = None) -> Float64Array:
        """Return a sample-level score, float64 [samples]; see `assay.scores.DatasetModel`.

        Raises:
            MissingCapability: the score needs more than one pass of this model.
        """
        if tuning is not None:
            return self._tuned_scores(request(score), samples, tuning)
        table = self._tables[self._side(samples)]
        # the first score that is asked for brings all others of the same pass
        if not table:
            table |= self._columns(samples, ",".join(self.one_pass_scores))
        if score not in table:
            table |= self._columns(samples, score)
        return table[score]

    def statistics(self, texts: Sequence[str]) -> Iterator[TokenStatistics]:
        """Yield the statistics of other texts in their order.

        Raises:
            MissingCapability: the model gives log-probabilities alone.
        """
        if not isinstance(self._scorer, TokenScorer):
            raise MissingCapability(f"{self.name} does not say where its tokens stand in a text: expected its weights")
        return self._counted(self._scorer.token_statistics(texts), len(texts))

    def embeddings(
        self, samples: Sequence[Sample], *, layer: int = -1, tuning: FineTuning | None = None
    ) -> Float32Array:
        """Return the hidden state of the last token of each sample, float32 [samples, d]."""
        if tuning is not None:
            return self._measure(tuning, samples, layer).vectors
        # a set is the benchmark or the unseen text, so its side stands for its texts
        key = layer, self._side(samples)
        if key not in self._embedded:
            embedder = self.weights if self._cache is None else CachedEmbedder(self.weights, self._cache)
            self._embedded[key] = embedder.hidden_states(texts_of(samples), layer=layer)
        return self._embedded[key]

    def mean_gradient(self, samples: Sequence[Sample]) -> MeanGradient:
        """Return the mean gradient of a set of texts under the model as it is."""
        return mean_gradient(self.weights, texts_of(samples), KERNEL_DIVERGENCE, seed=self._options.seed)

    @property
    def probe_share(self) -> float:
        """Part of the unseen text on which the learning rate will be searched; 0 where it is given."""
        if self._rate is not None or not self.unseen:
            return 0.0
        return min(1.0, PROBE_TEXTS / len(self.unseen))

    @property
    def rate_used(self) -> float | None:
        """Learning rate of the fine-tunings so far; None where there was none."""
        return self._rate

    @property
    def rate(self) -> float:
        """Learning rate of a fine-tuning for one epoch on the benchmark."""
        if self._rate is None:
            # kept, as divergences compare only between sets that were moved at one rate
            self._rate = self._probed_rate() if self.unseen else PAPER_RATE
        return self._rate

    def _columns(self, samples: Sequence[Sample], names: str) -> Mapping[str, Float64Array]:
        work = plan(requests(names), {"target": self._scorer}, self._frequencies)
        return score_samples(samples, work, progress=self._progress).values

    def _counted(self, statistics: Iterator[TokenStatistics], total: int) -> Iterator[TokenStatistics]:
        for done, entry in enumerate(statistics, 1):
            if self._progress:
                self._progress(done, total)
            yield entry

    def _side(self, samples: Sequence[Sample]) -> str:
        # by identity: comparing thousands of texts at each look-up would cost more than it saves
        return "unseen" if samples is self.unseen else "benchmark"

    def _tuned_scores(self, score: ScoreRequest, samples: Sequence[Sample], tuning: FineTuning) -> Float64Array:
        # the tuned model is run once, so only scores of that pass exist for it
        if score.definition.views and set(score.definition.views.values()) != {View()}:
            raise MissingCapability(f"score {score.name} needs more than one pass; expected a score of one pass")
        measured = self._measure(tuning, samples, -1).statistics
        values = map(partial(value_of, score, frequencies=self._frequencies), texts_of(samples), measured)
        return np.fromiter(values, np.float64, len(samples))

    def _measure(self, tuning: FineTuning, samples: Sequence[Sample], layer: int) -> JointPass:
        key = tuning, layer, self._side(samples)
        if key not in self._measured:
            self._measured[key] = self._tuned_model(tuning).measure(texts_of(samples), layer=layer)
        return self._measured[key]

    def _tuned_model(self, tuning: FineTuning) -> TunedModel:
        if tuning not in self._tuned:
            on = self.unseen if tuning.on == "unseen" else self.samples
            # one checkpoint at the end: nothing on the way is compared
            settings = replace(KERNEL_DIVERGENCE, epochs=tuning.epochs, checkpoints=(tuning.epochs,), rate=self.rate)
            # one step in place of many has to go further to move an embedding as far
            if tuning.whole_batch:
                settings = replace(settings, rate=self.rate * WHOLE_BATCH_FACTOR, batch=len(on))
            self._tuned[tuning] = self._fine_tuned(texts_of(on), settings)
        return self._tuned[tuning]

    def _fine_tuned(self, texts: Sequence[str], settings: TrainingSettings) -> TunedModel:
        options = self._options
        return TunedModel(
            self.weights,
            texts,
            settings,
            seed=options.seed,
            cache=self._cache,
            folder=options.folder,
            progress=options.progress,
        )

    def _probed_rate(self) -> float:
        """Return the rate at which an epoch over the benchmark changes a typical embedding by `PROBE_CHANGE`.

        The change grows with the rate and with the number of steps, so a short fine-tuning on unseen text measures it.
        Sets of equal size get the same rate, whatever is in them. A second probe corrects the first, which may be lost
        in rounding.
        """
        texts = texts_of(self.unseen[:PROBE_TEXTS])
        before = self.weights.hidden_states(texts)
        rate, steps = PAPER_RATE, 1
        # a change that is lost in rounding multiplies the rate by 1,000 at most, and the second probe corrects that
        for _ in range(2):
            tuned = self._fine_tuned(texts, replace(KERNEL_DIVERGENCE, rate=rate))
            steps = tuned.steps
            change = displacement(before, tuned.measure(texts).vectors).median
            rate *= PROBE_CHANGE / max(change, PROBE_CHANGE / 1000)
        # the change grows with the steps, so the rate falls with those of an epoch on the benchmark
        return rate * steps / -(-len(self.samples) // KERNEL_DIVERGENCE.batch)


def value_of(
    score: ScoreRequest, text: str, statistics: TokenStatistics, *, frequencies: FrequencyTable | None
) -> float:
    """Return the value of a score from given statistics, NaN where there is none."""
    try:
        return score(SampleInputs(text, {View(): statistics}, frequencies))
    except Unscorable:
        return float("nan")
