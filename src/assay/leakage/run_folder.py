"""A run on disk: everything an audit measured and decided, in files that other tools read.

    manifest.json       how the run was made: command, versions, digests, seeds, times
    samples.parquet     the samples: id, text, language, label, group, metadata (JSON)
    scores.parquet      one row per sample and score: sample_id, score, value (null where unscorable), reason
    decisions.parquet   one row per sample and calibrated score: positive (p ≤ alpha), value, threshold, p and q
    tokens.parquet      one row per sample of the heat map, with a list per statistic
    summary.json        all summaries: rankings with curves, dose points, calibration, blind baseline (schema 3), and
                        the verdict

Reading gives back exactly the values that were written.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields, replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from assay.codec import decode, encode
from assay.datasets import Dataset, check_ratio
from assay.errors import DataError, plain_reason
from assay.files import atomic_path, parse_json, write_json
from assay.guard import library_faults
from assay.leakage.naming import named_samples, names_samples
from assay.leakage.results import Audit, SampleTokens, ScoreSummary
from assay.models import gguf_of
from assay.run import MANIFEST, is_finished
from assay.scoring import Plan
from assay.types import Float64Array, Sample, SampleDecision

SCHEMA = 3
SUMMARY = "summary.json"

_TEXT, _NUMBER, _FLAG = pa.string(), pa.float64(), pa.bool_()
_FLOATS, _INTEGERS = pa.list_(pa.float32()), pa.list_(pa.int32())
_required = partial(pa.field, nullable=False)

_SAMPLES = pa.schema(
    [
        _required("id", _TEXT),
        _required("text", _TEXT),
        ("exact_text", pa.binary()),
        ("language", _TEXT),
        ("label", _TEXT),
        ("group", _TEXT),
        _required("metadata", _TEXT),
    ]
)
_SCORES = pa.schema([_required("sample_id", _TEXT), _required("score", _TEXT), ("value", _NUMBER), ("reason", _TEXT)])
_DECISIONS = pa.schema(
    [
        _required("sample_id", _TEXT),
        _required("name", _TEXT),
        _required("positive", _FLAG),
        *((name, _NUMBER) for name in ("value", "threshold", "p_value", "q_value")),
    ]
)
_TOKENS = pa.schema(
    [
        _required("sample_id", _TEXT),
        _required("log_probs", _FLOATS),
        _required("ranks", _INTEGERS),
        _required("tail_mass", _FLOATS),
        _required("starts", _INTEGERS),
        _required("ends", _INTEGERS),
    ]
)
_EMPTY_TABLES: dict[str, object] = {"samples": [], "values": {}, "reasons": {}, "tokens": []}
"""What stands in tables, as a run of no sample has it."""
_IN_SUMMARY = tuple(field.name for field in fields(Audit) if field.name not in _EMPTY_TABLES)
_CALIBRATED = ("p_values", "q_values")
_DECIDED = ("seen_at_least",)
"""Figures of a calibration that accuse: they follow from the others, and are given only where there is a verdict."""
_NAMING = ("discoveries", "adaptive_discoveries")
"""The same, for scores that name single samples."""

REDACTED = (
    "Texts are redacted. This run holds ids, groups and labels of the samples, SHA-256 digests of their texts, and "
    "their values. They still reveal how many samples there are, what the ids and groups say, which samples stand out, "
    "and, to everybody who has a text, that it is in the benchmark. A very short text can be guessed from its digest. "
    "The manifest has the command with its paths."
)


def write_run(folder: str | Path, audit: Audit, manifest: Mapping[str, object], *, redact: bool = False) -> Path:
    """Write a run folder; files of an earlier run are replaced, each one in a single step.

    Args:
        folder: created where it does not exist.
        audit: what was measured.
        manifest: how: anything that JSON can hold.
        redact: write no texts, for a benchmark that is not public.

    Raises:
        DataError: the folder cannot be written.
    """
    folder = Path(folder)
    if redact:
        audit = redacted(audit)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"cannot write the run folder {folder}: {error.strerror or error}") from error
    _write_table(folder / "samples.parquet", _sample_table(audit.samples))
    _write_table(folder / "scores.parquet", _score_table(audit))
    _write_table(folder / "decisions.parquet", _decision_table(audit))
    _write_table(folder / "tokens.parquet", _token_table(audit.tokens))
    write_json(folder / SUMMARY, summary_of(audit), sort_keys=True)
    # the last file: a folder without it is no finished run
    write_json(folder / MANIFEST, encode(manifest))
    return folder


def facts_of(plan: Plan, dataset: Dataset) -> dict[str, object]:
    """Return what the record of a run says of its models, its texts and its scores."""
    models = {}
    for role, (name, digest) in plan.digests.items():
        models[role] = {"name": name, "digest": digest}
        file = gguf_of(plan.models.get(role, plan.generator))
        if file is not None:
            models[role] |= file.facts()
    data = {name: getattr(dataset, name) for name in ("name", "source", "digest")}
    data["samples"] = len(dataset.samples)
    return {"models": models, "data": data, "scores": [request.name for request in plan.requests]}


def redacted(audit: Audit) -> Audit:
    """Return the audit with digests instead of texts, and without metadata and token statistics."""

    def digest(text: str) -> str:
        return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"

    # metadata goes too: prompts, tests and paths say what the text was
    samples = tuple(replace(sample, text=digest(sample.text), metadata={}) for sample in audit.samples)
    return replace(audit, samples=samples, tokens=(), notes=(REDACTED, *audit.notes))


def summary_of(audit: Audit) -> dict[str, Any]:
    """Return what `summary.json` holds: all summaries without what stands in the tables."""
    summary: dict[str, Any] = {"schema": SCHEMA}
    for name in _IN_SUMMARY:
        summary[name] = encode(getattr(audit, name))
    for entry, own in zip(summary["summaries"], audit.summaries, strict=True):
        calibration = own.calibration
        if calibration is None:
            continue
        for name in _CALIBRATED:
            del entry["calibration"][name]
        derived: tuple[str, ...] = ()
        # figures that accuse are written only with the verdict that carries them
        if names_samples(own):
            derived = (*_DECIDED, *_NAMING)
        elif not own.is_open:
            derived = _DECIDED
        for name in derived:
            entry["calibration"][name] = encode(getattr(calibration, name))
    return summary | {"decision": encode(audit.decision), "named": encode(named_samples(audit))}


def read_run(folder: str | Path) -> tuple[Audit, dict[str, Any]]:
    """Return the audit and the manifest of a run folder.

    Raises:
        DataError: the folder is missing, a file of it is missing or broken, or two files contradict each other.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise DataError(f"{folder} is not a run folder: expected a folder that `assay audit` or `assay demo` wrote")
    manifest = _read_json(folder / MANIFEST)
    if "began" in manifest and not is_finished(manifest):
        raise DataError(f"{folder} holds an unfinished run; expected a finished one: its command continues it")
    summary = _read_json(folder / SUMMARY)
    if summary.get("schema") != SCHEMA:
        raise DataError(f"{folder / 'summary.json'}: schema {summary.get('schema')!r}, expected {SCHEMA}")
    try:
        samples = _samples(_read_table(folder / "samples.parquet", _SAMPLES))
        values, reasons = _scores(_read_table(folder / "scores.parquet", _SCORES), len(samples))
        decisions = _read_table(folder / "decisions.parquet", _DECISIONS)
        for entry in summary["summaries"]:
            if entry["calibration"]:
                entry["calibration"] |= _calibrated(decisions, entry["score"], len(samples))
        # the summary without its tables is a whole audit of no sample, which the tables then fill
        shell = decode(Audit, {name: summary[name] for name in _IN_SUMMARY if name in summary} | _EMPTY_TABLES)
        tokens = _tokens(_read_table(folder / "tokens.parquet", _TOKENS))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"{folder} is not a whole run folder: {plain_reason(error)}") from error
    return replace(shell, samples=samples, values=values, reasons=reasons, tokens=tokens), manifest


def decisions(summary: ScoreSummary, audit: Audit) -> tuple[SampleDecision, ...]:
    """Return one decision per sample of a calibrated score: positive where p ≤ alpha, that is, value ≥ threshold."""
    calibration = summary.calibration
    if calibration is None:
        return ()
    columns = (audit.values[summary.score], calibration.p_values, calibration.q_values)
    decided = []
    for sample, value, p, q in zip(audit.samples, *(column.tolist() for column in columns), strict=True):
        decision = SampleDecision(
            sample_id=sample.id,
            name=summary.score,
            positive=p <= calibration.alpha,
            value=value,
            threshold=calibration.threshold,
            p_value=p,
            q_value=q,
        )
        decided.append(decision)
    return tuple(decided)


# Tables out


def _sample_table(samples: tuple[Sample, ...]) -> pa.Table:
    rows = []
    for sample in samples:
        # Parquet holds valid UTF-8 alone; the exact bytes stand beside it where they differ
        text, exact = _storable(sample.text), sample.text.encode("utf-8", "surrogatepass")
        row = {
            "id": _storable(sample.id),
            "text": text,
            "exact_text": None if text.encode() == exact else exact,
            "language": sample.language,
            "label": sample.label,
            "group": sample.group and _storable(sample.group),
            "metadata": json.dumps(sample.metadata, sort_keys=True, default=str),
        }
        rows.append(row)
    return pa.Table.from_pylist(rows, schema=_SAMPLES)


def _score_table(audit: Audit) -> pa.Table:
    ids = list(map(_storable, map(attrgetter("id"), audit.samples)))
    columns: dict[str, list[Any]] = {name: [] for name in _SCORES.names}
    for score, values in audit.values.items():
        columns["sample_id"] += ids
        columns["score"] += [score] * len(ids)
        columns["value"] += pa.array(values, from_pandas=True).to_pylist()  # NaN becomes null
        columns["reason"] += audit.reasons[score]
    return pa.table(columns, schema=_SCORES)


def _decision_table(audit: Audit) -> pa.Table:
    rows = []
    for summary in audit.summaries:
        for decision in decisions(summary, audit):
            rows.append(encode(decision) | {"sample_id": _storable(decision.sample_id)})
    return pa.Table.from_pylist(rows, schema=_DECISIONS)


def _token_table(tokens: tuple[SampleTokens, ...]) -> pa.Table:
    rows = []
    for entry in tokens:
        row = {name: getattr(entry, name) for name in ("log_probs", "ranks", "tail_mass")}
        starts, ends = entry.offsets.T
        rows.append(row | {"sample_id": _storable(entry.sample_id), "starts": starts, "ends": ends})
    return pa.Table.from_pylist(rows, schema=_TOKENS)


def _storable(text: str) -> str:
    """Lone surrogates (JSON allows them, Parquet does not) as backslash escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


# Tables in


def _samples(table: pa.Table) -> tuple[Sample, ...]:
    samples = []
    for row in table.to_pylist():
        exact = row.pop("exact_text")
        if exact is not None:
            row["text"] = exact.decode("utf-8", "surrogatepass")
        samples.append(Sample(**row | {"metadata": parse_json(row["metadata"])}))
    return tuple(samples)


def _scores(table: pa.Table, samples: int) -> tuple[dict[str, Float64Array], dict[str, tuple[str | None, ...]]]:
    names = list(dict.fromkeys(table["score"].to_pylist()))
    # a table that was cut would pair values with other samples
    if table.num_rows != samples * len(names):
        raise ValueError(f"scores.parquet has {table.num_rows} rows for {samples} samples × {len(names)} scores")
    values: dict[str, Float64Array] = {}
    reasons: dict[str, tuple[str | None, ...]] = {}
    # scores stand one behind the other, each with a row per sample in their order
    for place, name in enumerate(names):
        block = table.slice(place * samples, samples)
        values[name] = _floats(block["value"])
        reasons[name] = tuple(block["reason"].to_pylist())
    return values, reasons


def _calibrated(table: pa.Table, score: str, samples: int) -> dict[str, list[float]]:
    block = table.filter(pa.compute.equal(table["name"], score))
    if block.num_rows != samples:
        raise ValueError(f"decisions.parquet has {block.num_rows} rows of {score} for {samples} samples")
    return {"p_values": _floats(block["p_value"]).tolist(), "q_values": _floats(block["q_value"]).tolist()}


def _tokens(table: pa.Table) -> tuple[SampleTokens, ...]:
    tokens = []
    for row in table.to_pylist():
        entry = SampleTokens(
            sample_id=row["sample_id"],
            log_probs=np.array(row["log_probs"], np.float32),
            ranks=np.array(row["ranks"], np.int32),
            tail_mass=np.array(row["tail_mass"], np.float32),
            offsets=np.array([row["starts"], row["ends"]], np.int32).T,
        )
        tokens.append(entry)
    return tuple(tokens)


def _floats(column: pa.ChunkedArray) -> Float64Array:
    return np.array(column.to_pylist(), np.float64)  # null becomes NaN


# Files


def _write_table(path: Path, table: pa.Table) -> None:
    with atomic_path(path) as unfinished:
        pq.write_table(table, unfinished, compression="zstd")


def _read_table(path: Path, schema: pa.Schema) -> pa.Table:
    with library_faults(path, "a table of a run"):
        file = pq.ParquetFile(path)
        groups = map(file.metadata.row_group, range(file.num_row_groups))
        # a small file that unpacks to gigabytes is refused by what its footer states
        check_ratio(path, sum(group.total_byte_size for group in groups), path.stat().st_size)
        table = file.read()
        table.validate(full=True)  # else offsets outside the data are followed
        return table.select(schema.names).cast(schema)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        data = parse_json(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read as JSON of a run: {plain_reason(error)}") from error
    if not isinstance(data, dict):
        raise DataError(f"{path} holds a {type(data).__name__}, expected a JSON object")
    return data
