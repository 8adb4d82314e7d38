"""Choice of the samples whose tokens the heat map shows: those with the highest values, within a budget."""

import numpy as np
from numpy.typing import NDArray

from assay.leakage.results import SampleTokens
from assay.types import Sample, TokenLogProbs, TokenStatistics

KEPT_TOKENS = 4_000_000
SHOWN_TOKENS = 400_000


class TokenKeeper:
    """Observer of the engine: keeps what a heat map needs, up to `KEPT_TOKENS` tokens (24 bytes each)."""

    def __init__(self, samples: tuple[Sample, ...]) -> None:
        self._samples = samples
        self._kept: dict[int, SampleTokens] = {}
        self._tokens = 0

    def __call__(self, index: int, statistics: TokenLogProbs) -> None:
        """Keep one sample's tokens while there is room; samples beyond the audited ones are not kept.

        Log-probabilities alone make no map, because their places in the text are not known.
        """
        if not isinstance(statistics, TokenStatistics):
            return
        # unseen texts follow the benchmark in the order of scoring
        if index < len(self._samples) and self._tokens + len(statistics) <= KEPT_TOKENS:
            self._tokens += len(statistics)
            self._kept[index] = SampleTokens(
                sample_id=self._samples[index].id,
                log_probs=statistics.log_probs,
                ranks=statistics.ranks,
                tail_mass=statistics.tail_mass,
                offsets=statistics.offsets,
            )

    def shown(self, values: NDArray[np.float64]) -> tuple[SampleTokens, ...]:
        """Return the samples with the highest values first, until `SHOWN_TOKENS` are reached."""
        chosen, tokens = [], 0
        # samples without a value come last
        for index in np.argsort(-np.nan_to_num(values, nan=-np.inf), kind="stable"):
            kept = self._kept.get(int(index))
            if kept is not None and tokens + len(kept.ranks) <= SHOWN_TOKENS:
                tokens += len(kept.ranks)
                chosen.append(kept)
        return tuple(chosen)
