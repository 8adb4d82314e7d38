"""The experiment on pairs of students, on small solutions of our own."""

import random

import pytest

from assay_lab.provenance.obfuscations import disguised
from assay_lab.provenance.pairs import WAYS, course_row, independent, run

PARTS = (
    "    total = rows[{n}] * {n}\n    total += len(rows)\n",
    "    for row in rows:\n        count = count + row - {n}\n",
    "    if len(rows) > {n}:\n        best = max(rows[{n}:])\n",
    "    while best < {n}:\n        best = best * 2 + count\n",
    "    names = sorted(rows)[{n}]\n    print(names, best)\n",
)


def solution(seed: int) -> str:
    draw = random.Random(f"solution {seed}")
    parts = (draw.choice(PARTS).format(n=draw.randrange(1, 9)) for _ in range(4 + seed % 5))
    return "def answer(rows, best, count):\n" + "".join(parts) + "    return best\n"


@pytest.fixture
def solutions(tmp_path):
    for task in range(3):
        folder = tmp_path / "python" / f"task{task}"
        folder.mkdir(parents=True)
        for at in range(12):
            (folder / f"{at}.py").write_text(solution(31 * task + at))
    return tmp_path


def test_every_disguise_has_a_row(solutions):
    rows = run((1, 1), 0, {"solutions": solutions}).rows
    assert [(row["part"], row["copied"]) for row in rows[:20]] == [("auroc", "whole")] * 10 + [
        ("auroc", "one of three")
    ] * 10
    assert [row["part"] for row in rows[20:]] == ["courses"]
    assert rows[0]["assay"] > 0.9
    assert "dolos" not in rows[0]


def test_a_course_counts_its_copies():
    tasks = {str(task): [solution(31 * task + at) for at in range(12)] for task in range(3)}
    row = course_row(tasks, "python", number=2, seed=0)
    assert row["courses"] == 2
    assert set(row["ways"]) == {*WAYS, "false"}
    assert row["whole"] <= 2


def test_a_solution_with_a_rare_message_of_another_one_is_left_out():
    texts = [f"value{at} = {at}\n" for at in range(10)] + ["print('a very nice day')\n"]
    assert independent([*texts, "show('a very nice day')\n"], "python") == texts


def test_names_of_a_library_survive_a_renaming():
    renamed = disguised(
        "class Box {\n  int size(List<String> rows) {\n    return rows.size();\n  }\n}\n", "names", "java", 1
    )
    assert "List<String>" in renamed
    assert "rows" not in renamed


def test_published_copies_have_a_row_for_each_level(tmp_path):
    body = "class A {{\n  int f(int a) {{\n    int b = a * {0};\n    return b + {0};\n  }}\n}}\n"
    for place, at in {"original": 0, "non-plagiarized/01": 1, "non-plagiarized/02": 2, "plagiarized/L1/01": 0}.items():
        folder = tmp_path / "case-01" / place
        folder.mkdir(parents=True)
        (folder / "A.java").write_text(body.format(at))
    rows = run((1, 1), 0, {"irplag": tmp_path}).rows
    assert [(row["copied"], row["kind"], row["assay"]) for row in rows] == [("IR-Plag", "L1", 1.0)]
