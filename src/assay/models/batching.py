"""Length-sorted batches under a budget of padded tokens that shrinks when memory runs out."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from assay.errors import ModelError

if TYPE_CHECKING:  # see forward.py
    from transformers import PretrainedConfig


class Sized(Protocol):
    """Work for the model that occupies `tokens` positions of a batch."""

    @property
    def tokens(self) -> int:
        """Positions it takes, padding aside."""
        ...


Content = TypeVar("Content")


@dataclass(frozen=True, slots=True)
class PlacedWork(Generic[Content]):
    """One piece of work: the place of its text among those that were asked for, its tokens, and what is run."""

    index: int
    tokens: int
    content: Content


Work = TypeVar("Work", bound=Sized)
Result = TypeVar("Result")


class TokenBudget:
    """The number of tokens, padding included, that one batch may hold. It only ever shrinks."""

    def __init__(self, tokens: int) -> None:
        if tokens < 1:
            raise ModelError(f"batch_tokens {tokens}: expected at least 1")
        self.tokens = tokens

    def run(
        self, work: Iterable[Work], step: Callable[[list[Work]], Result], *, alike: float = 0.0
    ) -> Iterator[Result]:
        """Run `step` on batches, the longest first, so that memory runs out at once or not at all.

        On out-of-memory the batch is halved and tried again, and batches stay that small.

        Args:
            work: in any order.
            step: what is done with a batch.
            alike: length of the shortest piece of a batch as a share of the longest, at least; 1 means no padding.

        Raises:
            ModelError: one piece of work alone does not fit.
        """
        # longest first: the first batch is the largest, so a budget that is too large shows at once, not after an hour
        waiting = deque(sorted(work, key=lambda piece: -piece.tokens))
        while waiting:
            batch = self._next(waiting, alike)
            try:
                result = step(batch)
            except RuntimeError as error:
                if not is_out_of_memory(error):
                    raise
                if len(batch) == 1:
                    raise ModelError(
                        f"out of memory on a single sequence of {batch[0].tokens} tokens:"
                        " expected a smaller max_length or more memory"
                    ) from error
            else:
                yield result
                continue
            # Outside the except clause: the exception's frames keep the tensors of the failed batch alive.
            # half of what failed, not half of the budget: the batch may have been smaller than the budget
            self.tokens = batch[0].tokens * (len(batch) // 2)
            waiting.extendleft(reversed(batch))
            if torch.cuda.is_available():
                torch.cuda.empty_cache()

    def _next(self, waiting: deque[Work], alike: float) -> list[Work]:
        """Return the longest piece and as many after it as fit and are long enough; one piece always fits."""
        # The queue is sorted, so the first piece sets the width of the batch: cost = longest × number of pieces.
        longest = max(1, waiting[0].tokens)
        batch = [waiting.popleft()]
        while waiting and len(batch) < self.tokens // longest and waiting[0].tokens >= alike * longest:
            batch.append(waiting.popleft())
        return batch


def right_padded(rows: Sequence[Sequence[int] | NDArray[np.int64]], padding: int = 0) -> tuple[Tensor, Tensor]:
    """Return ids and mask, int64 [rows, longest, at least 1], padded on the right, where a causal model never looks."""
    ids = torch.full((len(rows), max(1, *map(len, rows))), padding)
    mask = torch.zeros_like(ids)
    for place, row in enumerate(rows):
        ids[place, : len(row)] = torch.as_tensor(row)
        mask[place, : len(row)] = 1
    return ids, mask


OUT_OF_MEMORY = ("DefaultCPUAllocator", "not enough memory", "MPS backend out of memory")


def is_out_of_memory(error: RuntimeError) -> bool:
    """Return True if an allocation failed: on CUDA by its type, on CPU and MPS by its message (the type is general)."""
    return isinstance(error, torch.cuda.OutOfMemoryError) or any(message in str(error) for message in OUT_OF_MEMORY)


# LongRoPE (Ding et al. 2024, arXiv:2402.13753): models that read long sequences with other frequencies.
#
# Phi-3 with 128k tokens of context is one. A sequence longer than the context of its first training is read with the
# long frequencies from its first token on, and so is everything that shares its batch. What a text gets must not depend
# on its neighbours, so the two kinds never meet.

NAMES = ("longrope", "su")
"""What configurations call it; Phi-3's first ones said "su"."""


def original_context(config: "PretrainedConfig") -> int | None:
    """The longest sequence read with the short frequencies, in tokens; None for a model without LongRoPE."""
    stated = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or {}
    # newer configurations have one entry for each kind of layer, older ones a single table
    for rope in [value for value in stated.values() if isinstance(value, dict)] or [stated]:
        if rope.get("rope_type", rope.get("type")) in NAMES:
            limit = rope.get("original_max_position_embeddings")
            return limit or getattr(config, "original_max_position_embeddings", None)
    return None


def apart(work: Iterable[Work], limit: int | None) -> tuple[list[Work], list[Work]]:
    """Work of more than `limit` tokens, and the rest; all of it is the rest where there is no limit."""
    beyond: list[Work] = []
    within: list[Work] = []
    for piece in work:
        (within if limit is None or piece.tokens <= limit else beyond).append(piece)
    return beyond, within
