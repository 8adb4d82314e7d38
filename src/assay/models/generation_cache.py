"""Generated continuations, kept beside the statistics as they arrive."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence

from assay.models.cache import LOG, ModelStore, StatisticsCache, sealed, unsealed
from assay.models.generators import numbered
from assay.types import GeneratedText, Generator, Prompt, Rejected, TokenGenerator, Tokens

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
        self,
        model: Generator,
        cache: StatisticsCache,
        *,
        digest: str,
        on_problem: Callable[[str], None] = LOG.warning,
    ) -> None:
        self.model, self.name, self.digest = model, model.name, digest
        self._entries = ModelStore(cache, digest, model.name, on_problem=on_problem)

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
        """Yield continuations in the order of `prompts`; a rejection is not stored."""
        settings = key_settings(max_new_tokens, temperature, top_p, stop, seed)

        def write(missing: Sequence[Prompt]) -> Iterable[str | Rejected]:
            return self.model.generate(
                [str(prompt) for prompt in missing],
                max_new_tokens=max_new_tokens,
                temperature=temperature,
                top_p=top_p,
                stop=stop,
                seed=seed,
            )

        requests = list(numbered(prompts)) if temperature > 0 else [(prompt, 0) for prompt in prompts]
        for answer in self._kept_or(write, requests, settings):
            yield answer if isinstance(answer, Rejected) else str(answer)

    def missing(
        self,
        prompts: Sequence[str],
        *,
        max_new_tokens: int,
        temperature: float = 0.0,
        top_p: float = 1.0,
        stop: Sequence[str] = (),
        seed: int = 0,
    ) -> list[str]:
        """Return the distinct prompts whose first continuation is not stored; arguments as of `generate`."""
        settings = key_settings(max_new_tokens, temperature, top_p, stop, seed)
        keys = {prompt: entry_key(prompt, settings) for prompt in prompts}
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
        keys = {
            request: entry_key(request[0], [*settings, request[1]] if request[1] else settings) for request in requests
        }
        kept = self._entries.lookup(keys.values(), unpack_answer)
        # samples of a prompt are told apart by their number alone: for one that is missing, all of them are drawn again
        incomplete = {prompt for (prompt, _), key in keys.items() if key not in kept}
        answers: dict[Numbered, GeneratedText | Rejected] = {
            request: kept[key] for request, key in keys.items() if request[0] not in incomplete
        }
        missing = [request for request in keys if request[0] in incomplete]
        new = iter(zip(missing, write([prompt for prompt, _ in missing]), strict=True)) if missing else iter(())
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

        for answer in self._kept_or(write, [(tuple(prompt), 0) for prompt in prompts], ["tokens", max_new_tokens]):
            if not isinstance(answer, Rejected):  # tokens that were cut to the context are never rejected
                yield tuple(int(token) for token in answer)


def cached_generator(
    model: Generator, cache: StatisticsCache, *, digest: str, on_problem: Callable[[str], None] = LOG.warning
) -> CachedGenerator:
    """Return the model behind the cache; it shows its tokenizer if the model does."""
    kind = CachedTokenGenerator if isinstance(model, TokenGenerator) else CachedGenerator
    return kind(model, cache, digest=digest, on_problem=on_problem)


def key_settings(max_new_tokens: int, temperature: float, top_p: float, stop: Sequence[str], seed: int) -> list[object]:
    """Return the settings that a continuation depends on; greedy decoding depends on neither seed nor nucleus."""
    return ["text", max_new_tokens, list(stop), *([temperature, top_p, seed] if temperature > 0 else [])]


def entry_key(prompt: Prompt, settings: list[object]) -> bytes:
    """Return the SHA-256 of the prompt and of the settings; no digest of a text alone can be the same."""
    request = json.dumps(["continuation", *settings, prompt]).encode("utf-8", "surrogatepass")
    return hashlib.sha256(request).digest()


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
