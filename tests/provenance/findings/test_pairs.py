"""All pairs of files, and their clusters."""

import random

import pytest

from assay.corpora import SourceText
from assay.provenance import all_pairs
from assay_lab.clones import rename_all

WORDS = "basket count data edge field group head item key line mark node order path query row seed table".split()  # noqa: SIM905
LINES = (
    "    {a} = {b} {o} {n}",
    "    if {a} {o} {n} > {b}:\n        {c} = [{a}, {b}]",
    "    for {a} in {b}:\n        {c}.append({a} {o} {n})",
    "    {a} = {{{b}: {c}, {n}: '{d}'}}",
    "    try:\n        {a}({b}[{n}])\n    except {c}Error:\n        {d} = None",
    "    while {a} < {n}:\n        {a} {o}= len({c}, {d})",
)


def program(seed, statements=30):
    draw = random.Random(f"pairs {seed}")
    lines = [
        draw.choice(LINES).format(**dict(zip("abcd", draw.sample(WORDS, 4), strict=True)), o=draw.choice("+-*%"), n=9)
        for _ in range(statements)
    ]
    return f"def main_{seed}({draw.choice(WORDS)}):\n" + "\n".join(lines) + "\n"


def files(*texts):
    return [SourceText(f"{at}.py", text, "python") for at, text in enumerate(texts)]


def test_a_renamed_copy_is_a_pair_and_others_are_none():
    result = all_pairs(files(program(1), program(2), rename_all(program(1), "python", seed=3)))
    (pair,) = result.pairs
    assert (pair.first, pair.second, pair.similarity) == (0, 2, 1.0)
    assert pair.first_lines[0].first <= 2
    assert result.clusters == ((0, 2),)
    assert [row.cells[-1] for row in result.describe().tables[0].rows] == [1]


def test_a_part_of_a_longer_file_has_its_share_on_both_sides():
    result = all_pairs(files(program(1), program(1) + program(2) + program(3)), least=0.3)
    (pair,) = result.pairs
    assert pair.first_share > 0.9
    assert 0.2 < pair.second_share < 0.5
    assert pair.first_share > pair.similarity > pair.second_share


def test_pairs_connect_to_clusters_the_largest_first():
    texts = [program(1), program(1), program(1), program(2), program(2), program(4)]
    assert all_pairs(files(*texts)).clusters == ((0, 1, 2), (3, 4))


def test_code_that_many_files_have_is_no_evidence():
    shared = program("given", 40)
    result = all_pairs(files(*(shared + program(at, 10) for at in range(14))))
    assert result.pairs == ()


def test_the_order_of_the_files_changes_nothing():
    """The first file of a pair and the lines that are counted depend on the paths, not on the shell's order."""
    given = files(program(1), program(1) + program(2), program(3), program(1) + program(3), "x = 1\n")
    results = [all_pairs(order, least=0.1) for order in (given, given[::-1], given[2:] + given[:2])]
    assert results[0] == results[1] == results[2]
    assert len(results[0].pairs) == 4


def test_files_without_a_fingerprint_are_named():
    result = all_pairs(files("x = 1\n", program(1)))
    assert (result.too_short, result.paths, result.pairs) == (("0.py",), ("1.py",), ())


@pytest.mark.parametrize("texts", [[], ["x = 1\n"]])
def test_nothing_to_compare_is_no_pair(texts):
    assert all_pairs(files(*texts)).pairs == ()
