"""The first stage has the units of the judgement, whatever lies before, beside or around a text."""

import numpy as np
import pytest

from assay.scan import Matcher, ScannedTask, TaskPart
from assay.scan.screening import CHUNK, RUN, run_hashes
from assay.scan.units import UnitForm, UnitSequence

CODE = b"""
def towers(heights, window):  # how many
    '''Count them: 3 of 0x1F.'''
    /* a comment
       of C */ total = 0 // window
    return heights[-1] / 2 + len(window)
"""
TEXTS = [
    CODE,
    CODE * 400,
    b"",
    b"a",
    b"one two three four five",
    "über größe — Ωmega 数据 集 ok".encode() * 9,
    b"#" * 99,
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("form", ["words", "tokens"])
def test_a_text_has_as_many_runs_as_its_units_make(text: bytes, form: UnitForm) -> None:
    units = UnitSequence.of(text, form)
    assert len(run_hashes(text, form)) == max(0, len(units) - RUN[form] + 1)


def test_runs_of_tokens_are_blind_to_names_and_comments() -> None:
    renamed = CODE.replace(b"heights", b"hs").replace(b"towers", b"aB").replace(b"how many", b"x" * 40)
    assert np.array_equal(run_hashes(CODE, "tokens"), run_hashes(renamed, "tokens"))
    assert not np.isin(run_hashes(CODE.replace(b" 2 ", b" 3 "), "words"), run_hashes(CODE, "words")).all()


def test_a_task_is_found_across_pieces_and_after_a_comment_without_end() -> None:
    body = "".join(f"    value_{at} = combine(value_{at - 1}, {at * 7 % 31}, 'lamp {at}')\n" for at in range(1, 30))
    matcher = Matcher([ScannedTask("b", "0", (TaskPart("solution", f"def lamps(value_0):\n{body}"),))])
    task = f"def lamps(value_0):\n{body}".encode()
    before = [b"x = 1\n" * ((CHUNK - shift) // 6) for shift in range(0, 900, 90)]
    texts = [lead + task for lead in before]
    assert {text for text, _ in matcher.search(texts)} == set(range(len(texts)))
    alone = [(at, match.place) for at, match in matcher.search([b"x = 1  # ends here", task])]
    assert {at for at, _ in alone} == {1}
    assert [place for _, place in alone] == [match.place for _, match in matcher.search([task])]
