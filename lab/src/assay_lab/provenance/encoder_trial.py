"""Encoders beside each other: in the trial of provenance, and by vector search alone in eight languages.

Fragments of functions of Python's standard library are searched for among functions of the library and of the installed
packages, as in `hst/retrieval`. A row has the mean reciprocal ranks of an encoder in each way of
searching that uses vectors, and for another encoder the paired difference to `builtin:fragments`. Our encoders were
trained on neither the library nor anything like it; what others were trained on is theirs to say.

`provenance/encoder_languages`: functions of all packages of a language are searched, at most 3,000; near-duplicates are
removed. A fragment is cut at random from a function without comments and docstrings, and changed as in
`performance/encoder`. A row has the mean reciprocal rank (MRR) with a 95 % interval over packages.
"""

import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, compress, islice, product, repeat
from operator import itemgetter
from pathlib import Path

import numpy as np

from assay.corpora import Document, SourceText
from assay.evaluation import ShingleIndex
from assay.provenance import CodeIndex
from assay.retrieval import ManyVectors, document_vectors, for_queries, open_encoder
from assay.types import Encoder, Float32Array
from assay_lab.columns import at_places, attributes, of_length, text_column, without
from assay_lab.evaluation.retrieval import reciprocal_rank_gain, retrieval_quality
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.papers.hst.corpus import SearchSpace, installed_functions, search_space
from assay_lab.papers.hst.queries import ALTERATIONS, Alteration, Query, queries
from assay_lab.papers.hst.search import WAYS, answers, first_right
from assay_lab.papers.hst.trial import index_of
from assay_lab.performance.encoder import NEAR, SHORTEST, changed_fragments, recalls
from assay_lab.provenance.confidence import CORPORA, LANGUAGES, functions, packages_of

OURS = "builtin:fragments"
WINDOWS = (15, 30, 60, 120)
SEARCHED = ("vector", "HST", "union")
SEED = 0
IN_A_LANGUAGE, ASKED = 3_000, 300
TIMED = 100
"""Documents whose encoding is timed."""


@dataclass(frozen=True, slots=True)
class Remembering:
    """An encoder that encodes each text once; the trial searches every fragment in several ways.

    Attributes:
        encoder: that encodes.
        vectors: of the texts so far.
    """

    encoder: Encoder
    vectors: dict[str, Float32Array] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the encoder."""
        return self.encoder.name

    @property
    def digest(self) -> str:
        """The digest of the encoder."""
        return self.encoder.digest

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return self.encoder.dimensions

    def encode(self, texts: Sequence[str]) -> Float32Array:
        """Return float32 [texts, d]."""
        new = without(dict.fromkeys(texts), self.vectors)
        if new:
            self.vectors.update(zip(new, self.encoder.encode(new), strict=True))
        return np.stack(at_places(self.vectors, texts))


def cost(encoder: Encoder, documents: Sequence[Document]) -> float:
    """Return the milliseconds of processor time for the vectors of a document."""
    # what is compiled or loaded at the first call does not count
    document_vectors(encoder, [documents[0].text])
    began = time.process_time()
    document_vectors(encoder, text_column(documents))
    return 1e3 * (time.process_time() - began) / len(documents)


def drawn(space: SearchSpace, most: int) -> Iterator[tuple[int, Alteration, list[Query]]]:
    """Yield length, kind and fragments of each cell."""
    for window, kind in product(WINDOWS, ALTERATIONS):
        yield window, kind, queries(space, window, kind, most=most, seed=SEED)


def ranks_of(fragments: Sequence[Query], space: SearchSpace, index: CodeIndex, way: str) -> list[int]:
    """Return the rank of the first right answer to each fragment, 0 for none."""
    ranks = []
    for fragment in fragments:
        matches = answers(fragment.text, language="python", index=index, method=WAYS[way].method)
        # ids of documents begin at 1
        ranks.append(first_right(matches, frozenset(at + 1 for at in space.right[fragment.target])))
    return ranks


def cell(fragments: Sequence[Query], ranks: list[int], ours: list[int]) -> dict[str, object]:
    """Return the quality of one cell, and the paired difference to our encoder where it is of another one."""
    groups = attributes(fragments, "group")
    mrr = retrieval_quality(ranks, groups, seed=SEED)["mrr"]
    row: dict[str, object] = {"n": len(ranks), "mrr": [mrr.value, mrr.low, mrr.high]}
    if ranks is ours:
        return row
    gain = reciprocal_rank_gain(ranks, {OURS: ours}, groups, seed=SEED)[OURS]
    return row | {"over_ours": [gain.value, gain.low, gain.high]}


def run(scale: tuple[int, int, int], seed: int, data: Data) -> Result:
    """An encoder of others beside ours in the trial of provenance: the same fragments, the same fingerprints."""
    most_documents, size, most = scale
    documents = list(islice(installed_functions(), most_documents))
    space = search_space(documents, smallest=size, targets=size // 2, long=max(WINDOWS), seed=SEED)
    rows: list[dict[str, object]] = []
    ours: dict[tuple[int, str, str], list[int]] = {}
    for path in encoders(data):
        encoder = open_encoder(path)
        shared = {"encoder": Path(path).name, "documents": size, "ms_a_document": cost(encoder, documents[:TIMED])}
        remembering = encoder if isinstance(encoder, ManyVectors) else Remembering(encoder)
        with (
            tempfile.TemporaryDirectory() as folder,
            index_of(space, size, profile="default", encoder=remembering, folder=Path(folder)) as index,
        ):
            for window, kind, fragments in drawn(space, most):
                for way in SEARCHED:
                    ranks = ranks_of(fragments, space, index=index, way=way)
                    # the first encoder is ours: its ranks stay as those to compare with
                    beside = ours.setdefault((window, kind, way), ranks)
                    rows.append(shared | {"tokens": window, "kind": kind, "way": way} | cell(fragments, ranks, beside))
    return Result(rows)


def run_languages(languages: tuple[str, ...], seed: int, data: Data) -> Result:
    """Vector search alone in eight languages: does a fragment find its function, under each of several encoders?"""
    return Result(list(chain.from_iterable(map(in_language, languages, repeat(data)))))


def in_language(language: str, data: Data) -> Iterator[dict[str, object]]:
    """Yield a row for each encoder, kind of copy and length in one language."""
    packages = packages_of(language, data["corpora"])
    each = IN_A_LANGUAGE // len(packages)
    long: list[tuple[str, SourceText]] = []
    for package in packages:
        own = islice(functions([package], language), each)
        long += zip(repeat(package.name), of_length(own, SHORTEST))
    kept = ShingleIndex(text_column(map(itemgetter(1), long))).first_of_each_kind(NEAR)
    groups, texts = zip(*compress(long, kept), strict=True)
    changed = list(changed_fragments(texts, WINDOWS, most=ASKED, language=language))
    for name in encoders(data):
        encoder = open_encoder(name)
        before = time.process_time()
        vectors = document_vectors(encoder, text_column(texts))
        seconds = round(time.process_time() - before, 2)
        firsts = np.cumsum([0, *map(len, vectors[:-1])])
        about = {"language": language, "encoder": Path(name).name, "searched": len(texts), "packages": len(packages)}
        about |= {"vectors": sum(map(len, vectors)), "encoding_seconds": seconds}
        for copy, window, chosen, asked in changed:
            similarity = np.asarray(for_queries(encoder).encode(asked) @ np.concatenate(vectors).T, np.float64)
            # a document has several vectors, and its nearest one counts
            nearest = np.maximum.reduceat(similarity, firsts, axis=1)
            mrr = recalls(nearest, chosen, at_places(groups, chosen))["mrr"]
            yield about | {"copy": copy, "tokens": window, "queries": len(asked), "mrr": mrr}


def encoders(data: Data) -> list[str]:
    """Return the shipped encoders, ours first, and that of the user."""
    shipped = [OURS, "builtin:windows"]
    return [*shipped, str(data["encoder"])] if "encoder" in data else shipped


TAKES = {"encoder": "a folder with the weights of another encoder, as all-MiniLM-L6-v2"}
EXPERIMENTS = (
    Experiment(
        name="provenance/encoder_trial",
        run=run,
        scales={"smoke": (1_500, 200, 20), "full": (4_500, 300, 40)},
        columns=("encoder", "tokens", "kind", "way", "n", "mrr", "over_ours"),
        takes=TAKES,
        stored="provenance/encoder_trial",
    ),
    Experiment(
        name="provenance/encoder_languages",
        run=run_languages,
        scales={"smoke": ("python",), "full": LANGUAGES},
        columns=("language", "encoder", "copy", "tokens", "queries", "mrr"),
        needs=CORPORA,
        takes=TAKES,
        stored="provenance/encoder_languages",
    ),
)
