"""A scorer, or a model whose hidden states are read, behind the cache."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from itertools import filterfalse, repeat
from operator import itemgetter
from typing import Self, TypeVar, Unpack

import numpy as np

from assay.models.cache import (
    BLOCK,
    LOG,
    LOOKUP,
    ModelStore,
    StatisticsCache,
    pack_statistics,
    sealed,
    text_digest,
    unpack_statistics,
    unsealed,
)
from assay.models.generators import Decoding, DecodingArguments, in_blocks, in_order, numbered
from assay.types import (
    Embedder,
    Float32Array,
    GeneratedText,
    Generator,
    Indexed,
    LogProbScorer,
    Pooling,
    Prompt,
    RankedLogProbs,
    Rejected,
    TokenGenerator,
    TokenLogProbs,
    Tokens,
    TokenScorer,
    TokenStatistics,
    gives,
)


def cached_scorer(
    model: LogProbScorer, cache: StatisticsCache, *, on_problem: Callable[[str], None] = LOG.warning
) -> LogProbScorer:
    """Return the model behind the cache, with the capabilities that it has."""
    kind = CachedScorer if isinstance(model, TokenScorer) else CachedLogProbScorer
    return kind(model, cache, on_problem=on_problem)


class CachedLogProbScorer:
    """A `LogProbScorer` that asks the cache first and runs the model for what is missing, each text once.

    Every batch is in the cache before anyone sees it, so a killed run starts again where it stopped. A cache that
    fails (disk full, file damaged) is reported once to `on_problem` and no longer used: scoring goes on.

    Attributes:
        scorer: the model that computes.
        needs_ranks: entries of the cache without ranks count as missing.
    """

    def __init__(
        self, scorer: LogProbScorer, cache: StatisticsCache, *, on_problem: Callable[[str], None] = LOG.warning
    ) -> None:
        self.scorer, self.name, self.digest = scorer, scorer.name, scorer.digest
        self._entries = ModelStore(cache, scorer.digest, scorer.name, on_problem=on_problem)
        self.needs_ranks = False

    @property
    def tokenizer_digest(self) -> str | None:
        """The tokenizer's digest."""
        return self.scorer.tokenizer_digest

    @property
    def gives_ranks(self) -> bool:
        """True if the model gives the rank of each token."""
        return gives(self.scorer, RankedLogProbs)

    def requiring_ranks(self) -> Self:
        """Return the same model, for which entries of the cache without ranks count as missing."""
        other = copy(self)
        other.needs_ranks = True
        return other

    def missing(self, texts: Sequence[str]) -> list[str]:
        """Return the texts, each once, that the cache does not hold."""
        missing: list[str] = []
        for block in in_blocks(list(dict.fromkeys(texts)), LOOKUP):
            missing.extend(filterfalse(self._lookup(block).__contains__, block))
        return missing

    def completed(self, texts: Sequence[str]) -> Iterator[Sequence[tuple[int, TokenLogProbs | Rejected]]]:
        """Yield statistics batch by batch: first what the cache holds, then what the model computes.

        A rejection is not stored: the next server, or the same one with a longer context, may accept the text.
        """
        # equal texts are run once; the result goes to every place that asked
        indexes: dict[str, list[int]] = {}
        for index, text in enumerate(texts):
            indexes.setdefault(text, []).append(index)
        missing: list[str] = []
        for block in in_blocks(list(indexes), LOOKUP):
            entries = self._lookup(block)
            missing.extend(filterfalse(entries.__contains__, block))
            if entries:
                yield list(_at_each_place(entries.items(), indexes))
        for batch in self.scorer.completed(missing) if missing else ():
            results = [(missing[position], value) for position, value in batch]
            # stored before it is handed out: whoever has seen a value finds it again after a kill
            self._entries.write([_packed(text, value) for text, value in results if not isinstance(value, Rejected)])
            yield list(_at_each_place(results, indexes))

    def _lookup(self, texts: Sequence[str]) -> dict[str, TokenLogProbs]:
        keys = dict(zip(map(text_digest, texts), texts, strict=True))
        entries = self._entries.lookup(keys, unpack_statistics)
        return {keys[key]: value for key, value in entries.items() if self._suffices(value)}

    def _suffices(self, value: TokenLogProbs) -> bool:
        # an entry may be from a run that needed no ranks, or older than they are
        return not self.needs_ranks or isinstance(value, RankedLogProbs) or not len(value)


def _packed(text: str, value: TokenLogProbs) -> tuple[bytes, bytes]:
    return text_digest(text), pack_statistics(value)


Result = TypeVar("Result")


def _at_each_place(
    results: Iterable[tuple[str, Result]], indexes: Mapping[str, Sequence[int]]
) -> Iterator[tuple[int, Result]]:
    """Yield the result of each text with every index of the text."""
    for text, value in results:
        yield from zip(indexes[text], repeat(value))


class CachedScorer(CachedLogProbScorer):
    """A `TokenScorer` behind the cache: as `CachedLogProbScorer`, with whole statistics."""

    scorer: TokenScorer

    @property
    def tokenizer_digest(self) -> str:
        """The tokenizer's digest."""
        return self.scorer.tokenizer_digest

    @property
    def vocabulary_size(self) -> int:
        """Number of token ids, V."""
        return self.scorer.vocabulary_size

    def completed(self, texts: Sequence[str]) -> Iterator[Sequence[Indexed]]:
        """Statistics batch by batch: first what the cache holds, then what the model computes."""
        for batch in super().completed(texts):
            yield [(index, value) for index, value in batch if isinstance(value, TokenStatistics)]

    def token_statistics(self, texts: Sequence[str]) -> Iterator[TokenStatistics]:
        """Statistics in the order of `texts`; no more than `BLOCK` of them are held."""
        for block in in_blocks(texts, BLOCK):
            yield from in_order(self.completed(block))


class CachedEmbedder:
    """An `Embedder` that asks the cache first and runs the model for what is missing, each text once."""

    def __init__(
        self, embedder: Embedder, cache: StatisticsCache, *, on_problem: Callable[[str], None] = LOG.warning
    ) -> None:
        self.embedder, self.name, self.digest = embedder, embedder.name, embedder.digest
        self._entries = ModelStore(cache, embedder.digest, embedder.name, on_problem=on_problem)

    def hidden_states(self, texts: Sequence[str], *, layer: int = -1, pooling: Pooling = "last") -> Float32Array:
        """Return one vector per text, float32 [texts, d]; see `assay.types.Embedder`."""
        keys = {text: vector_key(text, layer, pooling) for text in texts}
        vectors = self._entries.lookup(keys.values(), unpack_vector)
        missing = [text for text, key in keys.items() if key not in vectors]
        for block in in_blocks(missing, BLOCK):
            rows = self.embedder.hidden_states(block, layer=layer, pooling=pooling)
            new = dict(zip(map(keys.__getitem__, block), rows, strict=True))
            self._entries.write(list(zip(new, map(pack_vector, new.values()), strict=True)))
            vectors |= new
        if not texts:
            return self.embedder.hidden_states([], layer=layer, pooling=pooling)
        return np.stack(list(map(vectors.__getitem__, map(keys.__getitem__, texts))))


def vector_key(text: str, layer: int, pooling: Pooling) -> bytes:
    """Return the SHA-256 of a text and of how its vector is read; no other entry can have the same key."""
    return hashlib.sha256(json.dumps(["hidden", layer, pooling, text]).encode("ascii")).digest()


def pack_vector(vector: Float32Array) -> bytes:
    """Return a CRC-32 of four bytes, then the numbers, little-endian."""
    return sealed(np.ascontiguousarray(vector, "<f4").tobytes())


def unpack_vector(blob: bytes) -> Float32Array:
    """Return the vector of `pack_vector`.

    Raises:
        ValueError: the blob is not as it was written.
    """
    return np.frombuffer(unsealed(blob), "<f4").astype("f4")


# Generated continuations, kept beside the statistics as they arrive.

Numbered = tuple[Prompt, int]
"""A prompt and its number among equal prompts: two samples of one prompt are meant to differ."""


class CachedGenerator:
    """A `Generator` that looks in the cache first and asks the model for missing continuations, each prompt once.

    The key is the whole request: prompt, length, stop strings, and of a sample temperature, nucleus, seed and its
    number among equal prompts. A model behind an API is identified by its address and name alone: if the server changes
    the model, the cache returns the old text; clear the cache then. A cache that fails is reported once to
    `on_problem` and no longer used.

    Attributes:
        model: generates the text.
    """

    def __init__(
        self, model: Generator, cache: StatisticsCache, *, digest: str, on_problem: Callable[[str], None] = LOG.warning
    ) -> None:
        self.model, self.name, self.digest = model, model.name, digest
        self._entries = ModelStore(cache, digest, model.name, on_problem=on_problem)

    def generate(self, prompts: Sequence[str], **how: Unpack[DecodingArguments]) -> Iterator[str | Rejected]:
        """Yield continuations in the order of `prompts`; a rejection is not stored."""
        decoding = Decoding(**how)

        def write(missing: Sequence[Prompt]) -> Iterable[str | Rejected]:
            return self.model.generate(list(map(str, missing)), **how)

        # greedy continuations of equal prompts are equal: they share the number 0
        requests = numbered(prompts) if decoding.temperature > 0 else zip(prompts, repeat(0))
        for answer in self._kept_or(write, list(requests), key_settings(decoding)):
            yield answer if isinstance(answer, Rejected) else str(answer)

    def missing(self, prompts: Sequence[str], **how: Unpack[DecodingArguments]) -> list[str]:
        """Return the distinct prompts whose first continuation is not stored; arguments as of `generate`."""
        settings = key_settings(Decoding(**how))
        keys = dict(zip(prompts, map(entry_key, zip(prompts, repeat(0)), repeat(settings)), strict=False))
        kept = self._entries.lookup(keys.values(), unpack_answer)
        return [prompt for prompt, key in keys.items() if key not in kept]

    def _kept_or(
        self,
        write: Callable[[Sequence[Prompt]], Iterable[GeneratedText | Rejected]],
        requests: Sequence[Numbered],
        settings: list[object],
    ) -> Iterator[GeneratedText | Rejected]:
        """Yield the answers in the order of the requests: from the cache, else from the model.

        Each new answer is kept before it is yielded. If one sample of a prompt is missing, all samples of that prompt
        are drawn again, because a model distinguishes them by their number.
        """
        keys = dict(zip(requests, map(entry_key, requests, repeat(settings)), strict=True))
        kept = self._entries.lookup(keys.values(), unpack_answer)
        # samples of a prompt are told apart by their number alone: for one that is missing, all of them are drawn again
        incomplete = {prompt for (prompt, _), key in keys.items() if key not in kept}
        answers: dict[Numbered, GeneratedText | Rejected] = {
            request: kept[key] for request, key in keys.items() if request[0] not in incomplete
        }
        missing = [request for request in keys if request[0] in incomplete]
        written = write(list(map(itemgetter(0), missing))) if missing else ()
        new = iter(zip(missing, written, strict=True))
        for request in requests:
            # The model answers in the order of `missing`, and a caller may stop early: take no more than is needed.
            while request not in answers:
                arrived, answer = next(new)
                if not isinstance(answer, Rejected):
                    self._entries.write([(keys[arrived], pack_answer(answer))])
                answers[arrived] = answer
            yield answers[request]


class CachedTokenGenerator(CachedGenerator):
    """A cached generator of a model that shows its tokenizer."""

    model: TokenGenerator

    @property
    def context(self) -> int:
        """Largest number of tokens of prompt and completion together."""
        return self.model.context

    def tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """Each text in tokens."""
        return self.model.tokens(texts)

    def continue_tokens(self, prompts: Sequence[Sequence[int]], *, max_new_tokens: int) -> Iterator[tuple[int, ...]]:
        """Greedy continuations in tokens, in the order of `prompts`."""

        def write(missing: Sequence[Prompt]) -> Iterable[tuple[int, ...]]:
            token_prompts = [prompt for prompt in missing if not isinstance(prompt, str)]
            return self.model.continue_tokens(token_prompts, max_new_tokens=max_new_tokens)

        requests: list[Numbered] = list(zip(map(tuple, prompts), repeat(0)))
        for answer in self._kept_or(write, requests, ["tokens", max_new_tokens]):
            if not isinstance(answer, Rejected):  # tokens that were cut to the context are never rejected
                yield tuple(map(int, answer))


def cached_generator(
    model: Generator, cache: StatisticsCache, *, digest: str, on_problem: Callable[[str], None] = LOG.warning
) -> CachedGenerator:
    """Return the model behind the cache; it shows its tokenizer if the model does."""
    kind = CachedTokenGenerator if isinstance(model, TokenGenerator) else CachedGenerator
    return kind(model, cache, digest=digest, on_problem=on_problem)


def key_settings(decoding: Decoding) -> list[object]:
    """Return the settings that a continuation depends on; greedy decoding depends on neither seed nor nucleus."""
    settings: list[object] = ["text", decoding.max_new_tokens, list(decoding.stop)]
    if decoding.temperature > 0:
        settings += [decoding.temperature, decoding.top_p, decoding.seed]
    return settings


def entry_key(request: Numbered, settings: list[object]) -> bytes:
    """Return the SHA-256 of the prompt and of the settings; no digest of a text alone can be the same."""
    prompt, number = request
    # the first of equal prompts, number 0, has the key of a prompt that is asked once
    content = json.dumps(["continuation", *settings, *filter(None, [number]), prompt])
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).digest()


def pack_answer(answer: GeneratedText) -> bytes:
    """Return a CRC-32 of four bytes, then the answer as JSON."""
    return sealed(json.dumps(answer).encode("ascii"))


def unpack_answer(blob: bytes) -> GeneratedText:
    """Return the answer that `pack_answer` packed.

    Raises:
        ValueError: the blob is not as it was written.
    """
    answer = json.loads(unsealed(blob))
    return answer if isinstance(answer, str) else tuple(answer)
