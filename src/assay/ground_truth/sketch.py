"""Membership of texts in the training set of a built-in model, by the digests and the sketch that ship with it.

A manifest lists whole files and functions by digest. A sketch finds texts inside those files: FracMinHash (Irber et al.
2022, "Lightweight compositional analysis of metagenomes with FracMinHash") over shingles of 16 code tokens, of which it
keeps a fixed share, chosen by hash. A text of a training file shares all of its kept shingles, an unrelated text
almost none.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.errors import DataError
from assay.evaluation import shingles
from assay.ground_truth.manifest import read_manifest
from assay.models import builtin_folder, builtin_name
from assay.types import BooleanArray

SKETCH = "sketch.npz"
TOKENS = 16
"""Code tokens of a shingle: long enough that unrelated code rarely shares one."""
SCALE = 16
"""One in so many shingles is kept."""
CONTAINED = 0.5
"""Share of a text's kept shingles in the sketch from which the text counts as trained on."""


@dataclass(frozen=True, slots=True, eq=False)
class TrainedTexts:
    """Texts that a model was trained on.

    Attributes:
        digests: SHA-256 of each text in UTF-8, in hex.
        sketch: sorted kept shingles of all texts; empty where none was shipped.
    """

    digests: frozenset[str]
    sketch: NDArray[np.uint32]

    def contain(self, texts: Sequence[str]) -> BooleanArray:
        """Mark texts that were trained on: alone, or as a part of a longer text.

        A text without a kept shingle (one of few tokens) is found by its digest alone.
        """
        return np.array(list(map(self._contains, texts)), np.bool_)

    def _contains(self, text: str) -> bool:
        if hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() in self.digests:
            return True
        own = kept_shingles(text, {})
        # a text so short that no shingle of it is kept cannot be found this way
        if not len(own) or not len(self.sketch):
            return False
        places = np.searchsorted(self.sketch, own)  # np.isin would sort the whole sketch for every text
        present = self.sketch[np.minimum(places, len(self.sketch) - 1)] == own
        return bool(present.mean() >= CONTAINED)


def trained_texts(model: str) -> TrainedTexts | None:
    """Return the training texts of a built-in model; None for any other model, whose texts are unknown.

    Raises:
        ModelError: there is no built-in model of that name.
        DataError: its manifest or its sketch cannot be read.
    """
    name = builtin_name(model)
    if name is None:
        return None
    folder = builtin_folder(name)
    manifest = read_manifest(folder / "manifest.jsonl.gz")
    digests = frozenset(entry.sha256 for entry in manifest.entries if entry.dose)
    return TrainedTexts(digests, read_sketch(folder / SKETCH))


def kept_shingles(text: str, crc_of: dict[str, int]) -> NDArray[np.uint32]:
    """Return the sorted unique shingles of a text that a sketch keeps.

    Args:
        text: any text.
        crc_of: see `assay.evaluation.shingles`.
    """
    hashes = shingles(text, crc_of, size=TOKENS)
    # kept by hash, not by place: two texts that share a shingle both keep it or both drop it
    kept = hashes[hashes % np.uint64(SCALE) == 0]
    # the upper half, because the lowest bits of all kept hashes are 0
    return np.unique((kept >> np.uint64(32)).astype(np.uint32))


def read_sketch(path: Path) -> NDArray[np.uint32]:
    """Return a sketch; an empty one if there is no file.

    Raises:
        DataError: the file is not a sketch.
    """
    if not path.exists():
        return np.empty(0, np.uint32)
    try:
        with np.load(path) as stored:
            # ascending numbers are stored as their differences, which pack better
            return np.cumsum(stored["steps"], dtype=np.uint32)
    except (OSError, ValueError, KeyError) as error:
        raise DataError(f"{path}: expected a sketch of training texts, got {error!r}") from error
