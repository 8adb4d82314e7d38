"""What the page's script is given: the sample table as columns, the token statistics as packed numbers.

Numbers travel as base64 of little-endian arrays. Token statistics are rounded to a thousandth of a nat, which is
finer than anything the page shows; the run folder keeps them exactly.
"""

import base64
import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from assay.leakage import Audit, SampleTokens
from assay.pages.methods import named
from assay.types import NONMEMBER, Sample

BUDGET = 5_500_000
"""Bytes that a page carries for its script."""

STEPS = (0.001, 0.01, 0.1, 0.5)
"""Shares of probability mass at which the shading of a token changes."""

RUN_LENGTH = 5
"""Tokens in a row ranked first that count as known by heart (the n of n-gram accuracy)."""

PREVIEW = 80
DETAIL = 80
_LARGEST = 2**16 - 1


def payload(audit: Audit, *, budget: int = BUDGET) -> dict[str, Any]:
    """All that the page's script reads, ready for JSON.

    Every sample is in the table. What `budget` bytes leave after that goes to texts with token statistics; where not
    all fit, they are taken at even distances over those that the audit kept, so that high and low values are both
    there. Other texts follow while there is room.
    """
    data = _table(audit)
    tokens, texts, details = _fitting(audit, budget - len(script_safe(data)))
    return {**data, "texts": texts, "details": details, "tokens": tokens}


def _table(audit: Audit) -> dict[str, Any]:
    samples = audit.samples
    summary = audit.summary(audit.primary)
    scores = sorted(audit.values, key=lambda name: name != audit.primary)
    reason_texts = sorted({r for name in scores for r in audit.reasons[name] if r is not None})
    number_of = {reason: i for i, reason in enumerate(reason_texts)}
    labels = [s.label for s in samples]
    return {
        "ids": [s.id for s in samples],
        "labels": _column(labels),
        "groups": _column([s.group for s in samples]),
        "languages": _column([s.language for s in samples]),
        "doses": _column([s.metadata.get("dose") for s in samples]),
        "previews": [_preview(s) for s in samples],
        "scores": scores,
        "titles": {name: named(name) for name in scores},
        "values": {name: _packed(audit.values[name], "<f4") for name in scores},
        "reasons": {
            name: [[i, number_of[r]] for i, r in enumerate(audit.reasons[name]) if r is not None] for name in scores
        },
        "reason_texts": reason_texts,
        "p_values": _packed(summary.calibration.p_values, "<f4") if summary.calibration else None,
        "q_values": _packed(summary.calibration.q_values, "<f4") if summary.calibration else None,
        "reference": NONMEMBER if NONMEMBER in labels else None,
        "steps": STEPS,
        "run_length": RUN_LENGTH,
    }


def script_safe(data: object) -> str:
    """JSON that cannot end the script element it stands in, nor open a comment there."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)  # ASCII only: U+2028 and surrogates are escaped
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _fitting(audit: Audit, budget: int) -> tuple[dict[int, Any], dict[int, str], dict[int, dict[str, Any]]]:
    rows = {s.id: i for i, s in enumerate(audit.samples)}
    known = [t for t in audit.tokens if t.sample_id in rows]
    sizes = [_size(audit.samples[rows[t.sample_id]], len(t.ranks)) for t in known]
    kept = min(len(known), int(len(known) * max(0, budget) / max(1, sum(sizes))))
    left = budget
    tokens: dict[int, Any] = {}
    texts: dict[int, str] = {}
    for i in np.linspace(0, len(known) - 1, kept).astype(int).tolist():
        row = rows[known[i].sample_id]
        if sizes[i] <= left:
            tokens[row] = _packed_tokens(known[i])
            texts[row] = audit.samples[row].text
            left -= sizes[i]
    for row, sample in enumerate(audit.samples):
        size = _size(sample)
        if row not in texts and size <= left:
            texts[row] = sample.text
            left -= size
    return tokens, texts, {row: found for row in texts if (found := _details(audit.samples[row]))}


def _size(sample: Sample, tokens: int = 0) -> int:
    """Bytes in the page, near enough: names, text, details, and per token five 16-bit numbers in base64."""
    return 120 + len(script_safe(sample.text)) + len(script_safe(_details(sample))) + 14 * tokens


def _packed_tokens(tokens: SampleTokens) -> dict[str, str]:
    """Gaps before and lengths of the tokens, in characters; -ln p and -ln u in thousandths of a nat; ranks.

    A token that starts before the end of the one before it (bytes of one letter) has what is left of it.
    """
    starts, ends = tokens.offsets[:, 0], tokens.offsets[:, 1]
    reached = np.maximum.accumulate(np.concatenate([[0], ends]))
    starts = np.maximum(starts, reached[:-1])
    mass = np.log(np.maximum(tokens.tail_mass.astype(np.float64), 1e-28))
    return {
        "gaps": _short(starts - reached[:-1]),
        "lengths": _short(np.maximum(ends - starts, 0)),
        "nats": _short(np.round(-1000 * tokens.log_probs.astype(np.float64))),
        "mass": _short(np.round(-1000 * mass)),
        "ranks": _short(tokens.ranks),
    }


def _short(values: ArrayLike) -> str:
    return _packed(np.clip(np.nan_to_num(np.asarray(values, np.float64), posinf=_LARGEST), 0, _LARGEST), "<u2")


def _packed(values: ArrayLike, kind: str) -> str:
    return base64.b64encode(np.asarray(values).astype(kind).tobytes()).decode("ascii")


def _column(values: Sequence[object]) -> list[Any] | None:
    """The values, or None where all are unknown: a table without an empty column."""
    return None if all(v is None for v in values) else list(values)


def _preview(sample: Sample) -> str:
    first = next((line.strip() for line in sample.text.splitlines() if line.strip()), "")
    return first if len(first) <= PREVIEW else first[: PREVIEW - 1] + "…"


def _details(sample: Sample) -> dict[str, str | int | float]:
    """Short entries of the metadata; long ones (tests, prompts) stay in the run folder."""
    return {
        key: value
        for key, value in sample.metadata.items()
        if key != "dose"
        and isinstance(value, str | int | float)
        and len(str(value)) <= DETAIL
        and not (isinstance(value, float) and math.isnan(value))
    }
