"""Black-box access: cut, asked once each, read; only a Generator is needed."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import MissingCapability
from assay.models import open_model
from assay.scores import requests
from assay.scores.continuation import StartsCut, SuffixCut
from assay.scoring import asking, plan, score_samples
from assay.scoring.cutting import Question, cut_texts, suffix_start
from assay.scoring.views import rewritten
from assay.types import Generator, Sample, TokenGenerator
from support.table_model import TableModel

LINES = SuffixCut(0.5, "line", "lexical")
PYTHON = """\
def total_of(numbers, start=0):
    total = start
    for one in numbers:
        total += one
    return total, numbers, start
"""
OTHER = PYTHON.replace("total", "sum").replace("one", "each")


class Writer:
    """A model behind an API: text in, text out, and a list of what it was asked."""

    name = "writer"

    def __init__(self, *texts):
        self.texts, self.asked = texts, []

    def generate(self, prompts, *, max_new_tokens, **_):
        for prompt in prompts:
            self.asked.append(prompt)
            known = next((text for text in self.texts if prompt and text.startswith(prompt)), prompt)
            yield known[len(prompt) :][: 4 * max_new_tokens] + " # and on"


@pytest.fixture(scope="module")
def small():
    return open_model("builtin:small", device="cpu")


def values(model, texts, scores):
    samples = [Sample(str(i), text) for i, text in enumerate(texts)]
    return score_samples(samples, plan(requests(scores), {}, generator=model))


def test_the_test_models_can_what_they_should(small):
    assert isinstance(Writer(), Generator)
    assert not isinstance(Writer(), TokenGenerator)
    assert isinstance(TableModel.uniform(8), TokenGenerator)
    assert isinstance(small, TokenGenerator)


@pytest.mark.parametrize("model", [TableModel.trained([PYTHON], order=6), Writer(PYTHON)])
def test_a_planted_text_is_continued_exactly_and_its_variants_are_not(model):
    found = values(model, [PYTHON], "sr_black:n=3,sr_black_rank:n=3,sr_black:n=3:at=token")
    assert found.values["sr_black:n=3"][0] == 1  # NGO 1, and 0 for every variant
    assert found.values["sr_black_rank:n=3"][0] == -1 / 4
    assert found.values["sr_black:n=3:at=token"][0] == 1


def test_model_tokens_do_as_well_where_the_model_shows_them():
    model = TableModel.trained([PYTHON], order=6)
    assert values(model, [PYTHON], "sr_black:n=3:units=model").values["sr_black:n=3:units=model"][0] == 1


def test_model_tokens_are_refused_where_it_does_not():
    with pytest.raises(MissingCapability, match="writer does not show its tokenizer: expected units=lexical"):
        plan(requests("sr_black:units=model"), {}, generator=Writer())


def test_a_score_of_token_probabilities_is_refused_without_them():
    with pytest.raises(MissingCapability, match="--access gray"):
        plan(requests("loss"), {}, generator=Writer())
    with pytest.raises(MissingCapability, match="--access black"):
        plan(requests("sr_black"), {"target": TableModel.uniform(8)})
    with pytest.raises(MissingCapability, match="no model to audit"):
        plan(requests("sr_black"), {})


def test_every_prompt_is_asked_once():
    model = Writer(PYTHON)
    values(model, [PYTHON, PYTHON], "sr_black:n=3,sr_black_rank:n=2,ngram_generation")
    assert set(Counter(model.asked).values()) == {1}


def test_both_accesses_stand_in_one_plan():
    model = TableModel.trained([PYTHON], order=3)
    todo = plan(requests("loss,sr_gray:n=2,sr_black:n=4"), {"target": model}, generator=model)
    found = score_samples([Sample("a", PYTHON)], todo)
    assert set(found.values) == {"loss", "sr_gray:n=2", "sr_black:n=4"}
    assert len(model.scored) == 3  # the rewritings that only sr_black compares are not run


def test_progress_ends_where_the_work_ends():
    told = []
    samples = [Sample(str(i), text) for i, text in enumerate([PYTHON, "x", OTHER, "no program ("])]
    score_samples(
        samples,
        plan(requests("sr_black:n=2,ngram_generation"), {}, generator=Writer(PYTHON)),
        progress=lambda *at: told.append(at),
    )
    assert told[-1][0] == told[-1][1]
    assert all(done <= total for done, total in told)


def test_what_cannot_be_cut_has_a_reason():
    found = values(Writer(), ["", "x", "x = 1"], "sr_black:n=1,ngram_generation")
    assert found.reasons["ngram_generation"] == ("fewer than 5 scored tokens",) * 3
    assert all(found.reasons["sr_black:n=1"])


def test_the_prefix_ends_with_a_line_that_lies_in_the_first_half():
    prefix = PYTHON[: suffix_start(PYTHON, LINES)]
    assert PYTHON.startswith(prefix + "\n")
    assert prefix.endswith("total = start")


@pytest.mark.parametrize(
    ("text", "prefix"),
    [
        ("a b c d", "a b"),
        ("a b c d e f\ng", "a b c d e f"),
        ("a\r\nb c d", "a"),
        ("a\n\n\nb c", "a\n\n"),
        ("\n\na b", "\n\na"),
        ("a", "a"),
        ("", ""),
    ],
)
def test_odd_texts_are_cut_somewhere(text, prefix):
    assert text[: suffix_start(text, LINES)] == prefix


@given(st.text("ab \n\r", max_size=40), st.sampled_from(["line", "token"]), st.floats(0.01, 0.99))
def test_prefix_and_suffix_are_the_text_and_neither_is_empty(text, at, share):
    place = suffix_start(text, SuffixCut(share, at, "lexical"))
    if len(text.split()) > 1:
        assert text[:place].strip()
        assert text[place:].strip()
    else:
        assert place == len(text)


def test_a_suffix_longer_than_the_model_can_write_is_judged_as_far_as_it_can(small):
    text = "\n".join(f"value_{i} = {i}" for i in range(2000))
    ((piece,),) = cut_texts(LINES, [text], small)
    assert piece.question.max_new_tokens == small.context // 2
    assert len(small.tokens([piece.truth])[0].ids) <= small.context // 2 + 1


def test_generation_agrees_with_one_teacher_forced_pass(small):
    """Greedy decoding writes a run exactly when every rank in it is 1."""
    texts = [PYTHON, OTHER, "import os\nimport sys\n\n\n" + PYTHON, "größe = 'ß' * 5\nif größe:\n    pass\n"]
    written = values(small, texts, "ngram_generation,ngram_generation:n=1,ngram_generation:n=2:stride=16").values
    samples = [Sample(str(i), text) for i, text in enumerate(texts)]
    asked = "ngram_accuracy:starts=paper,ngram_accuracy:n=1:starts=paper,ngram_accuracy:n=2:starts=paper:stride=16"
    forced = score_samples(samples, plan(requests(asked), {"target": small})).values
    assert [column.tolist() for column in written.values()] == [column.tolist() for column in forced.values()]
    assert any(0 < share < 1 for column in forced.values() for share in column)


def test_starts_are_lexemes_where_the_model_shows_no_tokens():
    (found,) = cut_texts(StartsCut(5, 512), [PYTHON], Writer())
    assert len(found) == 5
    assert all(PYTHON.startswith(piece.question.prompt + piece.truth) for piece in found)
    assert values(Writer(PYTHON), [PYTHON], "ngram_generation").values["ngram_generation"][0] == 1


def test_variants_are_those_of_the_gray_box_scores():
    model = Writer()
    values(model, [PYTHON], "sr_black:n=2")
    texts = [PYTHON, *rewritten(Sample("a", PYTHON), 2).texts]
    assert set(model.asked) == {text[: suffix_start(text, LINES)] for text in texts}


def test_questions_that_go_on_from_one_another_are_put_together():
    """What a text's starts share is read once only within one call."""
    starts = [Question("x" * (i + 1), 5) for i in range(asking.CHUNK + 3)]
    other = Question("y", 5)
    assert list(map(len, asking._chunks([*starts, other]))) == [len(starts), 1]
    assert list(map(len, asking._chunks([other, *starts]))) == [len(starts) + 1]
    tokens = [Question(tuple(range(i)), 5) for i in range(1, asking.CHUNK + 2)]
    assert list(map(len, asking._chunks(tokens))) == [len(tokens)]
