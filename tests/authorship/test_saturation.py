"""Evidence that human code of an origin shows too is left out for that origin."""

import numpy as np

from assay.authorship.domain import saturated_kinds


def test_only_evidence_that_most_people_show_is_left_out():
    parts = {
        "documentation": np.array([2.0, 2.0, 0.0, 2.0]),
        "rare": np.array([0.0, 0.0, 2.0, 2.0]),
        "absent": np.zeros(4),
        "wording": np.array([0.5, 0.1, 0.2, 0.9]),
    }
    assert saturated_kinds(parts, np.array([0, 1, 2])) == ("documentation",)


def test_without_human_code_nothing_is_left_out():
    assert saturated_kinds({"documentation": np.array([2.0, 2.0])}, np.zeros(0, np.int64)) == ()
