"""Helpers that select, group and name records."""

import numpy as np
import pytest

from assay.types import Sample
from assay_lab import columns, mappings

SAMPLES = (
    Sample("a", "one", group="x", label="member"),
    Sample("b", "three", group="y", label="nonmember"),
    Sample("c", "eleven", group="x", label=None),
)


def test_records_are_chosen_by_their_attributes():
    assert columns.having(SAMPLES, group="x", label="member") == [SAMPLES[0]]
    assert columns.among(SAMPLES, "group", ("x",)) == [SAMPLES[0], SAMPLES[2]]
    assert columns.outside(SAMPLES, "group", ("x",)) == [SAMPLES[1]]
    assert columns.of_length(SAMPLES, 4, 5) == [SAMPLES[1]]


def test_attributes_follow_dots_and_keep_the_order():
    assert columns.attributes([np.float64(1.5)], "real.real") == [1.5]
    assert columns.text_column(SAMPLES) == ["one", "three", "eleven"]
    assert columns.own_group_column((Sample("d", ""), SAMPLES[0])) == ["d", "x"]
    assert columns.is_labelled(SAMPLES, "member").tolist() == [True, False, False]


def test_the_last_record_of_a_key_is_kept():
    assert columns.keyed(SAMPLES, "group") == {"x": SAMPLES[2], "y": SAMPLES[1]}
    assert ("x", "member") in columns.keyed(SAMPLES, "group", "label")


def test_values_are_left_out_of_any_collection():
    assert columns.without("abc", {"b": 1}.keys()) == columns.without("abc", {1: "b"}.values()) == ["a", "c"]
    assert columns.present([0, None, ""]) == [0, ""]


@pytest.mark.parametrize("table", [["p", "q"], {0: "p", 1: "q"}, np.array(["p", "q"])])
def test_places_of_a_sequence_a_mapping_and_an_array(table):
    assert columns.at_places(table, [1, 0]) == ["q", "p"]


def test_mappings_keep_the_order_of_their_names():
    assert list(mappings.mapped(len, ["ab", "c"]).items()) == [("ab", 2), ("c", 1)]
    assert mappings.map_values(len, {"x": "ab"}) == {"x": 2}
    assert mappings.numbered("ba") == {"b": 0, "a": 1}
    assert mappings.enumerated({"x": 1, "y": 2000}, "{1:,} {0}", separator="; ") == "1 x; 2,000 y"
