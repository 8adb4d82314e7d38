"""A benchmark is found in a file, in a folder at any depth, or refused with the exact thing that is wanted."""

import re

import pytest

from assay import load
from assay.datasets import benchmark, list_benchmarks
from assay.errors import DataError, UnknownBenchmark

ROW = {"task_id": "HumanEval/0", "prompt": "def f():\n", "canonical_solution": "    pass\n"}


def test_the_official_file_is_found_below_a_folder(jsonl):
    root = jsonl([ROW], "human-eval/data/HumanEval.jsonl").parents[2]
    jsonl([{"unrelated": 1}], "human-eval/data/example_samples.jsonl")
    assert len(load("humaneval", data=root)) == 1


def test_a_folder_without_the_official_name_gives_its_data_files(jsonl):
    assert len(load("humaneval", data=jsonl([ROW], "snapshot/data/test-00000-of-00001.jsonl").parents[1])) == 1


def test_a_folder_with_shards_of_several_splits_says_which_were_taken(jsonl):
    root = jsonl([ROW], "snapshot/data/train-00000-of-00001.jsonl").parents[1]
    jsonl([{**ROW, "task_id": "HumanEval/1"}], "snapshot/data/test-00000-of-00001.jsonl")
    both, test = load("humaneval", data=root), load("humaneval", data=root, split="test")
    assert (len(both), len(test)) == (2, 1)
    assert "splits train, test, and all were taken; --split takes one" in both.notes[0]
    assert not test.notes


def test_a_table_in_shards_of_several_splits_says_which_were_taken_and_gives_one(jsonl):
    root = jsonl([{"id": "a", "text": "x = 1"}], "own/data/train-0000.jsonl").parents[1]
    jsonl([{"id": "b", "text": "y = 2"}], "own/data/test-0000.jsonl")
    (root / "README.md").write_text("---\nconfigs: []\n---\n", "utf-8")
    both, first, test = (load(root, **how) for how in ({}, {"limit": 1}, {"split": "test"}))
    for dataset in (both, first):
        assert "splits train, test, and all were taken; --split takes one" in dataset.notes[0]
    assert [sample.id for sample in both.samples] == ["b", "a"]
    assert [sample.id for sample in test.samples] == ["b"]
    assert not test.notes


def test_a_partial_file_is_as_good_as_a_whole_one(jsonl):
    assert len(load("humaneval", data=jsonl([ROW]))) == 1


def test_a_folder_without_any_data_is_refused_with_the_files_that_are_wanted(tmp_path):
    with pytest.raises(DataError, match=r"expected HumanEval\.jsonl\.gz or HumanEval\.jsonl"):
        load("humaneval", data=tmp_path)


@pytest.mark.parametrize("name", ["defects4j", "bugscpp", "bugsinpy"])
def test_an_empty_checkout_is_refused(name, tmp_path):
    with pytest.raises(DataError, match=re.escape(benchmark(name).files[0])):
        load(name, data=tmp_path)


def test_a_path_that_is_missing_is_refused(tmp_path):
    with pytest.raises(DataError, match="No such file"):
        load("humaneval", data=tmp_path / "absent")


def test_another_file_is_refused_with_the_columns_found_and_wanted(jsonl):
    path = jsonl([{"code": "x", "label": 1}])
    with pytest.raises(DataError, match=r"row 1 has no task_id, .*columns of HumanEval \(task_id, .*found code, label"):
        load("humaneval", data=path)


def test_a_row_that_lacks_a_column_is_named(jsonl):
    with pytest.raises(DataError, match="row 2 has no prompt"):
        load("humaneval", data=jsonl([ROW, {**ROW, "prompt": None}]))


def test_a_field_that_is_no_text_is_named(jsonl):
    with pytest.raises(DataError, match="row 1: 'prompt' holds int '3', expected text"):
        load("humaneval", data=jsonl([{**ROW, "prompt": 3}]))


def test_tasks_that_stand_twice_are_refused(jsonl):
    with pytest.raises(DataError, match="the first: 'HumanEval/0'"):
        load("humaneval", data=jsonl([ROW, ROW]))


def test_an_unknown_label_of_a_labelled_set_is_refused(jsonl):
    with pytest.raises(DataError, match="row 1: the column 'label' holds 'maybe'; expected membership"):
        load("wikimia", data=jsonl([{"input": "a", "label": "maybe"}]))


def test_files_of_the_split_are_picked_by_name(jsonl):
    root = jsonl([ROW], "data/test-00000.jsonl").parents[1]
    jsonl([{**ROW, "task_id": "HumanEval/1"}], "data/train-00000.jsonl")
    assert [sample.id for sample in load("humaneval", data=root, split="test").samples] == ["HumanEval/0"]
    assert len(load("humaneval", data=root)) == 2


def test_limit_takes_the_first_samples_of_a_benchmark(jsonl):
    rows = [{**ROW, "task_id": f"HumanEval/{k}"} for k in range(5)]
    assert [sample.id for sample in load("humaneval", data=jsonl(rows), limit=2).samples] == [
        "HumanEval/0",
        "HumanEval/1",
    ]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"part": "tail"}, "expected full or prompt or solution"),
        ({"subset": "full"}, "expected none"),
        ({"language": "java"}, "expected python"),
    ],
)
def test_an_option_that_the_benchmark_lacks_is_answered_with_what_it_has(options, expected, jsonl):
    with pytest.raises(DataError, match=expected):
        load("humaneval", data=jsonl([ROW]), **options)


@pytest.mark.parametrize("option", ["text", "id", "label", "group"])
def test_a_benchmark_takes_no_column_mapping(option, jsonl):
    with pytest.raises(DataError, match=f"received {option} 'x', but a benchmark has its own columns"):
        load("humaneval", data=jsonl([ROW]), **{option: "x"})


@pytest.mark.parametrize("option", ["subset", "part"])
def test_a_table_takes_no_option_of_benchmarks(option, jsonl):
    with pytest.raises(DataError, match="only a benchmark has it"):
        load(str(jsonl([ROW])), **{option: "x"})


def test_the_name_of_a_benchmark_has_no_case(jsonl):
    assert load("HumanEval", data=jsonl([ROW])).name == "humaneval"


def test_a_name_that_is_nearly_right_is_answered_with_the_right_one():
    with pytest.raises(UnknownBenchmark, match="did you mean humaneval"):
        load("humanevl")


def test_a_name_that_is_nothing_is_answered_with_all_of_them(jsonl):
    with pytest.raises(UnknownBenchmark, match="expected one of humaneval, mbpp, apps"):
        load("zzzz", data=jsonl([ROW]))


def test_a_file_called_like_a_benchmark_is_read_by_its_path(jsonl, monkeypatch):
    monkeypatch.chdir(jsonl([{"text": "mine"}], "humaneval").parent)
    assert load("./humaneval").samples[0].text == "mine"


def test_the_source_says_where_the_samples_are_from(jsonl):
    path = jsonl([ROW])
    assert load("humaneval", data=path).source == str(path)


@pytest.mark.parametrize("info", list_benchmarks(), ids=lambda info: info.name)
def test_every_entry_says_what_a_reader_must_know(info):
    assert benchmark(info.name.upper()) is info
    for words in (info.title, info.paper, info.url, info.licence, info.text, info.group):
        assert words
    assert "full" in info.parts
    assert info.files
    assert info.default_subset is None or info.default_subset in info.subsets


def test_names_are_unique():
    names = [info.name for info in list_benchmarks()]
    assert len(set(names)) == len(names)
