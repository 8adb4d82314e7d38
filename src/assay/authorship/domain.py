"""The outline of a training set, and which texts and collections lie outside it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.authorship.evidence import EvidenceMatrices, evidence_of
from assay.authorship.normalising import Code, code_of
from assay.reports import number_of, percent
from assay.types import BooleanArray, Float64Array, Int64Array

OUTLINE = "structure"
"""Kind of evidence that the outline is taken of."""

CLIP = 5.0
LARGEST_SHARE = 0.1
"""Share of texts outside, from which on a collection is out of distribution; ten times that of the training texts."""


LEAST_AGREEMENT = 0.5
"""Correlation of the margins of `AGREEING` over the texts of a collection, below which the collection is out of
distribution. Both read the same code in two ways; where they carry over, they agree."""

AGREEING = ("structure", "wording")
FEWEST_TEXTS = 20


def domain_notes(parts: Mapping[str, Float64Array], outside: BooleanArray) -> tuple[str, ...]:
    """Return why a collection is out of distribution; nothing where it is not.

    Args:
        parts: kind of evidence → float64 [n], margins of the texts of one collection.
        outside: bool [n], texts unlike every training text.
    """
    if len(outside) < FEWEST_TEXTS:
        few = number_of(len(outside), "text")
        return (f"{few}, too few to tell whether the collection is like the training data",)
    notes = []
    if outside.mean() > LARGEST_SHARE:
        share = percent(float(outside.mean()))
        notes.append(f"{share} of the texts lie outside the training data (at most {percent(LARGEST_SHARE)})")
    if all(kind in parts for kind in AGREEING):
        first, second = (parts[kind] for kind in AGREEING)
        varied = first.std() > 0 and second.std() > 0
        # two readings of the same code: where the classifier carries over they rank the texts alike
        agreement = float(np.corrcoef(first, second)[0, 1]) if varied else 0.0
        if agreement < LEAST_AGREEMENT:
            notes.append(
                f"structure and wording agree with a correlation of {agreement:.2f} only (at least {LEAST_AGREEMENT})"
            )
    return tuple(notes)


@dataclass(frozen=True, slots=True, eq=False)
class Domain:
    """Centres of the training environments and the radius that most of their texts lie within.

    Attributes:
        centres: float64 [environments, columns].
        scales: float64 [columns], within-environment standard deviations.
        radius: float64 [environments].
    """

    centres: Float64Array
    scales: Float64Array
    radius: Float64Array

    @classmethod
    def restored(cls, arrays: Mapping[str, NDArray[Any]]) -> "Domain":
        """Return the outline of `arrays`, tried on a text.

        Raises:
            TypeError: an array is missing.
            ValueError: the arrays do not fit together, or not the evidence.
        """
        domain = cls(**arrays)
        environments, *columns = domain.centres.shape
        shapes = [len(columns), domain.scales.shape, domain.radius.shape]
        if shapes != [1, (*columns,), (environments,)] or not (domain.scales > 0).all():
            raise ValueError("an outline whose arrays do not fit together")
        domain.outside(outline_of([code_of("x = 1\n", None)]))
        return domain

    def outside(self, evidence: EvidenceMatrices) -> BooleanArray:
        """Return True for each text that lies outside every environment, bool [n]."""
        table = evidence.matrices.get(OUTLINE)
        if table is None or not len(self.centres):
            rows = next(iter(evidence.matrices.values())).shape[0]
            return np.zeros(rows, np.bool_)
        # one environment that holds a text is enough: a union of balls, not one ball around everything
        inside = [
            distances_from(table, centre, self.scales) <= radius
            for centre, radius in zip(self.centres, self.radius, strict=True)
        ]
        return np.asarray(~np.any(inside, axis=0), np.bool_)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the three arrays."""
        return {"centres": self.centres, "scales": self.scales, "radius": self.radius}


def outline_of(codes: Sequence[Code]) -> EvidenceMatrices:
    """Return the evidence that a domain is taken of."""
    return evidence_of(codes, (OUTLINE,))


def distances_from(table: Float64Array, centre: Float64Array, scales: Float64Array) -> Float64Array:
    """Return the root mean square of the standardised deviations; a missing feature does not count."""
    scaled = np.clip((table - centre) / scales, -CLIP, CLIP)
    valid = np.maximum((~np.isnan(scaled)).sum(1), 1)
    return np.asarray(np.sqrt(np.nansum(scaled**2, axis=1) / valid), np.float64)


# Evidence that says nothing about one origin, because its human code shows it too.

LARGEST_SHOWN_SHARE = 0.5


def saturated_kinds(parts_of: Mapping[str, Float64Array], human: Int64Array) -> tuple[str, ...]:
    """Return the kinds of evidence that point to a generator for more than half of known human texts.

    Such evidence (docstrings in a project that documents everything, spacing where a formatter runs) cannot tell a
    generated text of the same origin apart, and would only hide the other evidence.

    Args:
        parts_of: kind of evidence → float64 [n], margins of all texts.
        human: rows of the texts that people certainly wrote.
    """
    return tuple(
        kind
        for kind, parts in parts_of.items()
        if len(human) and shown_or_not(parts) and float((parts[human] > 0).mean()) > LARGEST_SHOWN_SHARE
    )


def shown_or_not(margins: Float64Array) -> bool:
    """Return True for evidence that a text either shows or does not show, as a docstring."""
    return len(np.unique(np.round(margins, 9))) <= 2  # noqa: PLR2004  shown, not shown
