"""Files and folders appear whole or not at all."""

import errno
import json
import os
from pathlib import Path

import pytest
from safetensors import SafetensorError

from assay.errors import DataError
from assay.files import (
    atomic_file,
    atomic_folder,
    atomic_path,
    check_target,
    durable_file,
    parse_json,
    parse_toml,
    write_json,
    write_text,
)


def names(folder):
    return [path.name for path in folder.iterdir()]


def fail_after(file):
    file.write(b"half")
    raise KeyError


def test_a_text_replaces_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    write_text(path, "old")
    write_text(path, "néw")
    assert path.read_text("utf-8") == "néw"
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("opener", [atomic_file, durable_file])
def test_a_block_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, opener):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(KeyError), opener(path) as file:
        fail_after(file)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("opener", [atomic_file, durable_file])
def test_a_link_in_the_place_of_the_temporary_file_is_not_written_through(tmp_path, monkeypatch, opener):
    """Were the name known, somebody who can write to the folder could choose which file is overwritten."""
    victim, path = tmp_path / "victim", tmp_path / "folder" / "a.txt"
    victim.write_text("mine")
    path.parent.mkdir()
    monkeypatch.setattr("secrets.token_hex", lambda size: "0" * 2 * size)
    (path.parent / f".a.txt.{'0' * 16}.unfinished").symlink_to(victim)
    with pytest.raises((DataError, FileExistsError)), opener(path) as file:
        file.write(b"theirs")
    assert victim.read_text() == "mine"


def test_a_temporary_file_has_another_name_each_time(tmp_path):
    with atomic_path(tmp_path / "a") as first, atomic_path(tmp_path / "a") as second:
        assert first != second
        assert [first.read_bytes(), second.read_bytes()] == [b"", b""]


def test_the_old_file_stays_readable_until_the_block_ends(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with atomic_path(path) as unfinished:
        unfinished.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"


def test_a_folder_appears_when_it_is_whole(tmp_path):
    path = tmp_path / "run"
    with pytest.raises(KeyError), atomic_folder(path) as folder, (folder / "a").open("wb") as file:
        fail_after(file)
    assert not path.exists()
    with atomic_folder(path) as folder:
        (folder / "b").touch()
        assert not path.exists()
    assert names(path) == ["b"]


@pytest.mark.parametrize(
    "error",
    [OSError(errno.ENOSPC, "No space left on device"), SafetensorError("I/O error: No space left (os error 28)")],
    ids=lambda error: type(error).__name__,
)
def test_a_full_disk_is_one_line_whoever_writes(tmp_path, error):
    with pytest.raises(DataError, match="run: cannot be written: the disk is full"), atomic_folder(tmp_path / "run"):
        raise error


def test_an_existing_folder_is_refused(tmp_path):
    with pytest.raises(DataError, match="exists already"), atomic_folder(tmp_path):
        pass


def test_a_missing_parent_is_one_line(tmp_path):
    with pytest.raises(DataError, match=r"absent/a\.txt: cannot be written: No such file"):
        write_text(tmp_path / "absent" / "a.txt", "x")


def test_json_refuses_what_json_does_not_know(tmp_path):
    with pytest.raises(ValueError, match="Out of range"):
        write_json(tmp_path / "a.json", float("nan"))
    assert not list(tmp_path.iterdir())
    write_json(tmp_path / "a.json", {"b": [1]})
    assert json.loads((tmp_path / "a.json").read_text()) == {"b": [1]}


@pytest.mark.parametrize(
    ("text", "words"),
    [("{", "Expecting"), ("[" * 100_000, "nested too deeply"), ("9" * 5_000, "digits"), (b"\xff", "utf-8")],
)
def test_json_that_cannot_be_read_is_a_value_error(text, words):
    with pytest.raises(ValueError, match=words):
        parse_json(text)


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "text",
    ["a." * 99_999 + "b = 1", f"[{'a.' * 99_999}b]", "x = [\n{" + "a." * 2000 + "b = 1}]", "x = " + "[" * 9999, "x"],
)
def test_toml_that_would_keep_its_parser_busy_is_a_value_error(text):
    with pytest.raises(ValueError, match=r"TOML|Expected"):
        parse_toml(text)
    assert parse_toml("a.b = 'c. d. e.'") == {"a": {"b": "c. d. e."}}


def test_a_target_is_checked_before_the_work(tmp_path):
    check_target(tmp_path / "new.json", None)
    with pytest.raises(DataError, match="is a folder"):
        check_target(tmp_path)
    with pytest.raises(DataError, match="does not exist"):
        check_target(tmp_path / "absent" / "new.json")
    with pytest.raises(DataError, match="is not a plain file"):
        check_target(Path(os.devnull))
