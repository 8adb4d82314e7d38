"""What a document weighs as a point of a Qdrant collection, and what making one takes.

Every second file of the standard library is read, cut into functions, or into files and functions, fingerprinted and
encoded as a worker of a build does it; then its documents are made points and JSON as the writer does it. No server
takes part. Seconds are those of the processor. Bytes are of JSON as it is sent, before any compression by the server;
`postings` counts distinct fingerprints of each document, in both channels. Foreign fingerprints are those that share
their sparse index of 31 bits with another one, held against the n² / 2^32 pairs of n that chance gives.
"""

import json
import sysconfig
import time
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.corpora import CorpusSettings, Entry, Granularity, open_sources
from assay.provenance import IndexSettings
from assay.provenance.index import FileRead, read_entries
from assay.retrieval import open_encoder
from assay.types import Encoder
from assay_lab.columns import attributes
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.result_rows import column

ENCODER = "builtin:fragments"
NOT_LIBRARY = ("site-packages/", "dist-packages/", "test/")
BATCH = 16


def measured(corpus: Path, granularity: Granularity, encoder: Encoder, every: int) -> dict[str, object]:
    """Files into points, and each part of them weighed."""
    # the plug-in is optional
    from assay_qdrant.points import INDEX_BITS, VECTOR, first_number, indices_of, point_of

    settings = IndexSettings(CorpusSettings(exclude=NOT_LIBRARY, granularity=granularity))
    (source,) = open_sources([str(corpus)], CorpusSettings(form="folder", exclude=settings.corpus.exclude))
    entries = [entry for entry in source.files() if isinstance(entry, Entry) and entry.path.endswith(".py")]
    work = iter([(source.name, entry, None) for entry in entries[::every]])
    # what is compiled at first use is compiled
    read_entries([(source.name, entries[0], None)], settings, encoder)
    reading = 0.0
    read: list[FileRead] = []
    while batch := list(islice(work, BATCH)):
        start = time.process_time()
        read += read_entries(batch, settings, encoder)
        reading += time.process_time() - start
    start = time.process_time()
    points = []
    sent = 0
    for file in read:
        for document, hashes, vector in zip(file.documents, file.hashes, file.vectors, strict=True):
            digest = document.digest
            placed = replace(document, origins=tuple(map(partial(replace, source="corpus"), document.origins)))
            point = point_of(first_number(digest), placed, digest=digest, hashes=hashes, dense=vector)
            sent += len(point.model_dump_json())
            points.append(point)
    making = time.process_time() - start
    hashes_of: list[NDArray[np.uint64]] = []
    for hashes in chain.from_iterable(attributes(read, "hashes")):
        hashes_of += map(np.unique, hashes.values())
    # two fingerprints with one sparse index are taken for each other by the server
    distinct = np.unique(np.concatenate(hashes_of))
    payloads = [point.payload or {} for point in points]
    dense = [point.vector[VECTOR] for point in points if isinstance(point.vector, dict)]
    return {
        "granularity": granularity,
        "encoder": ENCODER,
        "dimensions": encoder.dimensions,
        "files": len(read),
        "megabytes": sum(attributes(read, "size")) / 1e6,
        "documents": len(points),
        "postings": sum(map(len, hashes_of)),
        "distinct_fingerprints": len(distinct),
        "foreign_fingerprints": len(distinct) - len(np.unique(indices_of(distinct))),
        "foreign_by_chance": len(distinct) ** 2 / 2 ** (INDEX_BITS + 1),
        "bytes": {
            "point": sent,
            "text": json_bytes(column(payloads, "text")),
            "hashes": json_bytes(column(payloads, "hashes")),
            "origins": json_bytes(column(payloads, "origins")),
            "dense": json_bytes(dense),
        },
        "reading_seconds": reading,
        "making_seconds": making,
    }


def json_bytes(values: Iterable[object]) -> int:
    """Bytes of the values as JSON."""
    return sum(map(len, map(json.dumps, values)))


def run(scale: tuple[str, int], seed: int, data: Data) -> Result:
    """What a document weighs as a point of a Qdrant collection, and what making one takes."""
    part, every = scale
    encoder = open_encoder(ENCODER)
    encoder.encode(["def warm(up):\n    return up\n"])
    corpus = Path(sysconfig.get_paths()["stdlib"]) / part
    kinds: tuple[Granularity, ...] = ("function", "both")
    return Result(list(map(partial(measured, corpus, encoder=encoder, every=every), kinds)))


EXPERIMENTS = (Experiment(name="performance/points", run=run, scales={"smoke": ("json", 1), "full": ("", 2)}),)
