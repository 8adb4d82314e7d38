"""The check that pages and comments name what exists."""

import pytest

import named_things


@pytest.mark.parametrize(
    ("span", "complaint"),
    [
        ("assay trace --pairs", "no option --pairs"),
        ("src/assay/nowhere.py", "no path src/assay/nowhere.py"),
        ("pair_scores.py", "no path pair_scores.py"),
        ("assay.provenance.search.ranking.ranked", "nothing named ranked in ranking"),
        ("assay.errors.NoSuchError", "nothing named NoSuchError in errors"),
    ],
)
def test_a_name_of_nothing_is_reported(span, complaint):
    assert list(named_things.missing(span)) == [complaint]


@pytest.mark.parametrize(
    "span", ["assay audit --unseen", "src/assay/errors.py", "assay.errors.MissingExtra", "runs/mine", "numpy.py", "x.y"]
)
def test_what_exists_and_what_belongs_to_others_is_not(span):
    assert not list(named_things.missing(span))


def test_spans_are_taken_from_sentences_comments_and_docstrings_alone():
    assert list(named_things.prose_of_page("a `b` c\n```console\n$ `no`\n```\n| `d` |\n")) == [(1, "b"), (5, "d")]
    assert sorted(named_things.prose_of_module('"""A `b`."""\nx = "`no`"  # `c`\n')) == [(1, "b"), (2, "c")]
