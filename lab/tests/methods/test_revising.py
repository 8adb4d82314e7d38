"""Revisions and tasks: replies are read strictly, failures are counted, comments are left out."""

import numpy as np
import pytest

from assay.authorship import comment_spans, docstring_spans, without_comments
from assay.types import Rejected, Sample
from assay_lab.methods.revising import (
    CONDITION,
    NO_CODE,
    REFUSED,
    ConditionedStatistics,
    EncodedRevisions,
    Reviser,
    code_block,
    task_line,
    without_remarks,
)
from support.table_model import TableModel

CODE = '"""naïve"""\nx = "# no"  # yes\ndef f():\n    """Doc."""\n    return 1\n'


class Scripted:
    name = "scripted"

    def __init__(self, *replies):
        self.replies = list(replies)
        self.prompts = []

    def generate(self, prompts, **_):
        self.prompts += prompts
        yield from (self.replies[at % len(self.replies)] for at in range(len(prompts)))


class Letters:
    """An encoder that counts letters."""

    digest = "letters"

    def __init__(self):
        self.texts = []

    def encode(self, texts):
        self.texts += texts
        rows = np.array([[text.count(letter) for letter in "abcxyz"] for text in texts], np.float32)
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        ("It adds.\n```python\nx = 1\n```\nDone.", "x = 1"),
        ("```\nx\n```\n```\nlonger = 2\n```", "longer = 2"),
        ("```python\nx = 1", "x = 1"),  # the reply was cut
        ("x = 1", None),
        ("```\n\n```", None),
        ("", None),
    ],
)
def test_the_code_of_a_reply_is_its_longest_block(reply, code):
    assert code_block(reply) == code


@pytest.mark.parametrize(
    ("reply", "task"),
    [("<task> Add\n two. </task>", "Add two."), ("<task>Add", "Add"), ("<task></task>", None), ("Add", None)],
)
def test_the_task_of_a_reply_stands_between_its_marks(reply, task):
    assert task_line(reply) == task


def test_similarity_leaves_comments_out_and_encodes_each_text_once():
    reviser = Scripted("```\na = 1  # xyz\n```", "prose", Rejected("too long"), "```\nb = 1\n```")
    encoder = Letters()
    (row,) = EncodedRevisions(Reviser(reviser), encoder)([Sample("s", "a = 1 # bbb", "python")], 4)
    assert row.values == pytest.approx((1.0, 0.0))
    assert row.failures == {NO_CODE: 1, REFUSED: 1}
    assert encoder.texts == ["a = 1", "b = 1"]
    assert "a = 1 # bbb" in reviser.prompts[0]
    assert "python" in reviser.prompts[0]


def test_a_text_without_a_revision_has_a_reason():
    (row,) = EncodedRevisions(Reviser(Scripted("prose")), Letters())([Sample("s", "a")], 2)
    assert row == Rejected(f"no revision: {NO_CODE}")


def test_no_model_is_asked_about_an_empty_text():
    reviser = Scripted("```\na\n```")
    empty, other = EncodedRevisions(Reviser(reviser), Letters())([Sample("s", " \n"), Sample("t", "a")], 1)
    assert empty == Rejected("no revision: texts without code")
    assert other.values == pytest.approx((1.0,))
    assert len(reviser.prompts) == 1


def test_atc_counts_the_code_behind_the_task_and_no_comment():
    model = TableModel.uniform(90)
    describer = Reviser(Scripted("<task>add two numbers</task>")).describing()
    (row,) = ConditionedStatistics(describer, model)([Sample("s", CODE, "python")], 1)
    (statistics,) = row.values
    counted = CODE.replace('"""naïve"""', "").replace("# yes", "").replace('"""Doc."""', "")
    assert len(statistics) == len(counted)
    assert model.scored == [CONDITION.format(task="add two numbers") + CODE]


def test_docstrings_and_comments_are_spans_of_the_text():
    assert [CODE[slice(*span)] for span in docstring_spans(CODE, "python")] == ['"""naïve"""', '"""Doc."""']
    assert [CODE[slice(*span)] for span in comment_spans(CODE, "python")] == ["# yes"]
    assert docstring_spans("def f(:", "python") == []
    assert docstring_spans('"x";', "java") == []


def test_strings_stay_where_comments_go():
    assert without_comments('s = "// no"; // yes\n/* x */\nt', "java") == 's = "// no";\nt'
    assert without_remarks("# only", "python") == "# only"
