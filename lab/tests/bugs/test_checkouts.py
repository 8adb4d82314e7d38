"""Whole files of bugs: the right commit, the right side, and a reason for each bug that has none."""

import subprocess

import pytest

from assay.errors import DataError
from assay.types import Sample
from assay_lab.bugs import with_whole_files
from assay_lab.bugs.pairs import SamplePair

FIXED = "import sys\n\n\ndef head(values):\n    if not values:\n        return None\n    return values[0]\n"
BUGGY = FIXED.replace("    if not values:\n        return None\n", "")
CHECK = ("    if not values:", "        return None")
FORWARDS = "\n".join(
    ["--- a/src/a.py", "+++ b/src/a.py", "@@ -4,2 +4,4 @@", " def head(values):"]
    + [f"+{line}" for line in CHECK]
    + ["     return values[0]", ""]
)
BACKWARDS = FORWARDS.replace("@@ -4,2 +4,4 @@", "@@ -4,4 +4,2 @@").replace("\n+ ", "\n- ")


@pytest.fixture
def commits(tmp_path):
    """A checkout of org/tool with the buggy file and the fixed one; returns both commits."""
    folder = tmp_path / "org__tool"
    (folder / "src").mkdir(parents=True)

    def git(*arguments):
        return subprocess.run(
            ["git", "-C", folder, "-c", "user.name=A", "-c", "user.email=a@b", *arguments],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()

    git("init", "-q")
    heads = []
    for text in (BUGGY, FIXED):
        (folder / "src/a.py").write_text(text)
        git("add", "-A")
        git("commit", "-q", "-m", "x")
        heads.append(git("rev-parse", "HEAD"))
    return heads


def pair(patch=FORWARDS, direction="buggy→fixed", **metadata):
    sample = Sample("b", "hunk", "python", metadata={
        "repo": "org/tool", "patch": patch, "files": ("src/a.py",), "direction": direction, **metadata
    })  # fmt: skip
    return SamplePair(sample, sample)


def test_the_fixed_commit_gives_the_fixed_side_and_the_patch_the_buggy_one(commits, tmp_path):
    for patch, direction in ((FORWARDS, "buggy→fixed"), (BACKWARDS, "fixed→buggy")):
        (whole,), notes = with_whole_files(
            [pair(patch, direction, fixed_commit_id=commits[1])], tmp_path, benchmark="x"
        )
        assert (whole.fixed.text, whole.buggy.text) == (FIXED, BUGGY)
        assert notes == ("x: texts are whole files of 1 of 1 bugs",)


def test_the_buggy_commit_gives_the_same_sides(commits, tmp_path):
    (whole,), _ = with_whole_files([pair(base_commit=commits[0])], tmp_path, benchmark="x")
    assert (whole.fixed.text, whole.buggy.text) == (FIXED, BUGGY)


def test_a_single_checkout_may_be_the_root(commits, tmp_path):
    (whole,), _ = with_whole_files([pair(base_commit=commits[0])], tmp_path / "org__tool", benchmark="x")
    assert whole.fixed.text == FIXED


def test_bugs_without_files_are_counted_by_reason(commits, tmp_path):
    pairs = [
        pair(base_commit=commits[0]),
        pair(base_commit="f" * 40),
        pair(base_commit=commits[1]),
        pair(base_commit=commits[0], patch=""),
        pair(),
    ]
    whole, notes = with_whole_files(pairs, tmp_path, benchmark="x")
    assert len(whole) == 1
    assert sorted(notes[1:]) == [
        "x: 1 left out: its commit, or a file of it, is not in the checkout",
        "x: 1 left out: the benchmark has no patch of it",
        "x: 1 left out: the benchmark names no commit of it",
        "x: 1 left out: the patch does not fit the file at the commit",
    ]


def test_no_file_at_all_is_one_clear_line(tmp_path):
    with pytest.raises(DataError, match="no bug of x has its files here: there is no checkout of its project"):
        with_whole_files([pair(base_commit="a" * 40)], tmp_path, benchmark="x")
    with pytest.raises(DataError, match="no such folder; expected checkouts"):
        with_whole_files([pair()], tmp_path / "nowhere", benchmark="x")
