"""A disk that fills while an index is written: one line, exit code 2, and what was committed stands."""

import errno
import random
from pathlib import Path

import pytest

from assay import files
from assay.provenance import CodeIndex
from assay.provenance.index import catalogue


def full(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


class Filling:
    """A file that nothing more goes into."""

    def __init__(self, file):
        self._file = file

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()

    def __getattr__(self, name):
        return full if name == "write" else getattr(self._file, name)


def fill_files(monkeypatch, suffix):
    opened = Path.open

    def opening(path, mode="r", *arguments, **options):
        file = opened(path, mode, *arguments, **options)
        is_unfinished = path.name.endswith(files.UNFINISHED) and f"{suffix}." in path.name
        return Filling(file) if is_unfinished and "w" in mode else file

    monkeypatch.setattr(Path, "open", opening)


def fill_folder(monkeypatch, _):
    monkeypatch.setattr(files, "sync_folder", full)


def fill_catalogue(monkeypatch, _):
    connect = catalogue.connect_catalogue

    def connecting(path, **options):
        connection = connect(path, **options)
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    monkeypatch.setattr(catalogue, "connect_catalogue", connecting)


def module(seed):
    draw = random.Random(seed)
    return "".join(f"name_{draw.getrandbits(64):x} = call_{draw.getrandbits(64):x}()\n" for _ in range(400))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fill", "suffix", "reported"),
    [
        (fill_files, ".segment", ".segment"),
        (fill_files, ".vectors", ".vectors"),
        (fill_files, ".json", ".json"),
        (fill_folder, "", ".segment"),
        (fill_catalogue, "", ".sqlite"),
    ],
)
def test_a_full_disk_is_told_in_one_line_and_nothing_committed_is_lost(
    assay, tmp_path, monkeypatch, fill, suffix, reported
):
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "first.py").write_text(module(1))
    build = ("index", "build", corpus, "--index", "i", "--jobs", 1)
    assert assay(*build).code == 0

    (corpus / "second.py").write_text(module(2))
    with monkeypatch.context() as filled:
        fill(filled, suffix)
        found = assay(*build)
    assert (found.code, found.err.count("\n")) == (2, 1), found.err
    assert "the disk is full" in found.err
    assert f"{reported}: " in found.err
    assert "the last commit is unchanged" in found.err

    with CodeIndex.open(tmp_path / "i") as index:
        index.check()
        assert [document.text for document in index.documents(index.ids())] == [module(1)]
    again = assay(*build)
    assert (again.code, "1 read, 1 unchanged" in again.out) == (0, True)


@pytest.mark.parametrize("name", ["catalogue.sqlite", "manifest-0000000000.json", "index.json"])
def test_a_disk_that_is_full_from_the_start_leaves_nothing_in_the_way(assay, tmp_path, monkeypatch, name):
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus/first.py").write_text(module(1))
    build = ("index", "build", tmp_path / "corpus", "--index", "i", "--jobs", 1)
    with monkeypatch.context() as filled:
        if name == "catalogue.sqlite":
            filled.setattr(catalogue, "SCHEMA", "CREATE TABLE half (a); CREATE TABLE half (b);")
        else:
            fill_files(filled, name)
        assert (assay(*build).code, (tmp_path / "i/index.json").exists()) == (2, False)
    assert any((tmp_path / "i").iterdir())
    again = assay(*build)
    assert (again.code, "1 read" in again.out) == (0, True), again.err


def test_a_folder_of_an_index_without_its_description_is_not_begun_anew(assay, tmp_path):
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus/first.py").write_text(module(1))
    build = ("index", "build", tmp_path / "corpus", "--index", "i", "--jobs", 1)
    assert assay(*build).code == 0
    (tmp_path / "i/index.json").unlink()
    again = assay(*build)
    assert (again.code, "not empty" in again.err) == (2, True)
    assert CodeIndex.repair(tmp_path / "i").removed == 0
