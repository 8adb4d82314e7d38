"""Declared signals of a file and a folder come from the commits that changed them, and reading them has a limit."""

import json
import os
from pathlib import Path

import pytest

from assay.api.declared import declared_around
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
    assert kinds(repository / place) == ([CONFIGURATION, *commits], "")


def test_a_bare_repository_and_a_plain_folder(repository, tmp_path):
    bare = tmp_path / "bare"
    DatedRepository(tmp_path / "other").git("clone", "-q", "--bare", str(repository), str(bare))
    assert kinds(bare) == ([CONFIGURATION, COPILOT, CLAUDE], "")
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "AGENTS.md").write_text("x")
    assert kinds(tmp_path / "plain") == ([("agent configuration", "AGENTS.md")], "")
    assert kinds(tmp_path / "plain" / "AGENTS.md") == ([], "")


def test_a_repository_without_a_commit_declares_what_lies_in_it(tmp_path):
    path = DatedRepository(tmp_path / "new").path
    (path / "AGENTS.md").write_text("x")
    assert kinds(path) == ([("agent configuration", "AGENTS.md")], "")


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
    assert unread.endswith("b.py was read for 0.3 s; its oldest commits were not read.")


def test_a_repository_that_git_refuses_is_reported(repository, tmp_path, monkeypatch):
    played(tmp_path, monkeypatch, "echo 'fatal: no such thing' >&2; exit 128")
    signals, unread = kinds(repository / "src" / "b.py")
    assert signals == []
    assert unread.endswith("git cannot read it: no such thing.")


def test_a_path_that_does_not_exist_declares_nothing(tmp_path):
    assert declared_around(Path(tmp_path / "missing.py")) == ([], "")


def test_detect_prints_the_history_of_a_file(repository, monkeypatch, capsys):
    import sys

    from assay.cli.app import main

    monkeypatch.setattr(sys, "argv", ["assay", "detect", str(repository / "src" / "b.py"), "--json"])
    with pytest.raises(SystemExit):
        main()
    kinds_of = [signal["kind"] for signal in json.loads(capsys.readouterr().out)["signals"]]
    assert kinds_of == ["agent configuration", "commit trailer"]
