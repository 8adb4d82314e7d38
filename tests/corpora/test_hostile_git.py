"""Repositories whose configuration starts programs: here none is started, and nothing is fetched."""

import os
import resource
import subprocess
from datetime import date

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.corpora import git as module
from assay.corpora.commits import GitHistory, commit_messages, patches_before, texts_before
from assay.corpora.entry import Entry
from assay.corpora.git import GitRepository
from assay.errors import DataError


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


LATE = date(2090, 1, 1)
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


@pytest.mark.slow
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


@pytest.fixture
def bare(tmp_path):
    """A bare repository, and functions that write an object and a commit into it."""
    root = tmp_path / "bare.git"
    subprocess.run(["git", "init", "-q", "--bare", root], check=True)

    def write(kind, content):
        command = ["git", "-C", root, "hash-object", "-w", "--literally", "-t", kind, "--stdin"]
        return subprocess.run(command, input=content, capture_output=True, check=True).stdout.decode().strip()

    def tree(*entries):
        return write(
            "tree", b"".join(f"{mode} {name}".encode() + b"\0" + bytes.fromhex(of) for mode, name, of in entries)
        )

    def commit(top, author=b"A <a@example.org> 1 +0000", message=b"m", more=b""):
        text = (
            b"tree " + top.encode() + b"\nauthor " + author + b"\ncommitter " + author + b"\n" + more + b"\n" + message
        )
        digest = write("commit", text)
        (root / "HEAD").write_text("ref: refs/heads/main\n")
        (root / "refs/heads/main").write_text(f"{digest}\n")
        return digest

    return root, write, tree, commit


def every_reader(root):
    """Every function that reads a repository, with the lines of those that refuse it."""
    readers = (
        lambda: GitRepository(root, "r").count(),
        lambda: list(GitRepository(root, "r").files()),
        lambda: list(GitRepository(root, "r", all_history=True).files()),
        lambda: list(texts_before(root, LATE)),
        lambda: [(patch, patch.file("a.py")) for patch in patches_before(root, LATE)],
        lambda: list(commit_messages(root)),
        lambda: [GitHistory(root).lines(path) for path in list(GitHistory(root).files)[:2]],
    )
    lines = []
    for reader in readers:
        try:
            reader()
        except DataError as error:
            lines.append(str(error))
    assert not [line for line in lines if "\n" in line]
    return lines


@pytest.mark.slow
@pytest.mark.parametrize("leaf", ["files", "empty folders"])
def test_a_dozen_trees_that_name_a_hundred_million_files_are_refused(bare, leaf):
    root, write, tree, commit = bare
    level = write("blob", b"a = 1\n") if leaf == "files" else tree()
    mode = "100644" if leaf == "files" else "40000"
    for _ in range(8):
        level = tree(*((mode, f"a{place}.py", level) for place in range(10)))
        mode = "40000"
    commit(level)
    began = resource.getrusage(resource.RUSAGE_SELF).ru_utime + resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    lines = every_reader(root)
    ended = resource.getrusage(resource.RUSAGE_SELF).ru_utime + resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    reasons = ("git names more than", "than its size explains")
    assert all(any(reason in line for reason in reasons) for line in lines)
    assert len(lines) >= 5
    assert ended - began < 40  # seven readers, 5 s of a processor each at most for git


@pytest.mark.parametrize(
    "text",
    [
        "[i18n]\n    logOutputEncoding = UTF-16\n    commitEncoding = UTF-16\n",
        "[log]\n    showRoot = false\n    date = raw\n[color]\n    ui = always\n    diff = always\n",
        "[diff]\n    orderFile = /dev/zero\n    relative = true\n    noPrefix = true\n    submodule = log\n",
        '[remote "origin"]\n    url = http://[half\n',
        "[core]\n    abbrev = 4\n    quotePath = true\n[format]\n    pretty = oneline\n",
        "[blame]\n    ignoreRevsFile = /dev/zero\n    showEmail = true\n    coloring = repeatedLines\n",
    ],
)
def test_no_setting_changes_what_is_read(hostile, text):
    def read(root):
        files = [GitRepository(root, "r", all_history=history).files() for history in (False, True)]
        return [
            [[(entry.path, entry.stamp, entry.facts.commit, entry.facts.author) for entry in found] for found in files],
            list(commit_messages(root)),
            [patch.patch for patch in patches_before(root, LATE)],
            GitHistory(root).lines("a.py"),
        ]

    root = hostile("")
    plain = read(root)
    assert len(plain[0][1]) == 3
    with (root / ".git/config").open("a") as file:
        file.write(text)
    assert read(root) == plain


@pytest.mark.slow
@pytest.mark.parametrize(
    ("author", "more", "message"),
    [
        (b"\x1b[2J\xe2\x80\xae<x <a@b> 1 +0000", b"", b"::error::\x1b]0;x\x07"),
        (b"a" * 10_000_000 + b" <a@b> 1 +0000", b"", b"m"),
        (b"A <a@b> 99999999999999999999 +9999", b"", b"m"),
        (b"A <a@b> 67767976233532799 +0000", b"", b"m"),
        (b"A", b"", b""),
        (b"+AAA-B+AAA-:100644 <a@b> 1 +0000", b"encoding UTF-7\n", b"+AAEAAA-"),
        (b"A <a@b> 1 +0000", b"encoding UTF-16\n", b"\xff\xfe\x00"),
    ],
    ids=["escapes", "ten megabytes", "endless date", "last date", "no address", "NUL by UTF-7", "UTF-16"],
)
def test_hostile_authors_and_messages_are_read_or_refused_in_one_line(bare, author, more, message):
    root, write, tree, commit = bare
    commit(tree(("100644", "a.py", write("blob", b"a = 1\n"))), author, message, more)
    every_reader(root)


@pytest.mark.slow
@given(st.data())
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_damaged_objects_are_read_or_refused_in_one_line(bare, data):
    """Trees and commits whose bytes are wrong, as their digests are right: git itself hands them out."""
    root, write, tree, commit = bare
    blob = write("blob", b"a = 1\n")
    content = bytearray(
        b"100644 a.py\0" + bytes.fromhex(blob) + b"40000 d\0" + bytes.fromhex(tree(("100644", "b", blob)))
    )
    for place in data.draw(st.lists(st.integers(0, len(content) - 1), max_size=4)):
        content[place] = data.draw(st.integers(0, 255))
    text = data.draw(st.binary(max_size=30))
    commit(write("tree", bytes(content)), text + b" <a> 1 +0000", text, data.draw(st.sampled_from([b"", text + b"\n"])))
    every_reader(root)
