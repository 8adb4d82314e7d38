"""The samples of a report, and the form in which the page's script reads them: columns, texts, token statistics.

Numbers travel as base64 of little-endian arrays. Token statistics are rounded to a thousandth of a nat, which is finer
than anything the page shows.
"""

import base64
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter, itemgetter
from typing import Any, Literal, Protocol, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.escaping import cut_off
from assay.types import Float32Array, Int32Array, Sample

BUDGET = 5_500_000
"""Bytes that a page carries for its script."""

STEPS = (0.001, 0.01, 0.1, 0.5)
"""Shares of probability mass at which the shading of a token changes."""

RUN_LENGTH = 5
"""Tokens in a row ranked first that are marked as a memorised run (the n of n-gram accuracy)."""

PREVIEW = 80
DETAIL = 80
LARGEST_SHORT = 2**16 - 1


class TokenShading(Protocol):
    """The statistics of each token of a text that its shading needs (arrays as in `TokenStatistics`)."""

    @property
    def log_probs(self) -> Float32Array:
        """float32 [n]."""

    @property
    def ranks(self) -> Int32Array:
        """int32 [n]."""

    @property
    def tail_mass(self) -> Float32Array:
        """float32 [n]."""

    @property
    def offsets(self) -> Int32Array:
        """int32 [n, 2], first and last character (exclusive) of each token."""


@dataclass(frozen=True, slots=True, eq=False)
class SampleColumn:
    """One column of the sample list.

    Attributes:
        title: heading.
        values: one per sample; of scores and p-values numbers, NaN where there is none.
        kind: "score" and "p_value" are sorted and printed as such.
        about: what the heading says when a reader points at it.
        reasons: row → why there is no score.
    """

    title: str
    values: NDArray[np.float64] | Sequence[object]
    kind: Literal["score", "p_value", "number", "text"]
    about: str = ""
    reasons: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class SampleList:
    """The samples that a page lists.

    Attributes:
        samples: in their order.
        columns: besides the name; the list is sorted by the first one when the page opens.
        tokens: row → its token statistics.
        compared_with: label of the samples that a score is compared with in a sample's own view; None: with all.
        summary: a sentence or two above the list.
    """

    samples: tuple[Sample, ...]
    columns: tuple[SampleColumn, ...]
    tokens: Mapping[int, TokenShading] = field(default_factory=dict)
    compared_with: str | None = None
    summary: str = ""

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that occur, sorted."""
        return tuple(sorted({sample.label for sample in self.samples if sample.label is not None}))


@dataclass(frozen=True, slots=True, eq=False)
class Excerpt:
    """A text that is shown with its tokens shaded."""

    title: str
    text: str
    tokens: TokenShading


def payload(listing: SampleList, *, budget: int = BUDGET) -> dict[str, Any]:
    """Return all that the page's script reads, ready for JSON.

    Every sample is in the table. What `budget` bytes leave after that goes to texts with token statistics; where not
    all fit, they are taken at even distances over those that there are, so that high and low values are both included.
    Other texts follow while there is room.
    """
    data = {
        "ids": _of(listing, "id"),
        "labels": _known(_of(listing, "label")),
        "groups": _known(_of(listing, "group")),
        "languages": _known(_of(listing, "language")),
        "previews": list(map(_preview, listing.samples)),
        "columns": list(map(_column, listing.columns)),
        "compared_with": listing.compared_with,
        "steps": STEPS,
        "run_length": RUN_LENGTH,
    }
    return data | _texts(listing, budget - len(script_safe(data)))


def script_safe(data: object) -> str:
    """Return JSON that cannot end the script element around it, nor open a comment there."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)  # ASCII only: U+2028 and surrogates are escaped
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _column(column: SampleColumn) -> dict[str, Any]:
    values: object = list(column.values)
    if column.kind in ("score", "p_value"):
        values = _packed(np.asarray(column.values), "<f4")
    # few reasons stand for many samples, so each is sent once
    reasons = sorted(set(column.reasons.values()))
    return {
        "title": column.title,
        "kind": column.kind,
        "about": column.about,
        "values": values,
        "reason_texts": reasons,
        "reasons": [[row, reasons.index(reason)] for row, reason in column.reasons.items()],
    }


def _texts(listing: SampleList, budget: int) -> dict[str, Any]:
    samples = listing.samples
    shaded = []
    for row, statistics in listing.tokens.items():
        shaded.append((row, statistics, _size(samples[row], len(statistics.ranks))))
    total = sum(map(itemgetter(2), shaded))
    # as many as fit at the mean size; one that is larger than what is left is passed over
    affordable = min(len(shaded), int(len(shaded) * max(0, budget) / max(1, total)))
    left = budget
    tokens: dict[int, Any] = {}
    texts: dict[int, str] = {}
    for i in np.linspace(0, len(shaded) - 1, affordable).astype(int).tolist():
        row, statistics, size = shaded[i]
        if size <= left:
            tokens[row] = _packed_tokens(statistics)
            texts[row] = samples[row].text
            left -= size
    for row, sample in enumerate(samples):
        size = _size(sample)
        if row not in texts and size <= left:
            texts[row] = sample.text
            left -= size
    # beside the texts that are on the page; others have no view to show them in
    details = filter(itemgetter(1), ((row, _details(samples[row])) for row in texts))
    return {"texts": texts, "details": dict(details), "tokens": tokens}


def _size(sample: Sample, tokens: int = 0) -> int:
    """Bytes in the page, near enough: names, text, details, and per token five 16-bit numbers in base64."""
    return 120 + len(script_safe(sample.text)) + len(script_safe(_details(sample))) + 14 * tokens


def _packed_tokens(tokens: TokenShading) -> dict[str, str]:
    """Gaps before and lengths of the tokens, in characters; -ln p and -ln u in thousandths of a nat; ranks.

    A token that starts before the end of the one before it (bytes of one letter) has what is left of it.
    """
    starts, ends = tokens.offsets.T
    reached = np.maximum.accumulate(np.concatenate([[0], ends]))
    starts = np.maximum(starts, reached[:-1])
    # the floor keeps -1000 ln u within 16 bits
    mass = np.log(np.maximum(tokens.tail_mass.astype(np.float64), 1e-28))
    return {
        "gaps": _short(starts - reached[:-1]),
        "lengths": _short(np.maximum(ends - starts, 0)),
        "nats": _short(np.round(-1000 * tokens.log_probs.astype(np.float64))),
        "mass": _short(np.round(-1000 * mass)),
        "ranks": _short(tokens.ranks),
    }


def _short(values: ArrayLike) -> str:
    # a cast of what does not fit into 16 bits would wrap around
    numbers = np.nan_to_num(np.asarray(values, np.float64), posinf=LARGEST_SHORT)
    return _packed(np.clip(numbers, 0, LARGEST_SHORT), "<u2")


def _packed(values: ArrayLike, kind: str) -> str:
    return base64.b64encode(np.asarray(values).astype(kind).tobytes()).decode("ascii")


def _of(listing: SampleList, attribute: str) -> list[Any]:
    return list(map(attrgetter(attribute), listing.samples))


def _known(values: list[Any]) -> list[Any] | None:
    """The values, or None where all are unknown."""
    if values.count(None) == len(values):
        return None
    return values


def _preview(sample: Sample) -> str:
    first = next(filter(None, map(str.strip, sample.text.splitlines())), "")
    return cut_off(first, PREVIEW)


def _details(sample: Sample) -> dict[str, str | int | float]:
    """Short entries of the metadata; long ones (tests, prompts) stay in the run folder."""
    return {key: value for key, value in sample.metadata.items() if _is_detail(value)}


def _is_detail(value: object) -> TypeGuard[str | int | float]:
    if isinstance(value, float) and math.isnan(value):
        return False
    return isinstance(value, str | int | float) and len(str(value)) <= DETAIL
