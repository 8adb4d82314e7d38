"""Two models of one tokenizer that read the same text: an observer and a performer (Binoculars, arXiv:2401.12070)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from assay.errors import ModelError
from assay.models import IMPOSSIBLE, ROWS, ModelSettings, TransformersModel, combined, reduce_logits
from assay.scores import Derived
from assay.types import LogProbScorer, Sample, TokenScorer
from assay_lab.columns import text_column

CPU_LOGITS, GPU_LOGITS = 2**23, 2**26
"""Logits of each model that are in memory at a time: half of what a single model may have."""
ENTROPY, VARIANCE = ROWS.index("entropy"), ROWS.index("variance")


def crossed(observer: Tensor, performer: Tensor, targets: Tensor) -> Tensor:
    """Return the statistics of the performer's logits, entropy and variance in the expectation of the observer.

    Args:
        observer: [rows, V], logits.
        performer: [rows, V], logits.
        targets: int64 [rows], the token at each position.

    Returns:
        float32 [6, rows] on the CPU.
    """
    result = reduce_logits(performer, targets.to(performer.device))
    # a token that the performer excludes has -inf, and 0 · -inf is no number
    log_probs = performer.float().log_softmax(-1).clamp(min=IMPOSSIBLE)
    weights = observer.to(performer.device).float().softmax(-1)
    mean = (weights * log_probs).sum(-1)
    result[ENTROPY] = -mean
    result[VARIANCE] = (weights * (log_probs - mean[:, None]).square()).sum(-1)
    return result.cpu()


class ModelPair(TransformersModel):
    """An observer and a performer as one `TokenScorer`.

    The statistics are the performer's, with entropy and variance in the expectation of the observer: with p the
    performer and q the observer, entropy is the cross-entropy -Σ q ln p, and variance is that of ln p under q. Where
    both are the same model these are the ordinary statistics.

    Attributes:
        observer: weighs the vocabulary.
        performer: its log-probabilities are measured.
    """

    def __init__(self, observer: TransformersModel, performer: TransformersModel, settings: ModelSettings) -> None:
        """Join two models.

        Raises:
            ModelError: they have different tokenizers or vocabularies, or put different tokens before a text.
        """
        name = f"{performer.name} observed by {observer.name}"
        if (
            observer.tokenizer_digest != performer.tokenizer_digest
            or observer.encoder.prefix != performer.encoder.prefix
        ):
            raise ModelError(f"{name}: the tokenizers differ; expected an observer and a performer with one tokenizer")
        if observer.vocabulary_size != performer.vocabulary_size:
            raise ModelError(
                f"{name}: {observer.vocabulary_size} and {performer.vocabulary_size} logits: expected two models of "
                "one vocabulary"
            )
        super().__init__(performer.checkpoint, settings)
        self.name = name
        self.observer = observer
        self.performer = performer
        self.context = min(observer.context, performer.context)
        # both read the same windows, or their tokens would have other contexts
        self.stride = min(observer.stride, performer.stride)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of both models; not of the device."""
        return combined(["pair", self.observer.digest, self.performer.digest, self.context, self.stride])

    def forward_statistics(self, ids: Tensor, positions: Tensor, targets: Tensor) -> Tensor:
        """Return float32 [6, rows] on the CPU; see `Forward.statistics`.

        Raises:
            ModelError: a statistic is not finite.
        """
        if not len(positions):
            return torch.zeros((len(ROWS), 0))
        with torch.inference_mode():
            observed, observing = self.observer.forward.source(ids)
            performed, performing = self.performer.forward.source(ids)
            observed, performed = observed.flatten(0, 1), performed.flatten(0, 1)
            limit = CPU_LOGITS if performed.device.type == "cpu" else GPU_LOGITS
            step = max(1, limit // self.vocabulary_size)
            parts = [
                crossed(
                    observing(observed[rows.to(observed.device)]),
                    performing(performed[rows.to(performed.device)]),
                    following,
                )
                for rows, following in zip(positions.split(step), targets.split(step), strict=True)
            ]
        result = torch.cat(parts, dim=1)
        if not bool(result.isfinite().all()):
            raise ModelError("a statistic of two models is not finite: expected weights without NaN or infinity")
        return result


@dataclass(frozen=True, slots=True)
class PairedStatistics:
    """The deriver of Binoculars: the statistics of each text under a pair.

    Attributes:
        pair: a `ModelPair`, or one behind the cache.
    """

    pair: LogProbScorer

    @property
    def digest(self) -> str:
        """Of the pair."""
        return self.pair.digest

    def __call__(self, samples: Sequence[Sample], n: int) -> Sequence[Derived]:  # noqa: ARG002  one of each text
        """See `assay.scores.Deriver`; equal texts are run once."""
        assert isinstance(self.pair, TokenScorer)  # noqa: S101  as a pair is, and a cached one
        texts = list(dict.fromkeys(text_column(samples)))
        statistics = dict(zip(texts, self.pair.token_statistics(texts), strict=True))
        return [Derived((statistics[sample.text],)) for sample in samples]
