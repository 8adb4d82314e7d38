"""Documents go into an index some at a time, each with what was computed of it."""

import pytest

from assay.provenance.index.searchable import batches


@pytest.mark.parametrize("count", [0, 1, 4, 5, 9])
def test_what_was_computed_stays_beside_its_document(count):
    found = list(batches(range(count), (f"h{i}" for i in range(count)), None, size=4))
    assert [len(some) for some, *_ in found] == [min(4, count - at) for at in range(0, count, 4)]
    assert [pair for some, hashes, _ in found for pair in zip(some, hashes, strict=True)] == [
        (i, f"h{i}") for i in range(count)
    ]
    assert {vectors for *_, vectors in found} <= {None}


def test_no_more_is_taken_up_than_one_batch():
    taken = []
    given = (taken.append(i) or i for i in range(100))
    next(batches(given, None, given, size=3))
    assert len(taken) == 6
