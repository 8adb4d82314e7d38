"""Pairs of submissions that share more than the others do."""

import random

import pytest

from assay.corpora import SourceText
from assay.errors import DataError
from assay.submissions import Submission, compare_submissions
from assay_lab.clones import rename_all
from assay_lab.provenance.obfuscations import KINDS, disguised

WORDS = "basket count data edge field group head item key line mark node order path query row seed table".split()  # noqa: SIM905
LINES = (
    "    {a} = {b} {o} {n}",
    "    {a} = {b}[{n}] {o} {c}\n    {d} = {a}",
    "    if {a} {o} {n} > {b}:\n        {c} = [{a}, {b}]",
    "    for {a} in {b}:\n        {c}.append({a} {o} {n})",
    "    {a} = {{{b}: {c}, {n}: '{d}'}}",
    "    while {a} < {n}:\n        {a} {o}= len({c}, {d})",
    "    {a} = {b} {o} {c} {o} {d} - {n}",
    "    {b} = {a}({c}, {d}) {o} {n}",
)


def program(seed, statements=30):
    draw = random.Random(f"pairs {seed}")
    lines = []
    for _ in range(statements):
        names = dict(zip("abcd", draw.sample(WORDS, 4), strict=True))
        lines.append(draw.choice(LINES).format(**names, o=draw.choice("+-*%"), n=draw.randrange(9)))
    return f"def main_{seed}({draw.choice(WORDS)}):\n" + "\n".join(lines) + "\n"


def course(*texts, name="s"):
    return [Submission(f"{name}{at:02}", [SourceText(f"{at}.py", text, "python")]) for at, text in enumerate(texts)]


def independent(count, first=100):
    return [program(seed) for seed in range(first, first + count)]


def students(comparison):
    return [(comparison.name(pair.first), comparison.name(pair.second)) for pair in comparison.pairs]


@pytest.mark.parametrize("kind", KINDS)
def test_a_disguised_copy_stands_out_alone(kind):
    texts = independent(14)
    result = compare_submissions(course(*texts, disguised(texts[3], kind, "python", 1)))
    assert students(result) == [("s03", "s14")], result.answer


def test_a_copied_exercise_stands_out_among_others():
    exercises = [[program(f"{student} {number}", 25) for number in range(5)] for student in range(14)]
    exercises[9][3] = disguised(exercises[4][1], "small edits", "python", 1)
    assert students(compare_submissions(course(*map("".join, exercises)))) == [("s04", "s09")]


def test_a_list_of_cases_is_no_evidence():
    cases = ["".join(f"if {name} > {at}:\n    print({name} - {at})\n" for at in range(20)) for name in "ab"]
    texts = [case + text for case, text in zip(cases, independent(2, 50), strict=True)]
    assert compare_submissions(course(*texts, *independent(12))).pairs == ()


def test_a_course_without_copies_has_no_pair():
    result = compare_submissions(course(*independent(14)))
    assert result.answer == "No pair stands out among 14 submissions."
    assert list(result.lines()) == [result.answer, result.advice]


def test_code_that_all_share_or_that_was_handed_out_is_no_evidence():
    shared = program("given", 40)
    assert compare_submissions(course(*(shared + text for text in independent(12)))).pairs == ()
    texts = independent(12)
    two = [shared + texts[0], shared + texts[1], *texts[2:]]
    assert students(compare_submissions(course(*two))) == [("s00", "s01")]
    assert compare_submissions(course(*two), template=[SourceText("t.py", shared, "python")]).pairs == ()


def test_identical_programs_are_reported_however_short():
    result = compare_submissions(course("x = 1\n", "x  =  1\n", *independent(8)))
    assert result.identical == (("s00", "s01"),)
    assert "identical: s00, s01" in list(result.lines())


def test_many_identical_programs_are_a_line():
    lines = list(compare_submissions(course(*["print(1)\n"] * 1000, *independent(2))).lines())
    assert len(lines) == 3
    assert lines[0] == "1000 of 1,002 submissions have identical code."
    assert lines[2].endswith("and 980 more")


def test_earlier_submissions_are_compared_across_only():
    texts = independent(12)
    earlier = course(rename_all(texts[2], "python", seed=1), program(7), program(7), name="e")
    assert students(compare_submissions(course(*texts), earlier=earlier)) == [("s02", "e00")]
    own = [Submission("s02", earlier[0].files)]
    assert compare_submissions(course(*texts), earlier=own).pairs == ()


def test_the_order_of_the_submissions_changes_no_pair():
    texts = independent(10)
    given = course(*texts, rename_all(texts[4], "python", seed=3))
    pairs = [{frozenset(pair) for pair in students(compare_submissions(order))} for order in (given, given[::-1])]
    assert pairs[0] == pairs[1] == {frozenset(("s04", "s10"))}


def test_few_submissions_are_judged_by_their_share():
    result = compare_submissions(course(program(1), program(2), rename_all(program(1), "python", seed=3)))
    assert students(result) == [("s00", "s02")]
    assert "too few to say what is usual" in result.answer
    assert result.pairs[0].names


def test_more_submissions_than_pairs_fit_into_memory_are_refused():
    with pytest.raises(DataError, match=r"received 4,001 submissions, expected at most 4,000"):
        compare_submissions([Submission("s", [])] * 4001)


@pytest.mark.parametrize("texts", [[], ["x = 1\n"], [""], ["x = (\n", "}}}{{{\n"]])
def test_nothing_to_compare_is_no_pair(texts):
    assert compare_submissions(course(*texts)).pairs == ()


def test_unchanged_code_that_was_handed_out_is_no_student_and_broken_code_is_compared():
    given = program("given")
    result = compare_submissions(
        course(given, "def broken(:\n" + program(1), program(2)), template=[SourceText("t.py", given, "python")]
    )
    assert result.unchanged == ("s00",)
    assert len(result.submissions) == 2
    assert list(result.remarks()) == [
        "s00: only code that was handed out",
        "s01: 1.py: does not parse as python; compared",
    ]


def test_an_empty_work_of_an_earlier_course_says_nothing_of_this_one():
    earlier = [Submission("s00", is_earlier=True)]
    assert list(compare_submissions(course(*independent(3)), earlier=earlier).not_compared()) == [
        "s00 (earlier): nothing that can be compared: no code"
    ]
