"""A folder gives its plain files, and a reason for everything else."""

import os
import socket
from pathlib import Path

import pytest

from assay.corpora.entry import Entry, Skipped
from assay.corpora.folders import Folder
from assay.errors import DataError


def make(root, **files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def read(root, **options):
    found = list(Folder(root, str(root), **options).files())
    paths = [entry.path for entry in found if isinstance(entry, Entry)]
    return paths, {entry.path: entry.reason for entry in found if isinstance(entry, Skipped)}


def test_files_come_in_the_order_of_their_paths_with_forward_slashes(tmp_path):
    make(tmp_path, **{"b/y.py": "1", "a.py": "1", "b/x.py": "1", "c/.git/config": "x", "z.py": "1"})
    assert read(tmp_path) == (["a.py", "z.py", "b/x.py", "b/y.py"], {})


def test_an_entry_reads_its_file(tmp_path):
    make(tmp_path, **{"a.py": "x = 1"})
    (entry,) = Folder(tmp_path, "c").files()
    assert entry.content.read(100) == b"x = 1"
    assert entry.content.read(1) == b"x"
    assert entry.size == 5


def test_a_touched_file_has_another_stamp(tmp_path):
    make(tmp_path, **{"a.py": "x = 1"})
    (before,) = Folder(tmp_path, "c").files()
    os.utime(tmp_path / "a.py", ns=(1, 1))
    (after,) = Folder(tmp_path, "c").files()
    assert before.stamp != after.stamp


def test_gitignore_holds_where_it_lies_and_the_deeper_one_has_the_last_word(tmp_path):
    make(
        tmp_path,
        **{
            ".gitignore": "build/\n*.log.py\n/top.py\n",
            "build/x.py": "1",
            "top.py": "1",
            "deep/top.py": "1",
            "deep/a.log.py": "1",
            "deep/keep.log.py": "1",
            "deep/.gitignore": "!keep.log.py\nlocal.py\n",
            "deep/local.py": "1",
            "local.py": "1",
        },
    )
    paths, skipped = read(tmp_path)
    assert [path for path in paths if path.endswith(".py")] == ["local.py", "deep/keep.log.py", "deep/top.py"]
    assert skipped == dict.fromkeys(["build", "top.py", "deep/a.log.py", "deep/local.py"], "ignored")
    assert len(read(tmp_path, honour_ignore=False)[0]) == 9


def test_an_excluded_folder_is_not_entered(tmp_path):
    make(tmp_path, **{"a.py": "1", "deep/vendor/x/y.py": "1", "deep/b_test.py": "1"})
    assert read(tmp_path, exclude=("vendor/", "*_test.py")) == (
        ["a.py"],
        {"deep/vendor": "excluded", "deep/b_test.py": "excluded"},
    )


def test_a_part_of_a_repository_stands_under_the_repositorys_licence(tmp_path):
    make(tmp_path, **{"r/.git/HEAD": "x", "r/pyproject.toml": '[project]\nlicense = "MIT"\n', "r/src/p/a.py": "1"})
    make(tmp_path, **{"pyproject.toml": '[project]\nlicense = "0BSD"\n', "b.py": "1"})
    make(tmp_path, **{"r/own/pyproject.toml": '[project]\nlicense = "ISC"\n', "r/own/a.py": "1"})

    def licences(path):
        return {file.facts.nearest for file in Folder(path, "c").files()}

    assert licences(tmp_path / "r" / "src") == {"MIT"}
    assert licences(tmp_path / "r" / "src" / "p" / "a.py") == {"MIT"}
    assert licences(tmp_path / "r" / "own") == {"ISC"}
    assert licences(tmp_path / "b.py") == {None}, "a folder that is no repository speaks of nothing below it"


def test_what_a_repository_ignores_does_not_stand_under_its_licence(tmp_path):
    make(tmp_path, **{"r/.git/info/exclude": "tmp/\n", "r/pyproject.toml": '[project]\nlicense = "MIT"\n'})
    make(tmp_path, **{"r/.gitignore": "/versions\n!kept.py\n", "r/deep/.gitignore": "*.gen.py\n", "r/tmp/a.py": "1"})
    make(tmp_path, **{"r/versions/3.11/lib/json/a.py": "1", "r/deep/b.gen.py": "1", "r/deep/b.py": "1"})
    make(tmp_path, **{"r/versions/3.11/lib/pyproject.toml": '[project]\nlicense = "ISC"\n'})

    def licences(path):
        found = Folder(tmp_path / "r" / path, "c").files()
        return {entry.facts.nearest for entry in found if isinstance(entry, Entry)}

    assert licences("versions/3.11/lib/json") == licences("tmp") == licences("deep/b.gen.py") == {None}
    assert licences("versions/3.11/lib") == {"ISC"}, "what the named folder itself states holds"
    assert licences("deep") == licences("deep/b.py") == {"MIT"}


def test_a_relative_path_is_looked_up_to_the_root_of_its_repository(tmp_path, monkeypatch):
    make(tmp_path, **{"r/.git/HEAD": "x", "r/pyproject.toml": '[project]\nlicense = "MIT"\n', "r/src/p/a.py": "1"})
    monkeypatch.chdir(tmp_path / "r" / "src")
    assert {file.facts.nearest for file in Folder(Path("p"), "c").files()} == {"MIT"}


def test_links_are_not_followed_so_no_loop_is_walked(tmp_path):
    make(tmp_path, **{"a/x.py": "1"})
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    (tmp_path / "y.py").symlink_to(tmp_path / "a" / "x.py")
    (tmp_path / "gone.py").symlink_to(tmp_path / "nowhere")
    inside = dict.fromkeys(["y.py", "a/loop"], "link to a judged file")
    assert read(tmp_path) == (["a/x.py"], {"gone.py": "link"} | inside)


def test_what_is_no_file_is_counted(tmp_path):
    os.mkfifo(tmp_path / "pipe.py")
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(os.path.relpath(tmp_path / "s.py"))
        assert read(tmp_path) == ([], {"pipe.py": "not a plain file", "s.py": "not a plain file"})


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unreadable to root")
def test_an_unreadable_folder_inside_is_passed_over(tmp_path):
    make(tmp_path, **{"a.py": "1", "locked/b.py": "1"})
    (tmp_path / "locked").chmod(0)
    try:
        assert read(tmp_path) == (["a.py"], {"locked": "unreadable"})
    finally:
        (tmp_path / "locked").chmod(0o700)


def test_a_folder_that_cannot_be_listed_inside_is_passed_over(tmp_path, monkeypatch):
    make(tmp_path, **{"a.py": "1", "locked/b.py": "1"})
    listed = os.scandir

    def scandir(path):
        if os.fspath(path).endswith("locked"):
            raise PermissionError(13, "Permission denied")
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert read(tmp_path) == (["a.py"], {"locked": "unreadable"})
    with pytest.raises(DataError, match="Permission denied"):
        read(tmp_path / "locked")


def test_a_name_that_is_no_utf_8_is_shown_by_its_escape(tmp_path):
    (tmp_path / os.fsdecode(b"\xff.py")).write_text("1")
    assert read(tmp_path)[0] == ["\\udcff.py"]


def test_one_file_is_a_source_too(tmp_path):
    make(tmp_path, **{"a.py": "1"})
    assert read(tmp_path / "a.py") == (["a.py"], {})


def test_a_deep_tree_is_walked_without_recursion(tmp_path):
    deepest = os.open(tmp_path, os.O_RDONLY)
    for _ in range(300):
        os.mkdir("d", dir_fd=deepest)
        inner = os.open("d", os.O_RDONLY, dir_fd=deepest)
        os.close(deepest)
        deepest = inner
    os.close(os.open("a.py", os.O_CREAT | os.O_WRONLY, dir_fd=deepest))
    os.close(deepest)
    assert read(tmp_path)[0] == ["d/" * 300 + "a.py"]


def test_what_has_no_source_beside_it_in_a_folder_of_compiled_files_is_read(tmp_path):
    make(
        tmp_path,
        **{"a.py": "1", "__pycache__/a.cpython-311.pyc": "1", "__pycache__/b.pyc": "1", "__pycache__/x.py": "1"},
    )
    assert read(tmp_path) == (["a.py", "__pycache__/b.pyc", "__pycache__/x.py"], {})


def test_sources_in_a_folder_of_version_control_are_named(tmp_path):
    make(
        tmp_path,
        **{"a.py": "1", ".hg/store/x.py": "1", ".hg/hgrc": "1", "b/.svn/deep/y.c": "1", ".git/hooks/z.py": "1"},
    )
    skipped = dict.fromkeys((".hg/store/x.py", "b/.svn/deep/y.c"), "in a folder of version control")
    assert read(tmp_path) == (["a.py"], skipped)
