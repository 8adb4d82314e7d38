"""A benchmark without the samples that occur in a corpus."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from assay.errors import DataError
from assay.files import write_text
from assay.scan.contamination import PRESENT_KINDS, BenchmarkTrace, SampleTrace
from assay.types import Sample

REMOVED = ".removed.jsonl"
"""Ending of the file with the evidence, in place of that of the clean benchmark."""


def write_clean(path: Path, samples: Sequence[Sample], traced: BenchmarkTrace) -> tuple[int, Path]:
    """Write the samples that do not occur in the corpus, and beside them the evidence for the others.

    Samples that are too short to be judged stay. A row has the id, text, language, label and group of the sample, and
    its other columns; a row of the evidence has the kind of the match, the document and all its places.

    Args:
        path: JSON lines; the evidence gets the same name with `REMOVED`.
        samples: of the benchmark, as they were traced.
        traced: their places in the corpus.

    Returns:
        Number of samples removed, and the path of the evidence.

    Raises:
        DataError: the files cannot be written, or the name does not end in .jsonl.
    """
    if path.suffix != ".jsonl":
        raise DataError(f"{path}: expected a name that ends in .jsonl")
    present = {trace.sample_id: trace for trace in traced.samples if trace.kind in PRESENT_KINDS}
    clean = (_row(sample) for sample in samples if sample.id not in present)
    evidence = path.with_name(path.name.removesuffix(".jsonl") + REMOVED)
    write_text(evidence, _lines(map(_evidence, present.values())))
    write_text(path, _lines(clean))
    return len(present), evidence


def _row(sample: Sample) -> dict[str, object]:
    row = {**sample.metadata, "id": sample.id, "text": sample.text}
    for name in ("language", "label", "group"):
        if (value := getattr(sample, name)) is not None:
            row[name] = value
    return row


def _evidence(trace: SampleTrace) -> dict[str, object]:
    return {
        "id": trace.sample_id,
        "kind": trace.kind,
        "match": None if trace.match is None else asdict(trace.match),
        "origins": list(map(asdict, trace.origins)),
    }


def _lines(rows: Iterable[dict[str, object]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows)
