"""Evidence of a copy: fingerprints in one stretch, each weighted by its rarity in the index.

The weight is that of an inverse document frequency: 1 for a fingerprint of a single document, falling with the
logarithm of the number of documents to 0 where a fingerprint is common, and 0 within a template. A fingerprint counts
once in a stretch, so neither the layout of the code nor a table of equal rows changes what a stretch shows.
"""

import math
from collections.abc import Mapping

import numpy as np

from assay.provenance.index import Searchable
from assay.provenance.search.query import SearchQuery
from assay.retrieval import Fingerprints, Form
from assay.types import Float64Array, Match, Span

LEAST: Mapping[str, float] = {"characters": 20.0, "tokens": 5.0}
"""Evidence of one stretch that shows a copy: some 120 characters, or 40 tokens, that no other document has."""

SPARED = 2 / 3
"""Share of that evidence that is not needed where the document has a whole function."""

SHORTEST = 29
"""Tokens of such a function: from this length on two copies always share a fingerprint of tokens (k + w - 1)."""

MOST_OF_IT = 0.5
"""Share of a function from which all common stretches are shown as copied."""


WEIGHTLESS, WEIGHTLESS_AT_LEAST = 0.005, 100
"""Share of an index's documents, and documents at least, from which a fingerprint weighs nothing."""


def rarities(query: SearchQuery, index: Searchable) -> Mapping[Form, Float64Array]:
    """Return the weight of each fingerprint of a query, from 0 to 1, [m] for each form."""
    common = max(WEIGHTLESS_AT_LEAST, int(WEIGHTLESS * len(index)))
    weights: dict[Form, Float64Array] = {}
    for form, prints in query.fingerprints.items():
        if isinstance(prints, Fingerprints):
            documents = index.frequencies(form, prints.hashes).clip(1)
            weight = (1 - np.log(documents) / math.log(common)).clip(0.0)
            weights[form] = np.where(np.isin(prints.hashes, query.distinctive[form]), weight, 0.0)
    return weights


def least_evidence(channel: str, share: float) -> float:
    """Return the evidence of one stretch that shows a copy, where a document has this share of a function."""
    return LEAST.get(channel, math.inf) * (1 - SPARED * share)


def strength(match: Match) -> float:
    """Return the evidence of the longest stretch as a multiple of what shows a copy; 0 for a vector alone."""
    return max((span.evidence for span in match.spans), default=0.0) / LEAST.get(match.channel, math.inf)


def copied_spans(match: Match, *, of_function: bool) -> tuple[Span, ...]:
    """Return the stretches of a match that show a copy.

    Args:
        match: of a part.
        of_function: the part is a function of at least `SHORTEST` tokens. Declarations are alike in many files, and
            short functions in many libraries, so for them it does not matter how much the document has.
    """
    share = match.containment if of_function else 0.0
    least = least_evidence(match.channel, share)
    long = tuple(span for span in match.spans if span.evidence >= least)
    return match.spans if long and share >= MOST_OF_IT else long
