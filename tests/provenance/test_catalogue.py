"""The catalogue counts the languages of its documents, whoever wrote them."""

import sqlite3
from collections import Counter
from unittest import mock

import pytest

from assay.errors import CorpusIndexError
from assay.provenance import CodeIndex, Document, Origin

LANGUAGES = ["python", "java", None, "python", None, None, "go"]
COUNTS = {None: 3, "python": 2, "go": 1, "java": 1}


def document(number, language):
    text = "".join(f"value_{number}_{line} = compute_{number}({line})\n" for line in range(4))
    return Document(text, language, "file", None, (Origin("made", f"{number}.txt"),))


@pytest.fixture
def folder(tmp_path):
    with CodeIndex.create(tmp_path / "index") as index:
        index.add(document(number, language) for number, language in enumerate(LANGUAGES))
        index.commit()
    return tmp_path / "index"


@pytest.fixture
def no_counting():
    """Nothing may count the documents themselves."""
    with mock.patch("assay.provenance.catalogue._COUNTING", "not SQL"):
        yield


@pytest.mark.usefixtures("no_counting")
def test_languages_are_counted_as_documents_come_and_go(folder):
    with CodeIndex.open(folder, writable=True) as index:
        assert list(index.languages().items()) == list(COUNTS.items())
        index.remove(source="made", path="6.txt")
        index.add([document(0, "python"), document(9, "rust")])  # the first is there already
        held = Counter(one.language for one in index.documents(index.ids()))
        assert index.languages() == held == {None: 3, "python": 2, "java": 1, "rust": 1}
        index.roll_back()
        assert index.languages() == COUNTS


def test_a_catalogue_from_before_is_read_and_counts_once_it_is_opened_for_writing(folder):
    old = sqlite3.connect(folder / "catalogue.sqlite")
    old.executescript("DROP TRIGGER document_added; DROP TRIGGER document_removed; DROP TABLE languages;")
    old.close()
    with CodeIndex.open(folder) as index:
        assert index.languages() == COUNTS
    with CodeIndex.open(folder, writable=True) as index, mock.patch("assay.provenance.catalogue._COUNTING", "not SQL"):
        assert index.languages() == COUNTS
        index.add([document(7, "go")])
        assert index.languages() == COUNTS | {"go": 2}


def test_a_catalogue_of_another_format_is_refused_with_both_versions(folder):
    newer = sqlite3.connect(folder / "catalogue.sqlite")
    newer.execute("PRAGMA user_version = 9")
    newer.close()
    with pytest.raises(CorpusIndexError, match=r"catalogue of format 9, written by another .* expected format 1$"):
        CodeIndex.open(folder)
