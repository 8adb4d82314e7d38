"""What a user names is looked at once, and is the source that it looks like."""

import gzip
import io
import json
import random
import shutil
import subprocess
import tarfile
import zipfile

import pytest
from rich.console import Console

from assay import progress
from assay.api import indexing
from assay.corpora import CorpusSettings
from assay.corpora.git import GitRepository
from assay.corpora.open import open_sources
from assay.corpora.size import FileCount
from assay.errors import DataError
from assay.provenance import CodeIndex
from assay.provenance.index.building import BuildCounts, SourceProgress, build
from assay.provenance.index.reading import IndexSettings
from support.commands import run_assay
from support.dated_repository import DatedRepository


@pytest.fixture
def corpora(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "rows.jsonl").write_text('{"content": "x"}\n')
    (tmp_path / "folder" / "a.zip").write_bytes(b"")
    with zipfile.ZipFile(tmp_path / "folder" / "a.zip", "w") as archive:
        archive.writestr("a.py", "x = 1\n")
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "t.json.gz").write_bytes(gzip.compress(b'{"content": "x"}\n'))
    subprocess.run(["git", "init", "-q", tmp_path / "repository"], check=True)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("folder", "Folder"),
        ("folder/rows.jsonl", "TableFile"),
        ("folder/a.zip", "Archive"),
        ("a.py", "Folder"),
        ("t.json.gz", "TableFile"),
        ("repository", "GitRepository"),
    ],
)
def test_the_form_is_told_by_looking(corpora, name, kind):
    (source,) = open_sources([str(corpora / name)])
    assert type(source).__name__ == kind
    assert source.name == str((corpora / name).resolve())


def test_a_folder_of_archives_or_tables_is_a_source_each(corpora):
    (archive,) = open_sources([str(corpora / "folder")], CorpusSettings(form="archive"))
    assert archive.name.endswith("/folder/a.zip")
    (table,) = open_sources([str(corpora / "folder")], CorpusSettings(form="table", name="stack"))
    assert table.name == "stack/rows.jsonl"
    with pytest.raises(DataError, match="without any table"):
        open_sources([str(corpora / "repository")], CorpusSettings(form="table"))


def test_a_checkout_can_be_read_as_a_folder(corpora):
    (source,) = open_sources([str(corpora / "repository")], CorpusSettings(form="folder"))
    assert type(source).__name__ == "Folder"


@pytest.mark.parametrize(
    ("names", "files"),
    [
        (["folder"], 2),
        (["a.py"], 1),
        (["folder/a.zip"], 1),
        (["folder", "a.py"], 3),
        (["folder/rows.jsonl"], None),
    ],
)
def test_how_many_files_there_are_is_told_without_reading_them(corpora, names, files):
    """None where that cannot be: then no time left is shown rather than a wrong one."""
    assert FileCount(open_sources([str(corpora / name) for name in names])).total == files


def test_folders_too_deep_for_the_walk_have_no_number(tmp_path, monkeypatch):
    def walk(folder):
        raise RecursionError

    # as Python 3.11 ends for a thousand folders inside each other, which pytest could not remove
    monkeypatch.setattr("assay.corpora.size.os.walk", walk)
    assert FileCount(open_sources([str(tmp_path)])).total is None


def packed_corpora(folder):
    """The same 3,000 texts as a packed tar and as packed JSON lines."""
    draw = random.Random(0)
    texts = [f"x = {draw.getrandbits(6000)}\n" for _ in range(3000)]
    with tarfile.open(folder / "texts.tar.gz", "w:gz", compresslevel=1) as archive:
        for number, text in enumerate(texts):
            member = tarfile.TarInfo(f"m{number}.py")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    rows = "".join(json.dumps({"content": text}) + "\n" for text in texts).encode()
    (folder / "rows.jsonl.gz").write_bytes(gzip.compress(rows, 1))
    (folder / "rows.jsonl").write_bytes(rows)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["texts.tar.gz", "rows.jsonl.gz", "rows.jsonl"])
def test_packed_sources_tell_by_their_bytes_how_much_is_left(tmp_path, name):
    packed_corpora(tmp_path)
    sources = open_sources([str(tmp_path / name)])
    expected = FileCount(sources)
    assert expected.total is None
    for number, file in enumerate(sources[0].files(), 1):
        if number in {1500, 2500}:
            expected.reached(sources[0].name, number, file.share)
            assert expected.done == number
            assert expected.total == pytest.approx(3000, rel=0.15)
    expected.reached(sources[0].name, 3000, 1.0)
    assert expected.total == 3000


def test_a_source_not_begun_is_taken_for_one_of_its_kind(tmp_path):
    packed_corpora(tmp_path)
    (tmp_path / "more.jsonl").write_bytes((tmp_path / "rows.jsonl").read_bytes() * 2)
    sources = open_sources([str(tmp_path / "rows.jsonl"), str(tmp_path / "more.jsonl")])
    expected = FileCount(sources)
    expected.reached(sources[0].name, 3000, 1.0)
    assert expected.total == 9000


def test_a_repository_tells_by_its_files_or_its_commits_how_much_is_left(corpora):
    repository = corpora / "repository"
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    for number in range(5):
        (repository / f"n{number}.py").write_text(f"y = {number}\n")
        (repository / "same.py").write_text(f"y = {-number}\n")
        subprocess.run(["git", "-C", repository, "add", "-A"], check=True)
        subprocess.run(["git", "-C", repository, *who, "commit", "-q", "-m", "more"], check=True)
    assert FileCount(open_sources([str(repository)])).total == 6
    sources = open_sources([str(repository)], CorpusSettings(all_history=True))
    assert [file.share for file in sources[0].files()] == [number / 5 for number in (1, 1, 2, 2, 3, 3, 4, 4, 5, 5)]
    expected = FileCount(sources)
    assert expected.total is None
    expected.reached(sources[0].name, 4, 2 / 5)
    assert expected.total == 10


@pytest.mark.slow
def test_a_build_tells_how_far_it_is(tmp_path):
    packed_corpora(tmp_path)
    told = []
    with CodeIndex.create(tmp_path / "index") as index:
        sources = open_sources([str(tmp_path / "texts.tar.gz")])
        build(sources, index, IndexSettings(), jobs=1, progress=lambda _, reached: told.append(reached))
    shares = [entry.share for entry in told]
    assert shares == sorted(shares)
    assert shares[0] < 0.5
    assert told[-1] == SourceProgress(sources[0].name, 3000, 1.0)


def test_a_bar_shows_files_rates_and_documents(corpora, monkeypatch):
    shown = io.StringIO()
    for module in (progress, indexing):
        monkeypatch.setattr(module, "ERRORS", Console(file=shown, force_terminal=True, width=120))
    expected = FileCount(open_sources([str(corpora / "folder")]))
    with indexing.files_bar("indexing", lambda: expected) as report:
        report(
            BuildCounts(files=1, bytes=2_000_000, documents=7, seconds=1.0),
            SourceProgress(str((corpora / "folder").resolve()), 1, None),
        )
    assert "1/2 files" in shown.getvalue()
    assert "1/s, 2.0 MB/s, 7 documents" in shown.getvalue()


def test_no_bar_in_a_pipe(monkeypatch):
    def count():
        raise AssertionError("nobody looks: nothing is counted")

    shown = io.StringIO()
    monkeypatch.setattr(progress, "ERRORS", Console(file=shown, force_terminal=False))
    with indexing.files_bar("indexing", count) as report:
        report(BuildCounts(files=1, bytes=2, documents=7, seconds=1.0), SourceProgress("x", 1, None))
    assert shown.getvalue() == ""


def test_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"x = 1\n")))
    (source,) = open_sources(["-"], CorpusSettings(name="clipboard"))
    assert [file.path for file in source.files()] == ["clipboard"]
    with pytest.raises(DataError, match="read as git"):
        open_sources(["-"], CorpusSettings(form="git"))


def test_what_cannot_be_is_one_line(corpora):
    with pytest.raises(DataError, match="No such file"):
        open_sources([str(corpora / "nowhere")])
    with pytest.raises(DataError, match="a file, expected what can be read as git"):
        open_sources([str(corpora / "a.py")], CorpusSettings(form="git"))
    with pytest.raises(DataError, match="a folder, expected what can be read as file"):
        open_sources([str(corpora / "folder")], CorpusSettings(form="file"))
    with pytest.raises(DataError, match="no language is called 'klingon'"):
        open_sources([str(corpora / "a.py")], CorpusSettings(language=("klingon",)))
    with pytest.raises(DataError, match="size 'much'"):
        CorpusSettings(max_file_size="much")
    with pytest.raises(DataError, match="one name for 2 corpora"):
        open_sources([str(corpora / "a.py")] * 2, CorpusSettings(name="x"))


@pytest.mark.parametrize(
    "damage",
    [
        lambda git: (git / "HEAD").write_text("nothing\n"),
        lambda git: (git / "HEAD").unlink(),
        lambda git: (git / "config").write_text("[core"),
        lambda git: shutil.rmtree(git / "objects"),
        lambda git: (git / "refs" / "heads" / "main").write_text(f"{'1' * 40}\n"),
        lambda git: (shutil.rmtree(git), git.write_text("gitdir: /nowhere\n")),
        lambda git: (shutil.rmtree(git), git.mkdir()),
    ],
    ids=["HEAD", "no HEAD", "settings", "no objects", "branch", "file that leads nowhere", "empty"],
)
def test_of_a_damaged_repository_the_files_are_read_and_a_note_says_what_is_not(tmp_path, damage):
    repository = DatedRepository(tmp_path / "r")
    repository.commit("2020-01-01", {"a.py": "x = 1\n"})
    assert isinstance(open_sources([str(repository.path)])[0], GitRepository)
    damage(repository.path / ".git")
    (source,) = open_sources([str(repository.path)])
    assert "a.py" in {file.path for file in source.files()}
    assert source.note.endswith("without history and authors")
    with pytest.raises(DataError, match="git cannot read it"):
        list(open_sources([str(repository.path)], CorpusSettings(form="git"))[0].files())


def test_a_build_says_that_the_history_of_a_damaged_repository_was_not_read(tmp_path):
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / ".git").write_text("gitdir: /nowhere\n")
    (tmp_path / "r" / "a.py").write_text("def share(a, b):\n    return a.part(b) * 3\n")
    finished = run_assay("index", "build", tmp_path / "r", "--index", tmp_path / "i", "--jobs", "1")
    assert (finished.code, "without history and authors" in " ".join(finished.out.split())) == (0, True)
