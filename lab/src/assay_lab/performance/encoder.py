"""Vector search alone: which share of fragments finds the function it is from, and how fast texts become vectors.

The functions are those of the standard library of the Python that runs this, at least 200 characters long, no two of
them near-duplicates. `builtin:fragments` was trained on none of them, nor on a near-duplicate of one. A function is
indexed as it stands; a fragment is cut at random from what is left of it without comments and docstrings, so a query
never holds the words of a docstring.

- `exact`: the fragment as it is.
- `Algorithm 1`: frequent words replaced, each with probability .2 (Type 2).
- `rename_all`: every name replaced by another, those of others, attributes and built-ins too.
- `edit_lines`: a quarter of the lines, at least one, added, removed or moved (Type 3).

The same fragments are asked of every way:

- `builtin:fragments`: the encoder that ships.
- `untrained`: its features with sign rows of the same dimensions alone, weighted by their rarity in the very functions
  that are searched.
- `characters`: TF-IDF of character n-grams, sublinear, case kept, fitted on the functions that are searched: sparse,
  with as many dimensions as there are n-grams. n = 4 to 6 had the highest mean MRR of (3, 5) and (4, 6), and of (3, 5)
  within words.
- `features, sparse`: the encoder's features, weighted as in `untrained`, without any projection: what the features can
  do in some million dimensions.

Recall@n: the function is among the first n. Intervals are 95 %, by resampling modules. Speed is of processor time.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import compress, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from assay.corpora import SourceText
from assay.evaluation import ShingleIndex, grouped_bootstrap
from assay.ground_truth import LibraryFunction, library_functions, library_paths, library_root
from assay.retrieval import open_encoder
from assay.retrieval.encoding import (
    BAG_WEIGHTS,
    BUILTIN_ENCODERS,
    HASH_BITS,
    WEIGHT_BITS,
    BagEncoder,
    parameter_indices,
)
from assay_lab.builtin.encoder_corpus import all_features
from assay_lab.clones import TokenizedText, adapt, edit_lines, rename_all, strip_comments
from assay_lab.columns import at_places, attributes, keyed, of_length, text_column
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.measuring import Spread, interleaved, rates, with_ends

WINDOWS = (15, 30, 60, 120)
SHORTEST = 200
NEAR = 0.5
SEED = 7
COPIES: Mapping[str, Callable[[str, str, str], str]] = {
    "exact": lambda fragment, _donor, _language: fragment,
    "Algorithm 1": lambda fragment, _donor, _language: adapt(fragment, seed=SEED).text,
    "renamed": lambda fragment, _donor, language: rename_all(fragment, language, seed=SEED),
    "edited": lambda fragment, donor, _language: edit_lines(fragment, [donor], seed=SEED),
}
"""How a fragment differs; the second text is where an added line may come from, the third its language."""

RANKS = (1, 10, 100)
Similarities = Callable[[Sequence[str]], NDArray[np.float64]]
"""Fragments to their similarity to every function, [fragments, functions]."""


def distinct_functions(files: int | None) -> list[LibraryFunction]:
    """Functions of the standard library, or of its first files, no two near-duplicates."""
    root = library_root()
    long = of_length(library_functions(root, library_paths(root)[:files]), SHORTEST)
    distinct = list(keyed(reversed(long), "digest").values())
    kept = ShingleIndex(text_column(distinct)).first_of_each_kind(NEAR)
    return list(compress(distinct, kept))


def fragments_of(
    functions: Sequence[LibraryFunction | SourceText], window: int, queries: int, language: str = "python"
) -> tuple[list[int], list[str]]:
    """Functions that are long enough, drawn at random, and a fragment of each."""
    draw = np.random.default_rng([SEED, window])
    chosen: list[int] = []
    fragments: list[str] = []
    for at in draw.permutation(len(functions)).tolist():
        cut = TokenizedText.of(strip_comments(functions[at].text, language), language)
        if len(cut) >= window and len(chosen) < queries:
            chosen.append(at)
            fragments.append(cut.fragment(int(draw.integers(len(cut) - window + 1)), window))
    return chosen, fragments


def similarities(texts: Sequence[str], encoder: BagEncoder) -> dict[str, Similarities]:
    """What is compared, each ready to be asked."""
    whole = all_features(texts)
    seen = np.bincount(parameter_indices(whole, 1).weights, minlength=1 << WEIGHT_BITS)
    rarity = np.log((1 + len(texts)) / (1 + seen)).astype(np.float32)
    untrained = BagEncoder(
        name="untrained",
        digest="",
        learned=encoder.learned * 0,
        sign_weights=rarity,
        learned_weights=rarity * 0,
        scales=encoder.scales,
    )
    characters = TfidfVectorizer(
        analyzer="char", ngram_range=(4, 6), sublinear_tf=True, lowercase=False, dtype=np.float32
    ).fit(texts)

    def sparse(asked: Sequence[str]) -> csr_array:
        found = all_features(asked)
        # the upper bits of a hash as the column: 2^24 columns hardly collide
        columns = (found.hashes >> np.uint64(HASH_BITS - 24)).astype(np.int32)
        values = rarity[parameter_indices(found, 1).weights]
        return csr_array(normalize(csr_array((values, columns, found.starts), shape=(len(asked), 1 << 24))))

    def against(encode: Callable[[Sequence[str]], Any]) -> Similarities:
        documents = encode(texts)

        def of(asked: Sequence[str]) -> NDArray[np.float64]:
            # sparse and dense alike
            product = encode(asked) @ documents.T
            return np.asarray(product.toarray() if issparse(product) else product, np.float64)

        return of

    return {
        encoder.name: against(encoder.encode),
        "untrained": against(untrained.encode),
        "characters": against(characters.transform),
        "features, sparse": against(sparse),
    }


def recalls(found: NDArray[np.float64], own: Sequence[int], groups: Sequence[str]) -> dict[str, object]:
    """Recall@1, @10, @100 and MRR with their intervals; functions that tie share their ranks' mean."""
    right = found[np.arange(len(own)), own][:, None]
    # ties: the mean of the ranks that they share
    rank = 1 + (found > right).sum(axis=1) + ((found == right).sum(axis=1) - 1) / 2
    values = np.column_stack([rank[:, None] <= RANKS, 1 / rank])
    estimates = grouped_bootstrap(
        lambda weights: weights @ values / weights.sum(axis=1, keepdims=True), groups, within=(0.0, 1.0)
    )
    names = [*map("recall_{}".format, RANKS), "mrr"]
    return dict(zip(names, map(with_ends, estimates), strict=True))


def speed(encoder: BagEncoder, functions: Sequence[LibraryFunction], repeats: int) -> dict[str, Spread]:
    """Texts a second of processor time, from text to vector."""
    texts = text_column(functions[:1000])
    _, fragments = fragments_of(functions[:3000], 60, 1000)
    ways: dict[str, Callable[[], object]] = {
        "fragments of 60 tokens": lambda: encoder.encode(fragments),
        "one by one": lambda: [encoder.encode([fragment]) for fragment in fragments],
        "functions": lambda: encoder.encode(texts),
    }
    sizes = {"fragments of 60 tokens": len(fragments), "one by one": len(fragments), "functions": len(texts)}
    seconds = interleaved(ways, repeats, time.process_time)
    return {name: rates(sizes[name], taken) for name, taken in seconds.items()}


def run(scale: tuple[int | None, int, int], seed: int, data: Data) -> Result:
    """Vector search alone: the share of fragments that find their function, and how fast texts become vectors."""
    files, most, repeats = scale
    functions = distinct_functions(files)
    texts = text_column(functions)
    encoder = open_encoder()
    assert isinstance(encoder, BagEncoder)
    ways = similarities(texts, encoder)
    results: list[dict[str, object]] = [
        {
            "way": "speed",
            "functions": len(texts),
            "weights_bytes": (BUILTIN_ENCODERS / "fragments" / BAG_WEIGHTS).stat().st_size,
            "dimensions": encoder.dimensions,
            "per_second": speed(encoder, functions, repeats),
        }
    ]
    for copy, window, chosen, queries in changed_fragments(functions, WINDOWS, most=most, language="python"):
        groups = attributes(at_places(functions, chosen), "path")
        for way, of in ways.items():
            row = {"way": way, "copy": copy, "tokens": window, "queries": len(queries)}
            results.append(row | recalls(of(queries), chosen, groups))
    return Result(results)


def changed_fragments(
    texts: Sequence[LibraryFunction | SourceText], windows: Sequence[int], most: int, language: str
) -> Iterator[tuple[str, int, list[int], list[str]]]:
    """Yield kind of copy, tokens, places of the functions, and their fragments."""
    for window in windows:
        chosen, cut = fragments_of(texts, window, queries=most, language=language)
        donors = np.random.default_rng(SEED).choice(len(texts), len(chosen))
        for copy, change in COPIES.items():
            beside = text_column(at_places(texts, donors))
            yield copy, window, chosen, list(map(change, cut, beside, repeat(language)))


EXPERIMENTS = (
    Experiment(
        name="performance/encoder",
        run=run,
        scales={"smoke": (20, 20, 1), "full": (None, 600, 5)},
        columns=("way", "copy", "tokens", "queries", "mrr", "recall_1", "recall_100"),
    ),
)
