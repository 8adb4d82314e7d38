"""Token statistics and hidden states of texts from one forward pass, kept in the cache."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from operator import attrgetter

import numpy as np
import torch

from assay.errors import ModelError
from assay.models.batching import PlacedWork, apart, right_padded
from assay.models.cache import ModelStore, pack_statistics, text_digest, unpack_statistics
from assay.models.cached_models import pack_vector, unpack_vector, vector_key
from assay.models.encoding import Encoded
from assay.models.forward import as_statistics
from assay.models.generators import in_blocks
from assay.models.transformers_backend import TransformersModel
from assay.types import Float32Array, TokenStatistics

BLOCK = 256
"""Texts that are run before their results go into the cache: a killed run loses no more."""


@dataclass(frozen=True, slots=True, eq=False)
class JointPass:
    """The results of one pass over texts, in their order.

    Attributes:
        statistics: of each text.
        vectors: float32 [texts, d], the hidden state of the last token.
    """

    statistics: list[TokenStatistics]
    vectors: Float32Array


def measured(
    model: TransformersModel,
    texts: Sequence[str],
    *,
    layer: int = -1,
    store: ModelStore | None = None,
    running: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> JointPass:
    """Return the statistics and the last hidden state of each text.

    A text that fits into the context costs one pass for both; a longer one is read in windows, and its end once more.

    Args:
        model: in evaluation mode, with LoRA or without.
        texts: each of at least one token.
        layer: 0 is the embedding, -1 the last layer.
        store: entries under the digest of the model that runs; None computes everything.
        running: entered while texts are run; not where the store has all of them.

    Raises:
        ModelError: a text has no token, there is no such layer, or one text does not fit into memory.
    """
    # equal texts are run once, and each half that the store lacks brings the other with it
    distinct = list(dict.fromkeys(texts))
    statistics: dict[str, TokenStatistics] = {}
    vectors: dict[str, Float32Array] = {}
    if store is not None:
        keys = dict(zip(map(text_digest, distinct), distinct, strict=True))
        for key, value in store.lookup(keys, unpack_statistics).items():
            if isinstance(value, TokenStatistics):
                statistics[keys[key]] = value
        places = {vector_key(text, layer, "last"): text for text in distinct}
        vectors = {places[key]: row for key, row in store.lookup(places, unpack_vector).items()}
    missing = [text for text in distinct if text not in statistics or text not in vectors]
    with running() if missing else nullcontext():
        # a block is stored before the next one runs, so a killed run goes on where it stopped
        for block in in_blocks(missing, BLOCK):
            for index, own, vector in _run(model, block, layer):
                statistics[block[index]], vectors[block[index]] = own, vector
            if store is not None:
                own_vectors = map(pack_vector, map(vectors.__getitem__, block))
                own_statistics = map(pack_statistics, map(statistics.__getitem__, block))
                store.write(list(zip(map(text_digest, block), own_statistics, strict=True)))
                store.write([(vector_key(text, layer, "last"), next(own_vectors)) for text in block])
    in_order = list(map(statistics.__getitem__, texts))
    return JointPass(in_order, np.stack(list(map(vectors.__getitem__, texts))))


def _run(
    model: TransformersModel, texts: Sequence[str], layer: int
) -> Iterator[tuple[int, TokenStatistics, Float32Array]]:
    rows = [PlacedWork(index, len(encoded.ids), encoded) for index, encoded in enumerate(model.encoder.encode(texts))]
    for row in rows:
        if not row.tokens:
            raise ModelError(f"{model.name}: text {row.index} has no token, so it has no hidden state")
    # one pass gives both results only where one window holds the whole text
    beyond, within = apart(rows, model.context)
    for batch in model.budget.run(within, lambda batch: _batch(model, batch, layer)):
        yield from batch
    if beyond:
        long = list(map(attrgetter("index"), beyond))
        pieces = list(map(texts.__getitem__, long))
        vectors = model.hidden_states(pieces, layer=layer)
        yield from zip(long, model.token_statistics(pieces), vectors, strict=True)


def _batch(
    model: TransformersModel, batch: Sequence[PlacedWork[Encoded]], layer: int
) -> list[tuple[int, TokenStatistics, Float32Array]]:
    lengths = list(map(attrgetter("tokens"), batch))
    ids, _ = right_padded(list(map(attrgetter("content.ids"), batch)))
    positions, targets = [], []
    for place, row in enumerate(batch):
        text = row.content
        positions.append(place * max(lengths) + np.arange(text.first - 1, text.first - 1 + text.scored))
        targets.append(text.ids[text.first :])
    # the hidden state of the last token needs that token as input, which plain statistics leave out
    columns, states = model.forward.with_states(
        ids=ids,
        positions=torch.from_numpy(np.concatenate(positions)),
        targets=torch.from_numpy(np.concatenate(targets)),
        layer=layer,
        ends=torch.tensor(lengths) - 1,
    )
    results, start = [], 0
    for row, vector in zip(batch, states.numpy(), strict=True):
        text, stop = row.content, start + row.content.scored
        own = as_statistics(text.ids[text.first :], columns.numpy()[:, start:stop], text.offsets[text.first :])
        results.append((row.index, own, vector))
        start = stop
    return results
