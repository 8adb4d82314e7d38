"""Distributional neighbours: names that occur in the same contexts in a corpus of the user."""

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np
from scipy import sparse

from assay.code.parse.lexing import python_tokens
from assay.code.rename.names import NameKind
from assay.code.rename.pools import DictionaryPool, NamePool, NeighborPool, casing
from assay.code.rename.python_names import python_analysis
from assay.errors import DataError
from assay.languages import LANGUAGES

_BLOCK = 512
_OFFSETS = (-2, -1, 1, 2)


def neighbors_of(
    texts: Iterable[str],
    *,
    count: int = 32,
    minimum: int = 5,
    fallback: NamePool | None = None,
) -> NeighborPool:
    """Return a pool of names that a corpus of Python texts uses alike.

    A name is described by the tokens two before to two after it, weighted by positive pointwise mutual information;
    neighbours have the largest cosine (Levy, Goldberg & Dagan 2015, "Improving Distributional Similarity with Lessons
    Learned from Word Embeddings"), the same kind and the same casing. Texts that cannot be renamed are passed over.

    Args:
        texts: the corpus; none of it has to parse together.
        count: neighbours of each name.
        minimum: names and contexts that occur less often are left out.
        fallback: for unknown names; dictionary words by default.

    Raises:
        DataError: no name occurs in the corpus `minimum` times.
    """
    seen: dict[NameKind, Counter[tuple[str, str]]] = {"function": Counter(), "variable": Counter()}
    for text in texts:
        for kind, pair in _surroundings(text):
            seen[kind][pair] += 1
    neighbors = {kind: _nearest(pairs, count, minimum) for kind, pairs in seen.items()}
    if not any(neighbors.values()):
        raise DataError(
            f"no name occurs at least {minimum} times in the corpus; expected more Python texts or a lower minimum"
        )
    return NeighborPool(neighbors, DictionaryPool() if fallback is None else fallback)


def _surroundings(text: str) -> Iterator[tuple[NameKind, tuple[str, str]]]:
    """Yield the kind and (name, token near it) for every place of a name that may change."""
    names = python_analysis(text).names
    if not names:
        return
    tokens = python_tokens(text)
    numbers = {token.start: index for index, token in enumerate(tokens)}
    for name in names:
        for place in name.places:
            index = numbers.get(place)
            if index is None:  # a mention in a comment
                continue
            for offset in _OFFSETS:
                around = tokens[index + offset].text if 0 <= index + offset < len(tokens) else ""
                yield name.kind, (name.name, f"{offset} {around}")


def _nearest(pairs: Counter[tuple[str, str]], count: int, minimum: int) -> dict[str, tuple[str, ...]]:
    sums: Counter[str] = Counter()
    around: Counter[str] = Counter()
    for (name, context), times in pairs.items():
        sums[name] += times
        around[context] += times
    unavailable = LANGUAGES["python"].unavailable
    names = sorted(name for name, times in sums.items() if times >= minimum * len(_OFFSETS) and name not in unavailable)
    contexts = {
        context: index
        for index, context in enumerate(sorted(context for context, times in around.items() if times >= minimum))
    }
    if not names or not contexts:
        return {}
    rows = {name: index for index, name in enumerate(names)}
    kept = [(rows[n], contexts[c], times) for (n, c), times in sorted(pairs.items()) if n in rows and c in contexts]
    row, column, weight = map(np.array, zip(*kept, strict=True))
    table = sparse.csr_matrix((weight.astype(float), (row, column)), shape=(len(names), len(contexts)))
    vectors = _unit(_positive_information(table))
    styles = np.array([casing(name) for name in names])
    neighbors = {}
    for start in range(0, len(names), _BLOCK):
        block = (vectors[start : start + _BLOCK] @ vectors.T).toarray()
        for index, similarity in enumerate(block, start):
            similarity[index] = -1
            similarity[styles != styles[index]] = -1
            order = np.argsort(-similarity, kind="stable")[:count]
            neighbors[names[index]] = tuple(names[other] for other in order if similarity[other] > 0)
    return {name: near for name, near in neighbors.items() if near}


def _positive_information(table: sparse.csr_matrix) -> sparse.csr_matrix:
    """Return max(0, ln p(x, y) / (p(x) p(y))) of a table of counts."""
    counts = table.tocoo()
    total = table.sum()
    of_row, of_column = np.asarray(table.sum(1)).ravel(), np.asarray(table.sum(0)).ravel()
    values = np.log(counts.data * total / (of_row[counts.row] * of_column[counts.col]))
    return sparse.csr_matrix((np.maximum(values, 0), (counts.row, counts.col)), shape=table.shape)


def _unit(table: sparse.csr_matrix) -> sparse.csr_matrix:
    lengths = np.sqrt(np.asarray(table.multiply(table).sum(1)).ravel())
    return sparse.diags(1 / np.where(lengths > 0, lengths, 1)) @ table
