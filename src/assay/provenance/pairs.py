"""All pairs of files that share code, and clusters of them, as Dolos and JPlag report them.

Two files are compared by their distinct fingerprints of tokens, which do not change with names, literals, layout and
comments. A fingerprint that many of the files have is no evidence: it is a template that all of them were given, or a
phrase of the language.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.provenance.boilerplate import Boilerplate, boilerplate_of, template_mask
from assay.provenance.findings import LineRange, code_lines, merged_lines
from assay.provenance.spans import spans
from assay.provenance.texts import SourceText
from assay.retrieval import DEFAULT, Fingerprints, Form, Profile, fingerprint
from assay.types import Float64Array

MOST_FILES = 0.25
"""Share of the files from which a fingerprint is no evidence; it has to occur in more than `FEW_FILES` of them too."""

FEW_FILES = 10
SIMILAR = 0.5
"""Similarity from which two files are one cluster."""

_FORM: Form = "tokens"


@dataclass(frozen=True, slots=True)
class FilePair:
    """Two files that share code.

    Attributes:
        first, second: numbers of the files, ascending.
        similarity: 2 |A ∩ B| / (|A| + |B|), 0 to 1.
        first_share: |A ∩ B| / |A|.
        second_share: |A ∩ B| / |B|.
        first_lines, second_lines: that match.
        longest: lines with code of the longest matched stretch of the first file.
    """

    first: int
    second: int
    similarity: float
    first_share: float
    second_share: float
    first_lines: tuple[LineRange, ...]
    second_lines: tuple[LineRange, ...]
    longest: int


@dataclass(frozen=True, slots=True)
class PairedFiles:
    """Files, their pairs and clusters.

    Attributes:
        paths: of the files that were compared.
        too_short: files without a fingerprint, by path.
        pairs: of at least the least similarity, the most similar first.
        clusters: groups of files that pairs connect, by number, the largest first.
        compared: number of pairs that share a fingerprint.
    """

    paths: tuple[str, ...]
    too_short: tuple[str, ...]
    pairs: tuple[FilePair, ...]
    clusters: tuple[tuple[int, ...], ...]
    compared: int

    def cluster_of(self) -> Mapping[int, int]:
        """Return the number of the cluster of each file that is in one, from 1."""
        return {file: number for number, cluster in enumerate(self.clusters, 1) for file in cluster}


def all_pairs(
    files: Sequence[SourceText], *, least: float = SIMILAR, boilerplate: Boilerplate | None = None
) -> PairedFiles:
    """Compare every file with every other one.

    Args:
        files: whole.
        least: similarity of a pair at least; pairs make clusters.
        boilerplate: templates whose code is no evidence; None for those that ship.
    """
    profile = DEFAULT
    boilerplate = boilerplate or boilerplate_of(profile)
    read = [(file, _fingerprints(file, profile)) for file in files]
    kept = [(file, prints) for file, prints in read if prints is not None]
    rows = _evidence(kept, boilerplate)
    similarity, shared, sizes = _similarities(rows)
    first, second = np.nonzero(np.triu(similarity >= least, 1) & (np.triu(shared, 1) > 0))
    order = np.lexsort((second, first, -similarity[first, second]))
    pairs = tuple(_pair((int(first[at]), int(second[at])), similarity, shared, sizes, kept) for at in order.tolist())
    return PairedFiles(
        tuple(file.path for file, _ in kept),
        tuple(file.path for file, prints in read if prints is None),
        pairs,
        _clusters(len(kept), pairs),
        compared=int((np.triu(shared, 1) > 0).sum()),
    )


def _fingerprints(file: SourceText, profile: Profile) -> Fingerprints | None:
    prints = fingerprint(file.text, file.language, profile)[_FORM]
    return prints if isinstance(prints, Fingerprints) else None


def _evidence(kept: Sequence[tuple[SourceText, Fingerprints]], boilerplate: Boilerplate) -> list[NDArray[np.uint64]]:
    """Return the distinct fingerprints of each file that are neither of a template nor in many of the files."""
    rows = [
        np.unique(prints.hashes[~template_mask(prints, file.language, DEFAULT, boilerplate)]) for file, prints in kept
    ]
    if not rows:
        return []
    hashes, counts = np.unique(np.concatenate(rows), return_counts=True)
    common = hashes[counts > max(FEW_FILES, MOST_FILES * len(rows))]
    return [row[~np.isin(row, common)] for row in rows]


def _similarities(
    rows: Sequence[NDArray[np.uint64]],
) -> tuple[Float64Array, NDArray[np.int64], NDArray[np.int64]]:
    """Return similarity and number of shared fingerprints of all pairs, [n, n], and the sizes, [n]."""
    from scipy.sparse import csr_array  # noqa: PLC0415  slow to import, and needed here only

    sizes = np.array([len(row) for row in rows], np.int64)
    if not len(sizes):
        return np.zeros((0, 0)), np.zeros((0, 0), np.int64), sizes
    distinct, columns = np.unique(np.concatenate(rows), return_inverse=True)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    matrix = csr_array((np.ones(len(columns), np.int64), columns, starts), shape=(len(rows), max(1, len(distinct))))
    shared: NDArray[np.int64] = (matrix @ matrix.T).toarray()
    return 2 * shared / np.maximum(1, sizes[:, None] + sizes[None, :]), shared, sizes


def _pair(
    numbers: tuple[int, int],
    similarity: Float64Array,
    shared: NDArray[np.int64],
    sizes: NDArray[np.int64],
    kept: Sequence[tuple[SourceText, Fingerprints]],
) -> FilePair:
    first, second = numbers
    (file, prints), (_, others) = kept[first], kept[second]
    stretches = spans(prints, others)
    lines = code_lines(file.text, file.language)
    runs = [sum(span.query_first <= line <= span.query_last for line in lines) for span in stretches]
    return FilePair(
        first,
        second,
        float(similarity[first, second]),
        float(shared[first, second] / sizes[first]),
        float(shared[first, second] / sizes[second]),
        merged_lines(LineRange(span.query_first, span.query_last) for span in stretches),
        merged_lines(LineRange(span.document_first, span.document_last) for span in stretches),
        max(runs, default=0),
    )


def _clusters(count: int, pairs: Sequence[FilePair]) -> tuple[tuple[int, ...], ...]:
    """Return the connected groups of at least two files, the largest first."""
    root = list(range(count))

    def find(file: int) -> int:
        while root[file] != file:
            root[file] = root[root[file]]
            file = root[file]
        return file

    for pair in pairs:
        root[find(pair.second)] = find(pair.first)
    groups: dict[int, list[int]] = {}
    for file in range(count):
        groups.setdefault(find(file), []).append(file)
    return tuple(sorted((tuple(group) for group in groups.values() if len(group) > 1), key=lambda g: (-len(g), g)))
