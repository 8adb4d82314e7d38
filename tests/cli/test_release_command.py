"""`assay release` as a publisher and a stranger meet it."""

import json

import pytest

from release.conftest import WORDS, humaneval_row, written

ANYWHERE = ("--unrelated", "--unverified")

pytestmark = pytest.mark.usefixtures("same_keys")


@pytest.fixture
def tasks(tmp_path):
    return written(tmp_path / "tasks.jsonl", [humaneval_row(number, word) for number, word in enumerate(WORDS[:6])])


@pytest.mark.slow
def test_make_verify_test_twins_rotate(assay, tasks, tmp_path):
    made = assay("release", "make", tasks, "-o", "public.jsonl", "--secret", "secret.json", "--copies", 8, *ANYWHERE)
    assert made.code == 0, made.err
    lines = made.out.splitlines()
    assert lines[0] == "Released"
    assert "6 of 6 tasks can be tested" in lines[1]
    assert lines[2].startswith("Commitment: ")
    assert "read the new names and examples" in " ".join(made.out.split())
    commitment = lines[2].partition(": ")[2]
    assert commitment in (tmp_path / "public.card.md").read_text()
    assert (tmp_path / "secret.json").stat().st_mode & 0o777 == 0o600

    verified = assay("release", "verify", "public.jsonl", "secret.json")
    assert verified.out.startswith("The file matches the secret"), verified.err
    assert commitment in verified.out

    tested = assay("release", "test", "builtin:small", "secret.json", "--parent", "builtin:control")
    assert tested.code == 0, tested.err
    assert tested.out.splitlines()[0] == "No trace found"
    parsed = json.loads(assay("release", "test", "builtin:small", "secret.json", "--json").out)
    assert parsed["model"] == "builtin:small"
    assert 0 < parsed["versions"][0]["names"]["p_value"] <= 1
    assert parsed["logged"] >= 2

    audited = assay("audit", "builtin:small", "public.jsonl", "--release", "secret.json", "--out", "run")
    assert audited.code == 0, audited.err
    assert audited.out.splitlines()[:2] == [
        "Cannot tell yet",
        "The lot of the release does not show in the model, which is no evidence of absence.",
    ]
    summary = (tmp_path / "run" / "summary.json").read_text()
    assert "no evidence of absence" in json.loads(summary)["decision"]["explanation"]
    assert assay("report", "run").out.splitlines()[0] == "Cannot tell yet"
    key = json.loads((tmp_path / "secret.json").read_text())["committed"]["key"]
    assert not [path for path in (tmp_path / "run").rglob("*") if path.is_file() and key.encode() in path.read_bytes()]

    assert assay("release", "twins", "secret.json", "-o", "twin.jsonl").out.startswith("Twins written")
    assert assay("release", "rotate", "secret.json", "-o", "second.jsonl").out.startswith("Version 2 is published")
    for done in (made, verified, tested, audited):
        assert json.loads((tmp_path / "secret.json").read_text())["committed"]["key"] not in done.out + done.err


@pytest.mark.slow
def test_a_commitment_first_then_the_beacon(assay, tasks, tmp_path):
    options = ("release", "make", tasks, "-o", "public.jsonl", "--secret", "secret.json", "--copies", 8, *ANYWHERE)
    committed = assay(*options, "--round", "drand 7")
    assert committed.out.startswith("Committed"), committed.err
    assert "after drand 7 run this again with --beacon VALUE" in " ".join(committed.out.split())
    assert not (tmp_path / "public.jsonl").exists()
    refused = assay("release", "test", "builtin:small", "secret.json")
    assert refused.code == 2
    assert refused.err.startswith("assay: error: secret.json: the value of the beacon is missing")
    assert len(refused.err.splitlines()) == 1
    assert assay(*options, "--beacon", "9f86").out.startswith("Released")
    assert "9f86" in (tmp_path / "public.card.md").read_text()


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("test", "builtin:small", "none.json"), "expected the secret file of a release"),
        (("test", "builtin:none", "none.json"), "no built-in model 'none'"),
        (("verify", "tasks.jsonl", "tasks.jsonl"), "is not a JSON file"),
        (("make", "none.jsonl", "-o", "p.jsonl", "--secret", "s.json"), "none.jsonl"),
        (("make", "tasks.jsonl", "-o", "p.jsonl", "--secret", "s.json", "--copies", "3"), "copies"),
        (("make", "tasks.jsonl"), "expected both, or --show"),
        (("make", "tasks.jsonl", "--show", "-o", "p.jsonl"), "--show writes nothing"),
        (("make", "tasks.jsonl", "-o", "s.jsonl", "--secret", "s.jsonl"), "s.jsonl is the secret file"),
        (("make", "tasks.jsonl", "-o", "p.jsonl", "--secret", "-"), "received - for the secret, expected the name of"),
        (("test", "builtin:small", "-"), "received - for the secret, expected the name of a file"),
        (("verify", "tasks.jsonl", "-"), "received - for the secret, expected the name of a file"),
        (("rotate", "-", "-o", "p.jsonl"), "received - for the secret, expected the name of a file"),
        (("twins", "none.json", "-o", "t.jsonl"), "expected the secret file of a release"),
        (("compare", "none.jsonl", "none.jsonl"), "none.jsonl"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(assay, tasks, words, line, tmp_path):
    done = assay("release", *words)
    assert done.code == 2
    assert done.err.startswith("assay: error: ")
    assert line in done.err
    assert len(done.err.splitlines()) == 1
    assert not list(tmp_path.glob("*.json"))
    assert not list(tmp_path.glob("-*"))


@pytest.mark.slow
def test_no_command_replaces_a_secret_even_with_force(assay, tasks, tmp_path):
    options = ("release", "make", tasks, "-o", "public.jsonl", "--secret", "secret.json", "--copies", 8, *ANYWHERE)
    assay(*options)
    before = (tmp_path / "secret.json").read_bytes()
    written(tmp_path / "other.jsonl", [humaneval_row(0, "pears")])
    done = assay("release", "make", "other.jsonl", "-o", "x.jsonl", "--secret", "secret.json", "--force")
    assert done.code == 2
    assert "is of other tasks" in done.err
    assert (tmp_path / "secret.json").read_bytes() == before
    assert assay(*options).code == 2  # the public file exists
    assert assay(*options, "--force").code == 0
    assert (tmp_path / "secret.json").read_bytes() == before


def test_show_writes_nothing_and_shows_each_changed_line(assay, tasks, tmp_path):
    shown = assay("release", "make", tasks, "--show", "--copies", 5, *ANYWHERE)
    assert shown.code == 0, shown.err
    assert shown.out.startswith("Nothing is committed")
    assert "entry_point" in shown.out
    assert [path.name for path in tmp_path.iterdir()] == ["tasks.jsonl"]


@pytest.mark.usefixtures("sandbox")
def test_a_published_copy_that_fails_its_tests_ends_with_1_and_the_first_output(assay, tasks, monkeypatch):
    made = assay("release", "make", tasks, "-o", "public.jsonl", "--secret", "secret.json", "--copies", 5, *ANYWHERE)
    assert made.code == 0, made.err
    monkeypatch.setattr("assay.release.verifying.passed", lambda programs, **_: (False,) * len(programs))
    monkeypatch.setattr("assay.release.verifying.failure_of", lambda *_, **__: "AssertionError: 3")
    done = assay("release", "verify", "public.jsonl", "secret.json")
    assert done.code == 1
    assert done.out.startswith("6 of 6 copies fail their tests")
    assert "First HumanEval/0: AssertionError: 3" in done.out
