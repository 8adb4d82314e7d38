"""What the text, id, group and language of a sample are, benchmark by benchmark, on rows like the official ones."""

import json

import pytest

from assay import load
from assay.datasets import DataSelection
from assay.errors import DataError
from assay_lab.bugs.pairs import read_pairs

HUMANEVAL = {"task_id": "HumanEval/3", "prompt": "def f():\n", "canonical_solution": "    pass\n", "entry_point": "f",
             "test": "def check(f): ..."}  # fmt: skip


def translated(task: str, **more: str) -> dict[str, str]:
    return {"task_id": task, "prompt": "p;", "canonical_solution": "s;", "buggy_solution": "b;", **more}


MBPP = {"task_id": 11, "text": "Write f.", "code": "def f():\r\n  pass", "test_list": ["assert f() is None"]}
SANITIZED = {"task_id": 602, "prompt": "Write f.", "code": "f = 1", "test_list": []}
BIG = {"task_id": "BigCodeBench/0", "complete_prompt": "def f():\n", "instruct_prompt": "Do it.",
       "canonical_solution": "    pass", "test": "t", "entry_point": "f"}  # fmt: skip
APPS = {"problem_id": 7, "question": "Q?", "solutions": json.dumps(["one", "two"]), "input_output": "{}",
        "starter_code": "", "difficulty": "interview"}  # fmt: skip


@pytest.mark.parametrize(
    ("part", "text"),
    [(None, "def f():\n    pass\n"), ("full", "def f():\n    pass\n"), ("prompt", "def f():\n"),
     ("solution", "    pass\n")],
)  # fmt: skip
def test_a_humaneval_text_is_prompt_and_solution_or_one_of_them(part, text, jsonl):
    sample = load("humaneval", data=jsonl([HUMANEVAL]), part=part).samples[0]
    assert (sample.id, sample.text, sample.language, sample.group) == (
        "HumanEval/3", text, "python", "HumanEval/3",
    )  # fmt: skip


def test_what_later_work_needs_to_run_tests_stays_in_the_metadata(jsonl):
    metadata = load("humaneval", data=jsonl([HUMANEVAL])).samples[0].metadata
    assert {"prompt", "canonical_solution", "entry_point", "test"} <= metadata.keys()


@pytest.mark.parametrize("name", ["humanevalpack", "humaneval-x"])
def test_one_task_in_several_languages_is_one_group(name, jsonl):
    path = jsonl([translated("Python/4"), translated("CPP/4"), translated("JavaScript/4")])
    samples = load(name, data=path).samples
    assert [sample.language for sample in samples] == ["python", "cpp", "javascript"]
    assert {sample.group for sample in samples} == {"HumanEval/4"}


@pytest.mark.parametrize("asked", ["js", "JavaScript"])
def test_a_language_can_be_picked_by_any_of_its_names(asked, jsonl):
    path = jsonl([translated("Python/4"), translated("JavaScript/4")])
    assert [sample.id for sample in load("humaneval-x", data=path, language=asked).samples] == ["JavaScript/4"]


def test_all_languages_is_what_all_means(jsonl):
    path = jsonl([translated("Python/4"), translated("Go/4")])
    assert len(load("humaneval-x", data=path, language="all")) == 2


def test_a_language_that_is_not_there_is_answered_with_those_that_are(jsonl):
    with pytest.raises(DataError, match=r"no sample of go; found python \(no split\)"):
        load("humaneval-x", data=jsonl([translated("Python/4")]), language="go")


def test_humanevalpack_has_the_buggy_text_too(jsonl):
    assert load("humanevalpack", data=jsonl([translated("Go/1")]), part="buggy").samples[0].text == "p;b;"


def test_an_mbpp_text_is_description_and_code_with_its_line_ends(jsonl):
    sample = load("mbpp", data=jsonl([MBPP])).samples[0]
    assert (sample.id, sample.text) == ("MBPP/11", "Write f.\ndef f():\r\n  pass")
    assert sample.metadata["subset"] == "full"


def test_the_published_mbpp_prompt_has_tests_and_markers(jsonl):
    text = load("mbpp", data=jsonl([MBPP]), part="published").samples[0].text
    assert text.startswith("You are an expert Python programmer, and here is your task: Write f. Your code")
    assert "\n\nassert f() is None\n[BEGIN]\ndef f():" in text
    assert text.endswith("\n[DONE]")


def test_the_sanitized_mbpp_is_known_by_its_columns(jsonl):
    assert load("mbpp", data=jsonl([SANITIZED])).samples[0].metadata["subset"] == "sanitized"
    with pytest.raises(DataError, match=r"received the sanitized MBPP, expected the full one"):
        load("mbpp", data=jsonl([SANITIZED]), subset="full")


def test_mbpp_splits_follow_the_task_id(jsonl):
    rows = [{**MBPP, "task_id": k} for k in (10, 11, 510, 511, 601)]
    assert [s.id for s in load("mbpp", data=jsonl(rows), split="test").samples] == ["MBPP/11", "MBPP/510"]


def test_a_split_that_is_not_there_is_answered_with_those_that_are(jsonl):
    with pytest.raises(DataError, match=r"no sample of split dev; found python \(split test\)"):
        load("mbpp", data=jsonl([MBPP]), split="dev")


def test_bigcodebench_variants_differ_in_their_prompt(jsonl):
    path = jsonl([BIG])
    assert load("bigcodebench", data=path).samples[0].text == "def f():\n    pass"
    assert load("bigcodebench", data=path, subset="instruct").samples[0].text == "Do it.\n    pass"
    assert load("bigcodebench", data=path, subset="instruct", part="prompt").samples[0].text == "Do it."


def test_an_apps_text_is_the_question_and_its_first_solution(jsonl):
    sample = load("apps", data=jsonl([APPS])).samples[0]
    assert (sample.id, sample.text, sample.metadata["solutions"]) == ("7", "Q?\none", 2)


def test_apps_can_give_every_solution_in_one_group(jsonl):
    samples = load("apps", data=jsonl([APPS]), subset="all", part="solution").samples
    assert [(sample.id, sample.text, sample.group) for sample in samples] == [("7/0", "one", "7"), ("7/1", "two", "7")]


def test_an_apps_problem_without_solution_is_its_question_and_counted(jsonl):
    dataset = load("apps", data=jsonl([{**APPS, "solutions": ""}]))
    assert dataset.samples[0].text == "Q?"
    assert dataset.notes == ("1 sample has no solution: the text is the prompt alone",)


@pytest.mark.parametrize("solutions", ["[", '{"a": 1}', "[1]"])
def test_solutions_that_are_no_list_of_programs_are_refused(solutions, jsonl):
    with pytest.raises(DataError, match=r"row 1: 'solutions' .* expected a list of programs"):
        load("apps", data=jsonl([{**APPS, "solutions": solutions}]))


def test_the_split_in_the_name_of_an_apps_file_is_in_its_ids(jsonl):
    assert load("apps", data=jsonl([APPS], "train.jsonl")).samples[0].id == "train/0007"


def test_the_apps_folders_give_the_ids_that_the_hub_file_gives(tmp_path):
    folder = tmp_path / "APPS" / "train" / "0007"
    folder.mkdir(parents=True)
    (folder / "question.txt").write_text("Q?", encoding="utf-8")
    (folder / "solutions.json").write_text('["one"]', encoding="utf-8")
    (folder / "metadata.json").write_text('{"difficulty": "interview", "url": "u"}', encoding="utf-8")
    sample = load("apps", data=tmp_path).samples[0]
    assert (sample.id, sample.text, sample.metadata["difficulty"]) == ("train/0007", "Q?\none", "interview")


def test_wikimia_has_labels_and_the_ids_of_its_length(jsonl):
    path = jsonl([{"input": "a", "label": 1}, {"input": "b", "label": 0}])
    dataset = load("wikimia", data=path, subset="128")
    assert [(s.id, s.label) for s in dataset.samples] == [
        ("WikiMIA_length128/0", "member"), ("WikiMIA_length128/1", "nonmember"),
    ]  # fmt: skip


def test_of_several_wikimia_files_the_length_asked_for_is_read(jsonl):
    folder = jsonl([{"input": "short", "label": 1}], "WikiMIA_length32.jsonl").parent
    jsonl([{"input": "long", "label": 1}], "WikiMIA_length64.jsonl")
    assert load("wikimia", data=folder, subset="32").samples[0].text == "short"
    assert load("wikimia", data=folder).samples[0].text == "long"


def test_snippets_of_one_book_are_one_group(jsonl):
    rows = [{"book_id": 4, "book": "Emma", "snippet_id": k, "snippet": "s", "label": 1} for k in (0, 1)]
    samples = load("bookmia", data=jsonl(rows)).samples
    assert [(sample.id, sample.group) for sample in samples] == [("4/0", "Emma"), ("4/1", "Emma")]


def test_an_arxivtection_text_is_the_verbatim_passage(written):
    path = written(b"\xef\xbb\xbfExample_A,Example_B,Answer,ID,Label\nreal,other,A,Paper,1\n", "arXivTection.csv")
    sample = load("arxivtection", data=path).samples[0]
    assert (sample.text, sample.group, sample.label) == ("real", "Paper", "member")


PATCH = "--- a/src/A.java\n+++ b/src/A.java\n@@ -1,3 +1,3 @@\n before\n-minus\n+plus\n after\n"


def test_defects4j_patches_run_from_fixed_to_buggy(written):
    folder = "framework/projects/Lang"
    root = written(PATCH.encode(), f"{folder}/patches/1.src.patch").parents[4]
    written(b"bug.id,report.id\n1,LANG-747\n", f"{folder}/active-bugs.csv")
    written(b"org.A\norg.B\n", f"{folder}/modified_classes/1.src")
    sample = load("defects4j", data=root).samples[0]
    assert (sample.id, sample.group, sample.language) == ("Lang-1", "Lang", "java")
    assert sample.text == "before\nminus\nafter\n"
    assert sample.metadata["direction"] == "fixed→buggy"
    assert (sample.metadata["report_id"], sample.metadata["modified_classes"]) == ("LANG-747", ["org.A", "org.B"])


def test_bugscpp_patches_run_from_fixed_to_buggy(written):
    root = written(PATCH.replace(".java", ".c").encode(), "taxonomy/md4c/patch/0002-buggy.patch").parents[3]
    written(
        json.dumps({"info": {"url": "u"}, "defects": [{"id": 2, "tags": ["cve"]}]}).encode(), "taxonomy/md4c/meta.json"
    )
    written(b"", "taxonomy/md4c/patch/all-buggy.patch")
    (sample,) = load("bugscpp", data=root).samples
    assert (sample.id, sample.group, sample.language) == ("md4c-2", "md4c", "c")
    assert sample.text == "before\nminus\nafter\n"
    assert sample.metadata["tags"] == ["cve"]


def test_bugsinpy_patches_run_from_buggy_to_fixed(written):
    root = written(PATCH.replace(".java", ".py").encode(), "projects/black/bugs/1/bug_patch.txt").parents[4]
    written(b'fixed_commit_id="c0a7"\ntest_file="tests/t.py"', "projects/black/bugs/1/bug.info")
    sample = load("bugsinpy", data=root).samples[0]
    assert (sample.id, sample.group, sample.language) == ("black-1", "black", "python")
    assert sample.text == "before\nplus\nafter\n"
    assert sample.metadata["fixed_commit_id"] == "c0a7"


def test_gitbug_java_patches_run_from_buggy_to_fixed_and_the_logs_are_left_out(jsonl):
    row = {"repository": "iipc/jwarc", "commit_hash": "e00ce46c1e36d68ccec5", "bug_patch": PATCH, "actions_runs": [[1]]}
    folder = jsonl([row], "data/bugs/iipc-jwarc.json").parents[2]
    sample = load("gitbug-java", data=folder).samples[0]
    assert (sample.id, sample.group) == ("iipc-jwarc-e00ce46c1e36", "iipc/jwarc")
    assert sample.text == "before\nplus\nafter\n"
    assert "actions_runs" not in sample.metadata


def test_swe_bench_patches_run_from_buggy_to_fixed(jsonl):
    row = {"instance_id": "psf__requests-1", "repo": "psf/requests", "patch": PATCH, "problem_statement": "It fails."}
    sample = load("swe-bench-lite", data=jsonl([row])).samples[0]
    assert (sample.id, sample.group) == ("psf__requests-1", "psf/requests")
    assert sample.text == "before\nplus\nafter\n"
    assert sample.metadata["problem_statement"] == "It fails."


@pytest.mark.parametrize(("part", "text"), [("fix", "plus\n"), ("buggy", "before\nminus\nafter\n")])
def test_a_bug_can_be_its_fix_lines_or_its_buggy_side(part, text, jsonl):
    row = {"instance_id": "i", "repo": "r", "patch": PATCH}
    assert load("swe-bench-lite", data=jsonl([row]), part=part).samples[0].text == text


def test_a_patch_that_is_not_utf8_is_read_and_noted(written):
    patch = PATCH.replace("plus", "pl\xfcs").encode("latin-1")
    root = written(patch, "projects/black/bugs/1/bug_patch.txt").parents[4]
    dataset = load("bugsinpy", data=root)
    assert "pl\xfcs" in dataset.samples[0].text
    assert dataset.notes == ("bugs/1/bug_patch.txt: not UTF-8, read as Latin-1",)


def test_quixbugs_pairs_lose_the_package_line_that_names_the_side(written):
    written(b"package java_programs;\nclass GCD { bug }\n", "java_programs/GCD.java")
    written(b"package correct_java_programs;\nclass GCD { fix }\n", "correct_java_programs/GCD.java")
    written(b"def gcd(): bug\n", "python_programs/gcd.py")
    written(b"def gcd(): fix\n", "correct_python_programs/gcd.py")
    root = written(b"def test_gcd(): ...\n", "python_programs/gcd_test.py").parents[1]
    pairs = read_pairs("quixbugs", DataSelection(data=root)).pairs
    assert [(pair.id, pair.fixed.text, pair.buggy.text) for pair in pairs] == [
        ("java_programs/GCD.java", "class GCD { fix }\n", "class GCD { bug }\n"),
        ("python_programs/gcd.py", "def gcd(): fix\n", "def gcd(): bug\n"),
    ]
    assert {pair.fixed.group for pair in pairs} == {"gcd"}
    assert [pair.fixed.language for pair in pairs] == ["java", "python"]


def test_humaneval_java_pairs_come_from_two_folders(written):
    written(b"package humaneval.correct;\n\nclass ADD { fix }\n", "humaneval/correct/ADD.java")
    root = written(b"package humaneval.buggy;\n\nclass ADD { bug }\n", "humaneval/buggy/ADD.java").parents[2]
    (pair,) = read_pairs("humaneval-java", DataSelection(data=root)).pairs
    assert (pair.id, pair.fixed.text, pair.buggy.text) == ("ADD", "\nclass ADD { fix }\n", "\nclass ADD { bug }\n")


def test_debugbench_files_name_language_and_kind(written):
    row = {"slug": "two-sum", "oracle_code": "fix", "buggy_code": "bug", "level": "easy"}
    root = written(json.dumps([row, row]).encode(), "benchmark/python3_missing colons.json").parents[1]
    pairs = read_pairs("debugbench", DataSelection(data=root)).pairs
    assert [pair.id for pair in pairs] == ["python3_missing colons#0", "python3_missing colons#1"]
    sample = pairs[0].fixed
    assert (sample.text, pairs[0].buggy.text, sample.group, sample.language) == ("fix", "bug", "two-sum", "python")
    assert sample.metadata["subtype"] == "missing colons"


def test_every_bug_benchmark_gives_pairs_of_the_same_bugs(jsonl):
    row = {"instance_id": "i", "repo": "r", "patch": PATCH}
    pair = read_pairs("swe-bench-verified", DataSelection(data=jsonl([row]))).pairs[0]
    assert (pair.fixed.text, pair.buggy.text) == ("before\nplus\nafter\n", "before\nminus\nafter\n")
    assert pair.fixed.id == pair.buggy.id == pair.id == "i"


def test_a_table_with_both_columns_gives_pairs(jsonl):
    path = jsonl([{"id": "b", "fixed": "two", "buggy": "one", "language": "c"}])
    pair = read_pairs(path).pairs[0]
    assert (pair.id, pair.fixed.text, pair.buggy.text, pair.fixed.language) == ("b", "two", "one", "c")


def test_a_benchmark_without_bugs_is_refused_by_name(jsonl):
    with pytest.raises(DataError, match="humaneval has no buggy side; expected a bug benchmark"):
        read_pairs("humaneval", DataSelection(data=jsonl([{"task_id": "a", "prompt": "", "canonical_solution": "x"}])))
