"""Declared signals of a file and a folder come from the commits that changed them, and reading them has a limit."""

import json
import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from assay.authorship.declared import Signal
from assay.authorship.describing import _signals, detection_sarif
from assay.authorship.surroundings import declared_around
from support.dated_repository import DatedRepository

CODE = "def total(values, limit):\n    return sum(value for value in values if value < limit)\n"
TRAILER = "Fix\n\nCo-Authored-By: Claude <noreply@anthropic.com>"


@pytest.fixture
def repository(tmp_path):
    repository = DatedRepository(tmp_path / "project")
    repository.commit("2024-01-01", {"old.py": CODE, "src/b.py": CODE, "CLAUDE.md": "x\n"})
    (repository.path / "old.py").write_text(f"{CODE}\nX = 1\n")
    repository.git("commit", "-qam", TRAILER)
    repository.git("mv", "old.py", "a [1].py")
    repository.git("commit", "-qm", "Move")
    (repository.path / "src" / "b.py").write_text(f"{CODE}\nY = 2\n")
    repository.git("commit", "-qam", "Fix\n\nAssisted-by: GitHub Copilot")
    return repository.path


def kinds(path, **options):
    signals, unread = declared_around(path, **options)
    return [(signal.kind, signal.path or signal.text) for signal in signals], unread


CONFIGURATION = ("agent configuration", "CLAUDE.md")
CLAUDE = ("commit trailer", "Co-Authored-By: Claude <noreply@anthropic.com>")
COPILOT = ("commit trailer", "Assisted-by: GitHub Copilot")


@pytest.mark.parametrize(
    ("place", "commits"),
    [("a [1].py", [CLAUDE]), ("src/b.py", [COPILOT]), ("src", [COPILOT]), ("CLAUDE.md", []), (".", [COPILOT, CLAUDE])],
)
def test_the_commits_that_changed_a_path_count_under_its_earlier_names_too(repository, place, commits):
    assert kinds(repository / place) == ([CONFIGURATION, *commits], ())


def test_a_shallow_clone_says_so_and_its_first_commit_declares_no_file(repository, tmp_path):
    """The commit at which a clone is cut seems to have written every file; a trailer of it must not accuse them."""
    clone, depth = tmp_path / "clone", ("--depth", "1")
    DatedRepository(tmp_path / "other").git("clone", "-q", *depth, f"file://{repository}", str(clone))
    signals, unread = declared_around(clone)
    assert [(signal.kind, signal.files) for signal in signals] == [(CONFIGURATION[0], ()), (COPILOT[0], ())]
    assert ["shallow clone" in sentence for sentence in unread] == [True]


def test_a_bare_repository_and_a_plain_folder(repository, tmp_path):
    bare = tmp_path / "bare"
    DatedRepository(tmp_path / "other").git("clone", "-q", "--bare", str(repository), str(bare))
    assert kinds(bare) == ([CONFIGURATION, COPILOT, CLAUDE], ())
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "AGENTS.md").write_text("x")
    assert kinds(tmp_path / "plain") == ([("agent configuration", "AGENTS.md")], ())
    assert kinds(tmp_path / "plain" / "AGENTS.md") == ([], ())


def test_a_repository_without_a_commit_declares_what_lies_in_it(tmp_path):
    path = DatedRepository(tmp_path / "new").path
    (path / "AGENTS.md").write_text("x")
    assert kinds(path) == ([("agent configuration", "AGENTS.md")], ())


def played(tmp_path, monkeypatch, script):
    """Put a program named git before the real one."""
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")


def test_a_history_without_end_is_read_for_the_time_allowed(repository, tmp_path, monkeypatch):
    log = r"printf 'd1\0A\0a@x\0Assisted-by: GitHub Copilot\0d2\0B'; exec sleep 600"
    played(tmp_path, monkeypatch, f'case "$*" in *rev-list*) echo d1;; *" log "*) {log};; esac')
    signals, unread = kinds(repository / "src" / "b.py", seconds=0.3)
    assert set(signals) <= {COPILOT}  # what came in time
    assert unread[-1].endswith("b.py was read for 0.3 s; its oldest commits were not read.")


def test_a_repository_that_git_refuses_is_reported(repository, tmp_path, monkeypatch):
    played(tmp_path, monkeypatch, "echo 'fatal: no such thing' >&2; exit 128")
    signals, unread = kinds(repository / "src" / "b.py")
    assert signals == []
    assert unread[-1].endswith("git cannot read it: no such thing.")


def test_a_path_that_does_not_exist_declares_nothing(tmp_path):
    assert declared_around(Path(tmp_path / "missing.py")) == ([], ())


def test_detect_prints_the_history_of_a_file(repository, monkeypatch, capsys):
    import sys

    from assay.cli.app import main

    monkeypatch.setattr(sys, "argv", ["assay", "detect", str(repository / "src" / "b.py"), "--json"])
    with pytest.raises(SystemExit):
        main()
    signals = json.loads(capsys.readouterr().out)["signals"]
    assert [signal["kind"] for signal in signals] == ["agent configuration", "commit trailer"]
    assert signals[1]["files"] == ["src/b.py"]


def test_a_declaring_commit_names_the_files_that_it_changed(repository):
    for name in ("src/c.py", "src/d.py", "src/e f.py", "src/g.py", "new.py"):
        (repository / name).write_text(CODE)
    DatedRepository.git(SimpleNamespace(path=repository), "add", "-A")
    DatedRepository.git(SimpleNamespace(path=repository), "commit", "-qm", "More\n\nAssisted-by: Gemini")

    def files_of(place):
        return [signal.files for signal in declared_around(repository / place)[0] if signal.commit]

    below = ("src/c.py", "src/d.py", "src/e f.py", "src/g.py")
    assert files_of(".") == [("new.py", *below), ("src/b.py",), ("old.py",)]
    assert files_of("src") == [below, ("src/b.py",)]
    assert files_of("a [1].py") == [("a [1].py",)]  # the name of today


def test_a_report_names_the_first_files_of_a_commit():
    signal = Signal("commit trailer", "Assisted-by: Gemini", commit="d" * 40, files=tuple("abcde"))
    detection = SimpleNamespace(signals=[signal, replace(signal, files=())], shares={})
    assert [row.cells[1] for row in _signals(detection).rows] == [f"{'d' * 12}: a, b, c and 2 more", "d" * 12]
    (noted, unplaced) = detection_sarif(detection)["runs"][0]["results"]
    assert len(noted["locations"]) == noted["properties"]["files"] == 5
    assert "locations" not in unplaced
