"""The evidence about texts that classifiers are fitted on, one matrix per kind of evidence."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy import sparse

from assay.authorship.normalising import Code
from assay.authorship.style import FAMILIES, feature_table
from assay.authorship.wording import bare_matrix, ngram_matrix, vocabulary_matrix
from assay.errors import DataError
from assay.types import Embedder, Encoder, Float64Array, Int64Array

HIDDEN = "hidden"
WORDING = "wording"

HEADS: Mapping[str, str] = MappingProxyType(
    {
        "names": "linear",
        "layout": "linear",
        "structure": "trees",
        WORDING: "sparse",
        "vocabulary": "sparse",
        "bare": "sparse",
        "documentation": "linear",
        HIDDEN: "linear",
    }
)
"""Kind of evidence → kind of the head that is fitted on it."""

_SPARSE: Mapping[str, Callable[[Sequence[Code]], sparse.csr_matrix]] = MappingProxyType(
    {WORDING: ngram_matrix, "vocabulary": vocabulary_matrix, "bare": bare_matrix}
)

Vectors = Embedder | Encoder
"""A model whose hidden states are evidence: of a language model, or of a sentence or code encoder."""


@dataclass(frozen=True, slots=True, eq=False)
class EvidenceMatrices:
    """One matrix per kind of evidence; row i of each belongs to text i.

    Attributes:
        matrices: kind → float64 [n, columns], dense with NaN or sparse.
    """

    matrices: Mapping[str, Any]

    def take(self, rows: Int64Array) -> "EvidenceMatrices":
        """Return the evidence of some texts, in this order."""
        return EvidenceMatrices({kind: matrix[rows] for kind, matrix in self.matrices.items()})


def evidence_of(codes: Sequence[Code], kinds: Sequence[str], vectors: Vectors | None = None) -> EvidenceMatrices:
    """Return the evidence of texts.

    Args:
        codes: the texts.
        kinds: of `HEADS`.
        vectors: the model that `hidden` needs.

    Raises:
        DataError: a kind that does not exist, or `hidden` without a model.
    """
    unknown = sorted(set(kinds) - set(HEADS))
    if unknown:
        raise DataError(f"received evidence {', '.join(unknown)}, expected {', '.join(HEADS)}")
    return EvidenceMatrices({kind: _matrix(codes, kind, vectors) for kind in kinds})


def _matrix(codes: Sequence[Code], kind: str, vectors: Vectors | None) -> Float64Array | sparse.csr_matrix:
    if kind in FAMILIES:
        return feature_table(codes, kind)
    if kind in _SPARSE:
        return _SPARSE[kind](codes)
    if vectors is None:
        raise DataError("evidence 'hidden' needs a model: name an encoder or a model with --hidden")
    texts = [code.plain_text for code in codes]
    if isinstance(vectors, Embedder):
        return np.asarray(vectors.hidden_states(texts, pooling="mean"), np.float64)
    return np.asarray(vectors.encode(texts), np.float64)
