"""Shared prefixes of prompts: each is computed once, and every prompt continues from its end.

Prompts are processed in the order of their tokens. Each prompt then shares with the previous one the longest prefix
that it shares with any earlier prompt, so only its remaining tokens are computed. If a prompt is a prefix of another,
only the longer one is computed. One store holds keys and values of every position; the cache of a prompt selects from
it.

Between batches the path of the last prompt is kept. For sorted prompts this is enough, and it takes no more memory than
one sequence.
"""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress, count, pairwise, starmap
from operator import attrgetter, ne
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel

from assay.models.forward import agree, device_of, embedding

TokenIdList = list[int]
Layers = list[tuple[Tensor, Tensor]]
"""Keys and values of the store, one pair a layer, each [heads, positions, d]."""

WHOLE = "DynamicLayer"
"""Class of a layer's cache in transformers that keeps all positions; classes derived from it keep fewer."""

PROBE = ((5, 11, 3, 7, 2, 9, 4), (5, 11, 3, 7), (5, 11, 3, 8, 1), (6, 2, 10, 4), (5, 11, 3, 7))
"""Prompts that cover every case: a prefix, a fork, no shared token, a repetition."""
PROBE_STEP = 7919
"""Distance of their tokens in the vocabulary."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The part of one prompt that has to be computed.

    Attributes:
        row: of the prompt.
        start: first position that is computed; the positions before it are on the path of another prompt.
        source: row of that other prompt; None for the kept path, or if there are no positions before.
        turn: number of the pass that computes it, from 0.
    """

    row: int
    start: int
    source: int | None
    turn: int


class Prefixes:
    """Keys and values of prompts, each position computed once.

    Attributes:
        model: a model for which `continues_from_cache` is True.
        takes_positions: True if the model takes `position_ids`.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        self.model = model
        self._decoder: Any = model.base_model
        self.takes_positions = "position_ids" in inspect.signature(self._decoder.forward).parameters
        self._path: list[int] = []
        self._layers: Layers = []

    def cache(self, prompts: Sequence[TokenIdList]) -> DynamicCache:
        """Return keys and values of each prompt up to the token before its last.

        Args:
            prompts: token ids, in the order of `families_of`; the next call has those that follow.

        Returns:
            A row for each prompt, padded on the left to the longest; empty if the prompts share no prefix with each
            other or with the kept path: then one pass over all of them is the fastest.
        """
        heads = [prompt[:-1] for prompt in prompts]
        readings = readings_of(heads, self._path)
        computed = sum(len(heads[reading.row]) - reading.start for reading in readings)
        # nothing is shared: a pass of the model over whole prompts needs no store and no selection
        if computed == sum(map(len, heads)):
            return DynamicCache(config=self.model.config)
        layers = self._layers
        paths: dict[int | None, Tensor] = {None: torch.arange(len(self._path))}
        # A reading needs the slots of its source, which an earlier turn has computed. All readings of one turn are
        # independent of each other, so they form one batch.
        for turn in range(1 + max(map(attrgetter("turn"), readings))):
            batch = [reading for reading in readings if reading.turn == turn]
            prefixes = [paths[reading.source][: reading.start] for reading in batch]
            layers, slots = self._read(layers, prefixes, [heads[reading.row][reading.start :] for reading in batch])
            for reading, prefix, own in zip(batch, prefixes, slots, strict=True):
                paths[reading.row] = torch.cat([prefix, own])
        return self._selected(layers, left_padded(list(map(paths.__getitem__, range(len(heads))))))

    def keep(self, cache: DynamicCache, prompts: Sequence[TokenIdList]) -> None:
        """Keep the path of the last prompt, from the cache of all prompts after the model has generated.

        The clones let the cache of the whole batch be freed; a view would hold it.
        """
        width, path = max(map(len, prompts)), prompts[-1][:-1]
        # prompts are padded on the left, so the last one ends at `width`; its last token is not in the store
        place = slice(width - 1 - len(path), width - 1)
        caches: list[Any] = cache.layers
        self._path = path
        self._layers = [(layer.keys[-1, :, place].clone(), layer.values[-1, :, place].clone()) for layer in caches]

    def _read(
        self, layers: Layers, prefixes: Sequence[Tensor], ids: Sequence[TokenIdList]
    ) -> tuple[Layers, list[Tensor]]:
        """Run one pass over tokens that follow computed prefixes.

        Args:
            layers: the store.
            prefixes: of each row the slots of its prefix.
            ids: of each row its tokens; empty for a row whose prefix is the whole row.

        Returns:
            The store with the new positions, and for each row the slots of its tokens.
        """
        # new positions are appended to the store, so a slot is never moved or written again
        slots = torch.arange(sum(map(len, ids))) + (layers[0][0].shape[1] if layers else 0)
        lengths = list(map(len, ids))
        own_slots = list(slots.split(lengths))
        rows = list(compress(count(), lengths))
        if not rows:
            return layers, own_slots
        # Prefixes are padded on the left and new tokens on the right, so that in every row the two meet at position
        # `before`; the mask hides both paddings.
        starts = list(map(prefixes.__getitem__, rows))
        before, width = max(map(len, starts)), max(lengths)
        inputs, real = torch.zeros((2, len(rows), width), dtype=torch.int64)
        positions = torch.zeros_like(inputs)
        mask = torch.zeros((len(rows), before), dtype=torch.int64)
        for line, row in enumerate(rows):
            length, own = len(starts[line]), lengths[row]
            mask[line, before - length :] = 1
            inputs[line, :own] = torch.tensor(ids[row])
            real[line, :own] = 1
            positions[line] = length + torch.arange(width).clamp(max=own - 1)  # never beyond the context
        device = device_of(embedding(self.model))
        cache = self._selected(layers, left_padded(starts))
        with torch.inference_mode():
            self._decoder(
                input_ids=inputs.to(device),
                attention_mask=torch.cat([mask, real], dim=1).to(device),
                past_key_values=cache,
                use_cache=True,
                **self.placed(positions.to(device)),
            )
        caches: list[Any] = cache.layers
        new = [(after(layer.keys, before, real), after(layer.values, before, real)) for layer in caches]
        if not layers:
            return new, own_slots
        # pairs of old and new keys, and of old and new values, layer by layer
        pairs = starmap(zip, zip(layers, new, strict=True))
        return [(torch.hstack(keys), torch.hstack(values)) for keys, values in pairs], own_slots

    def placed(self, positions: Tensor) -> dict[str, Tensor]:
        """Return the positions as an argument, for a model that takes them."""
        return {"position_ids": positions} if self.takes_positions else {}

    def _selected(self, layers: Layers, slots: Tensor) -> DynamicCache:
        """Return the cache of sequences from their slots [rows, length].

        Padding selects slot 0. The attention mask hides it, so its content does not matter.
        """
        cache = DynamicCache(config=self.model.config)
        if slots.shape[1]:
            for layer, (keys, values) in enumerate(layers):
                indices = slots.to(keys.device)
                # indexing copies each selected position once; rows that share a prefix read the same slots
                cache.update(keys[:, indices].transpose(0, 1), values[:, indices].transpose(0, 1), layer)
        return cache


def continues_from_cache(model: PreTrainedModel) -> bool:
    """Return True if the model can continue from selected positions of a cache, tested on a few tokens.

    False if a layer keeps only a window of the last positions, or a state instead of positions (Mamba, RWKV), or if the
    result differs from a pass over the whole prompts (CodeGen rounds what it keeps).
    """
    if not keeps_positions(model):
        return False
    size = len(embedding(model))
    prompts = [(torch.tensor(prompt) * PROBE_STEP % size).tolist() for prompt in PROBE]
    device = device_of(embedding(model))
    run: Any = model
    try:
        prefixes = Prefixes(model)
        first = [prompts[1], prompts[0]]
        prefixes.keep(prefixes.cache(first), first)
        cache = prefixes.cache(prompts)
        mask = left_padded([torch.ones(len(prompt), dtype=torch.int64) for prompt in prompts])
        places = prefixes.placed((mask.sum(dim=1, keepdim=True) - 1).to(device))
        last = torch.tensor([prompt[-1:] for prompt in prompts])
        with torch.inference_mode():
            ours = run(
                input_ids=last.to(device), attention_mask=mask.to(device), past_key_values=cache, **places
            ).logits[:, -1]
            whole = [run(input_ids=torch.tensor([p], device=device), use_cache=False).logits[0, -1] for p in prompts]
    except (RuntimeError, TypeError, AttributeError, IndexError, ValueError):  # the model has its own kind of cache
        return False
    return agree(ours, torch.stack(whole), model.dtype)


def keeps_positions(model: PreTrainedModel) -> bool:
    """Return True if the cache of every layer holds keys and values of all positions."""
    try:
        layers = DynamicCache(config=model.config).layers
    except (TypeError, AttributeError):  # transformers before 4.56 has one list of keys and one of values
        return False
    return all(type(layer).__name__ == WHOLE for layer in layers)


def readings_of(heads: Sequence[TokenIdList], path: TokenIdList) -> list[Reading]:
    """Return the part of each sequence that has to be computed, if `path` is there already: no position twice."""
    readings: list[Reading] = []
    before: dict[int, Reading] = {}
    last: int | None = None
    # Reverse order puts a sequence before its own prefixes, so that only the longer one is computed.
    for row in sorted(range(len(heads)), key=heads.__getitem__, reverse=True):
        kept = common(heads[row], path)
        shared = 0 if last is None else common(heads[row], heads[last])
        if last is None or kept >= shared:
            reading = Reading(row=row, start=kept, source=None, turn=0)
        else:
            # The shared prefix may reach back over several rows: follow the sources to the row that computes its end.
            owner = before[last]
            while owner.start >= shared and owner.source is not None:
                owner = before[owner.source]
            reading = Reading(row=row, start=shared, source=owner.row, turn=owner.turn + 1)
        before[row] = reading
        readings.append(reading)
        last = row
    return readings


def families_of(prompts: Sequence[TokenIdList]) -> list[list[int]]:
    """Return the indices of the sorted prompts in families: neighbours that share at least half of the shorter one."""
    # in lexical order a prompt stands beside those with which it shares the longest prefix
    order = sorted(range(len(prompts)), key=prompts.__getitem__)
    families = [order[:1]]
    for index, following in pairwise(order):
        shorter = min(len(prompts[index]), len(prompts[following]))
        if 2 * common(prompts[index], prompts[following]) >= shorter:
            families[-1].append(following)
        else:
            families.append([following])
    return list(filter(None, families))


def common(first: TokenIdList, second: TokenIdList) -> int:
    """Return the length of the longest common prefix of two sequences."""
    # the loop below runs in C up to the first difference
    if first == second[: len(first)]:  # a comparison of lists is much faster than the loop below
        return len(first)
    return next(compress(count(), map(ne, first, second)), min(len(first), len(second)))


def left_padded(rows: Sequence[Tensor]) -> Tensor:
    """Return the rows as int64 [rows, longest], with zeros on the left."""
    width = max(map(len, rows))
    result = torch.zeros((len(rows), width), dtype=torch.int64)
    for line, row in enumerate(rows):
        result[line, width - len(row) :] = row
    return result


def after(states: Tensor, before: int, real: Tensor) -> Tensor:
    """Select a layer's states from position `before` on, without padding.

    Args:
        states: [rows, heads, length, d].
        before: first position that is selected.
        real: [rows, width], 0 for padding.

    Returns:
        The rows one after the other: [heads, positions, d].
    """
    return states.transpose(0, 1)[:, :, before:][:, real.bool().to(states.device)]
