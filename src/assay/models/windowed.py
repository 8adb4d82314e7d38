"""Texts of any length, scored in batches of windows of one model."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np
import torch

from assay.errors import ModelError
from assay.models.batching import PlacedWork, TokenBudget, apart, right_padded
from assay.models.encoding import Encoded, TextEncoder
from assay.models.forward import ROWS, as_statistics
from assay.models.generators import in_order, portions
from assay.models.windows import Window, windows
from assay.types import Float32Array, Indexed, TokenStatistics

BUFFER_TEXTS = 4096
BUFFER_CHARACTERS = 2**23
"""Texts are taken up this many at a time: enough to sort by length, little enough to hold."""

CPU_BATCH_TOKENS = 1024
"""Some texts of code: more of them no longer fit into the cache of a core, and each token takes longer."""
CPU_ALIKE = 0.95
"""Shortest text of a batch as a share of the longest: a core computes padding as slowly as tokens."""


class WindowedScorer(ABC):
    """A model that gives the statistics of one batch of token ids.

    Attributes:
        name: what the user called it.
        context: longest sequence of tokens it is given, a BOS included.
        stride: distance between the windows of a longer text.
        encoder: its tokenizer and what stands before a text.
        budget: padded tokens of a batch.
        alike: shortest text of a batch as a share of the longest.
        limit: longest sequence that may share a batch with shorter ones; None for no limit.
    """

    name: str
    context: int
    stride: int
    encoder: TextEncoder
    budget: TokenBudget
    alike: float
    limit: int | None

    @abstractmethod
    def forward_statistics(self, ids: torch.Tensor, positions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return the statistics of one batch; see `Forward.statistics`."""

    def completed(self, texts: Sequence[str]) -> Iterator[Sequence[Indexed]]:
        """Statistics batch by batch as they are computed; a text is complete when its last window is.

        Raises:
            ModelError: a statistic is not finite, or one window alone does not fit into memory.
        """
        # sorting by length saves padding, and needs many texts at hand; a buffer bounds how many
        for portion in portions(texts, characters=BUFFER_CHARACTERS, most=BUFFER_TEXTS):
            for batch in self._completed(texts[portion]):
                yield [(portion.start + index, value) for index, value in batch]

    def token_statistics(self, texts: Sequence[str]) -> Iterator[TokenStatistics]:
        """Statistics in the order of `texts`, as early as that order allows."""
        return in_order(self.completed(texts))

    def _completed(self, texts: Sequence[str]) -> Iterator[Sequence[Indexed]]:
        encoded = self.encoder.encode(texts)
        columns: list[Float32Array] = [np.empty((len(ROWS), text.scored), np.float32) for text in encoded]
        # windows of a text may run in different batches: it is complete when its last one is, in whatever order
        passes: list[PlacedWork[Window]] = []
        left: list[int] = []
        # windows overlap in what they read, never in what they score
        for index, text in enumerate(encoded):
            own = list(windows(len(text.ids), context=self.context, stride=self.stride, first=text.first))
            passes.extend(PlacedWork(index, window.inputs, window) for window in own)
            left.append(len(own))
        if nothing := [(index, TokenStatistics.empty()) for index, text in enumerate(encoded) if not text.scored]:
            yield nothing
        kinds = apart(passes, self.limit)
        for batch, result in chain.from_iterable(
            self.budget.run(kind, lambda batch: (batch, self._run(batch, encoded)), alike=self.alike) for kind in kinds
        ):
            done: list[Indexed] = []
            # the columns of a batch stand one window after the other, in its order; each goes to its place in its text
            position = 0
            for work in batch:
                window, text = work.content, encoded[work.index]
                place = slice(window.first - text.first, window.stop - text.first)
                columns[work.index][:, place] = result[:, position : position + window.scored]
                position += window.scored
                left[work.index] -= 1
                if not left[work.index]:
                    statistics = as_statistics(text.ids[text.first :], columns[work.index], text.offsets[text.first :])
                    done.append((work.index, statistics))
                    # the text has been handed out: an empty view lets go of the array
                    columns[work.index] = columns[work.index][:, :0]
            if done:
                yield done

    def _run(self, batch: Sequence[PlacedWork[Window]], encoded: Sequence[Encoded]) -> Float32Array:
        """Statistics of the scored tokens of a batch, one window after the other: float32 [6, tokens]."""
        inputs = [encoded[work.index].ids[work.content.start : work.content.stop - 1] for work in batch]
        ids, _ = right_padded(inputs)
        width = ids.shape[1]
        positions, targets = [], []
        for row, work in enumerate(batch):
            window = work.content
            # token t is predicted at the place of token t - 1, in the flattened batch of `width` places a row
            first = row * width + window.first - 1 - window.start
            positions.append(np.arange(first, first + window.scored))
            targets.append(encoded[work.index].ids[window.first : window.stop])
        try:
            result = self.forward_statistics(
                ids, torch.from_numpy(np.concatenate(positions)), torch.from_numpy(np.concatenate(targets))
            )
        except ModelError as error:
            raise ModelError(f"{self.name}: {error}") from error
        columns: Float32Array = result.numpy()
        return columns
