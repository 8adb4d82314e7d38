"""Prompts that begin alike: what they share is read once, and each goes on from there.

Prompts are taken in the order of their tokens. Each then shares with the one before it all that it shares with any
before, so what has to be read of it is what stands behind that, and of prompts that are beginnings of one another only
the longest is read. Keys and values of every position lie in one store; the cache of a prompt is a selection of it.

From batch to batch the path of the last prompt is kept: for prompts in order that is enough, and no more memory than
one sequence takes.
"""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel

from assay.models.forward import agree, device_of, embedding

Ids = list[int]
Layers = list[tuple[Tensor, Tensor]]
"""Keys and values of the store, one pair a layer, each [heads, positions, d]."""

WHOLE = "DynamicLayer"
"""What transformers calls such a layer's cache; those derived from it keep less."""

PROBE = ((5, 11, 3, 7, 2, 9, 4), (5, 11, 3, 7), (5, 11, 3, 8, 1), (6, 2, 10, 4), (5, 11, 3, 7))
"""Prompts that meet every case: a beginning, a fork, a stranger, the same again."""
PROBE_STEP = 7919
"""Their tokens lie so far apart in the vocabulary."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What has to be read of one prompt.

    Attributes:
        row: of the prompt.
        start: from this position on it is read; what stands before is on another's path.
        source: the row whose path that is; None for the kept one, or where nothing stands before.
        turn: the pass in which it is read, from 0 on.
    """

    row: int
    start: int
    source: int | None
    turn: int


class Prefixes:
    """Keys and values of prompts, each position computed once.

    Attributes:
        model: a model that `goes_on`.
        placed: whether the model is told the places of tokens.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        self.model = model
        self._decoder: Any = model.base_model
        self.placed = "position_ids" in inspect.signature(self._decoder.forward).parameters
        self._path: list[int] = []
        self._layers: Layers = []

    def cache(self, prompts: Sequence[Ids]) -> DynamicCache:
        """What the model has to know of each prompt before it reads the prompt's last token.

        Args:
            prompts: token ids, in the order of `together`; the next call has those that follow.

        Returns:
            A row for each prompt, padded on the left to the longest; empty where the prompts share nothing with each
            other or with the path that is kept: then one pass over all of them is the shortest way.
        """
        heads = [prompt[:-1] for prompt in prompts]
        readings = readings_of(heads, self._path)
        new = sum(len(heads[one.row]) - one.start for one in readings)
        if new == sum(map(len, heads)):
            return DynamicCache(config=self.model.config)
        layers = self._layers
        paths: dict[int | None, Tensor] = {None: torch.arange(len(self._path))}
        for turn in range(1 + max(one.turn for one in readings)):
            now = [one for one in readings if one.turn == turn]
            known = [paths[one.source][: one.start] for one in now]
            layers, slots = self._read(layers, known, [heads[one.row][one.start :] for one in now])
            paths |= {one.row: torch.cat(both) for one, *both in zip(now, known, slots, strict=True)}
        return self._selected(layers, padded([paths[row] for row in range(len(heads))]))

    def keep(self, cache: DynamicCache, prompts: Sequence[Ids]) -> None:
        """Keep the path of the last prompt, from the cache of all of them when the model has written."""
        width, path = max(map(len, prompts)), prompts[-1][:-1]
        place = slice(width - 1 - len(path), width - 1)
        held: list[Any] = cache.layers
        self._path = path
        self._layers = [(one.keys[-1, :, place].clone(), one.values[-1, :, place].clone()) for one in held]

    def _read(self, layers: Layers, known: Sequence[Tensor], ids: Sequence[Ids]) -> tuple[Layers, list[Tensor]]:
        """One pass over tokens that follow what is known; the store with them, and where in it each one's lie.

        Args:
            layers: the store.
            known: of each row the slots of what stands before.
            ids: of each row its tokens; none for a row of which all is known.
        """
        slots = torch.arange(sum(map(len, ids))) + (layers[0][0].shape[1] if layers else 0)
        places = list(slots.split([len(some) for some in ids]))
        rows = [row for row, some in enumerate(ids) if len(some)]
        if not rows:
            return layers, places
        before = max(len(known[row]) for row in rows)
        width = max(len(ids[row]) for row in rows)
        inputs, real = torch.zeros((2, len(rows), width), dtype=torch.int64)
        positions = torch.zeros_like(inputs)
        mask = torch.zeros((len(rows), before), dtype=torch.int64)
        for line, row in enumerate(rows):
            length, count = len(known[row]), len(ids[row])
            mask[line, before - length :] = 1
            inputs[line, :count] = torch.tensor(ids[row])
            real[line, :count] = 1
            positions[line] = length + torch.arange(width).clamp(max=count - 1)  # never beyond the context
        device = device_of(embedding(self.model))
        cache = self._selected(layers, padded([known[row] for row in rows]))
        settings = {"position_ids": positions.to(device)} if self.placed else {}
        with torch.inference_mode():
            self._decoder(
                input_ids=inputs.to(device),
                attention_mask=torch.cat([mask, real], dim=1).to(device),
                past_key_values=cache,
                use_cache=True,
                **settings,
            )
        held: list[Any] = cache.layers
        new = [(behind(one.keys, before, real), behind(one.values, before, real)) for one in held]
        if not layers:
            return new, places
        joined = [
            (torch.cat([keys, more_keys], dim=1), torch.cat([values, more_values], dim=1))
            for (keys, values), (more_keys, more_values) in zip(layers, new, strict=True)
        ]
        return joined, places

    def _selected(self, layers: Layers, slots: Tensor) -> DynamicCache:
        """The cache of sequences, given by their slots [rows, length]."""
        found = DynamicCache(config=self.model.config)
        if slots.shape[1]:
            for layer, (keys, values) in enumerate(layers):
                here = slots.to(keys.device)
                found.update(keys[:, here].transpose(0, 1), values[:, here].transpose(0, 1), layer)
        return found


def goes_on(model: PreTrainedModel) -> bool:
    """Whether the model can go on from positions picked out of a cache, tried on a few tokens.

    Not where a layer keeps a window of the last positions, or a state in place of positions (Mamba, RWKV); nor where
    what comes out is not what the model says when it reads the prompts whole (CodeGen rounds what it keeps).
    """
    if not keeps_positions(model):
        return False
    size = len(embedding(model))
    prompts = [[token * PROBE_STEP % size for token in prompt] for prompt in PROBE]
    device = device_of(embedding(model))
    run: Any = model
    try:
        prefixes = Prefixes(model)
        first = [prompts[1], prompts[0]]
        prefixes.keep(prefixes.cache(first), first)
        cache = prefixes.cache(prompts)
        mask = padded([torch.ones(len(prompt), dtype=torch.int64) for prompt in prompts])
        places = mask.sum(dim=1, keepdim=True) - 1
        settings = {"position_ids": places.to(device)} if prefixes.placed else {}
        last = torch.tensor([prompt[-1:] for prompt in prompts])
        with torch.inference_mode():
            ours = run(
                input_ids=last.to(device), attention_mask=mask.to(device), past_key_values=cache, **settings
            ).logits[:, -1]
            whole = [run(input_ids=torch.tensor([p], device=device), use_cache=False).logits[0, -1] for p in prompts]
    except (RuntimeError, TypeError, AttributeError, IndexError, ValueError):  # a cache of its own kind
        return False
    return agree(ours, torch.stack(whole), model.dtype)


def keeps_positions(model: PreTrainedModel) -> bool:
    """Whether every layer's cache holds keys and values of all positions."""
    try:
        layers = DynamicCache(config=model.config).layers
    except (TypeError, AttributeError):  # transformers before 4.56 has one list of keys and one of values
        return False
    return all(type(layer).__name__ == WHOLE for layer in layers)


def readings_of(heads: Sequence[Ids], path: Ids) -> list[Reading]:
    """What has to be read of each sequence, given a path that is known: no position twice."""
    found: list[Reading] = []
    before: dict[int, Reading] = {}
    last: int | None = None
    for row in sorted(range(len(heads)), key=lambda one: heads[one], reverse=True):  # the longer of two comes first
        kept = common(heads[row], path)
        shared = 0 if last is None else common(heads[row], heads[last])
        if last is None or kept >= shared:
            one = Reading(row, kept, None, 0)
        else:
            owner = before[last]
            while owner.start >= shared and owner.source is not None:
                owner = before[owner.source]
            one = Reading(row, shared, owner.row, owner.turn + 1)
        before[row] = one
        found.append(one)
        last = row
    return found


def together(prompts: Sequence[Ids]) -> list[list[int]]:
    """The prompts in order, by index, in families: of neighbours that share at least half of the shorter one."""
    order = sorted(range(len(prompts)), key=lambda one: prompts[one])
    families: list[list[int]] = [order[:1]] if order else []
    for one, following in pairwise(order):
        shorter = min(len(prompts[one]), len(prompts[following]))
        if 2 * common(prompts[one], prompts[following]) >= shorter:
            families[-1].append(following)
        else:
            families.append([following])
    return families


def common(one: Ids, other: Ids) -> int:
    """How many tokens two sequences begin with alike."""
    if one == other[: len(one)]:
        return len(one)
    pairs = zip(one, other, strict=False)
    return next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def padded(rows: Sequence[Tensor]) -> Tensor:
    """int64 [rows, longest], zeros on the left."""
    width = max(map(len, rows))
    found = torch.zeros((len(rows), width), dtype=torch.int64)
    for line, row in enumerate(rows):
        found[line, width - len(row) :] = row
    return found


def behind(states: Tensor, before: int, real: Tensor) -> Tensor:
    """Of a layer's states [rows, heads, length, d] those from position `before` on, at the real places [rows, width].

    Returns:
        One row after the other: [heads, places, d].
    """
    return states.transpose(0, 1)[:, :, before:][:, real.bool().to(states.device)]
