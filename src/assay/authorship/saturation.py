"""Evidence that says nothing about one origin, because its human code shows it too."""

from collections.abc import Mapping

import numpy as np

from assay.types import Float64Array, Int64Array

LARGEST_SHARE = 0.5


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
        if len(human) and shown_or_not(parts) and float((parts[human] > 0).mean()) > LARGEST_SHARE
    )


def shown_or_not(margins: Float64Array) -> bool:
    """Return True for evidence that a text either shows or does not show, as a docstring."""
    return len(np.unique(np.round(margins, 9))) <= 2  # noqa: PLR2004  shown, not shown
