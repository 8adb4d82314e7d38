"""An n-gram model with exact probabilities, no torch and no files: the test double of every backend."""

import hashlib
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from assay.errors import ModelError
from assay.models.generators import in_order
from assay.types import Indexed, Tokens, TokenStatistics

TextUnits = Literal["words", "characters"]
Counts = Mapping[tuple[int, ...], Mapping[int, float]]

UNKNOWN = "\N{REPLACEMENT CHARACTER}"
"""The token that stands for every piece outside the vocabulary; its id is 0 in a trained model."""

UNLIMITED = 2**31

_PIECES = {"words": re.compile(r"\w+|\s+|[^\w\s]"), "characters": re.compile(r".", re.DOTALL)}


class TableModel:
    """p(v | context) = (count(context, v) + a) / (count(context) + a V), a the smoothing.

    The context is the n - 1 tokens before; at the start of a text it is as short as what stands there. A
    context without counts is uniform. It is a `TokenScorer` and a `Generator`; like any model without a BOS
    token it does not score a text's first token.

    Attributes:
        scored: every text this model was asked to score, in the order the work was done. A test that claims
            "each text runs once" looks here.
        name: what `TokenScorer.name` says; free to choose.
    """

    def __init__(
        self,
        vocabulary: Sequence[str],
        counts: Counts,
        *,
        order: int = 2,
        smoothing: float = 1.0,
        units: TextUnits = "words",
        name: str = "table",
        batch_size: int = 8,
    ) -> None:
        """Take counts as they are.

        Args:
            vocabulary: the pieces, by token id. A piece that is not here becomes `UNKNOWN` if that is in the
                vocabulary, else the token whose id is its first character's code point modulo V.
            counts: context (up to order - 1 token ids) → next token id → count.
            order: n of the n-gram; 1 ignores the context.
            smoothing: a > 0, added to every count.
            units: how text falls into pieces; either way the pieces joined are the text.
            name: how the model is called.
            batch_size: texts in one batch of `completed`.

        Raises:
            ModelError: an empty vocabulary, an order below 1, or no smoothing.
        """
        if not vocabulary:
            raise ModelError("table model with an empty vocabulary: expected at least one token")
        if order < 1:
            raise ModelError(f"table model of order {order}: expected at least 1")
        if not smoothing > 0:
            raise ModelError(f"table model with smoothing {smoothing}: expected a number above 0")
        self.name = name
        self.scored: list[str] = []
        self._vocabulary = tuple(vocabulary)
        self._ids = {piece: index for index, piece in enumerate(self._vocabulary)}
        self._counts = counts
        self._order = order
        self._smoothing = smoothing
        self._units: TextUnits = units
        self._batch_size = batch_size
        self._rows: dict[tuple[int, ...], NDArray[np.float64]] = {}

    @classmethod
    def uniform(cls, vocabulary_size: int, *, name: str = "uniform", batch_size: int = 8) -> Self:
        """A model that has learnt nothing: tokens are characters, each has probability 1 / V."""
        pieces = [chr(32 + index) for index in range(vocabulary_size)]
        return cls(pieces, {}, order=1, units="characters", name=name, batch_size=batch_size)

    @classmethod
    def trained(
        cls,
        texts: Iterable[str],
        *,
        order: int = 3,
        smoothing: float = 0.01,
        units: TextUnits = "words",
        name: str = "table",
        batch_size: int = 8,
    ) -> Self:
        """A model that has read `texts` once; what it reads twice it knows twice as well."""
        vocabulary = {UNKNOWN: 0}
        counts: defaultdict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
        for text in texts:
            ids = [vocabulary.setdefault(piece, len(vocabulary)) for piece in _PIECES[units].findall(text)]
            for position, token in enumerate(ids):
                counts[tuple(ids[max(0, position - order + 1) : position])][token] += 1
        return cls(
            list(vocabulary),
            counts,
            order=order,
            smoothing=smoothing,
            units=units,
            name=name,
            batch_size=batch_size,
        )

    @cached_property
    def digest(self) -> str:
        """SHA-256 of vocabulary, counts and smoothing."""
        counts = sorted((list(context), sorted(row.items())) for context, row in self._counts.items())
        return _sha256([self.tokenizer_digest, counts, self._order, self._smoothing])

    @property
    def tokenizer_digest(self) -> str:
        """SHA-256 of vocabulary and units."""
        return _sha256([self._vocabulary, self._units])

    @property
    def vocabulary_size(self) -> int:
        """Number of tokens, V."""
        return len(self._vocabulary)

    def completed(self, texts: Sequence[str]) -> Iterator[Sequence[Indexed]]:
        """Statistics of every text, `batch_size` at a time."""
        for start in range(0, len(texts), self._batch_size):
            yield [
                (start + position, self._statistics(text))
                for position, text in enumerate(texts[start : start + self._batch_size])
            ]

    def token_statistics(self, texts: Sequence[str]) -> Iterator[TokenStatistics]:
        """Statistics in the order of `texts`."""
        return in_order(self.completed(texts))

    def generate(
        self,
        prompts: Sequence[str],
        *,
        max_new_tokens: int,
        temperature: float = 0.0,
        top_p: float = 1.0,
        stop: Sequence[str] = (),
        seed: int = 0,
    ) -> Iterator[str]:
        """Continuations; a table knows no end of sequence: `max_new_tokens` each, unless stopped."""
        for index, prompt in enumerate(prompts):
            random = np.random.default_rng([seed, index])
            ids = self.encode(prompt)
            text = ""
            for _ in range(max_new_tokens):
                ids.append(_draw(self.probabilities(ids), temperature=temperature, top_p=top_p, random=random))
                text += self._vocabulary[ids[-1]]
                ends = [position for position in (text.find(end) for end in stop) if position >= 0]
                if ends:
                    text = text[: min(ends)]
                    break
            yield text

    @property
    def context(self) -> int:
        """A table reads any length."""
        return UNLIMITED

    def tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """Each text in pieces; nothing stands before it, so that the second is the first to be predicted."""
        return [
            Tokens(
                tuple(self.encode(text)),
                np.array([one.span() for one in _PIECES[self._units].finditer(text)], np.int32).reshape(-1, 2),
                first=1,
                special=0,
            )
            for text in texts
        ]

    def continue_tokens(self, prompts: Sequence[Sequence[int]], *, max_new_tokens: int) -> Iterator[tuple[int, ...]]:
        """The likeliest token, `max_new_tokens` times; of equals the one with the lowest id."""
        for prompt in prompts:
            ids = list(prompt)
            for _ in range(max_new_tokens):
                ids.append(int(self.probabilities(ids).argmax()))
            yield tuple(ids[len(prompt) :])

    def encode(self, text: str) -> list[int]:
        """Token ids of a text."""
        return list(map(self._id, self.pieces(text)))

    def pieces(self, text: str) -> list[str]:
        """The text of each token, known to the model or not."""
        return _PIECES[self._units].findall(text)

    def probabilities(self, before: Sequence[int]) -> NDArray[np.float64]:
        """p(v | the tokens before), float64 [V], summing to 1."""
        context = tuple(before[max(0, len(before) - self._order + 1) :])
        if context not in self._rows:
            weights = np.full(self.vocabulary_size, self._smoothing)
            for token, count in self._counts.get(context, {}).items():
                weights[token] += count
            self._rows[context] = weights / weights.sum()
        return self._rows[context]

    def _id(self, piece: str) -> int:
        fallback = self._ids.get(UNKNOWN, ord(piece[0]) % self.vocabulary_size)
        return self._ids.get(piece, fallback)

    def _statistics(self, text: str) -> TokenStatistics:
        self.scored.append(text)
        pieces = list(_PIECES[self._units].finditer(text))
        ids = [self._id(piece.group()) for piece in pieces]
        if len(ids) < 2:  # nothing predicts the first token
            return TokenStatistics.empty()
        columns = np.array([_row(self.probabilities(ids[:t]), ids[t]) for t in range(1, len(ids))])
        log_probs, ranks, entropy, variance, tail_mass, top = columns.T
        return TokenStatistics(
            token_ids=np.array(ids[1:], np.int32),
            log_probs=log_probs.astype(np.float32),
            ranks=ranks.astype(np.int32),
            entropy=entropy.astype(np.float32),
            variance=variance.astype(np.float32),
            tail_mass=tail_mass.astype(np.float32),
            top_log_probs=top.astype(np.float32),
            offsets=np.array([piece.span() for piece in pieces[1:]], np.int32),
        )


def _row(p: NDArray[np.float64], token: int) -> tuple[float, float, float, float, float, float]:
    """METHODS §0 in float64: l, r, H, V, u, l_max of one token under p."""
    log_p = np.log(p)
    mean = float(p @ log_p)
    return (
        float(log_p[token]),
        1 + int((p > p[token]).sum()),
        -mean,
        float(p @ (log_p - mean) ** 2),
        float(p[p < p[token]].sum() + p[token] / 2),
        float(log_p.max()),
    )


def _draw(p: NDArray[np.float64], *, temperature: float, top_p: float, random: np.random.Generator) -> int:
    if temperature == 0:
        return int(p.argmax())
    weights = p ** (1 / temperature)
    order = np.argsort(-weights, kind="stable")
    cumulative = np.cumsum(weights[order] / weights.sum())
    kept = order[: 1 + int((cumulative < top_p).sum())]
    return int(random.choice(kept, p=weights[kept] / math.fsum(weights[kept])))


def _sha256(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()
