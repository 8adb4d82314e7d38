"""Slices by date: every rate before and after the cutoff, and which texts count."""

from datetime import date, datetime

import numpy as np
import pytest

from assay.evaluation import unknown
from assay.types import Decision, Sample, Undecided, Verdict
from assay_lab.bugs import side_averages
from assay_lab.bugs.dates import date_of, rates_by_slice, slices_of
from assay_lab.bugs.pairs import SamplePair
from assay_lab.bugs.probes import ProbeResult

CUTOFF = date(2023, 1, 1)
NOTHING = Decision(Verdict.CANNOT_TELL, "x", Undecided.NOT_MEASURED)


def bug(at, day):
    sample = Sample(f"b{at}", "text", group=f"g{at}", metadata={"date": day} if day else {})
    return SamplePair(sample, sample)


PAIRS = [bug(0, "2022-12-31"), bug(1, "2023-01-01"), bug(2, None), bug(3, "2024-05-01T10:00:00Z")]


@pytest.mark.parametrize(
    ("value", "day"),
    [("2022-12-31", date(2022, 12, 31)), (datetime(2022, 1, 2), date(2022, 1, 2)), ("soon", None), (7, None)],  # noqa: DTZ001  no zone is needed
)
def test_a_date_is_read_from_the_metadata_or_missing(value, day):
    assert date_of(Sample("x", "x", metadata={"created_at": value})) == day


def test_the_cutoff_itself_is_after_and_an_undated_text_in_no_slice():
    assert slices_of([pair.fixed for pair in PAIRS], CUTOFF) == {"before": [0], "after": [1, 3]}


def test_preference_and_probes_are_split_by_the_date_of_their_bugs():
    probe = ProbeResult(
        "patch",
        2,
        2,
        unknown(),
        unknown(),
        unknown(),
        unknown(),
        NOTHING,
        np.array([0.25, 0.75]),
        ("b3", "b0"),
        ("g3", "g0"),
    )
    slices = slices_of([pair.fixed for pair in PAIRS], CUTOFF)
    rates = rates_by_slice(PAIRS, slices, np.array([1.0, -1.0, 1.0, 1.0]), probes={"patch": probe}, exposures=())
    values = {rate: {name: of.value for name, of in by_slice.items()} for rate, by_slice in rates.items()}
    assert values == {
        "fix likelier": {"before": 1.0, "after": 0.5},
        "probe of the patch, right": {"before": 0.75, "after": 0.25},
    }


def test_an_empty_side_is_no_text():
    samples = [Sample("a", ""), Sample("b", "return value + other\n")]
    averages = side_averages(samples, {"loss": np.array([np.nan, -2.0]), "ngram_accuracy": np.array([np.nan, 0.5])})
    assert (averages.texts, averages.distinct, averages.characters) == (1, 1, 21.0)
    assert averages.averages["NLL"].value == 2.0
