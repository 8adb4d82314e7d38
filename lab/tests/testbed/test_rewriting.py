"""Rewritings by a language model in a run: replies are kept and counted, and nothing is asked twice."""

import json

import pytest

from assay.errors import DataError
from assay.scoring import problem_of
from assay.types import Sample
from assay_lab.testbed import rewriting as module
from assay_lab.testbed.configuration import Configuration, EvaluationSettings, check
from assay_lab.testbed.plant import Planted, read_planted, write_planted
from assay_lab.testbed.rewriting import REPLIES, opened_rewriter, rewriting_notes

CODE = "def total(values):\n    result = 0\n    for value in values:\n        result += value\n    return result\n"
SAMPLE = Sample("a", CODE, "python")


class Renamer:
    """A model that answers Table 7's prompt with two right versions, one that does more, and one that is no Python."""

    name = "renamer"
    generation_digest = "renamer-1"

    def __init__(self):
        self.prompts = []

    def generate(self, prompts, **_settings):
        for prompt in prompts:
            self.prompts.append(prompt)
            number = len(self.prompts)
            versions = [CODE.replace("total", f"sum_{number}_{at}").replace("result", f"whole_{at}") for at in range(2)]
            versions += [CODE.replace("0", "1"), "def ("]
            yield json.dumps(versions)


@pytest.fixture
def renamer(monkeypatch):
    model = Renamer()
    monkeypatch.setattr(module, "open_model", lambda _name, _settings: model)
    return model


def test_a_model_rewrites_and_is_asked_once(renamer, tmp_path):
    judging = EvaluationSettings(engine="openai-chat:m@http://localhost:1/v1")
    texts, asked = [], []
    for _ in range(2):
        with opened_rewriter(tmp_path, judging, renamer) as engine:
            texts.append(engine([SAMPLE], 4)[0].texts)
        asked.append(len(renamer.prompts))
    assert texts[0] == texts[1]
    assert len(texts[0]) == 4
    assert all("def sum_" in text and "whole_" in text for text in texts[0])
    assert asked[0] == asked[1]
    assert (tmp_path / REPLIES).is_file()


def test_rejected_replies_are_recorded_with_their_reasons(renamer, tmp_path):
    with opened_rewriter(tmp_path, EvaluationSettings(engine="openai-chat:m@http://localhost:1/v1"), renamer) as engine:
        engine([SAMPLE], 4)
    stored = json.loads((tmp_path / module.REWRITING).read_text("utf-8"))
    assert stored["engine"] == "renamer"
    assert sum(stored["counts"].values()) >= 2
    assert all(reason.startswith("rejected: ") for reason in stored["counts"])
    (note,) = rewriting_notes(tmp_path)
    assert note.startswith("Rewritings by renamer: rejected: ")


def test_our_engine_leaves_no_file(tmp_path):
    with opened_rewriter(tmp_path, EvaluationSettings(), None) as engine:
        assert len(engine([SAMPLE], 3)[0].texts) == 3
    assert list(tmp_path.iterdir()) == []
    assert rewriting_notes(tmp_path) == []


def test_the_solution_of_a_planted_statement_is_kept_so_that_its_test_cases_can_change(tmp_path):
    statement = Sample("b", f"Return the sum.\n\nExample: total([1]) is 1.\n{CODE}", "python", metadata={"code": CODE})
    samples = []
    for sample in (SAMPLE, statement):
        samples.append(Sample(sample.id, sample.text, "python", "member", None, {**sample.metadata, "part": "member"}))
    write_planted(tmp_path, Planted(tuple(samples), {}))
    plain, stated = read_planted(tmp_path).samples
    assert "code" not in plain.metadata
    assert problem_of(stated).code == CODE


@pytest.mark.parametrize(
    ("judging", "message"),
    [
        ({"engine": "a/b", "names": "synonyms"}, "judging.engine = 'a/b' chooses names itself"),
        ({"engine": "a/b", "rename": "one"}, "chooses names itself"),
        ({"changes": ()}, "expected some of function, variable, tests"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(judging, message):
    with pytest.raises(DataError, match=message):
        check(Configuration(judging=EvaluationSettings(**judging)), "a file")
