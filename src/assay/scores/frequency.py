"""Token frequencies of a reference corpus, for DC-PDD. One table belongs to one tokenizer."""

import json
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from assay.errors import DataError, plain_reason
from assay.files import atomic_file, parse_json


@dataclass(frozen=True, eq=False)
class FrequencyTable:
    """Number of occurrences of each token id in a reference corpus (occurrences, not documents).

    Attributes:
        counts: int64 [V].
        tokenizer_digest: the tokenizer that made the ids.
        source: the corpus, in words.
    """

    counts: NDArray[np.int64]
    tokenizer_digest: str
    source: str

    @property
    def total(self) -> int:
        """N, the number of tokens in the corpus."""
        return int(self.counts.sum())

    @cached_property
    def surprise(self) -> NDArray[np.float64]:
        """float64 [V], ln(1 / f) with add-one smoothing f = (count + 1) / (N + V).

        Without smoothing, every token that the corpus lacks would be infinitely surprising, and would decide the score.
        """
        rarity: NDArray[np.float64] = np.log(self.total + len(self.counts)) - np.log1p(self.counts)
        return rarity

    @classmethod
    def count(
        cls, token_ids: Iterable[NDArray[np.int32]], *, vocabulary_size: int, tokenizer_digest: str, source: str
    ) -> Self:
        """Count the tokens of a stream of documents."""
        counts = np.zeros(vocabulary_size, np.int64)
        for ids in token_ids:
            # a corpus does not fit into memory: its counts do
            counts += np.bincount(ids, minlength=vocabulary_size)
        return cls(counts, tokenizer_digest, source)

    def save(self, path: Path) -> None:
        """Write the table as one compressed .npz file.

        Raises:
            DataError: the file cannot be written.
        """
        # ids mean nothing under another tokenizer, so the table says whose they are
        about = json.dumps({"tokenizer_digest": self.tokenizer_digest, "source": self.source, "format": 1})
        with atomic_file(path) as file:
            np.savez_compressed(file, counts=self.counts, about=np.array(about))

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a table that `save` wrote.

        Raises:
            DataError: when the file is not such a table.
        """
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
                about = parse_json(str(stored["about"]))
                return cls(stored["counts"].astype(np.int64), about["tokenizer_digest"], about["source"])
        except (OSError, EOFError, KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
            raise DataError(
                f"{path} is not a token-frequency table: expected a file that `assay frequencies` wrote "
                f"({plain_reason(error)})"
            ) from error
