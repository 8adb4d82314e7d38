"""`assay pairs` as a teacher meets it."""

import json

from support.snippets import FENCE
from support.snippets import SHARE_OF as SHARE


def test_students_are_compared_and_those_without_code_are_named(assay, tmp_path):
    folder = tmp_path / "class"
    renamed = (SHARE + FENCE).replace("basket", "b1").replace("total", "t2").replace("share", "q")
    for student, text in {"ada": SHARE + FENCE, "bob": renamed, "eve": "print('hello')\nx = 2\n"}.items():
        (folder / student).mkdir(parents=True)
        (folder / student / "main.py").write_text(text)
    (folder / "zoe").mkdir()
    (folder / "zoe" / "a.exe").write_bytes(b"MZ\x00\x01" * 50)
    found = assay("pairs", folder, "-o", "pairs.csv")
    assert found.code == 0, found.err
    answer, _, pair, written = found.out.splitlines()
    assert written == "Written: pairs.csv"
    assert "too few to say what is usual" in answer
    assert pair.startswith("ada and bob: ")
    assert "zoe: nothing that can be compared: zoe/a.exe" in found.err
    header, row = (tmp_path / "pairs.csv").read_text().splitlines()
    assert header.startswith("first,second,evidence,share,")
    assert row.startswith("ada,bob,")
    hidden = assay("pairs", folder, "--anonymous")
    assert "student 1 and student 2: " in hidden.out
    assert "zoe" not in hidden.out + hidden.err
    assert json.loads(assay("pairs", folder, "--json").out)["clusters"] == [["ada", "bob"]]


def test_a_single_submission_is_refused(assay, tmp_path):
    (tmp_path / "ada.py").write_text(SHARE)
    single = assay("pairs", tmp_path / "ada.py")
    assert (single.code, "received 1 submission, expected those of at least 2 students" in single.err) == (2, True)


def test_a_language_that_nobody_used_is_one_short_line(assay, tmp_path):
    for student in ("ada", "bob", "eve"):
        (tmp_path / f"{student}.py").write_text(SHARE)
    refused = assay("pairs", tmp_path, "--language", "java")
    assert refused.code == 2
    assert "received 0 submissions (ada: nothing that can be compared: 1 other language; 2 more without)" in refused.err
