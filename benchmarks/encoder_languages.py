"""Vector search alone in eight languages: does a fragment find its function, under each of several encoders?

    python benchmarks/encoder_languages.py --corpora CORPORA [--encoder NAME …]

CORPORA has a folder for each language, and in it a folder for each package, as for `bench_confidence_languages.py`. No
encoder that is compared may have been trained on these packages; the built-in one was not. Functions of all packages of
a language are searched, at most 3,000; near-duplicates are removed. A fragment is cut at random from a function without
comments and docstrings, and changed as in `bench_encoder.py`. A row has the mean reciprocal rank (MRR) with a 95 %
interval over packages.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from bench_confidence_languages import LANGUAGES, functions, packages_of
from bench_encoder import COPIES, NEAR, SEED, SHORTEST, WINDOWS, fragments_of, recalls
from measuring import RESULTS, arguments, write

from assay.evaluation.near_duplicates import ShingleIndex
from assay.provenance import SourceText
from assay.retrieval.encoding import document_vectors, for_queries, open_encoder

SEARCHED, QUERIES = 3_000, 300


def main() -> None:
    """Measure every language and write the figures after each."""
    began = time.perf_counter()
    options = arguments(__doc__, further)
    out = RESULTS / "provenance" if options.out == RESULTS else options.out
    options.out = out
    results: list[dict[str, object]] = []
    for language in options.languages.split(","):
        results += rows(language, options)
        print(write("encoder_languages", options, results, began), flush=True)


def further(parser: argparse.ArgumentParser) -> None:
    """Add the options of this script."""
    parser.add_argument("--corpora", type=Path, required=True, help="folder of languages, each a folder of packages")
    parser.add_argument("--encoder", action="append", help="an encoder; repeat (default: builtin:fragments)")
    parser.add_argument("--languages", default=",".join(LANGUAGES), help="comma-separated (default: all)")


def rows(language: str, options: argparse.Namespace) -> list[dict[str, object]]:
    """Return a row for each encoder, kind of copy and length in one language."""
    packages = packages_of(language, options.corpora)
    each = SEARCHED // len(packages)
    drawn = [(package.name, text) for package in packages for text in islice(functions([package], language), each)]
    long = [(package, text) for package, text in drawn if len(text.text) >= SHORTEST]
    kept = ShingleIndex([text.text for _, text in long]).first_of_each_kind(NEAR)
    groups, texts = zip(*(pair for pair, keep in zip(long, kept, strict=True) if keep), strict=True)
    changed = list(fragments(texts, language))
    measured = []
    for name in options.encoder or ["builtin:fragments"]:
        encoder = open_encoder(name)
        before = time.process_time()
        documents = document_vectors(encoder, [text.text for text in texts])
        cost = {"vectors": sum(map(len, documents)), "encoding_seconds": round(time.process_time() - before, 2)}
        firsts = np.cumsum([0, *map(len, documents[:-1])])
        for copy, window, chosen, queries in changed:
            similarity = np.asarray(for_queries(encoder).encode(queries) @ np.concatenate(documents).T, np.float64)
            nearest = np.maximum.reduceat(similarity, firsts, axis=1)
            figures = recalls(nearest, chosen, [groups[at] for at in chosen])
            row = {"language": language, "encoder": name, "searched": len(texts), "packages": len(packages)} | cost
            measured.append(row | {"copy": copy, "tokens": window, "queries": len(queries), "mrr": figures["mrr"]})
            print(language, name, copy, window, figures["mrr"], flush=True)
    return measured


def fragments(texts: Sequence[SourceText], language: str) -> Iterator[tuple[str, int, list[int], list[str]]]:
    """Yield kind of copy, tokens, places of the functions, and their fragments."""
    for window in WINDOWS:
        chosen, cut = fragments_of(texts, window, QUERIES, language)
        donors = np.random.default_rng(SEED).choice(len(texts), len(chosen))
        for copy, change in COPIES.items():
            pairs = zip(cut, donors, strict=True)
            yield copy, window, chosen, [change(text, texts[donor].text, language) for text, donor in pairs]


if __name__ == "__main__":
    main()
