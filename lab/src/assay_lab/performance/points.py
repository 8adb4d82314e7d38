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
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np

from assay.corpora import CorpusSettings, Entry, Granularity, open_sources
from assay.provenance import IndexSettings
from assay.provenance.index import FileRead, read_entries
from assay.retrieval import open_encoder
from assay.types import Encoder
from assay_lab.experiments.declaration import Data, Experiment, Result

ENCODER = "builtin:fragments"
NOT_LIBRARY = ("site-packages/", "dist-packages/", "test/")
BATCH = 16


def measured(corpus: Path, granularity: Granularity, encoder: Encoder, every: int) -> dict[str, object]:
    """Files into points, and each part of them weighed."""
    from assay_qdrant.points import INDEX_BITS, VECTOR, first_number, indices_of, point_of  # the plug-in is optional

    settings = IndexSettings(CorpusSettings(exclude=NOT_LIBRARY, granularity=granularity))
    (source,) = open_sources([str(corpus)], CorpusSettings(form="folder", exclude=settings.corpus.exclude))
    entries = [one for one in source.files() if isinstance(one, Entry) and one.path.endswith(".py")]
    work = iter([(source.name, one, None) for one in entries[::every]])
    read_entries([(source.name, entries[0], None)], settings, encoder)  # what is compiled at first use is compiled
    reading = 0.0
    read: list[FileRead] = []
    while batch := list(islice(work, BATCH)):
        start = time.process_time()
        read += read_entries(batch, settings, encoder)
        reading += time.process_time() - start
    start = time.process_time()
    points = []
    sent = 0
    for one in read:
        for document, hashes, vector in zip(one.documents, one.hashes, one.vectors, strict=True):
            digest = document.digest
            placed = replace(document, origins=tuple(replace(each, source="corpus") for each in document.origins))
            point = point_of(first_number(digest), placed, digest, hashes, vector)
            sent += len(point.model_dump_json())
            points.append(point)
    making = time.process_time() - start
    hashes_of = [np.unique(of_form) for one in read for hashes in one.hashes for of_form in hashes.values()]
    distinct = np.unique(np.concatenate(hashes_of))
    payloads = [point.payload or {} for point in points]
    dense = [point.vector[VECTOR] for point in points if isinstance(point.vector, dict)]
    return {
        "granularity": granularity,
        "encoder": ENCODER,
        "dimensions": encoder.dimensions,
        "files": len(read),
        "megabytes": sum(one.size for one in read) / 1e6,
        "documents": len(points),
        "postings": sum(map(len, hashes_of)),
        "distinct_fingerprints": len(distinct),
        "foreign_fingerprints": len(distinct) - len(np.unique(indices_of(distinct))),
        "foreign_by_chance": len(distinct) ** 2 / 2 ** (INDEX_BITS + 1),
        "bytes": {
            "point": sent,
            "text": sum(len(json.dumps(one["text"])) for one in payloads),
            "hashes": sum(len(json.dumps(one["hashes"])) for one in payloads),
            "origins": sum(len(json.dumps(one["origins"])) for one in payloads),
            "dense": sum(len(json.dumps(one)) for one in dense),
        },
        "reading_seconds": reading,
        "making_seconds": making,
    }


def run(scale: tuple[str, int], seed: int, data: Data) -> Result:
    """What a document weighs as a point of a Qdrant collection, and what making one takes."""
    part, every = scale
    encoder = open_encoder(ENCODER)
    encoder.encode(["def warm(up):\n    return up\n"])
    corpus = Path(sysconfig.get_paths()["stdlib"]) / part
    kinds: tuple[Granularity, ...] = ("function", "both")
    return Result([measured(corpus, kind, encoder, every) for kind in kinds])


EXPERIMENTS = (Experiment(name="performance/points", run=run, scales={"smoke": ("json", 1), "full": ("", 2)}),)
