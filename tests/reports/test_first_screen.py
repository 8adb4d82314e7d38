"""The first screen of a result: its limits, and that every format shows it first."""

from dataclasses import dataclass, replace

import pytest

from assay.evaluation import Estimate
from assay.reports import (
    RENDERERS,
    Answer,
    Column,
    Missing,
    Report,
    Table,
    TabularResult,
    describe,
)
from support.first_screen import broken_limits

ANSWER = Answer(
    "Contaminated",
    "The model knows the tasks better than text that it cannot have seen.",
    "It has seen 41 % of the tasks (33 % to 50 %).",
    "assay report run/ lists the tasks",
)


@pytest.mark.parametrize(
    "answer",
    [ANSWER, Answer("Cannot tell yet"), replace(ANSWER, measured="GPL-2.0-or-later: 23 of 27 lines of a_1, from B-2")],
)
def test_an_answer_within_the_limits_breaks_none(answer: Answer) -> None:
    assert not list(broken_limits(answer))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"verdict": "There is no evidence yet"}, "at most 4 words"),
        ({"because": "word " * 21}, "at most 20 words"),
        ({"because": "It flags 12 tasks."}, "no number"),
        ({"because": "The AUROC is .84."}, "no number"),
        ({"measured": "1 of 2, 3 to 4"}, "at most 3 numbers"),
        ({"next_step": "a" * 100}, "at most 100 characters"),
    ],
)
def test_every_limit_is_checked(change: dict[str, str], expected: str) -> None:
    assert any(expected in broken for broken in broken_limits(replace(ANSWER, **change)))


@pytest.mark.parametrize("form", ["table", "html", "markdown", "latex", "github"])
def test_every_format_shows_the_answer(form: str) -> None:
    text = RENDERERS[form](Report("Question?", "", answer=ANSWER))

    assert 0 <= text.index(ANSWER.verdict) < text.index(ANSWER.because) < text.index("assay report run/")


@dataclass(frozen=True)
class Part:
    """A row."""

    name: str
    area: Estimate | None


@dataclass(frozen=True, repr=False)
class Result(TabularResult):
    """A result whose description is registered from outside."""

    parts: tuple[Part, ...]


COLUMNS = (
    Column("part", "name", get=lambda part: part.name),
    Column("AUROC", "area", get=lambda part: part.area, missing="one class only"),
)


@describe.register
def _(result: Result) -> Report:
    table = Table.of("parts", "Parts", result.parts, COLUMNS)
    return Report("Question?", "", (table,), data=[part.name for part in result.parts], answer=ANSWER)


RESULT = Result((Part("a", Estimate(0.8, 0.7, 0.9, 0.95)), Part("b", None)))


def test_a_table_of_items_takes_its_cells_from_the_getters() -> None:
    table = RESULT.describe().tables[0]

    assert table.rows[0].cells == ("a", RESULT.parts[0].area)
    assert table.rows[1].cells == ("b", Missing("one class only"))


def test_a_result_is_a_table_a_page_and_json() -> None:
    assert RESULT.to_arrow().to_pydict() == {
        "part": ["a", "b"],
        "AUROC": [0.8, None],
        "AUROC low": [0.7, None],
        "AUROC high": [0.9, None],
    }
    assert repr(RESULT) == f"<Result: {ANSWER.verdict}. {ANSWER.because}>"
    assert ANSWER.verdict in RESULT._repr_html_()
    assert RESULT.to_json().split() == ["[", '"a",', '"b"', "]"]


def test_a_type_without_description_is_refused() -> None:
    with pytest.raises(TypeError, match="received a int, expected a result that has a description"):
        describe(3)


def test_a_page_shows_a_command_as_code_and_escapes_it() -> None:
    step = "see `assay report <b>run</b>`, and ` alone"
    page = RENDERERS["html"](Report("Question?", "", answer=replace(ANSWER, next_step=step)))
    assert "see <code>assay report &lt;b&gt;run&lt;/b&gt;</code>, and ` alone" in page
