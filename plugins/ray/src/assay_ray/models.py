"""A model on the workers of a Ray cluster: texts go out in shards, statistics come back.

Every worker opens the model itself, so a folder or file has to have the same path on every node. The process that was
started opens no model; it keeps what comes back in its cache, shard by shard, so a run that is killed goes on there.
"""

import pickle
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from assay.errors import AssayError, MissingCapability, ModelError
from assay.models import ModelSettings, in_order, is_server, open_model, pack_statistics, unpack_statistics
from assay.types import (
    Indexed,
    LogProbScorer,
    RankedLogProbs,
    Rejected,
    TokenLogProbs,
    TokenScorer,
    TokenStatistics,
    gives,
)
from assay_ray.cluster import RayCluster

PREFIX = "ray:"
"""Of the names of these models."""

SHARD_TEXTS = 64
SHARD_CHARACTERS = 2**16
"""Of one task of a worker: much work beside the way there, and little that is lost with a worker."""
_AHEAD = 4
"""Shards in progress for each worker."""


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """Properties of a model that a worker has opened."""

    digest: str
    tokenizer_digest: str | None
    vocabulary_size: int | None
    ranks: bool


def open_on_ray(name: str, settings: ModelSettings) -> "RayLogProbScorer":
    """Return a model that workers open, with the capabilities that it has there.

    Args:
        name: `ray:MODEL` for the cluster that this machine belongs to, or `ray:MODEL@ADDRESS`; see `RayCluster`.
        settings: how workers open it.

    Raises:
        ModelError: a worker cannot open it, or it gives no log-probabilities.
        DataError: no cluster answers.
    """
    model = name.removeprefix(PREFIX)
    if is_server(model):
        raise ModelError(f"model {name!r}: {model!r} is behind a server already; expected it without {PREFIX!r}")
    address = None
    if "@" in model:
        # the last one, since a path may have the sign, too
        model, _, address = model.rpartition("@")
    if not model or address == "":
        raise ModelError(f"model {name!r}: expected {PREFIX}MODEL, or {PREFIX}MODEL@ADDRESS")
    workers = RayWorkers(model, settings, address or "")
    facts = workers.alone(_describe, b"", "opening the model")
    assert isinstance(facts, ModelFacts)  # noqa: S101  `_describe` wrote it
    return (RayLogProbScorer if facts.vocabulary_size is None else RayScorer)(workers, facts)


class RayWorkers:
    """Workers that open a model and score texts: one for each GPU, or one for each machine without GPUs.

    Attributes:
        name: the user's name for the model.
    """

    def __init__(self, name: str, settings: ModelSettings, address: str, *, cores: int | None = None) -> None:
        """Connect to the cluster.

        Args:
            name: of the model.
            settings: how it is opened.
            address: of the cluster; see `RayCluster`.
            cores: of one worker; None for all of a machine, or 1 beside a GPU.

        Raises:
            DataError: no cluster answers.
        """
        self.name = name
        self._cluster = RayCluster(address).__enter__()
        weakref.finalize(self, self._cluster.__exit__)
        accelerators = int(bool(self._cluster.resources.get("GPU")))
        if accelerators:
            kind, of_worker, cores = "GPU", accelerators, cores or 1
        else:
            # a model on the CPU uses all cores it gets, so a worker for each machine and not for each core
            cores = cores or self._cluster.smallest_node
            kind, of_worker = "CPU", cores
        self._share: dict[str, int] = {"cores": cores, "accelerators": accelerators}
        self._ahead = max(1, int(_AHEAD * self._cluster.resources.get(kind, 1) / of_worker))
        self._bound: dict[str, Any] = {"name": name, "settings": settings}

    def score(self, texts: Sequence[str]) -> Iterator[list[tuple[int, TokenLogProbs | Rejected]]]:
        """Yield statistics shard by shard; a shard whose worker died is scored by another one.

        Raises:
            ModelError: the model fails, or a text ends every worker that scores it.
            DataError: the connection to the cluster was lost.
        """
        shards = shards_of(texts)
        for start in range(0, len(shards), self._ahead):
            group = shards[start : start + self._ahead]
            tasks = [_packed_texts(texts, shard) for shard in group]
            results = self._cluster.each(partial(_score, **self._bound), tasks, **self._share)
            for shard, result in zip(group, results, strict=True):
                if result is None:
                    yield from self._one_by_one(shard, texts)
                else:
                    yield list(zip(shard, _values(_opened_reply(result)), strict=True))

    def alone(self, function: Callable[..., bytes], task: bytes, work: str) -> object:
        """Return what one worker returns for one task.

        Args:
            function: a function of this module.
            task: its argument.
            work: in words, for the message.

        Raises:
            ModelError: the model fails, or the worker dies.
        """
        reply = self._cluster.alone(partial(function, **self._bound), task, **self._share)
        if reply is None:
            raise ModelError(f"{self.name}: {work} ends its worker, as one without enough memory ends")
        return _opened_reply(reply)

    def _one_by_one(
        self, shard: Sequence[int], texts: Sequence[str]
    ) -> Iterator[list[tuple[int, TokenLogProbs | Rejected]]]:
        """Score each text of a shard alone: what can be scored is kept, and the text that ends its worker is named."""
        for index in shard:
            work = f"scoring a text of {len(texts[index]):,} characters"
            (value,) = _values(self.alone(_score, _packed_texts(texts, [index]), work))
            yield [(index, value)]


class RayLogProbScorer:
    """A `LogProbScorer` whose texts are scored by workers of a cluster.

    Attributes:
        facts: properties of the model.
    """

    def __init__(self, workers: RayWorkers, facts: ModelFacts) -> None:
        self.facts = facts
        self._workers = workers

    @property
    def name(self) -> str:
        """The user's name for the model."""
        return self._workers.name

    @property
    def digest(self) -> str:
        """The model's digest."""
        return self.facts.digest

    @property
    def tokenizer_digest(self) -> str | None:
        """The tokenizer's digest."""
        return self.facts.tokenizer_digest

    @property
    def gives_ranks(self) -> bool:
        """True if the model gives the rank of each token."""
        return self.facts.ranks

    def completed(self, texts: Sequence[str]) -> Iterator[Sequence[tuple[int, TokenLogProbs | Rejected]]]:
        """Yield statistics shard by shard; see `RayWorkers.score`."""
        return self._workers.score(texts)

    def token_log_probs(self, texts: Sequence[str]) -> Iterator[TokenLogProbs | Rejected]:
        """As `completed`, in the order of `texts`."""
        return in_order(self.completed(texts))

    def generate(self, prompts: Sequence[str], **_: object) -> Iterator[str | Rejected]:
        """Refuse: a `Generator` is what `open_model` returns, and workers generate nothing.

        Raises:
            MissingCapability: always.
        """
        raise MissingCapability(
            f"{self.name}: a Ray cluster generates no text ({len(prompts)} prompts); expected --access gray"
        )


class RayScorer(RayLogProbScorer):
    """A `TokenScorer` on a cluster."""

    @property
    def tokenizer_digest(self) -> str:
        """The tokenizer's digest."""
        return str(self.facts.tokenizer_digest)

    @property
    def vocabulary_size(self) -> int:
        """Number of token ids, V."""
        return int(self.facts.vocabulary_size or 0)

    def completed(self, texts: Sequence[str]) -> Iterator[Sequence[Indexed]]:
        """Statistics shard by shard; see `RayWorkers.score`."""
        for batch in self._workers.score(texts):
            yield [(index, value) for index, value in batch if isinstance(value, TokenStatistics)]

    def token_statistics(self, texts: Sequence[str]) -> Iterator[TokenStatistics]:
        """Statistics in the order of `texts`."""
        return in_order(self.completed(texts))


def shards_of(texts: Sequence[str]) -> list[list[int]]:
    """Return the positions of the texts, the longest first, in shards of about equal work."""
    shards: list[list[int]] = []
    characters = 0
    for index in sorted(range(len(texts)), key=lambda index: -len(texts[index])):
        if not shards or len(shards[-1]) == SHARD_TEXTS or characters + len(texts[index]) > SHARD_CHARACTERS:
            shards.append([])
            characters = 0
        shards[-1].append(index)
        characters += len(texts[index])
    return shards


def _opened_reply(reply: bytes) -> object:
    """Return what a worker returned.

    Raises:
        AssayError: the error that it met.
    """
    value = pickle.loads(reply)  # noqa: S301  of our own workers
    if isinstance(value, AssayError):
        raise value
    return value


def _packed_texts(texts: Sequence[str], shard: Sequence[int]) -> bytes:
    """Return the texts of a shard as a worker reads them."""
    return pickle.dumps(list(map(texts.__getitem__, shard)))


def _values(packed: object) -> Iterator[TokenLogProbs | Rejected]:
    assert isinstance(packed, list)  # noqa: S101  `_score` wrote it
    for value in packed:
        yield value if isinstance(value, Rejected) else unpack_statistics(value)


def _score(texts: bytes, *, name: str, settings: ModelSettings) -> bytes:
    """Score the texts of a shard in a worker."""
    try:
        model = _opened(name, settings)
        values = in_order(model.completed(pickle.loads(texts)))  # noqa: S301  of our own writer
        packed = [value if isinstance(value, Rejected) else pack_statistics(value) for value in values]
    except AssayError as error:
        # an error is a result, too: one that is raised in a worker would be repeated by Ray
        return pickle.dumps(ModelError(str(error)))
    return pickle.dumps(packed)


def _describe(_: bytes, *, name: str, settings: ModelSettings) -> bytes:
    """Open the model in a worker, and return its facts."""
    try:
        model = _opened(name, settings)
        size = model.vocabulary_size if isinstance(model, TokenScorer) else None
        facts = ModelFacts(
            model.digest,
            tokenizer_digest=model.tokenizer_digest,
            vocabulary_size=size,
            ranks=gives(model, RankedLogProbs),
        )
        return pickle.dumps(facts)
    except AssayError as error:
        return pickle.dumps(ModelError(str(error)))


@cache
def _opened(name: str, settings: ModelSettings) -> LogProbScorer:
    """Open the model, once in each worker."""
    model = open_model(name, settings)
    if not isinstance(model, LogProbScorer):
        raise ModelError(f"{name} gives no log-probabilities: expected it without {PREFIX!r}")
    return model
