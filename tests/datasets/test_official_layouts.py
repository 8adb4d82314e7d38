"""Every real benchmark that lies beside the repository loads as it was published."""

import pytest

from assay import load
from assay.types import MEMBER, NONMEMBER

LAYOUTS = [
    ("humaneval", "humaneval", {}, 164),
    ("humaneval", "humaneval/HumanEval.jsonl.gz", {}, 164),
    ("mbpp", "mbpp", {}, 490),
    ("mbpp", "mbpp", {"split": "test"}, 290),
    ("mbpp", "mbpp", {"subset": "sanitized"}, 250),
    ("mbpp", "mbpp/sanitized-mbpp.json", {}, 250),
    ("apps", "apps/APPS", {}, 3),
    ("apps", "apps/hf_save_to_disk/introductory", {}, 50),
    ("bigcodebench", "bigcodebench", {}, 570),
    ("bigcodebench", "bigcodebench", {"subset": "instruct"}, 570),
    ("humanevalpack", "humanevalpack", {}, 492),
    ("humanevalpack", "humanevalpack", {"language": "java"}, 164),
    ("humaneval-x", "humaneval-x", {}, 820),
    ("humaneval-x", "humaneval-x", {"language": "js"}, 164),
    ("humaneval-x", "humaneval-x/go/data/humaneval_go.jsonl.gz", {}, 164),
    ("arxivtection", "arxivtection", {}, 761),
    ("bugscpp", "bugscpp", {}, 43),
    ("defects4j", "defects4j", {}, 272),
    ("gitbug-java", "gitbug-java", {}, 12),
    ("swe-bench-lite", "swe-bench-lite", {}, 57),
]


@pytest.mark.parametrize(("name", "path", "options", "count"), LAYOUTS, ids=lambda value: str(value).replace("/", "-"))
def test_an_official_layout_loads_whole_with_texts(name, path, options, count, shared_data):
    dataset = load(name, data=shared_data / path, **options)
    assert len(dataset) == count
    assert all(sample.text.strip() for sample in dataset.samples)


def test_bugsinpy_has_one_bug_whose_official_patch_is_empty(shared_data):
    dataset = load("bugsinpy", data=shared_data / "bugsinpy")
    assert len(dataset) == 128
    assert [sample.id for sample in dataset.samples if not sample.text] == ["keras-12"]
    assert "1 sample has an empty text: no score can judge it" in dataset.notes


def test_arxivtection_has_both_classes_in_26_papers(shared_data):
    dataset = load("arxivtection", data=shared_data / "arxivtection")
    assert (len(dataset.members), len(dataset.nonmembers)) == (380, 381)
    assert {sample.label for sample in dataset.samples} == {MEMBER, NONMEMBER}
    assert len({sample.group for sample in dataset.samples}) == 26


@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")  # escapes in their docstrings
def test_a_solution_in_python_compiles_from_prompt_and_solution(shared_data):
    """Prompt and canonical solution fit together without anything between them."""
    for name in ("humaneval", "bigcodebench"):
        for sample in load(name, data=shared_data / name).samples:
            compile(sample.text, sample.id, "exec", dont_inherit=True)


def test_the_defects4j_fix_of_lang_1_has_the_line_that_the_bug_lacks(shared_data):
    fixed = {sample.id: sample for sample in load("defects4j", data=shared_data / "defects4j").samples}["Lang-1"]
    assert "strip leading zeroes" in fixed.text
    assert "if (hexDigits > 16) {" not in fixed.text
    assert fixed.metadata["report_id"] == "LANG-747"


def test_the_bugsinpy_fix_of_black_1_has_the_line_that_the_bug_lacks(shared_data):
    fixed = {sample.id: sample for sample in load("bugsinpy", data=shared_data / "bugsinpy").samples}["black-1"]
    assert "except OSError:" in fixed.text


def test_a_defects4j_patch_in_latin1_is_read_and_noted(shared_data):
    assert (
        "Lang/patches/25.src.patch: not UTF-8, read as Latin-1"
        in load("defects4j", data=shared_data / "defects4j").notes
    )


@pytest.mark.parametrize(
    ("path", "options", "count"),
    [
        ("semeval2026-task13/task_a_trial.parquet", {"label": "generator", "labels": "as-is"}, 10_000),
        ("mimir-nih-exporter/nih_exporter_test_raw.jsonl.gz", {"text": "original"}, 1000),
        ("llm-generations-ldb/mbpp/codellama/seed.jsonl", {"text": "solution"}, 290),
        ("llm-generations-ldb/humaneval/starcoder/seed.jsonl", {"text": "solution"}, 164),
    ],
)
def test_other_tables_load_through_a_column_mapping(path, options, count, shared_data):
    dataset = load(shared_data / path, **options)
    assert len(dataset) == count
    assert all(sample.text for sample in dataset.samples)


def test_texts_that_deduplication_emptied_stay_samples(shared_data):
    dataset = load(shared_data / "mimir-nih-exporter" / "nih_exporter_test_raw.jsonl.gz")
    assert sum(not sample.text for sample in dataset.samples) == 647
    assert "647 samples have an empty text: no score can judge it" in dataset.notes


def test_languages_of_a_table_are_spelled_our_way(shared_data):
    samples = load(shared_data / "semeval2026-task13" / "task_a_trial.parquet").samples
    assert {sample.language for sample in samples} == {"python", "cpp", "java"}
