"""The classifier of machine-written code: logistic regression on n-grams, the floor that every other has to beat."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from assay.authorship.ngrams import COLUMNS, ngram_matrix
from assay.authorship.normalising import Code
from assay.errors import DataError, plain_reason
from assay.files import atomic_folder, write_json, write_text
from assay.guard import json_file
from assay.types import Float64Array

FORMAT = 2
DESCRIPTION, ARRAYS, CARD = "classifier.json", "classifier.safetensors", "MODEL_CARD.md"
LARGEST = 1e6
"""Bound on the weights of a stored classifier, which no fitted weight comes near."""


@dataclass(frozen=True, slots=True, eq=False)
class Classifier:
    """A binary classifier: machine-written or written by a person.

    Attributes:
        weights: float32 [2 * COLUMNS], of the n-grams of characters and of tokens.
        record: how it was fitted: collections, counts, settings.
    """

    weights: NDArray[np.float32]
    record: Mapping[str, Any]

    @property
    def digest(self) -> str:
        """Hexadecimal digest of all that can change a score."""
        # `record` is prose and cannot change a score, so a corrected card is still the same classifier
        return hashlib.sha256(np.ascontiguousarray(self.weights).tobytes()).hexdigest()[:16]

    def scores(self, texts: Sequence[str], codes: Sequence[Code]) -> Float64Array:
        """Return float64 [n], higher = more like the generated code of the training set. It is no probability."""
        return np.asarray(ngram_matrix(texts, codes) @ self.weights, np.float64)

    def save(self, folder: Path, card: str) -> None:
        """Write the classifier and its model card to a new folder.

        Raises:
            DataError: the folder exists, or cannot be written.
        """
        with atomic_folder(folder) as unfinished:
            save_file({"weights": np.ascontiguousarray(self.weights)}, unfinished / ARRAYS)
            write_json(unfinished / DESCRIPTION, {"format": FORMAT, "record": dict(self.record)})
            write_text(unfinished / CARD, card)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read a classifier.

        Raises:
            DataError: the folder does not hold one, or one of another format.
        """
        try:
            content = json_file(folder / DESCRIPTION)
            if content["format"] != FORMAT:
                raise ValueError(f"format {content['format']!r:.40}, expected {FORMAT}; train it again")  # noqa: TRY301  one line for all
            weights = load_file(folder / ARRAYS)["weights"]
            # NaN compares False, so "not all are small" refuses it as it refuses infinity
            if weights.shape != (2 * COLUMNS,) or not (np.abs(weights.astype(np.float64)) < LARGEST).all():
                raise ValueError(f"weights {weights.shape}, expected {2 * COLUMNS} finite numbers")  # noqa: TRY301
            return cls(weights.astype(np.float32), dict(content["record"]))
        except (OSError, ValueError, LookupError, TypeError, SafetensorError) as error:
            raise DataError(
                f"{folder}: expected a classifier of `assay lab authorship train` ({plain_reason(error)})"
            ) from error
