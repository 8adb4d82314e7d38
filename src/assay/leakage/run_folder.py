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
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

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
from assay.types import Sample, SampleDecision

SCHEMA = 3
SUMMARY = "summary.json"

_SAMPLES = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("text", pa.string(), nullable=False),
        pa.field("exact_text", pa.binary()),
        pa.field("language", pa.string()),
        pa.field("label", pa.string()),
        pa.field("group", pa.string()),
        pa.field("metadata", pa.string(), nullable=False),
    ]
)
_SCORES = pa.schema(
    [
        pa.field("sample_id", pa.string(), nullable=False),
        pa.field("score", pa.string(), nullable=False),
        pa.field("value", pa.float64()),
        pa.field("reason", pa.string()),
    ]
)
_DECISIONS = pa.schema(
    [
        pa.field("sample_id", pa.string(), nullable=False),
        pa.field("name", pa.string(), nullable=False),
        pa.field("positive", pa.bool_(), nullable=False),
        pa.field("value", pa.float64()),
        pa.field("threshold", pa.float64()),
        pa.field("p_value", pa.float64()),
        pa.field("q_value", pa.float64()),
    ]
)
_TOKENS = pa.schema(
    [
        pa.field("sample_id", pa.string(), nullable=False),
        pa.field("log_probs", pa.list_(pa.float32()), nullable=False),
        pa.field("ranks", pa.list_(pa.int32()), nullable=False),
        pa.field("tail_mass", pa.list_(pa.float32()), nullable=False),
        pa.field("starts", pa.list_(pa.int32()), nullable=False),
        pa.field("ends", pa.list_(pa.int32()), nullable=False),
    ]
)
_IN_TABLES = ("samples", "values", "reasons", "tokens")
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
    folder, audit = Path(folder), redacted(audit) if redact else audit
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"cannot write the run folder {folder}: {error.strerror or error}") from error
    _write_table(folder / "samples.parquet", _sample_table(audit.samples))
    _write_table(folder / "scores.parquet", _score_table(audit))
    _write_table(folder / "decisions.parquet", _decision_table(audit))
    _write_table(folder / "tokens.parquet", _token_table(audit.tokens))
    write_json(folder / SUMMARY, summary_of(audit), sort_keys=True)
    write_json(folder / MANIFEST, encode(manifest))
    return folder


def facts_of(plan: Plan, dataset: Dataset) -> dict[str, object]:
    """Return what the record of a run says of its models, its texts and its scores."""
    models = {}
    for role, (name, digest) in plan.digests.items():
        file = gguf_of(plan.models.get(role, plan.generator))
        models[role] = {"name": name, "digest": digest} | (file.facts() if file else {})
    data = {
        "name": dataset.name,
        "source": dataset.source,
        "digest": dataset.digest,
        "samples": len(dataset.samples),
    }
    return {"models": models, "data": data, "scores": [request.name for request in plan.requests]}


def redacted(audit: Audit) -> Audit:
    """Return the audit with digests instead of texts, and without metadata and token statistics."""

    def digest(text: str) -> str:
        return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"

    samples = tuple(replace(sample, text=digest(sample.text), metadata={}) for sample in audit.samples)
    return replace(audit, samples=samples, tokens=(), notes=(REDACTED, *audit.notes))


def summary_of(audit: Audit) -> dict[str, Any]:
    """Return what `summary.json` holds: all summaries without what stands in the tables."""
    summary = {"schema": SCHEMA} | {
        f.name: encode(getattr(audit, f.name)) for f in fields(audit) if f.name not in _IN_TABLES
    }
    for entry in summary["summaries"]:
        for name in _CALIBRATED if entry["calibration"] else ():
            del entry["calibration"][name]
        own = audit.summary(entry["score"])
        calibration = own.calibration
        if calibration is not None and not own.is_open:
            names = (*_DECIDED, *(_NAMING if names_samples(own) else ()))
            entry["calibration"] |= {name: encode(getattr(calibration, name)) for name in names}
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
        rest = {f.name: summary[f.name] for f in fields(Audit) if f.name not in _IN_TABLES}
        shell = decode(Audit, rest | {name: {} if name in ("values", "reasons") else [] for name in _IN_TABLES})
        tokens = _tokens(_read_table(folder / "tokens.parquet", _TOKENS))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"{folder} is not a whole run folder: {plain_reason(error)}") from error
    measured = {f.name: getattr(shell, f.name) for f in fields(Audit) if f.name not in _IN_TABLES}
    return Audit(samples=samples, values=values, reasons=reasons, tokens=tokens, **measured), manifest


def decisions(summary: ScoreSummary, audit: Audit) -> tuple[SampleDecision, ...]:
    """Return one decision per sample of a calibrated score: positive where p ≤ alpha, that is, value ≥ threshold."""
    calibration = summary.calibration
    if calibration is None:
        return ()
    return tuple(
        SampleDecision(
            sample_id=sample.id,
            name=summary.score,
            positive=bool(p <= calibration.alpha),
            value=float(value),
            threshold=calibration.threshold,
            p_value=float(p),
            q_value=float(q),
        )
        for sample, value, p, q in zip(
            audit.samples, audit.values[summary.score], calibration.p_values, calibration.q_values, strict=True
        )
    )


# Tables out


def _sample_table(samples: tuple[Sample, ...]) -> pa.Table:
    rows = [
        {
            "id": _storable(s.id),
            "text": _storable(s.text),
            "exact_text": None if _is_unicode(s.text) else s.text.encode("utf-8", "surrogatepass"),
            "language": s.language,
            "label": s.label,
            "group": None if s.group is None else _storable(s.group),
            "metadata": json.dumps(s.metadata, sort_keys=True, default=str),
        }
        for s in samples
    ]
    return pa.Table.from_pylist(rows, schema=_SAMPLES)


def _score_table(audit: Audit) -> pa.Table:
    ids = [_storable(s.id) for s in audit.samples]
    columns: dict[str, list[Any]] = {name: [] for name in _SCORES.names}
    for score, values in audit.values.items():
        columns["sample_id"] += ids
        columns["score"] += [score] * len(ids)
        columns["value"] += _null_for_nan(values)
        columns["reason"] += audit.reasons[score]
    return pa.table(columns, schema=_SCORES)


def _decision_table(audit: Audit) -> pa.Table:
    rows = []
    for summary in audit.summaries:
        for decision in decisions(summary, audit):
            rows.append(encode(decision) | {"sample_id": _storable(decision.sample_id)})
    return pa.Table.from_pylist(rows, schema=_DECISIONS)


def _token_table(tokens: tuple[SampleTokens, ...]) -> pa.Table:
    rows = [
        {
            "sample_id": _storable(t.sample_id),
            "log_probs": t.log_probs,
            "ranks": t.ranks,
            "tail_mass": t.tail_mass,
            "starts": t.offsets[:, 0],
            "ends": t.offsets[:, 1],
        }
        for t in tokens
    ]
    return pa.Table.from_pylist(rows, schema=_TOKENS)


def _null_for_nan(values: NDArray[np.float64]) -> list[float | None]:
    return [None if np.isnan(v) else float(v) for v in values]


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= c <= "\udfff" for c in text)


def _storable(text: str) -> str:
    """Lone surrogates (JSON allows them, Parquet does not) as backslash escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


# Tables in


def _samples(table: pa.Table) -> tuple[Sample, ...]:
    return tuple(
        Sample(
            id=row["id"],
            text=row["text"] if row["exact_text"] is None else row["exact_text"].decode("utf-8", "surrogatepass"),
            language=row["language"],
            label=row["label"],
            group=row["group"],
            metadata=parse_json(row["metadata"]),
        )
        for row in table.to_pylist()
    )


def _scores(table: pa.Table, samples: int) -> tuple[dict[str, NDArray[np.float64]], dict[str, tuple[str | None, ...]]]:
    names = list(dict.fromkeys(table["score"].to_pylist()))
    if table.num_rows != samples * len(names):
        raise ValueError(f"scores.parquet has {table.num_rows} rows for {samples} samples × {len(names)} scores")
    values: dict[str, NDArray[np.float64]] = {}
    reasons: dict[str, tuple[str | None, ...]] = {}
    for i, name in enumerate(names):
        block = table.slice(i * samples, samples)
        values[name] = _floats(block["value"])
        reasons[name] = tuple(block["reason"].to_pylist())
    return values, reasons


def _calibrated(table: pa.Table, score: str, samples: int) -> dict[str, list[float]]:
    block = table.filter(pa.compute.equal(table["name"], score))
    if block.num_rows != samples:
        raise ValueError(f"decisions.parquet has {block.num_rows} rows of {score} for {samples} samples")
    return {"p_values": _floats(block["p_value"]).tolist(), "q_values": _floats(block["q_value"]).tolist()}


def _tokens(table: pa.Table) -> tuple[SampleTokens, ...]:
    return tuple(
        SampleTokens(
            sample_id=row["sample_id"],
            log_probs=np.array(row["log_probs"], np.float32),
            ranks=np.array(row["ranks"], np.int32),
            tail_mass=np.array(row["tail_mass"], np.float32),
            offsets=np.array([row["starts"], row["ends"]], np.int32).T,
        )
        for row in table.to_pylist()
    )


def _floats(column: pa.ChunkedArray) -> NDArray[np.float64]:
    return np.array([np.nan if v is None else v for v in column.to_pylist()], np.float64)


# Files


def _write_table(path: Path, table: pa.Table) -> None:
    with atomic_path(path) as unfinished:
        pq.write_table(table, unfinished, compression="zstd")


def _read_table(path: Path, schema: pa.Schema) -> pa.Table:
    with library_faults(path, "a table of a run"):
        file = pq.ParquetFile(path)
        stated = sum(file.metadata.row_group(place).total_byte_size for place in range(file.num_row_groups))
        check_ratio(path, stated, path.stat().st_size)
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
