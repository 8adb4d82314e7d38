"""Repositories whose configuration starts programs: here none is started, and nothing is fetched."""

import os
import subprocess

import pytest

from assay.provenance.sources import git as module
from assay.provenance.sources.entry import Entry
from assay.provenance.sources.git import GitRepository


@pytest.fixture
def hostile(tmp_path):
    """A repository with one commit, the blob of which is missing; a function that adds lines to its configuration."""
    root = tmp_path / "repository"
    root.mkdir()
    environment = os.environ | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}

    def git(*arguments):
        who = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgSign=false")
        process = subprocess.run(
            ["git", *who, *arguments], cwd=root, env=environment, capture_output=True, text=True, check=True
        )
        return process.stdout.strip()

    git("init", "-q")
    (root / "a.py").write_text("a = 1\n")
    (root / ".gitattributes").write_text("*.py diff=evil filter=evil\n")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    (root / "a.py").write_text("a = 2\n")
    git("commit", "-q", "-a", "-m", "second")

    def configured(text, *, partial=False):
        if partial:
            blob = git("rev-parse", "HEAD:a.py")
            (root / ".git/objects" / blob[:2] / blob[2:]).unlink()
        with (root / ".git/config").open("a") as file:
            file.write(text)
        return root

    return configured


PARTIAL = """
[extensions]
    partialClone = origin
[core]
    repositoryFormatVersion = 1
[remote "origin"]
    promisor = true
"""


def read_all(root):
    for all_history in (False, True):
        repository = GitRepository(root, "r", all_history=all_history)
        for entry in repository.files():
            if isinstance(entry, Entry):
                entry.content.read(1000)
        assert repository.count() > 0


@pytest.mark.parametrize("attack", ["ext", "ssh", "git", "helper", "local"])
def test_no_setting_makes_a_partial_clone_fetch(hostile, tmp_path, attack, monkeypatch):
    """A narrower setting (protocol.ext.allow) is stronger than an option with a wider one.

    A git before 2.44 fetches what is missing whatever GIT_NO_LAZY_FETCH says; without the variable every git does.
    """
    monkeypatch.delitem(module._ENVIRONMENT, "GIT_NO_LAZY_FETCH")
    mark, program = tmp_path / "mark", tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    program.chmod(0o755)
    settings = {
        "ext": f"    url = ext::{program}\n",
        "ssh": f"    url = ssh://example.org/a\n[core]\n    sshCommand = {program}\n",
        "git": f"    url = git://example.org/a\n[core]\n    gitProxy = {program}\n",
        "helper": f"    url = a\n    vcs = ext\n[alias]\n    remote-ext = !{program}\n",
        "local": f"    url = {tmp_path / 'other'}\n    uploadpack = {program}\n",
    }
    allowed = "".join(f'[protocol "{name}"]\n    allow = always\n' for name in ("ext", "ssh", "git", "file"))
    root = hostile(PARTIAL + settings[attack] + "[protocol]\n    allow = always\n" + allowed, partial=True)
    read_all(root)
    blob = subprocess.run(["git", "-C", root, "rev-parse", "HEAD:a.py"], capture_output=True, text=True, check=True)
    assert not module._succeeds(root, "cat-file", "-e", blob.stdout.strip())
    assert not mark.exists()


def test_no_setting_starts_a_program(hostile, tmp_path):
    mark, program = tmp_path / "mark", tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    program.chmod(0o755)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("post-index-change", "fsmonitor-watchman", "post-checkout", "reference-transaction"):
        (hooks / name).symlink_to(program)
    root = hostile(
        f"""
[core]
    fsmonitor = {program}
    hooksPath = {hooks}
    pager = {program}
    editor = {program}
    alternateRefsCommand = {program}
    askPass = {program}
[pager]
    log = {program}
    ls-tree = {program}
[log]
    showSignature = true
[gpg]
    program = {program}
[diff]
    external = {program}
[diff "evil"]
    command = {program}
    textconv = {program}
[filter "evil"]
    clean = {program}
    smudge = {program}
    process = {program}
    required = true
[alias]
    log = !{program}
    cat-file = !{program}
[credential]
    helper = !{program}
"""
    )
    read_all(root)
    assert not mark.exists()


def test_variables_of_a_git_hook_name_no_other_repository(hostile, tmp_path, monkeypatch):
    """Inside a hook git sets GIT_DIR, which is stronger than the folder that it is called in."""
    root = hostile("")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(tmp_path / "program"))
    paths = [entry.path for entry in GitRepository(root, "r").files()]
    assert sorted(paths) == [".gitattributes", "a.py"]
