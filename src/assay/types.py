"""The values that flow through assay. This module imports nothing of ours.

    samples → views → token statistics → scores → decisions → evaluation → report

Conventions: natural logarithm, ranks from 1, entropy in nats. n is the number of SCORED tokens of one text: the
first token has no prediction and is not scored, unless a beginning-of-sequence token stands before it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Float32Array = NDArray[np.float32]
Float64Array = NDArray[np.float64]
Int32Array = NDArray[np.int32]
Int64Array = NDArray[np.int64]
BooleanArray = NDArray[np.bool_]

Prompt = str | tuple[int, ...]
"""Text, or tokens, that a model continues."""
GeneratedText = str | tuple[int, ...]
"""A continuation, in the form of its prompt."""

MEMBER = "member"
NONMEMBER = "nonmember"


@dataclass(frozen=True, slots=True)
class Sample:
    """One text to be judged.

    `label` is "member" / "nonmember", "human" / a generator's name, or None where the truth is unknown. `group`
    names what must not be split in evaluation (project, task, book); None means the sample is its own group.
    """

    id: str
    text: str
    language: str | None = None
    label: str | None = None
    group: str | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)


def texts_of(samples: Iterable[Sample]) -> list[str]:
    """Return the text of each sample."""
    return [sample.text for sample in samples]


class Verdict(StrEnum):
    """Answer to the question whether a benchmark was in the training data of a model; the same in every command.

    "Contaminated" is about the benchmark itself; "familiar" is about the benchmark or other texts of its form.
    """

    CONTAMINATED = "contaminated"
    FAMILIAR = "familiar"
    NO_EVIDENCE = "no evidence"
    CANNOT_TELL = "cannot tell"


class Undecided(StrEnum):
    """Reason why a verdict is "cannot tell"."""

    NO_UNSEEN_TEXT = "no unseen text"
    CONTROL_NOT_FLAT = "control not flat"
    TOO_FEW = "n too small"
    UNFIT_SCORE = "score carries no verdict"
    NOT_MEASURED = "not measured"
    FAMILIAR_PROJECTS = "familiar projects"
    EASIER = "unseen text is easier"
    OUTSIDE = "outside the unseen text"
    FORM = "form of the benchmark"


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict with its reason.

    Attributes:
        verdict: the answer.
        explanation: one sentence with the figures behind the answer.
        reason: the cause of "cannot tell"; None for every other verdict.
        set_aside: an obstacle that was set aside on request, in a sentence; None where none was.

    Raises:
        ValueError: "cannot tell" without a reason, or a reason beside another verdict.
    """

    verdict: Verdict
    explanation: str
    reason: Undecided | None = None
    set_aside: str | None = None

    def __post_init__(self) -> None:
        """Check that exactly the verdict "cannot tell" has a reason."""
        if (self.verdict is Verdict.CANNOT_TELL) != (self.reason is not None):
            raise ValueError(
                f"verdict {self.verdict.value!r} with reason {self.reason}; only 'cannot tell' has a reason"
            )


@dataclass(frozen=True, slots=True, eq=False)
class TokenLogProbs:
    """All that some APIs give: which token stood there and how likely it was.

    Attributes:
        token_ids: int32 [n], the scored tokens.
        log_probs: float32 [n], l_t = ln p(token t | tokens before it).
    """

    token_ids: Int32Array
    log_probs: Float32Array

    def __len__(self) -> int:
        return len(self.token_ids)


@dataclass(frozen=True, slots=True, eq=False)
class RankedLogProbs(TokenLogProbs):
    """Log-probabilities and the rank of each token, as vLLM gives them.

    Attributes:
        ranks: int32 [n], r_t = 1 + number of vocabulary entries with a strictly larger logit.
    """

    ranks: Int32Array


@dataclass(frozen=True, slots=True, eq=False)
class TokenStatistics(RankedLogProbs):
    """Everything a likelihood score may see of a model: seven numbers per scored token, from ONE forward pass.

    Attributes:
        entropy: float32 [n], H_t = -E[ln p] in nats.
        variance: float32 [n], V_t = Var[ln p] under p.
        tail_mass: float32 [n], u_t = sum of p(v) over v with p(v) < p_t, plus p_t / 2 (mid probability-integral
            transform, in (0, 1)).
        top_log_probs: float32 [n], ln p of the most likely token at that position.
        offsets: int32 [n, 2], where token t stands in the text: text[start:end], in characters.
    """

    entropy: Float32Array
    variance: Float32Array
    tail_mass: Float32Array
    top_log_probs: Float32Array
    offsets: Int32Array

    @classmethod
    def empty(cls) -> Self:
        """The statistics of a text with no scored token."""
        ids, floats = np.zeros(0, np.int32), np.zeros(0, np.float32)
        measured = dict.fromkeys(("entropy", "variance", "tail_mass", "top_log_probs"), floats)
        return cls(token_ids=ids, log_probs=floats, ranks=ids, offsets=np.zeros((0, 2), np.int32), **measured)


@dataclass(frozen=True, slots=True)
class Rejected:
    """Stands where a model's answer would: the model rejected this one text, as one longer than its context.

    Attributes:
        reason: the same words for all texts that are rejected for one reason, so that they can be counted.
    """

    reason: str


Indexed = tuple[int, TokenStatistics]
"""A position in the list of texts that were asked for, and the statistics of that text."""


class Identified(Protocol):
    """A model with a name, and a digest of all that its results depend on."""

    @property
    def name(self) -> str:
        """The user's name for the model."""

    @property
    def digest(self) -> str:
        """Hexadecimal digest of all that is known to change a result: weights, tokenizer, dtype, windows, BOS."""


@runtime_checkable
class LogProbScorer(Identified, Protocol):
    """A model that gives at least log-probabilities of a text's tokens, as some HTTP APIs do."""

    @property
    def tokenizer_digest(self) -> str | None:
        """Hexadecimal digest of the tokenizer alone; frequency tables are keyed by it. None where nobody sees it."""

    def completed(self, texts: Sequence[str]) -> Iterator[Sequence[tuple[int, TokenLogProbs | Rejected]]]:
        """Log-probabilities batch by batch, as they come, in any order: every index exactly once."""


@runtime_checkable
class TokenScorer(Identified, Protocol):
    """A gray-box model: it gives token statistics."""

    @property
    def tokenizer_digest(self) -> str:
        """Hexadecimal digest of the tokenizer alone; frequency tables are keyed by it."""

    @property
    def vocabulary_size(self) -> int:
        """V, the number of token ids."""

    def completed(self, texts: Sequence[str]) -> Iterator[Sequence[Indexed]]:
        """Statistics batch by batch, as they are computed, in any order: every index exactly once."""

    def token_statistics(self, texts: Sequence[str]) -> Iterator[TokenStatistics]:
        """Statistics in the order of `texts`, as early as that order allows."""


def gives(model: LogProbScorer, statistics: type[TokenLogProbs]) -> bool:
    """Return True if a model gives statistics of that class.

    Only a `TokenScorer` gives whole statistics. Another model may have a property `gives_ranks`; one behind a server
    sends a short text to find out, so it is read only where ranks matter.
    """
    # the classes of statistics are a chain, and who gives the widest gives all
    if statistics is TokenLogProbs or isinstance(model, TokenScorer):
        return True
    return statistics is RankedLogProbs and bool(getattr(model, "gives_ranks", False))


Pooling = Literal["last", "mean"]
"""How the hidden states of a text become one vector: that of its last token, or the mean over its tokens."""


@runtime_checkable
class Embedder(Identified, Protocol):
    """A model whose hidden states can be read."""

    def hidden_states(self, texts: Sequence[str], *, layer: int = -1, pooling: Pooling = "last") -> Float32Array:
        """Return one vector per text, float32 [texts, d], in the order of `texts`.

        Args:
            texts: of a text longer than the context, its end counts.
            layer: 0 is the embedding, -1 the last layer, as in the list of hidden states of transformers.
            pooling: how the tokens of a text become one vector.
        """


@runtime_checkable
class Generator(Protocol):
    """A black-box model: it continues text."""

    @property
    def name(self) -> str:
        """The user's name for the model."""

    def generate(
        self,
        prompts: Sequence[str],
        *,
        max_new_tokens: int,
        temperature: float = 0.0,
        top_p: float = 1.0,
        stop: Sequence[str] = (),
        seed: int = 0,
    ) -> Iterator[str | Rejected]:
        """Continuations in the order of `prompts`, without the prompt; `Rejected` for a prompt that the model rejects.

        `temperature` 0 is greedy decoding. A continuation ends before the first of `stop`, at the end-of-sequence
        token, or after `max_new_tokens`.
        """


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """A text as a model reads it.

    Attributes:
        ids: [tokens], those that the model puts before every text included.
        offsets: int32 [tokens, 2], where each stands in the text, in characters; -1 where it stands nowhere.
        first: the first token that is predicted: the first of the text, or the second where nothing stands before it.
        special: how many tokens stand before the text.
    """

    ids: tuple[int, ...]
    offsets: Int32Array
    first: int
    special: int


@runtime_checkable
class TokenGenerator(Generator, Protocol):
    """A black-box model whose tokenizer is at hand: texts can be counted, cut and continued in its own tokens."""

    @property
    def context(self) -> int:
        """Tokens that it reads and writes at most, together."""

    def tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """Each text in tokens."""

    def continue_tokens(self, prompts: Sequence[Sequence[int]], *, max_new_tokens: int) -> Iterator[tuple[int, ...]]:
        """Greedy continuations in the order of `prompts`, without the prompt, in tokens."""


@runtime_checkable
class Encoder(Identified, Protocol):
    """Text → one vector each, for retrieval."""

    @property
    def dimensions(self) -> int:
        """d, the length of a vector."""

    def encode(self, texts: Sequence[str]) -> Float32Array:
        """float32 [texts, d], rows of length 1, in the order of `texts`."""


@dataclass(frozen=True, slots=True)
class Score:
    """The value of one score for one sample. `value` is NaN exactly when there is a `reason`."""

    sample_id: str
    name: str
    value: float
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class SampleDecision:
    """A score held against a threshold or a calibration set; kept apart from the measurement."""

    sample_id: str
    name: str
    positive: bool
    value: float
    threshold: float
    p_value: float | None = None
    q_value: float | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of the query that stands in a document: lines from 1, both ends included, of either side.

    `evidence` is the number of distinct fingerprints of the stretch, each weighted by its rarity in the index.
    """

    query_first: int
    query_last: int
    document_first: int
    document_last: int
    evidence: float = 0.0


@dataclass(frozen=True, slots=True)
class Match:
    """One document that a query may come from.

    Attributes:
        document_id: its number in the index.
        path: of the file at its first origin.
        similarity: Jaccard index of the two fingerprint sets, 0 to 1.
        containment: share of the query's fingerprints that the document has, 0 to 1.
        spans: what stands where, in query order; document lines are those of the file.
        licence: SPDX expression of the first origin, or "unknown".
        author: of the first origin.
        url: of the first origin.
        channel: what found it: "characters" (copies), "tokens" (renamed copies) or "vector".
        repository: of the first origin.
        name: dotted name of the function, None for a whole file.
        origins: number of places where this very text was found.
        confidence: 1 - the rate at which unrelated code of the query's length reaches this similarity; None where
            that was not measured.
        cosine: similarity of the two vectors, -1 to 1; None where it is not among the nearest by vector.
        at_limit: True if no unrelated code reached as much evidence when that was measured.
    """

    document_id: int
    path: str
    similarity: float
    containment: float
    spans: tuple[Span, ...]
    licence: str
    author: str | None
    url: str | None
    channel: str
    repository: str | None = None
    name: str | None = None
    origins: int = 1
    confidence: float | None = None
    cosine: float | None = None
    at_limit: bool = False


PROOF_LEVEL = 0.001
"""Largest adjusted p-value at which the lot of a release says that the publication was trained on."""


@dataclass(frozen=True, slots=True)
class ReleaseEvidence:
    """The test of a randomised release, as an audit uses it.

    Attributes:
        p_value: of the lot; exact.
        adjusted_p_value: adjusted over all tests in the log of the release; None without a full log.
        named: id → q-value of single tasks that the model knows, at a false discovery rate of 5 %.
        memorised: lower bound (95 %) of the number of tasks that the model knows.
        tasks: that were tested.
        valid: False for a release with a chosen key, which proves nothing.
        has_beacon: a public random beacon shows that the publisher did not choose the lot.
    """

    p_value: float
    adjusted_p_value: float | None
    named: Mapping[str, float]
    memorised: int
    tasks: int
    valid: bool
    has_beacon: bool

    @property
    def is_proof(self) -> bool:
        """True if the lot shows in the model: it was trained on the publication."""
        return self.valid and self.adjusted_p_value is not None and self.adjusted_p_value <= PROOF_LEVEL
