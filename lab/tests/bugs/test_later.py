"""Later commits of the same files as a control: the right files, days and number, and no copy of the benchmark."""

import os
import subprocess
from datetime import date

import pytest

from assay.errors import DataError
from assay.types import Sample
from assay_lab.bugs import later_commits
from assay_lab.bugs.pairs import SamplePair

LINES = [f"value_{at} = compute_{at}({at}, 'key{at}')\n" for at in range(60)]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A checkout of org/tool with six changes to a.py, a year apart, and one to b.py."""
    root = tmp_path_factory.mktemp("checkouts")
    folder = root / "org__tool"
    folder.mkdir()

    def commit(day):
        environment = {**os.environ, "GIT_COMMITTER_DATE": f"{day}T12:00:00", "GIT_AUTHOR_DATE": f"{day}T12:00:00"}
        for arguments in (["add", "-A"], ["-c", "user.name=A", "-c", "user.email=a@b", "commit", "-q", "-m", "x"]):
            subprocess.run(["git", "-C", folder, *arguments], check=True, env=environment)

    subprocess.run(["git", "-C", folder, "init", "-q"], check=True)
    lines = list(LINES)
    for year in range(2018, 2025):
        (folder / "a.py").write_text("".join(lines))
        commit(f"{year}-06-01")
        at = 8 * (year - 2018)
        lines[at] = f"changed_{year} = other_{year}(first_{year}, second_{year})\n"
    (folder / "b.py").write_text("".join(LINES))
    commit("2024-07-01")
    return root


OTHER = "".join(f"first = second_{at} + third_{at}\n" for at in range(6))
"""A text about as long as a hunk of the checkout, with nothing in common with it."""


def bug(text=OTHER, file="a.py"):
    sample = Sample("b", text, "python", group="tool", metadata={"repo": "org/tool", "files": (file,)})
    return SamplePair(sample, sample)


def test_only_commits_to_the_files_of_the_bugs_since_the_day_count(checkout):
    changes, notes = later_commits([bug()] * 10, checkout, after=date(2021, 1, 1), most=10, benchmark="x")
    assert sorted(change.fixed.metadata["date"][:4] for change in changes) == ["2021", "2022", "2023", "2024"]
    newest = max(changes, key=lambda change: change.fixed.metadata["date"])
    assert "changed_2023" in newest.fixed.text
    assert "changed_2023" not in newest.buggy.text
    assert {(change.fixed.language, change.fixed.group) for change in changes} == {("python", "tool")}
    assert "4 of 4 later commits" in notes[0]


def test_a_limited_number_is_drawn_with_a_seed(checkout):
    drawn = [
        [
            c.id
            for c in later_commits([bug()] * 3, checkout, after=date(2019, 1, 1), most=3, benchmark="x", seed=seed)[0]
        ]
        for seed in (0, 0, 1, 2)
    ]
    assert len(drawn[0]) == 3
    assert drawn[0] == drawn[1]
    assert len(set(map(tuple, drawn))) > 1


def test_each_commit_is_about_as_long_as_the_bug_that_it_is_chosen_for(checkout):
    (change,), _ = later_commits([bug()], checkout, after=date(2019, 1, 1), most=9, benchmark="x")
    assert len(OTHER) / 2 <= len(change.fixed.text) <= 2 * len(OTHER)
    assert (
        later_commits([bug("x = 1\n"), bug(OTHER * 9)], checkout, after=date(2019, 1, 1), most=9, benchmark="x")[0]
        == ()
    )


def test_a_commit_that_is_in_the_benchmark_is_left_out(checkout):
    (later, *_), _ = later_commits([bug()], checkout, after=date(2024, 1, 1), most=10, benchmark="x")
    left, (note,) = later_commits([bug(later.fixed.text)], checkout, after=date(2024, 1, 1), most=10, benchmark="x")
    assert left == ()
    assert note.startswith("x: no commit since 2024-01-01 changes a file of it in 1 checkout with a history")


def test_no_commit_is_a_note_and_no_checkout_is_one_clear_line(checkout, tmp_path):
    none, (note,) = later_commits([bug()], checkout, after=date(2030, 1, 1), most=10, benchmark="x")
    assert none == ()
    assert "no commit since 2030-01-01 changes a file of it" in note
    with pytest.raises(DataError, match="no such folder; expected checkouts"):
        later_commits([bug()], tmp_path / "nowhere", after=date(2030, 1, 1), most=10, benchmark="x")
