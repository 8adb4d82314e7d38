"""Continuations once written are kept beside the statistics, as they come."""

import hashlib
import json
import logging
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from assay.models.cache import StatisticsCache
from assay.models.model_store import ModelStore
from assay.types import Generator, TokenGenerator, Tokens, Unread

LOG = logging.getLogger("assay")

Prompt = str | tuple[int, ...]
Answer = str | tuple[int, ...] | Unread
Asked = tuple[Prompt, int]
"""A prompt, and how often it was asked before: two samples of one prompt are meant to differ."""


class CachedGenerator:
    """A `Generator` that asks the cache first and the model for what is missing, each prompt once.

    What is asked is the whole request: prompt, length, ends, and of a sample temperature, nucleus, seed and how often
    the same was asked before. A model behind an API is known by its address and name alone, so what it wrote before it
    was changed there is given again; clear the cache then. A cache that fails is told once to `on_problem` and no
    longer used.

    Attributes:
        model: the model that writes.
    """

    def __init__(
        self,
        model: Generator,
        cache: StatisticsCache,
        *,
        digest: str,
        on_problem: Callable[[str], None] = LOG.warning,
    ) -> None:
        self.model = model
        self.digest = digest
        self._entries = ModelStore(cache, digest, model.name, on_problem=on_problem)

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model.name

    def generate(
        self,
        prompts: Sequence[str],
        *,
        max_new_tokens: int,
        temperature: float = 0.0,
        top_p: float = 1.0,
        stop: Sequence[str] = (),
        seed: int = 0,
    ) -> Iterator[str | Unread]:
        """Continuations in the order of `prompts`; that one is not taken is not kept."""
        sampled = temperature > 0
        settings = ["text", max_new_tokens, list(stop), *([temperature, top_p, seed] if sampled else [])]

        def write(missing: Sequence[Prompt]) -> Iterable[str | Unread]:
            return self.model.generate(
                [str(one) for one in missing],
                max_new_tokens=max_new_tokens,
                temperature=temperature,
                top_p=top_p,
                stop=stop,
                seed=seed,
            )

        asked = numbered(prompts) if sampled else [(prompt, 0) for prompt in prompts]
        for found in self._kept_or(write, asked, settings):
            yield found if isinstance(found, Unread) else str(found)

    def _kept_or(
        self, write: Callable[[Sequence[Prompt]], Iterable[Answer]], asked: Sequence[Asked], settings: list[object]
    ) -> Iterator[Answer]:
        """What the cache holds; what it does not, from the model, each answer kept before anyone sees it.

        Of a prompt asked several times all samples are drawn anew where one is missing: a model tells them apart by
        their number.
        """
        keys = {one: entry_key(one[0], [*settings, one[1]] if one[1] else settings) for one in asked}
        held = self._entries.lookup(keys.values(), unpack_answer)
        again = {prompt for (prompt, _), key in keys.items() if key not in held}
        found: dict[Asked, Answer] = {one: held[key] for one, key in keys.items() if one[0] not in again}
        missing = [one for one in keys if one[0] in again]
        new = iter(zip(missing, write([prompt for prompt, _ in missing]), strict=True)) if missing else iter(())
        for wanted in asked:
            while wanted not in found:
                one, said = next(new)
                if not isinstance(said, Unread):
                    self._entries.write([(keys[one], pack_answer(said))])
                found[one] = said
            yield found[wanted]


class CachedTokenGenerator(CachedGenerator):
    """The same for a model whose tokenizer is at hand."""

    model: TokenGenerator

    @property
    def context(self) -> int:
        """Tokens that the model reads and writes at most."""
        return self.model.context

    def tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """Each text in tokens."""
        return self.model.tokens(texts)

    def continue_tokens(self, prompts: Sequence[Sequence[int]], *, max_new_tokens: int) -> Iterator[tuple[int, ...]]:
        """Greedy continuations in tokens, in the order of `prompts`."""

        def write(missing: Sequence[Prompt]) -> Iterable[tuple[int, ...]]:
            wanted = [one for one in missing if not isinstance(one, str)]
            return self.model.continue_tokens(wanted, max_new_tokens=max_new_tokens)

        for found in self._kept_or(write, [(tuple(prompt), 0) for prompt in prompts], ["tokens", max_new_tokens]):
            if not isinstance(found, Unread):  # tokens that were cut to the context are always taken
                yield tuple(int(token) for token in found)


def cached_generator(
    model: Generator, cache: StatisticsCache, *, digest: str, on_problem: Callable[[str], None] = LOG.warning
) -> CachedGenerator:
    """The model behind the cache; it shows its tokenizer where the model does."""
    kind = CachedTokenGenerator if isinstance(model, TokenGenerator) else CachedGenerator
    return kind(model, cache, digest=digest, on_problem=on_problem)


def numbered(prompts: Sequence[str]) -> list[Asked]:
    """Each prompt with how often it stood before."""
    seen: Counter[str] = Counter()
    found: list[Asked] = []
    for prompt in prompts:
        found.append((prompt, seen[prompt]))
        seen[prompt] += 1
    return found


def entry_key(prompt: Prompt, settings: list[object]) -> bytes:
    """SHA-256 of the prompt and of how it is to be continued; no text's own digest can be the same."""
    asked = json.dumps(["continuation", *settings, prompt]).encode("utf-8", "surrogatepass")
    return hashlib.sha256(asked).digest()


def pack_answer(answer: Prompt) -> bytes:
    """A CRC-32 of four bytes, then the answer as JSON."""
    body = json.dumps(answer).encode("ascii")
    return zlib.crc32(body).to_bytes(4, "little") + body


def unpack_answer(blob: bytes) -> Prompt:
    """What `pack_answer` packed.

    Raises:
        ValueError: the blob is not as it was written.
    """
    body = blob[4:]
    if zlib.crc32(body).to_bytes(4, "little") != blob[:4]:
        raise ValueError(f"an entry of {len(blob)} bytes does not agree with its checksum")
    found = json.loads(body)
    return found if isinstance(found, str) else tuple(found)
