"""Scores of a part of a text, from the statistics of the whole: the part is scored given the text before it."""

from dataclasses import replace

from assay.scores import ScoreRequest, View
from assay.types import BooleanArray, TokenStatistics


def has_parts(request: ScoreRequest) -> bool:
    """Return True if a score can be computed on a part of the tokens of one pass."""
    definition = request.definition
    # a rewriting or another form has no tokens that are those of the part
    of_one_pass = set(definition.views.values()) == {View()} and not definition.derivations
    return of_one_pass and not definition.needs_variants and request.cut is None


def restricted(statistics: TokenStatistics, inside: BooleanArray) -> TokenStatistics:
    """Return the statistics of some of the tokens."""
    return replace(
        statistics,
        **{name: getattr(statistics, name)[inside] for name in TokenStatistics.__dataclass_fields__},
    )
