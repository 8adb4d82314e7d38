"""What a user names is looked at once, and is the source that it looks like."""

import gzip
import io
import subprocess
import zipfile

import pytest
from rich.console import Console

from assay.cli import terminal
from assay.errors import DataError
from assay.provenance.build import BuildCounts
from assay.provenance.sources.open import Reading, open_sources
from assay.provenance.sources.size import expected_files


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
        ("folder/rows.jsonl", "Table"),
        ("folder/a.zip", "Archive"),
        ("a.py", "Folder"),
        ("t.json.gz", "Table"),
        ("repository", "GitRepository"),
    ],
)
def test_the_form_is_told_by_looking(corpora, name, kind):
    (source,) = open_sources([str(corpora / name)], Reading())
    assert type(source).__name__ == kind
    assert source.name == str((corpora / name).resolve())


def test_a_folder_of_archives_or_tables_is_a_source_each(corpora):
    (archive,) = open_sources([str(corpora / "folder")], Reading(form="archive"))
    assert archive.name.endswith("/folder/a.zip")
    (table,) = open_sources([str(corpora / "folder")], Reading(form="table", name="stack"))
    assert table.name == "stack/rows.jsonl"
    with pytest.raises(DataError, match="without a single table"):
        open_sources([str(corpora / "repository")], Reading(form="table"))


def test_a_checkout_can_be_read_as_a_folder(corpora):
    (source,) = open_sources([str(corpora / "repository")], Reading(form="folder"))
    assert type(source).__name__ == "Folder"


@pytest.mark.parametrize(
    ("names", "files"),
    [(["folder"], 2), (["a.py"], 1), (["folder/a.zip"], 1), (["folder", "a.py"], 3), (["folder/rows.jsonl"], None)],
)
def test_how_many_files_there_are_is_told_without_reading_them(corpora, names, files):
    """None where that cannot be: then no time left is shown rather than a wrong one."""
    assert expected_files(open_sources([str(corpora / name) for name in names], Reading())) == files


def test_a_bar_shows_files_rates_and_documents(monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr(terminal, "ERRORS", Console(file=shown, force_terminal=True, width=120))
    with terminal.files_bar("indexing", lambda: 10) as report:
        report(BuildCounts(files=5, bytes=2_000_000, documents=7, seconds=1.0))
    assert "5/10" in shown.getvalue()
    assert "5/s, 2.0 MB/s, 7 documents" in shown.getvalue()


def test_no_bar_in_a_pipe():
    def count():
        raise AssertionError("nobody looks: nothing is counted")

    with terminal.files_bar("indexing", count) as report:
        assert report is None


def test_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"x = 1\n")))
    (source,) = open_sources(["-"], Reading(name="clipboard"))
    assert [one.path for one in source.found()] == ["clipboard"]
    with pytest.raises(DataError, match="read as git"):
        open_sources(["-"], Reading(form="git"))


def test_what_cannot_be_is_one_line(corpora):
    with pytest.raises(DataError, match="No such file"):
        open_sources([str(corpora / "nowhere")], Reading())
    with pytest.raises(DataError, match="a file, expected what can be read as git"):
        open_sources([str(corpora / "a.py")], Reading(form="git"))
    with pytest.raises(DataError, match="a folder, expected what can be read as file"):
        open_sources([str(corpora / "folder")], Reading(form="file"))
    with pytest.raises(DataError, match="column 'colour': expected one of text"):
        open_sources([str(corpora / "a.py")], Reading(columns={"colour": "x"}))
    with pytest.raises(DataError, match="a name for 2 corpora"):
        open_sources([str(corpora / "a.py")] * 2, Reading(name="x"))
