"""A table becomes samples through a column mapping, and nothing in it is guessed silently."""

import pytest

from assay import load
from assay.datasets import DataSelection, read_datasets
from assay.errors import DataError, SettingError


@pytest.mark.parametrize(
    "column", ["text", "code", "content", "snippet", "input", "func", "solution", "Text", "canonical_solution"]
)
def test_the_usual_text_columns_are_found(column, jsonl):
    assert load(jsonl([{column: "x = 1", "other": 2}])).samples[0].text == "x = 1"


def test_an_unknown_table_lists_the_columns_that_it_has(jsonl):
    with pytest.raises(DataError, match=r"no text column; found the columns alpha, beta"):
        load(jsonl([{"alpha": "a", "beta": "b"}]))


@pytest.mark.parametrize("option", ["text", "id", "label", "group"])
def test_a_column_that_is_not_there_is_named_with_those_that_are(option, jsonl):
    with pytest.raises(DataError, match=f"no {option} column 'x'; found the columns id, text"):
        load(jsonl([{"id": "a", "text": "t"}]), **{option: "x"})


def test_text_columns_can_be_joined(jsonl):
    path = jsonl([{"prompt": "def f():\n", "body": "  pass\n"}])
    assert load(path, text="prompt+body").samples[0].text == "def f():\n  pass\n"


@pytest.mark.parametrize("solution", ["    return 1\n", "def f():\n    return 1\n"])
def test_a_task_is_one_text_as_a_table_and_as_a_benchmark_whether_its_solution_repeats_the_prompt_or_not(
    jsonl, solution
):
    path = jsonl([{"task_id": "HumanEval/0", "prompt": "def f():\n", "canonical_solution": solution}])
    table, benchmark = load(path), load("humaneval", data=path)
    assert table.samples[0].text == benchmark.samples[0].text == "def f():\n    return 1\n"
    assert table.samples[0].metadata["canonical_solution"] == solution
    assert "'prompt' + 'canonical_solution'" in table.notes[0]


def test_a_solution_without_its_prompt_is_noted(jsonl):
    (note,) = load(jsonl([{"canonical_solution": "    pass\n"}])).notes
    assert "without its prompt" in note


def test_a_column_called_with_a_plus_is_that_column(jsonl):
    assert load(jsonl([{"a+b": "whole", "a": "x", "b": "y"}]), text="a+b").samples[0].text == "whole"


def test_columns_that_are_not_mapped_stay_in_the_metadata(jsonl):
    sample = load(jsonl([{"id": 7, "text": "t", "tests": ["assert f()"]}])).samples[0]
    assert sample.id == "7"
    assert sample.metadata == {"tests": ["assert f()"]}


def test_rows_without_an_id_column_are_numbered(jsonl):
    assert [sample.id for sample in load(jsonl([{"text": "a"}, {"text": "b"}])).samples] == ["rows/0", "rows/1"]


def test_ids_that_occur_twice_are_refused_with_the_way_out(jsonl):
    path = jsonl([{"task_id": "t", "text": "a"}, {"task_id": "t", "text": "b"}])
    with pytest.raises(DataError, match=r"1 ids occur more than once \(the first: 't'\).*'row' to number"):
        load(path)
    assert [sample.id for sample in load(path, id="row").samples] == ["rows/0", "rows/1"]


@pytest.mark.parametrize("value", [None, "", [1]])
def test_a_row_without_an_id_is_refused(value, jsonl):
    with pytest.raises(DataError, match=r"row 2: 'id' holds"):
        load(jsonl([{"id": 1, "text": "a"}, {"id": value, "text": "b"}]))


@pytest.mark.parametrize("value", [3, 2.5, ["a"], {"a": 1}, True])
def test_a_text_that_is_no_string_is_refused(value, jsonl):
    with pytest.raises(DataError, match=r"row 2: 'text' holds .* expected text"):
        load(jsonl([{"text": "a"}, {"text": value}]))


def test_a_row_without_its_text_stays_a_sample_and_is_counted(jsonl):
    dataset = load(jsonl([{"text": "a", "n": 1}, {"text": None, "n": 2}, {"n": 3}]))
    assert [sample.text for sample in dataset.samples] == ["a", "", ""]
    assert "2 records have no 'text': kept with an empty text" in dataset.notes


def test_an_empty_text_stays_a_sample(jsonl):
    dataset = load(jsonl([{"text": "a"}, {"text": ""}]))
    assert len(dataset) == 2
    assert dataset.notes == ("1 sample has an empty text: no score can judge it",)


@pytest.mark.parametrize(
    ("yes", "no"),
    [(1, 0), ("1", "0"), (1.0, 0.0), (True, False), ("true", "False"), ("member", "nonmember"),
     ("Member", "non-member"), ("seen", "unseen")],
)  # fmt: skip
def test_membership_is_understood_however_it_is_written(yes, no, jsonl):
    dataset = load(jsonl([{"text": "a", "y": yes}, {"text": "b", "y": no}, {"text": "c", "y": None}]), label="y")
    assert [sample.label for sample in dataset.samples] == ["member", "nonmember", None]
    assert dataset.labelled


def test_labels_of_no_known_meaning_are_listed(jsonl):
    path = jsonl([{"text": "a", "y": "human"}, {"text": "b", "y": "gpt"}, {"text": "c", "y": 2}])
    with pytest.raises(DataError, match=r"'human', 'gpt', 2; expected membership"):
        load(path, label="y")


def test_names_of_generators_are_kept_when_asked(jsonl):
    path = jsonl([{"text": "a", "y": "human"}, {"text": "b", "y": "gpt"}])
    assert [sample.label for sample in load(path, label="y", labels="as-is").samples] == ["human", "gpt"]


def test_a_column_that_says_membership_in_its_name_is_read(jsonl):
    assert load(jsonl([{"text": "a", "is_member": 1}])).members


def test_a_label_column_in_plain_words_is_read(jsonl):
    assert load(jsonl([{"text": "a", "label": "member"}, {"text": "b", "label": "unseen"}])).labelled


def test_zero_and_one_in_a_column_called_label_are_not_taken_for_membership(jsonl):
    """In authorship data they mean person and model."""
    path = jsonl([{"text": "a", "label": 1}, {"text": "b", "label": 0}])
    unread = load(path)
    assert [sample.label for sample in unread.samples] == [None, None]
    assert "'label' (1, 0) is not read" in unread.notes[0]
    assert unread.samples[0].metadata == {"label": 1}
    assert load(path, label="label").labelled


@pytest.mark.parametrize("value", [7, [1], "often"])
def test_a_column_that_only_sounds_like_membership_is_left_alone(value, jsonl):
    dataset = load(jsonl([{"text": "a", "seen": value}]))
    assert dataset.samples[0].label is None
    assert "'seen'" in dataset.notes[0]


def test_a_missing_text_written_as_nan_is_a_missing_text(written):
    dataset = load(written(b'{"text": "a"}\n{"text": NaN}\n'))
    assert dataset.notes[0] == "1 record has no 'text': kept with an empty text"


def test_groups_come_from_their_column(jsonl):
    path = jsonl([{"text": "a", "repo": "x"}, {"text": "b", "repo": None}])
    assert [sample.group for sample in load(path, group="repo").samples] == ["x", None]


def test_a_language_is_a_column_or_one_for_all(jsonl):
    path = jsonl([{"text": "a", "dialect": "C++"}, {"text": "b", "dialect": "JS"}])
    assert [sample.language for sample in load(path, language="dialect").samples] == ["cpp", "javascript"]
    assert [sample.language for sample in load(path, language="python").samples] == ["python", "python"]


def test_limit_takes_the_first_samples(jsonl):
    assert [sample.text for sample in load(jsonl([{"text": t} for t in "abc"]), limit=2).samples] == ["a", "b"]


def test_limit_does_not_read_on(written):
    assert len(load(written(b'{"text": "a"}\n{"text": "b"}\n{broken\n'), limit=1)) == 1


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_refused(limit, jsonl):
    with pytest.raises(SettingError, match=r"expected at least 1"):
        load(jsonl([{"text": "a"}]), limit=limit)


def test_a_split_is_the_rows_that_say_so(jsonl):
    path = jsonl([{"text": "a", "split": "train"}, {"text": "b", "split": "test"}])
    assert [sample.text for sample in load(path, split="test").samples] == ["b"]
    with pytest.raises(DataError, match=r"no row of split 'dev'; the column 'split' holds train, test"):
        load(path, split="dev")


def test_of_two_sets_of_one_table_each_has_its_own_notes(jsonl):
    path = jsonl([{"code": f"x{at}", "other": "y" * at, "repo": f"r{at // 2}"} for at in range(8)])
    first, second = read_datasets(path, [DataSelection(text="code"), DataSelection(text="other")])
    assert [len(first.notes), "groups were taken" in first.notes[0]] == [1, True]
    assert second.notes == (*first.notes, "1 sample has an empty text: no score can judge it")


def test_a_statement_without_its_code_is_noted_with_the_way_to_both(jsonl):
    row = {"text": "Add.", "code": "x = 1"}
    (note,) = load(jsonl([row])).notes
    assert "'text', without 'code'; --columns text=text+code takes both" in note
    assert load(jsonl([row]), text="text").notes == ()


@pytest.mark.parametrize(
    ("harness", "row"),
    [
        ("EvalPlus", {"date": "2025-01-01", "hash": "0", "eval": {}}),
        ("inspect", {"status": "success", "eval": {}, "samples": []}),
        ("lm-eval", {"doc_id": 0, "doc": {}, "resps": []}),
    ],
)
def test_a_log_of_an_evaluation_is_named_in_place_of_the_benchmark(harness, row, jsonl):
    with pytest.raises(DataError, match=f"received a log of {harness}, expected the benchmark"):
        load(jsonl([row]))


def test_labels_that_no_option_could_read_are_noted_with_those_that_one_can(jsonl):
    (note,) = load(jsonl([{"text": "a", "member": "yes"}, {"text": "b", "member": "no"}])).notes
    assert "'member' (yes, no) is not read" in note
    assert "expected 1/0, true/false, member/nonmember or seen/unseen" in note


@pytest.mark.parametrize("statement", ["text", "prompt"])
def test_a_task_of_mbpp_is_one_text_as_a_table_and_as_a_benchmark(statement, jsonl):
    path = jsonl([{"task_id": 11, statement: "Add one.", "code": "def f(x):\n    return x + 1", "test_list": []}])
    table, benchmark = load(path), load("mbpp", data=path)
    assert table.samples[0].text == benchmark.samples[0].text == "Add one.\ndef f(x):\n    return x + 1"
    assert table.samples[0].metadata["code"] == "def f(x):\n    return x + 1"
    assert f"'{statement}' + 'code'" in table.notes[0]
