"""Continuations once written are kept beside the statistics, as they come."""

import hashlib
import json
import logging
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from assay.errors import CacheError
from assay.models.cache import StatisticsCache
from assay.types import Generator, TokenGenerator, Tokens, Unread

LOG = logging.getLogger("assay")

WRITTEN_TOGETHER = 32
"""Continuations in one transaction: at most so many are lost when a run is killed."""

Prompt = str | tuple[int, ...]
Answer = str | tuple[int, ...] | Unread


class CachedGenerator:
    """A `Generator` that asks the cache first and the model for what is missing, each prompt once.

    Only greedy continuations are kept: samples are meant to differ. A model without a digest, behind an API, is known
    by its name alone, so what it wrote before it was changed there is given again; clear the cache then. A cache that
    fails is told once to `on_problem` and no longer used.

    Attributes:
        model: the model that writes.
        cache: where its continuations are kept.
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
        self.cache = cache
        self.digest = digest
        self._on_problem = on_problem
        self._usable = True

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
        if temperature > 0:
            yield from self.model.generate(
                prompts, max_new_tokens=max_new_tokens, temperature=temperature, top_p=top_p, stop=stop, seed=seed
            )
            return
        settings = ["text", max_new_tokens, list(stop)]

        def write(missing: Sequence[Prompt]) -> Iterable[str | Unread]:
            return self.model.generate([str(one) for one in missing], max_new_tokens=max_new_tokens, stop=stop)

        for found in self._kept_or(write, prompts, settings):
            yield found if isinstance(found, Unread) else str(found)

    def _kept_or(
        self, write: Callable[[Sequence[Prompt]], Iterable[Answer]], prompts: Sequence[Prompt], settings: list[object]
    ) -> Iterator[Answer]:
        """What the cache holds; what it does not, from the model, kept as it comes."""
        keys = {prompt: entry_key(prompt, settings) for prompt in prompts}
        held = self._lookup(keys.values())
        found: dict[Prompt, Answer] = {prompt: held[key] for prompt, key in keys.items() if key in held}
        missing = [prompt for prompt in keys if prompt not in found]
        new = iter(zip(missing, write(missing), strict=True)) if missing else iter(())
        for prompt in prompts:
            while prompt not in found:
                some = list(islice(new, WRITTEN_TOGETHER))
                self._store([(keys[one], pack_answer(said)) for one, said in some if not isinstance(said, Unread)])
                found.update(some)
            yield found[prompt]

    def _lookup(self, keys: Iterable[bytes]) -> dict[bytes, Prompt]:
        if not self._usable:
            return {}
        try:
            return self.cache.rows(self.digest, keys, unpack_answer)
        except CacheError as error:
            self._give_up(error)
            return {}

    def _store(self, rows: Sequence[tuple[bytes, bytes]]) -> None:
        if not self._usable:
            return
        try:
            self.cache.write_rows(self.digest, self.name, rows)
        except CacheError as error:
            self._give_up(error)

    def _give_up(self, error: CacheError) -> None:
        self._usable = False
        self._on_problem(f"{error}; going on without the cache")


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

        for found in self._kept_or(write, [tuple(prompt) for prompt in prompts], ["tokens", max_new_tokens]):
            if not isinstance(found, Unread):  # tokens that were cut to the context are always taken
                yield tuple(int(token) for token in found)


def cached_generator(
    model: Generator, cache: StatisticsCache, *, digest: str, on_problem: Callable[[str], None] = LOG.warning
) -> CachedGenerator:
    """The model behind the cache; it shows its tokenizer where the model does."""
    kind = CachedTokenGenerator if isinstance(model, TokenGenerator) else CachedGenerator
    return kind(model, cache, digest=digest, on_problem=on_problem)


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
