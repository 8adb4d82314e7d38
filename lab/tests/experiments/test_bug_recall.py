"""Recall without reading: files and lines that a model names from the issue alone, beside controls."""

import json

import pytest

from assay_lab.experiments import Bench, finding_report
from assay_lab.papers.bugs import recall
from support.agent_files import PATCH


class KnowsOneProject:
    """A generator that knows the fixes of the project "shop", and of no other."""

    name = "toy"

    def generate(self, prompts, **_):
        """Answer every prompt."""
        for prompt in prompts:
            if "owner/shop" not in prompt:
                yield "I have not seen this repository."
            elif prompt.endswith("diff --git a/"):
                yield PATCH.removeprefix("diff --git a/")
            else:
                yield "shop/cart.py, I think."


@pytest.fixture
def bench(tmp_path):
    """Tasks of a known project, and controls of others."""
    for name, repository in (("tasks", "owner/shop"), ("outside", "other/till"), ("later", "owner/new")):
        rows = []
        for number in range(3):
            issue = "The total of an empty cart is zero." if number else "The total is wrong, and nobody knows why."
            row = {"instance_id": f"{name}-{number}", "repo": repository, "patch": PATCH, "problem_statement": issue}
            rows.append(json.dumps(row) + "\n")
        (tmp_path / f"{name}.jsonl").write_text("".join(rows))
    places = {name: tmp_path / f"{name}.jsonl" for name in ("tasks", "outside", "later")}
    return Bench.of_scale("full", tmp_path / "out", (0,), places, models=("builtin:small",), paper="bugs")


def test_a_model_that_knows_the_tasks_stands_out_from_both_controls(bench, monkeypatch):
    monkeypatch.setattr(recall.Opener, "generator", lambda *_: KnowsOneProject())
    finding = recall.recall(bench)
    (table,) = finding.tables
    values = {row.name: [value.value for value in row.values] for row in table.rows}
    # two of the three issues say "cart"; every task of a project changes the same file
    assert values["builtin:small, tasks (3)"] == [1, 1, 1, 1]
    assert values["builtin:small, outside (3)"] == [0, 1, 0, 0]
    assert values["builtin:small, tasks - later"] == [1, 0, 1, 1]
    assert "Recall without reading" in finding_report(finding).title
    assert not any("No control" in note for note in finding.notes)


def test_the_prompt_holds_the_issue_and_nothing_of_the_fix(bench):
    (pair, *_) = recall.asked_pairs(bench.data["tasks"], None)
    question = recall.question_on(pair, recall.FILE)
    assert "owner/shop" in question.prompt
    assert "EmptyCartError" not in question.prompt
    assert "cart.py" not in question.prompt
