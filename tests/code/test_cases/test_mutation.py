"""Other inputs: the same types, like sizes, and what held between the values goes on to hold."""

import random

from hypothesis import example, given
from hypothesis import strategies as st

from assay.code.test_cases.mutation import mutated, mutated_input

LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(max_size=4)
VALUES = st.recursive(
    LEAVES,
    lambda few: (
        st.lists(few, max_size=4)
        | st.tuples(few, few)
        | st.dictionaries(st.integers() | st.text(), few, max_size=3)
        | st.sets(st.integers())
    ),
    max_leaves=10,
)


def drawn(*values, times=60):
    return [mutated(list(values), random.Random(seed)) for seed in range(times)]


@given(st.lists(VALUES, max_size=3), st.integers(0, 99))
@example([0, [False]], 0)  # False equals 0
@example([1, (2.0, 1.0, True)], 0)
def test_types_stay_whatever_the_values(values, seed):
    new = mutated(values, random.Random(seed))
    assert [type(value) for value in new] == [type(value) for value in values]


@given(st.lists(VALUES, max_size=3), st.integers(0, 99))
def test_the_same_seed_gives_the_same_inputs(values, seed):
    assert repr(mutated(values, random.Random(seed))) == repr(mutated(values, random.Random(seed)))


def test_signs_and_magnitudes_stay():
    assert all(30 <= number <= 120 for (number,) in drawn(60))
    assert all(-120 <= number <= -30 for (number,) in drawn(-60))
    assert all(1.1 <= number <= 4.5 and round(number, 2) == number for (number,) in drawn(2.25))


def test_sorted_lists_stay_sorted_and_distinct_ones_distinct():
    assert all(new == sorted(set(new)) for (new,) in drawn([1, 4, 9, 16]))
    assert all(new == sorted(new, reverse=True) for (new,) in drawn([9, 4, 4]))


def test_lists_of_one_length_keep_theirs_and_rows_too():
    assert all(len(first) == len(other) == 3 for first, other in drawn([1, 2, 3], [4, 5, 6]))
    assert all([len(row) for row in new] == [2, 2] for (new,) in drawn([[1, 2], [3, 4]]))


def test_zeros_and_ones_stay_such():
    assert all(all(set(row) <= {0, 1} for row in new) for (new,) in drawn([[0, 1], [1, 1]]))
    assert all(set(new) <= {"0", "1"} for (new,) in drawn("10010"))


def test_a_number_that_counts_a_list_goes_on_to_count_it():
    assert all(count == len(few) for few, count in drawn([7, 8, 9], 3))


def test_a_value_out_of_a_list_goes_on_to_be_one():
    assert all(word in few for few, word in drawn(["x", "yy", "zzz"], "yy"))


def test_there_are_many_inputs():
    assert len({repr(values) for values in drawn([1, 2, 3], "abc", times=40)}) > 30


def test_a_standard_input_keeps_its_shape_and_its_counts():
    old = "3 5\n00100\n10110\n11001"
    new = [mutated_input(old, random.Random(seed)) for seed in range(30)]
    assert {text.split("\n")[0] for text in new} == {"3 5"}
    assert all([len(line) for line in text.split("\n")] == [3, 5, 5, 5] for text in new)
    assert all(set(text.partition("\n")[2]) <= {"0", "1", "\n"} for text in new)
    assert len(set(new)) == 30
    assert {mutated_input("7", random.Random(seed)) for seed in range(30)} - {"7"}
