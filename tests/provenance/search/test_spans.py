"""Lines that two texts share."""

import numpy as np

from assay.provenance.search.spans import PAIRS, REPEATS, _pairs, spans
from assay.retrieval import DEFAULT, Fingerprints, fingerprint


def characters(text):
    found = fingerprint(text, None, DEFAULT)["characters"]
    assert isinstance(found, Fingerprints)
    return found


def test_a_text_of_one_character_is_compared_at_few_places():
    query, document = characters("(" * 200_000), characters("(" * 20_000)
    assert len(query) * REPEATS > PAIRS
    assert 0 < len(_pairs(query, document)) <= PAIRS
    assert spans(query, document)[0].query_first == 1


def test_what_repeats_hides_nothing_else_of_the_text():
    unique = "def median_of(values):\n    ordered = sorted(values)\n    return ordered[len(ordered) // 2]\n"
    query, document = characters("(" * 200_000 + "\n" + unique), characters("(" * 20_000 + "\n" + unique)
    pairs = _pairs(query, document)
    of_unique = np.flatnonzero(query.lines > 1)
    assert len(of_unique)
    assert set(of_unique.tolist()) <= set(pairs[:, 0].tolist())
    assert spans(query, document)[-1].query_last == 4
