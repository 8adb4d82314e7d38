"""The judge: ratings are read from replies, replies are kept, and labelled pairs are what they claim to be."""

import json

import pytest

from assay.corpora import Document, Origin
from assay.types import Rejected
from assay_lab.experiments.bench import Bench
from assay_lab.experiments.catalogue import experiment_named
from assay_lab.papers.hst.corpus import search_space
from assay_lab.papers.hst.judge import KINDS, RatedPair, labelled_pairs, rate, rating_in, semantic_clones


class Judge:
    """Rates by length of the prompt, and rejects pairs of unrelated code."""

    name = "judge"

    def __init__(self):
        self.asked = []

    def generate(self, prompts, *, max_new_tokens, **_more):
        assert max_new_tokens < 20
        for prompt in prompts:
            self.asked.append(prompt)
            yield Rejected("too long") if "unrelated_text" in prompt else " 3, because"


@pytest.mark.parametrize(
    ("reply", "rating"),
    [("3", 3), (" 4\n", 4), ("Rating: 0.", 0), ("7", None), ("10", None), ("many", None), ("rejected: 3", None)],
)
def test_a_rating_is_the_first_number_from_0_to_4(reply, rating):
    assert rating_in(reply) == rating


def test_replies_are_kept_and_not_asked_again(tmp_path):
    pairs = [RatedPair("type 1", "a = 1", "a = 2", "g"), RatedPair("unrelated", "unrelated_text", "b", "h")]
    judge = Judge()
    rated = rate(pairs, judge, tmp_path / "ratings.jsonl")
    assert [pair.rating for pair in rated] == [3, None]
    assert rated[1].reply == "rejected: too long"
    with (tmp_path / "ratings.jsonl").open("a", encoding="utf-8") as file:
        file.write('\n{"key": "cut sho')
    again = Judge()
    assert rate(pairs, again, tmp_path / "ratings.jsonl") == rated
    assert not again.asked
    rows = [json.loads(line) for line in (tmp_path / "ratings.jsonl").read_text("utf-8").split("\n")[1:3]]
    assert "Answer with one digit" in rows[0]["prompt"]


def test_a_reply_behind_a_line_that_a_kill_cut_is_kept(tmp_path):
    (tmp_path / "ratings.jsonl").write_text('{"key": "cut sho')
    pairs = [RatedPair("type 1", "a = 1", "a = 2", "g")]
    rated, again = rate(pairs, Judge(), tmp_path / "ratings.jsonl"), Judge()
    assert rate(pairs, again, tmp_path / "ratings.jsonl") == rated
    assert not again.asked


def test_labelled_pairs_have_four_types_and_unrelated_code():
    body = "\n    ".join(f"total = total * {at} + values[{at}]" for at in range(12))
    documents = [
        Document(
            f"def twin_{at}(values, total, other_{at}):\n    {body}\n    return other_{at}\n",
            "python", "function", None, (Origin("s", f"module_{at}.py"),),
        )
        for at in range(8)
    ]  # fmt: skip
    space = search_space(documents, smallest=8, targets=4, long=30, seed=0)
    pairs = list(labelled_pairs(space, most=3, seed=0))
    assert {pair.kind for pair in pairs} == set(KINDS)
    for pair in pairs:
        assert pair.first != pair.second
        if pair.kind == "type 1":
            assert pair.first.split() == pair.second.split()


def test_clones_of_type_4_share_no_statement():
    for first, second in semantic_clones().values():
        compile(first, "first", "exec")
        compile(second, "second", "exec")
        lines = [set(map(str.strip, text.splitlines())) for text in (first, second)]
        assert lines[0] & lines[1] <= {"", "else:"}


def test_the_experiment_searches_a_corpus_of_the_user(tmp_path, monkeypatch):
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for at in range(30):
        lines = "\n    ".join(f"total_{at} = step_{at}_{line}(total_{at}, {line})" for line in range(8))
        (corpus / f"file_{at}.py").write_text(f"def work_{at}(total_{at}):\n    {lines}\n")
    monkeypatch.setattr("assay_lab.papers.hst.judge.Opener", type("O", (), {"generator": lambda *_: Judge()}))
    bench = Bench.of_scale("smoke", tmp_path / "out", (0,), {"corpus": corpus}, models=("judge",))
    finding = experiment_named("hst/judge").run(bench)
    rated = {row.name: row.values for row in finding.table("labelled").rows}
    assert rated["type 1"][0].value == 3
    assert any("Compare two pieces of code" in note for note in finding.notes)
