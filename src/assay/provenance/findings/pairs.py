"""All pairs of files that share code, and clusters of them, as Dolos and JPlag report them.

Two files are compared by their distinct fingerprints of tokens, which do not change with names, literals, layout and
comments. A fingerprint that many of the files have is no evidence: it is a template that all of them were given, or a
phrase of the language.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from assay.corpora import LineRange, SourceText, code_lines, merge_lines
from assay.provenance.search import Boilerplate, boilerplate_of, template_mask
from assay.provenance.search.spans import document_lines, query_lines, spans
from assay.reports import Column, Report, Row, Table, number_of
from assay.retrieval import DEFAULT, Fingerprints, Form, fingerprint
from assay.types import Float64Array

MOST_FILES = 0.25
"""Share of the files from which a fingerprint is no evidence; it has to occur in more than `FEW_FILES` of them too."""

FEW_FILES = 10
SIMILAR = 0.5
"""Similarity from which two files are one cluster."""

UNEQUAL = 0.1
"""Difference of the shares of two files from which both are told: one contains a part of the other."""

_FORM: Form = "tokens"

PAIR_COLUMNS = (
    *map(Column, ("first", "second")),
    *(Column(name, "number") for name in ("similarity", "first_share", "second_share")),
    *map(Column, ("first_lines", "second_lines")),
    *(Column(name, "count") for name in ("longest", "cluster")),
)
"""The fields of a pair, in their order, and the number of its cluster."""


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

    @property
    def first_line(self) -> int:
        """Line of the first file at which the shared code begins."""
        return self.first_lines[0].first if self.first_lines else 1


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

    def lines(self) -> Iterator[str]:
        """Yield the pairs, the most similar first, and then the clusters of more than two files, a line each."""
        for pair in self.pairs:
            other = self.paths[pair.second]
            if abs(pair.first_share - pair.second_share) > UNEQUAL:
                other += f" ({pair.first_share:.0%} of the first, {pair.second_share:.0%} of the second)"
            yield (
                f"{self.paths[pair.first]}:{pair.first_line}: {pair.similarity:.0%} the same as {other}, "
                f"{number_of(pair.longest, 'line')} in one stretch"
            )
        for cluster in self.clusters:
            if len(cluster) > 2:  # noqa: PLR2004  two files are a pair, which has its line already
                yield f"{len(cluster)} files share code: {', '.join(self._named(cluster))}"

    def _named(self, files: Iterable[int]) -> list[str]:
        return [self.paths[file] for file in files]

    def describe(self) -> Report:
        """Return the pairs as a report, one row each; `cluster` is the number of their cluster, from 1."""
        cluster_of: dict[int, int] = {}
        for number, cluster in enumerate(self.clusters, 1):
            cluster_of |= dict.fromkeys(cluster, number)
        pairs, rows = [], []
        for pair in self.pairs:
            first_lines, second_lines = list(map(str, pair.first_lines)), list(map(str, pair.second_lines))
            first, second = self._named((pair.first, pair.second))
            entry = asdict(pair) | {"first": first, "second": second}
            pairs.append(entry | {"first_lines": first_lines, "second_lines": second_lines})
            cells = entry | {"first_lines": " ".join(first_lines), "second_lines": " ".join(second_lines)}
            rows.append(Row((*cells.values(), cluster_of[pair.first])))
        return Report(
            title="Which files have the same structure?",
            statement=f"{len(pairs)} pairs of {len(self.paths)} files, {len(self.clusters)} clusters.",
            tables=(Table("pairs", "Pairs", PAIR_COLUMNS, rows=tuple(rows)),),
            data={
                "files": list(self.paths),
                "too_short": list(self.too_short),
                "pairs": pairs,
                "clusters": list(map(self._named, self.clusters)),
            },
        )


def all_pairs(
    files: Sequence[SourceText], *, least: float = SIMILAR, boilerplate: Boilerplate | None = None
) -> PairedFiles:
    """Compare every file with every other one, in the order of their paths.

    Args:
        files: whole, in any order.
        least: similarity of a pair at least; pairs make clusters.
        boilerplate: templates whose code is no evidence; None for those that ship.
    """
    boilerplate = boilerplate or boilerplate_of(DEFAULT)
    kept, too_short = [], []
    for file in sorted(files, key=attrgetter("path")):
        prints = fingerprint(file.text, file.language, DEFAULT)[_FORM]
        if isinstance(prints, Fingerprints):
            kept.append((file, prints))
        else:
            too_short.append(file.path)
    rows = _evidence(kept, boilerplate)
    similarity, shared, sizes = _similarities(rows)
    share_code = np.triu(shared, 1) > 0
    first, second = np.nonzero((similarity >= least) & share_code)
    order = np.lexsort((second, first, -similarity[first, second]))
    pairs = []
    for numbers in zip(first[order].tolist(), second[order].tolist(), strict=True):
        pairs.append(_pair(numbers, kept, similarity=similarity, shared=shared, sizes=sizes))
    return PairedFiles(
        paths=tuple(file.path for file, _ in kept),
        too_short=tuple(too_short),
        pairs=tuple(pairs),
        clusters=_clusters(len(kept), pairs),
        compared=int(share_code.sum()),
    )


def _evidence(kept: Sequence[tuple[SourceText, Fingerprints]], boilerplate: Boilerplate) -> list[NDArray[np.uint64]]:
    """Return the distinct fingerprints of each file that are neither of a template nor in many of the files."""
    rows = []
    for file, prints in kept:
        is_template = template_mask(prints, file.language, profile=DEFAULT, boilerplate=boilerplate)
        rows.append(np.unique(prints.hashes[~is_template]))
    if not rows:
        return []
    # what many files share was given to all of them, or is a phrase of the language: no sign that one copied another
    hashes, counts = np.unique(np.concatenate(rows), return_counts=True)
    common = hashes[counts > max(FEW_FILES, MOST_FILES * len(rows))]
    return [np.setdiff1d(row, common, assume_unique=True) for row in rows]


def _similarities(rows: Sequence[NDArray[np.uint64]]) -> tuple[Float64Array, NDArray[np.int64], NDArray[np.int64]]:
    """Return similarity and number of shared fingerprints of all pairs, [n, n], and the sizes, [n]."""
    from scipy.sparse import csr_array  # noqa: PLC0415  slow to import, and needed here only

    sizes = np.array(list(map(len, rows)), np.int64)
    if not len(sizes):
        return np.zeros((0, 0)), np.zeros((0, 0), np.int64), sizes
    distinct, columns = np.unique(np.concatenate(rows), return_inverse=True)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    matrix = csr_array((np.ones(len(columns), np.int64), columns, starts), shape=(len(rows), max(1, len(distinct))))
    # files × fingerprints, 0 or 1: the product with its transpose counts the common ones of all pairs at once
    shared: NDArray[np.int64] = (matrix @ matrix.T).toarray()
    return 2 * shared / np.maximum(1, sizes[:, None] + sizes[None, :]), shared, sizes


def _pair(
    numbers: tuple[int, int],
    kept: Sequence[tuple[SourceText, Fingerprints]],
    *,
    similarity: Float64Array,
    shared: NDArray[np.int64],
    sizes: NDArray[np.int64],
) -> FilePair:
    first, second = numbers
    (file, prints), (_, others) = kept[first], kept[second]
    stretches = spans(prints, others)
    lines = code_lines(file.text, file.language)
    runs = [len(lines.keys() & set(stretch.numbers)) for stretch in query_lines(stretches)]
    return FilePair(
        first=first,
        second=second,
        similarity=float(similarity[first, second]),
        first_share=float(shared[first, second] / sizes[first]),
        second_share=float(shared[first, second] / sizes[second]),
        first_lines=merge_lines(query_lines(stretches)),
        second_lines=merge_lines(document_lines(stretches)),
        longest=max(runs, default=0),
    )


def _clusters(count: int, pairs: Sequence[FilePair]) -> tuple[tuple[int, ...], ...]:
    """Return the connected groups of at least two files, the largest first."""
    # union-find with path halving: each file points towards the first one of its cluster
    root = list(range(count))

    def find(file: int) -> int:
        while root[file] != file:
            root[file] = root[root[file]]
            file = root[file]
        return file

    for pair in pairs:
        root[find(pair.second)] = find(pair.first)
    groups: dict[int, list[int]] = defaultdict(list)
    for file in range(count):
        groups[find(file)].append(file)
    clusters = sorted(tuple(group) for group in groups.values() if len(group) > 1)
    return tuple(sorted(clusters, key=len, reverse=True))
