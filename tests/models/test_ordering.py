from hypothesis import given
from hypothesis import strategies as st

from assay.models.generators import in_order


@given(st.permutations(range(12)), st.integers(1, 12))
def test_values_come_by_index_whatever_order_batches_had(order, size):
    batches = [[(index, str(index)) for index in order[start : start + size]] for start in range(0, 12, size)]
    assert list(in_order(batches)) == [str(index) for index in range(12)]


def test_a_value_is_given_as_soon_as_those_before_it_are_there():
    def batches():
        yield [(1, "b"), (0, "a")]
        raise AssertionError("asked for more than was needed")

    values = in_order(batches())
    assert [next(values), next(values)] == ["a", "b"]
