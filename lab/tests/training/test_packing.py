"""Rows of the training stream: nothing lost, nothing twice, every dose kept."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from assay_lab.training.packing import pack

PAD = 2
DOCUMENT = st.lists(st.integers(3, 60_000), min_size=1, max_size=12).map(lambda ids: np.array(ids, np.uint16))
FUNCTIONS = st.lists(st.tuples(DOCUMENT, st.integers(0, 5)), max_size=6)
FILES = st.lists(DOCUMENT, max_size=8)
WIDTH = st.integers(13, 20)
SEED = st.integers(0, 3)


@settings(deadline=None)
@given(FUNCTIONS, FILES, WIDTH, SEED)
def test_every_function_starts_as_many_rows_as_its_dose(functions, files, width, seed):
    packed = pack(functions, files, width=width, pad=PAD, seed=seed)
    counted = np.bincount(packed.function_of[packed.function_of >= 0], minlength=len(functions))
    assert counted.tolist() == [dose for _, dose in functions]
    for row, index in zip(packed.rows, packed.function_of, strict=True):
        if index >= 0:
            document = functions[index][0]
            assert row[: len(document)].tolist() == document.tolist()


@settings(deadline=None)
@given(FUNCTIONS, FILES, WIDTH, SEED)
def test_files_fill_the_rest_once_and_in_order(functions, files, width, seed):
    packed = pack(functions, files, width=width, pad=PAD, seed=seed)
    heads = [len(functions[index][0]) if index >= 0 else 0 for index in packed.function_of]
    rest = [row[head:] for row, head in zip(packed.rows, heads, strict=True)]
    tokens = np.concatenate([*rest, np.empty(0, np.uint16)])
    assert tokens[tokens != PAD].tolist() == [token for file in files for token in file]


@settings(deadline=None)
@given(FUNCTIONS, FILES, WIDTH, SEED)
def test_padding_is_what_no_file_is_left_for(functions, files, width, seed):
    """Padding starts where the files end: before it every row is full, after it there are heads only."""
    packed = pack(functions, files, width=width, pad=PAD, seed=seed)
    padded = np.flatnonzero((packed.rows == PAD).any(axis=1))
    first = padded[0] if len(padded) else len(packed.rows)
    assert padded.tolist() == list(range(first, len(packed.rows)))
    assert all(packed.function_of[row] >= 0 for row in padded[1:])


@settings(deadline=None)
@given(FUNCTIONS, FILES, WIDTH, SEED)
def test_with_enough_files_less_than_a_row_is_padding(functions, files, width, seed):
    plenty = [
        *files,
        np.full(30 * 20, 7, np.uint16),
    ]  # at most 30 functions stand in the rows, each leaves less than 20
    packed = pack(functions, plenty, width=width, pad=PAD, seed=seed)
    assert (packed.rows == PAD).sum() < width


def test_places_are_spread_over_the_whole_run():
    functions = [(np.array([5, 6], np.uint16), 32) for _ in range(20)]
    packed = pack(functions, [np.full(40_000, 7, np.uint16)], width=20, pad=PAD, seed=1)
    quarters = np.array_split(packed.function_of >= 0, 4)
    assert sum(map(sum, quarters)) == 640
    assert all(120 < quarter.sum() < 200 for quarter in quarters)


def test_places_depend_on_the_seed():
    functions = [(np.array([5, 6], np.uint16), 3) for _ in range(20)]
    one, two = (pack(functions, [np.full(4000, 7, np.uint16)], width=20, pad=PAD, seed=seed) for seed in (1, 2))
    assert one.function_of.tolist() != two.function_of.tolist()
