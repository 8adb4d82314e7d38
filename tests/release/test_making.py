"""Releases in every format: copies that behave the same, consistent over the row, and chosen by lot."""

import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from assay.datasets import DataSelection, ids_of, layout_of, read_dataset, scored_text
from assay.errors import DataError, SandboxUnavailable
from assay.release import ReleaseSettings, check_published, make, rotate, show_copies, twins, verify
from assay.release.clusters import clusters_of
from assay.release.drafting import drafted
from assay.release.naming import NameSources
from assay.release.secret_file import held_secret, read_secret, release_lines
from assay.release.secret_values import Publication
from release.conftest import ANYWHERE, KEY, WORDS, humaneval_row, written

MBPP = {
    "task_id": 7,
    "text": "Write a function `add_all` that adds numbers.",
    "code": "def add_all(first_values):\n    total_sum = 0\n    for item_x in first_values:\n"
    "        total_sum += item_x\n"
    "    return total_sum\n",
    "test_setup_code": "",
    "test_list": ["assert add_all([1, 2]) == 3", "assert add_all([]) == 0"],
    "challenge_test_list": [],
}
EVALPLUS = {
    "task_id": "HumanEval/2",
    "prompt": 'def halve_it(big_number):\n    """Halve."""\n',
    "entry_point": "halve_it",
    "canonical_solution": "    small_number = big_number / 2\n    return small_number\n",
    "contract": "\n    assert isinstance(big_number, float)\n",
    "base_input": [[4.0], [3.0]],
    "plus_input": [],
}
HUMANEVAL_X = {
    "task_id": "CPP/2",
    "prompt": "/*\nHalve a number.\n*/\n#include<assert.h>\nfloat halve_it(float big_number){\n",
    "canonical_solution": "    float small_number = big_number / 2;\n    return small_number;\n}\n",
    "declaration": "float halve_it(float big_number){\n",
    "test": "int main(){\n    assert(halve_it(4) == 2);\n}\n",
    "example_test": "int main(){\n    assert(halve_it(2) == 1);\n}\n",
}
BIGCODEBENCH = {
    "task_id": "BigCodeBench/1",
    "complete_prompt": "import math\nimport os\n\ndef task_func(wide_angle):\n"
    '    """Sine.\n\n    Args:\n    wide_angle (float): x\n    """\n',
    "instruct_prompt": "Write the sine. Begin with:\n```\ndef task_func(wide_angle):\n```",
    "canonical_solution": "    sine_value = math.sin(wide_angle)\n    return sine_value\n",
    "code_prompt": "import math\nimport os\n\ndef task_func(wide_angle):\n",
    "test": "import unittest\nclass TestCases(unittest.TestCase):\n    def test_zero(self):\n"
    "        self.assertEqual(task_func(0), 0)\n",
    "entry_point": "task_func",
    "libs": "['math']",
}
LIVECODEBENCH = {
    "question_id": "3",
    "question_content": "Given `height_list` and `width_list`, return the area.",
    "starter_code": "class Solution:\n    def area(self, height_list: int, width_list: int) -> int:\n        ",
    "metadata": '{"func_name": "area"}',
    "platform": "leetcode",
}
TABLE = {"id": "a", "content": "def add_all(first_values):\n    total_sum = sum(first_values)\n    return total_sum\n"}
FORMATS = {
    "humaneval": (humaneval_row(0, "apples"), "tests run", ("count_apples", "box_apples", "apples_found")),
    "mbpp": (MBPP, "tests run", ("add_all", "first_values", "total_sum")),
    "evalplus": (EVALPLUS, "tests run", ("halve_it", "big_number", "small_number")),
    "humaneval-x": (HUMANEVAL_X, None, ("halve_it", "big_number", "small_number")),
    "bigcodebench": (BIGCODEBENCH, "tests run", ("task_func", "wide_angle", "sine_value")),
    "livecodebench": (LIVECODEBENCH, "compiled", ("height_list", "width_list")),
    "table": (TABLE, "compiled", ("add_all", "first_values", "total_sum")),
}


@pytest.mark.program
@pytest.mark.parametrize("name", FORMATS)
def test_a_format_keeps_its_columns_and_changes_names_everywhere(name, tmp_path, request):
    if FORMATS[name][1] == "tests run":
        request.getfixturevalue("sandbox")
    row, level, names = FORMATS[name]
    made = make(written(tmp_path / "t.jsonl", [row]), tmp_path / "p.jsonl", tmp_path / "s.json", copies=6, **ANYWHERE)
    (task,) = made.secret.committed.tasks
    assert level is None or task.level == level
    (public,) = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert list(public) == list(row)
    text = json.dumps(public)
    for word in names:
        assert re.search(rf"\b{word}\b", json.dumps(row))
        assert not re.search(rf"(?<![a-z]){word}\b", text), word
    unchanged = {"task_id", "id", "question_id", "platform", "libs", "base_input"} & row.keys()
    assert all(public[column] == row[column] for column in unchanged)
    if "entry_point" in row:
        assert re.search(rf"\b{public['entry_point']}\(", public.get("prompt") or public["complete_prompt"])
    verify(tmp_path / "p.jsonl", tmp_path / "s.json")
    if name != "livecodebench":  # has no column that an audit reads by itself
        texts = [sample.text for sample in read_dataset(tmp_path / "p.jsonl").samples]
        check_published(tmp_path / "s.json", [f" {text}\r\n" for text in texts])
    if name in ("humaneval", "mbpp", "bigcodebench"):
        samples = read_dataset(name, DataSelection(data=str(tmp_path / "p.jsonl"))).samples
        check_published(tmp_path / "s.json", [sample.text for sample in samples])
    with pytest.raises(DataError, match="1 of 2 texts are not of the release"):
        check_published(tmp_path / "s.json", [scored_text(each, made.secret.layout) for each in (public, row)])


def test_all_copies_of_a_task_are_distinct_and_none_is_the_original(secret):
    for task in secret.committed.tasks:
        texts = [secret.scored(task, index, 0) for index in range(len(task.copies))]
        assert len(set(texts)) == len(texts) > 100
        assert task.row["prompt"] + task.row["canonical_solution"] not in texts


@pytest.mark.usefixtures("sandbox")  # another content is taken only where its tests were run
def test_the_content_has_a_lot_of_its_own(secret):
    assert Counter(len(task.contents) > 1 for task in secret.committed.tasks)[True] == len(WORDS)
    for task in secret.committed.tasks:
        shown = {secret.scored(task, 0, content) for content in range(len(task.contents))}
        assert len(shown) == len(task.contents)
    lots = {secret.content_lot(task.cluster, 1) for task in secret.committed.tasks}
    assert len(lots) > 1


@pytest.mark.slow
def test_the_same_key_makes_the_same_release_and_is_marked_as_not_valid(tmp_path):
    tasks = written(tmp_path / "t.jsonl", [humaneval_row(n, word) for n, word in enumerate(WORDS[:2])])
    made = [
        make(tasks, tmp_path / f"p{turn}.jsonl", tmp_path / f"s{turn}.json", copies=5, test_key=KEY, **ANYWHERE)
        for turn in (1, 2)
    ]
    assert (tmp_path / "p1.jsonl").read_bytes() == (tmp_path / "p2.jsonl").read_bytes()
    assert "proves nothing" in (tmp_path / "p1.card.md").read_text()
    assert made[0].describe().headline
    random = make(tasks, tmp_path / "p3.jsonl", tmp_path / "s3.json", copies=5, **ANYWHERE)
    assert random.secret.committed.key != KEY
    assert random.secret.commitment != made[0].secret.commitment


@pytest.mark.slow
def test_a_beacon_decides_the_lot_after_the_commitment(tmp_path):
    tasks = written(tmp_path / "t.jsonl", [humaneval_row(n, word) for n, word in enumerate(WORDS)])
    paths = (tmp_path / "p.jsonl", tmp_path / "s.json")
    committed = make(tasks, *paths, copies=6, round="drand 7", test_key=KEY, **ANYWHERE)
    assert committed.public_path is None
    assert not paths[0].exists()
    for call in (lambda: verify(tasks, paths[1]), lambda: twins(paths[1], tmp_path / "x")):
        with pytest.raises(DataError, match="value of the beacon is missing"):
            call()
    with pytest.raises(DataError, match="expected --beacon VALUE of 'drand 7'"):
        make(tasks, *paths)
    before = paths[1].read_bytes()
    lots = []
    for value in ("aa", "bb"):
        paths[1].write_bytes(before)
        paths[1].chmod(0o600)
        published = make(tasks, *paths, beacon=value)
        assert published.secret.commitment == committed.secret.commitment
        lots.append([published.secret.lot(task.cluster, 1) for task in published.secret.committed.tasks])
    assert lots[0] != lots[1]
    assert "`bb`" in (tmp_path / "p.card.md").read_text()
    with pytest.raises(DataError, match="another value of the beacon"):
        make(tasks, *paths, beacon="cc")
    with pytest.raises(DataError, match="names a beacon"):
        rotate(paths[1], tmp_path / "q.jsonl")
    with pytest.raises(DataError, match="value of an earlier version"):
        rotate(paths[1], tmp_path / "q.jsonl", "bb")


def test_the_public_file_can_be_written_again_but_never_drawn_again(released, secret_path, tmp_path):
    make(released / "tasks.jsonl", tmp_path / "again.jsonl", secret_path)
    assert (tmp_path / "again.jsonl").read_bytes() == (released / "public.jsonl").read_bytes()
    other = written(tmp_path / "o.jsonl", [humaneval_row(1, "pears")])
    with pytest.raises(DataError, match="is of other tasks"):
        make(other, tmp_path / "x.jsonl", secret_path)
    assert not (tmp_path / "x.jsonl").exists()


@pytest.mark.slow
def test_twins_and_versions_are_other_copies(released, secret_path, tmp_path):
    twins(secret_path, tmp_path / "twin.jsonl")
    rotate(secret_path, tmp_path / "two.jsonl")
    rows = [
        [json.loads(line) for line in path.read_text().splitlines()]
        for path in (released / "public.jsonl", tmp_path / "twin.jsonl", tmp_path / "two.jsonl")
    ]
    for public, twin, two in zip(*rows, strict=True):
        assert public["task_id"] == twin["task_id"] == two["task_id"]
        assert len({public["entry_point"], twin["entry_point"], two["entry_point"]}) >= 2
        assert len({row["canonical_solution"] for row in (public, twin, two)}) == 3
    assert verify(tmp_path / "two.jsonl", secret_path).version == 2
    for turn in range(3):
        rotate(secret_path, tmp_path / f"next-{turn}.jsonl")
    with pytest.raises(DataError, match="secret copies of each task are left"):
        rotate(secret_path, tmp_path / "last.jsonl")


def test_no_output_replaces_the_secret(released, secret_path, tmp_path):
    before = secret_path.read_bytes()
    card = tmp_path / "s.card.md"
    card.symlink_to(secret_path)
    for call in (
        lambda: make(released / "tasks.jsonl", tmp_path / "s.jsonl", secret_path),
        lambda: rotate(secret_path, tmp_path / "s.jsonl"),
        lambda: rotate(secret_path, secret_path),
        lambda: twins(card, secret_path),
    ):
        with pytest.raises(DataError, match="is the secret file; expected another name"):
            call()
    assert secret_path.read_bytes() == before


def test_a_linked_secret_keeps_its_log_and_twins_are_private(secret_path, tmp_path):
    link = tmp_path / "link.json"
    link.symlink_to(secret_path)
    rotate(link, tmp_path / "two.jsonl")
    assert link.is_symlink()
    assert len(read_secret(secret_path).versions) == 2
    with held_secret(link), pytest.raises(DataError, match="in use by another process"), held_secret(secret_path):
        pass
    twins(link, tmp_path / "twin.jsonl")
    assert (tmp_path / "twin.jsonl").stat().st_mode & 0o777 == 0o600


def test_a_rotation_that_was_cut_short_can_be_repeated(secret_path, tmp_path, monkeypatch):
    before = secret_path.read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr("assay.release.making.data_card", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            rotate(secret_path, tmp_path / "two.jsonl", "aa")
    assert secret_path.read_bytes() == before
    half = (tmp_path / "two.jsonl").read_bytes()
    rotate(secret_path, tmp_path / "two.jsonl", "aa")
    assert (tmp_path / "two.jsonl").read_bytes() == half


@pytest.mark.slow
@pytest.mark.parametrize("step", range(6))
def test_a_rotation_that_was_killed_leaves_a_whole_secret_and_can_be_repeated(secret_path, tmp_path, step):
    """Each call of the system that changes a file is the last one once: three files, created and renamed."""
    before = read_secret(secret_path)
    program = (
        "import os, pathlib, signal, sys\nfrom assay.release import rotate\n"
        "calls, step = iter(range(100)), int(sys.argv[3])\n"
        "def last(call):\n    def called(*arguments, **named):\n        result = call(*arguments, **named)\n"
        "        if next(calls) == step:\n            os.kill(os.getpid(), signal.SIGKILL)\n"
        "        return result\n    return called\n"
        "import assay.files\nassay.files.new_file = last(assay.files.new_file)\n"
        "pathlib.Path.replace = last(pathlib.Path.replace)\nrotate(sys.argv[1], sys.argv[2], 'aa')\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    arguments = [sys.executable, "-c", program, str(secret_path), str(tmp_path / "two.jsonl"), str(step)]
    assert subprocess.run(arguments, env=environment, check=False).returncode == -signal.SIGKILL
    after = read_secret(secret_path)
    assert len(after.versions) == 1 + (step == 5)
    assert after.log_state.is_full
    whole = replace(before, versions=(*before.versions, Publication(2, "2126-01-01", "aa", {})))
    expected = release_lines(whole.published(2))
    if step > 0:
        assert (tmp_path / "two.jsonl").read_text() == expected
    if step < 5:
        rotate(secret_path, tmp_path / "two.jsonl", "aa")
    assert (tmp_path / "two.jsonl").read_text() == expected
    assert read_secret(secret_path).versions[1].beacon == "aa"
    assert verify(tmp_path / "two.jsonl", secret_path).log.entries == 2


def test_a_clock_in_the_past_is_named_when_it_publishes_and_when_it_tests(secret_path, tmp_path, monkeypatch):
    for place in ("making", "testing"):
        monkeypatch.setattr(f"assay.release.{place}.today", lambda: "1999-01-01")
    rotated = rotate(secret_path, tmp_path / "two.jsonl")
    assert "1999-01-01 follows 20" in " ".join(rotated.describe().notes)
    assert rotated.secret.log_state.is_full
    verified = verify(tmp_path / "two.jsonl", secret_path)
    assert "a clock was wrong" in " ".join(verified.describe().notes)


def test_values_that_are_no_utf_8_stand_in_the_card_with_marks(released, secret_path, tmp_path):
    rotate(secret_path, tmp_path / "two.jsonl", "a\udcff")
    assert "`a?`" in (tmp_path / "two.card.md").read_text()


def test_a_changed_public_file_names_the_tasks(released, secret_path, tmp_path):
    rows = [json.loads(line) for line in (released / "public.jsonl").read_text().splitlines()]
    rows[3]["prompt"] += " "
    path = written(tmp_path / "changed.jsonl", rows)
    with pytest.raises(DataError, match=r"in 1 task: HumanEval/3;"):
        verify(path, secret_path)
    with pytest.raises(DataError, match=r"HumanEval/9"):
        verify(written(tmp_path / "short.jsonl", rows[:9]), secret_path)
    with pytest.raises(DataError, match="every task differs"):
        verify(released / "tasks.jsonl", secret_path)


@pytest.mark.usefixtures("sandbox")
def test_a_task_whose_own_solution_fails_is_named_and_left_out(tmp_path):
    wrong = humaneval_row(5, "pears")
    wrong["test"] = "def check(candidate):\n    assert candidate([], 1) == 7, 'no pears'\n"
    tasks = written(tmp_path / "t.jsonl", [wrong, humaneval_row(0, "apples")])
    made = make(tasks, tmp_path / "p.jsonl", tmp_path / "s.json", copies=5, unrelated=True)
    (reason,) = made.secret.committed.left_out.values()
    assert reason == "its own solution fails its tests: AssertionError: no pears"
    assert "1 of 2 tasks can be tested" in made.describe().headline


def test_without_a_sandbox_a_release_is_refused_and_unverified_copies_say_so(tmp_path, monkeypatch):
    monkeypatch.setattr("assay.release.verifying.passed", _unavailable)
    monkeypatch.setattr("assay.release.making.replaced_tests", _unavailable)
    tasks = written(tmp_path / "t.jsonl", [humaneval_row(0, "apples")])
    paths = (tmp_path / "p.jsonl", tmp_path / "s.json")
    with pytest.raises(DataError, match="cannot be run: no sandbox; expected a sandbox, or --unverified"):
        make(tasks, *paths, copies=5, unrelated=True)
    assert not any(map(Path.exists, paths))
    made = make(tasks, *paths, copies=5, **ANYWHERE)
    assert "0 with copies that were verified by tests" in made.describe().headline
    assert "the others are not verified" in (tmp_path / "p.card.md").read_text()


def _unavailable(*_, **__):
    raise SandboxUnavailable("no sandbox")


SENTENCES = {
    "task_id": "HumanEval/1",
    "prompt": 'def count_items(numbers, limit, a):\n    """Count the numbers below a limit; a is added.\n\n'
    '    count_items looks at numbers once.\n    """\n',
    "entry_point": "count_items",
    "canonical_solution": "    below = [value for value in numbers if value < limit]\n    k = len(below)\n"
    "    return k + a\n",
    "test": "def check(candidate):\n    assert candidate([1, 2], 2, 0) == 1\n",
}


@pytest.mark.parametrize("unrelated", [False, True])
def test_no_old_name_is_left_in_any_text_of_a_copy(tmp_path, unrelated):
    row = {**SENTENCES, "hint": "numbers are whole"}
    tasks = written(tmp_path / "t.jsonl", [SENTENCES, {**row, "task_id": "HumanEval/2"}])
    settings = {"copies": 5, "unverified": True, "unrelated": unrelated}
    made = make(tasks, tmp_path / "p.jsonl", tmp_path / "s.json", **settings)
    for task in made.secret.committed.tasks:
        for index in range(len(task.copies)):
            copy = task.copy(index)
            text = " ".join(map(str, copy.values()))
            for name in ("count_items", "numbers", "limit", "a"):
                if not re.search(rf"def .*\b{name}\b", str(copy["prompt"])):
                    assert not re.search(rf"\b{name}\b", text), (name, text)
            assert "below a " in copy["prompt"]  # a word of English that is a parameter too
            if task.id == "HumanEval/2":
                assert "numbers" in copy["prompt"]  # it stands in a column that does not change


def test_letters_that_prose_mentions_stay_and_no_close_synonym_has_another_sense(tmp_path):
    row = {
        "task_id": "HumanEval/2",
        "prompt": 'def last_in_order(n, lst):\n    """The n-th of `lst`, as a[i] <= a[j] says."""\n',
        "entry_point": "last_in_order",
        "canonical_solution": "    a = sorted(lst)\n    for i in range(n):\n        for j in range(i):\n"
        "            index = i + j\n            result = a[index % len(a)]\n    return result\n",
        "test": "",
    }
    made = make(
        written(tmp_path / "t.jsonl", [row]), tmp_path / "p.jsonl", tmp_path / "s.json", copies=5, unverified=True
    )
    (task,) = made.secret.committed.tasks
    for index in range(len(task.copies)):
        prompt = str(task.copy(index)["prompt"])
        assert "The n-th of" in prompt
        assert "a[i] <= a[j]" in prompt
        assert "last_in_" in prompt


@pytest.mark.parametrize(("prose", "changes"), [("Count them.", True), ("Count each item.", False)])
def test_a_name_stays_beside_its_singular_in_prose(prose, changes):
    row = {
        "task_id": "HumanEval/2",
        "prompt": f'def count_all(items):\n    """{prose}\n\n    items (list): The items.\n    """\n',
        "canonical_solution": "    return len(items)\n",
        "entry_point": "count_all",
        "test": "def check(candidate):\n    assert candidate([1]) == 1\n",
    }
    layout = layout_of([row], DataSelection(), "")
    draft = drafted(row, layout, "python", seed=1, most=5, naming=NameSources())
    assert ("items" in [name.name for name in getattr(draft, "names", ())]) == changes


def test_close_synonyms_change_prose_and_the_authors_lists_come_first(tmp_path):
    tasks = written(tmp_path / "t.jsonl", [SENTENCES])
    names = tmp_path / "names.json"
    names.write_text(json.dumps({"HumanEval/1": {"limit": ["ceiling", "roof"]}}))
    made = make(tasks, tmp_path / "p.jsonl", tmp_path / "s.json", copies=5, unverified=True, names=str(names))
    assert made.secret.committed.naming == "the author's lists, else close synonyms"
    (task,) = made.secret.committed.tasks
    for index in range(len(task.copies)):
        prompt = str(task.copy(index)["prompt"])
        assert re.search(r"below a (ceiling|roof);", prompt)
        (name,) = re.findall(r"count_\w+\((\w+)", prompt)
        assert f"Count the {name} below" in prompt
    by_column = written(tmp_path / "c.jsonl", [SENTENCES | {"others": {"limit": ["ceiling", "roof", "top"]}}])
    made = make(by_column, tmp_path / "q.jsonl", tmp_path / "s2.json", copies=5, unverified=True, names="others")
    assert re.search("below a (ceiling|roof|top)", (tmp_path / "q.jsonl").read_text())


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "expected JSON"),
        ('{"no task": {}}', "expected an object of ids of these tasks"),
        ('{"HumanEval/1": {"limit": []}}', "'limit' has .*, expected a list of identifiers"),
        ('{"HumanEval/1": {"limit": ["a b"]}}', "expected a list of identifiers"),
        ('{"HumanEval/1": {"limit": ["class"]}}', "expected a list of identifiers"),
        ('{"HumanEval/1": 3}', "expected an object of names"),
        ('{"HumanEval/1": {"limits": ["ends"]}}', "'limits' is no name that can change there"),
        (None, "no such file, and no column"),
    ],
)
def test_lists_of_names_that_cannot_be_used_are_one_line(tmp_path, content, words):
    names = tmp_path / "names.json"
    if content is not None:
        names.write_text(content)
    tasks = written(tmp_path / "t.jsonl", [SENTENCES])
    with pytest.raises(DataError, match=words):
        make(tasks, tmp_path / "p.jsonl", tmp_path / "s.json", names=str(names), unverified=True)


@pytest.mark.parametrize(
    ("rows", "settings", "words"),
    [
        ([humaneval_row(0, "apples")] * 2, {}, "1 ids occur more than once"),
        ([{"task_id": 1, "prompt": "x"}], {}, "no column of texts"),
        ([{"text": "def f(a_b):\n    return a_b\n"}], {}, "no column of ids"),
        ([{"id": 1, "text": "Plain prose, no code."}], {}, "no task has enough copies"),
        ([humaneval_row(0, "apples"), humaneval_row(1, "\udce9")], {}, "task 2 has half of a surrogate pair"),
        ([humaneval_row(0, "apples")], {"round": "r", "beacon": "b"}, "a round and its value at once"),
        ([humaneval_row(0, "apples")], {"beacon": "b"}, "nothing was committed"),
        ([humaneval_row(0, "apples")], {"test_key": "12"}, "64 hexadecimal digits"),
        ([humaneval_row(0, "apples")], {"copies": 2}, "received 2, expected 5 to 200"),
        ([humaneval_row(0, "apples")], {"wrong": 2}, "received wrong, which is no setting"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(rows, settings, words, tmp_path):
    tasks = written(tmp_path / "t.jsonl", rows)
    with pytest.raises(Exception, match=words) as raised:
        make(tasks, tmp_path / "p.jsonl", tmp_path / "s.json", **ANYWHERE | settings)
    assert type(raised.value).__module__ == "assay.errors"
    assert "\n" not in str(raised.value)
    assert [path.name for path in tmp_path.iterdir()] == ["t.jsonl"]


def test_tasks_with_too_few_variants_are_listed_and_published_unchanged(tmp_path):
    fixed = {**humaneval_row(5, "pears"), "task_id": "HumanEval/fixed"}
    fixed |= {
        "prompt": "def f():\n    '''One.'''\n",
        "entry_point": "f",
        "canonical_solution": "    return eval('1')\n",
    }
    fixed["test"] = "def check(candidate):\n    assert candidate() == 1\n"
    tasks = written(tmp_path / "t.jsonl", [fixed, humaneval_row(0, "apples")])
    made = make(tasks, tmp_path / "p.jsonl", tmp_path / "s.json", copies=5, canary="canary 1", **ANYWHERE)
    assert list(made.secret.committed.left_out) == ["HumanEval/fixed"]
    public = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert public[0] == {**fixed, "canary": "canary 1"}
    assert "1 task " in (tmp_path / "p.card.md").read_text()


def test_nothing_of_the_secret_stands_in_what_is_published(released, secret, tmp_path):
    made = make(released / "tasks.jsonl", tmp_path / "p.jsonl", released / "secret.json")
    card = (tmp_path / "p.card.md").read_text()
    told = card + (tmp_path / "p.jsonl").read_text() + made.to_json() + repr(made) + made.describe().headline
    assert secret.committed.key not in told
    for task in secret.committed.tasks:
        twin = secret.scored(task, secret.twin(task.cluster), 0).partition("(")[0]
        assert twin not in told or twin in (tmp_path / "p.jsonl").read_text()
    assert secret.commitment in card


def test_related_tasks_are_a_cluster():
    rows = [humaneval_row(number, word) for number, word in enumerate(WORDS[:4])]
    texts = [str(row["prompt"]) + str(row["canonical_solution"]) for row in rows]
    texts[2] = texts[0] + "x = 1\n"
    ids = [str(row["task_id"]) for row in rows]
    assert clusters_of(ids, rows, texts, ["python"] * 4, None) == [ids[0], ids[1], ids[0], ids[3]]
    by_group = [{**row, "repo": number // 2} for number, row in enumerate(rows)]
    distinct = [f"{word} " * 9 for word in WORDS[:4]]
    assert clusters_of(ids, by_group, distinct, ["python"] * 4, "repo") == [ids[0], ids[0], ids[2], ids[2]]
    languages = ["Java/7", "CPP/7", "CPP/8", "Go/9"]
    plain = [{} for _ in languages]
    assert clusters_of(languages, plain, distinct, ["java", "cpp", "cpp", "go"], None) == [
        "Java/7", "Java/7", "CPP/8", "Go/9",
    ]  # fmt: skip


def test_ids_have_the_form_of_their_benchmark():
    layout = layout_of([MBPP], DataSelection(), "x")
    assert layout.name == "mbpp"
    assert ids_of([MBPP], layout, DataSelection(), "x") == ["MBPP/7"]


def test_show_takes_lists_of_names_of_all_tasks(tmp_path):
    rows = [SENTENCES | {"task_id": f"HumanEval/{number}"} for number in range(1, 26)]
    names = tmp_path / "names.json"
    names.write_text(json.dumps({row["task_id"]: {"limit": ["ceiling"]} for row in rows}))
    # a keyword beside settings counts
    chosen = ReleaseSettings(copies=5, names="absent.json")
    shown = show_copies(written(tmp_path / "t.jsonl", rows), chosen, unverified=True, names=str(names))
    assert len(shown.tasks) == 9
    assert all(any("ceiling" in line.copy for line in lines) for lines in shown.tasks.values())
