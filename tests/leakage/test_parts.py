"""Results by part of a task, from the one pass over its whole text."""

import numpy as np
import pytest

from assay.leakage import ComparisonData, DecisionSettings, audit
from assay.leakage.description.tables import part_table
from assay.leakage.parts import part_spans
from assay.scores import requests
from assay.scoring import plan, restricted
from assay.types import Sample
from support.table_model import TableModel

FUNCTION = 'def f(x):\n    """Add one."""\n    return x + 1\n'


def shown(sample: Sample) -> dict[str, str]:
    return {part: sample.text[start:end] for part, (start, end) in part_spans(sample).items()}


def test_columns_of_a_benchmark_give_the_parts():
    sample = Sample("a", "PROMPT body", metadata={"prompt": "PROMPT ", "canonical_solution": "body", "test": "assert"})
    assert shown(sample) == {"prompt": "PROMPT ", "solution": "body"}


def test_tests_are_a_part_where_they_stand_in_the_text():
    sample = Sample(
        "a", "Do it:\nassert 1\nassert 2\nbody", metadata={"code": "body", "test_list": ["assert 1", "assert 2"]}
    )
    assert shown(sample)["tests"] == "assert 1\nassert 2"


def test_what_remains_beside_a_known_part_is_the_other():
    assert shown(Sample("a", "question, answer", metadata={"question": "question"})) == {
        "prompt": "question",
        "solution": ", answer",
    }


def test_a_function_is_divided_behind_its_docstring():
    assert shown(Sample("a", FUNCTION)) == {
        "prompt": 'def f(x):\n    """Add one."""\n',
        "solution": "    return x + 1\n",
    }


@pytest.mark.parametrize(
    "text", ["def f(x):\n    return x\n", "no code at all", "x = 1\n", 'def f():\n    """Only."""\n']
)
def test_other_texts_have_no_parts(text: str):
    assert part_spans(Sample("a", text)) == {}


def test_only_the_part_that_was_trained_on_stands_out():
    """The model has seen the solutions and not the prompts."""
    random = np.random.default_rng(0)

    def words(letter: str) -> str:
        return " ".join(f"{letter}{i}" for i in random.integers(0, 60, 25)) + " "

    def tasks(prefix: str, count: int) -> list[Sample]:
        pairs = [(words("p"), words("s")) for _ in range(count)]
        columns = [{"prompt": prompt, "canonical_solution": solution} for prompt, solution in pairs]
        return [Sample(f"{prefix}{i}", "".join(pair), metadata=columns[i]) for i, pair in enumerate(pairs)]

    benchmark, unseen = tasks("t", 40), tasks("u", 100)
    vocabulary = [f"{letter}{i}" for letter in "ps" for i in range(60)]
    solutions = [str(sample.metadata["canonical_solution"]) for sample in benchmark]
    model = TableModel.trained([*solutions, *vocabulary], order=3)
    measured = audit(
        benchmark,
        plan(requests("mid_pit"), {"target": model}),
        benchmark="tasks",
        comparison=ComparisonData(unseen=unseen, unseen_source="other tasks"),
        decision=DecisionSettings(resamples=50),
    )
    by_part = {entry.part: entry.flagged for entry in measured.parts}
    assert by_part["solution"].rate.value > 0.9
    assert by_part["prompt"].rate.value < 0.2
    table = part_table(measured)
    assert table is not None
    assert [row.cells[0] for row in table.rows] == ["prompt", "solution"]


def test_the_statistics_of_a_part_are_those_of_its_tokens():
    (whole,) = TableModel.uniform(256).token_statistics(["some text"])
    inside = np.arange(len(whole)) < 3
    assert len(restricted(whole, inside)) == 3
    assert np.array_equal(restricted(whole, inside).log_probs, whole.log_probs[:3])
