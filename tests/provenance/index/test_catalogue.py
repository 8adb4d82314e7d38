"""The catalogue counts the languages of its documents, whoever wrote them."""

import shutil
import sqlite3
from collections import Counter

import pytest

from assay.corpora import Document, Origin
from assay.errors import CorpusIndexError
from assay.provenance import CodeIndex
from assay.provenance.index import Holder, Repair, SeenFile

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


def test_languages_are_counted_as_documents_come_and_go(folder):
    with CodeIndex.open(folder, writable=True) as index:
        assert list(index.languages().items()) == list(COUNTS.items())
        index.remove(source="made", path="6.txt")
        index.add([document(0, "python"), document(9, "rust")])  # the first is there already
        held = Counter(entry.language for entry in index.documents(index.ids()))
        assert index.languages() == held == {None: 3, "python": 2, "java": 1, "rust": 1}
        index.roll_back()
        assert index.languages() == COUNTS


def changed(folder, *statements):
    """Run statements as an outsider does: the triggers know no checksums of origins there."""
    outsider = sqlite3.connect(folder / "catalogue.sqlite")
    outsider.create_function("origin_checksum", 3, lambda *_: 0)
    with outsider:
        for statement in statements:
            outsider.execute(statement)
    outsider.close()


DAMAGE = {
    "licence": "UPDATE files SET licence = 'MIT' WHERE path = '0.txt'",
    "author": "UPDATE files SET author = 'Eve' WHERE path = '0.txt'",
    "path": "UPDATE files SET path = '00.txt' WHERE path = '0.txt'",
    "source": "UPDATE sources SET name = 'other'",
    "text": "UPDATE documents SET text = (SELECT text FROM documents WHERE id = 2) WHERE id = 1",
    "text that is none": "UPDATE documents SET text = x'00' WHERE id = 1",
    "language": "UPDATE documents SET language = 'go' WHERE id = 1",
    "name": "UPDATE documents SET name = 'f' WHERE id = 1",
    "origin lost": "DELETE FROM origins WHERE document = 1",
    "origin of another document": "UPDATE origins SET document = 1 WHERE document = 2",
    "line": "UPDATE origins SET first_line = 2 WHERE document = 1",
    "document lost": "DELETE FROM documents WHERE id = 1",
    "count of a language": "UPDATE languages SET documents = 9 WHERE language = 'go'",
    "count of a licence": "UPDATE licences SET files = 9",
    "generation": "UPDATE state SET generation = 0",
    "no state": "DELETE FROM state",
    "generation that is no number": "UPDATE state SET generation = 'one'",
    "description": "UPDATE state SET description = '{}'",
}


@pytest.mark.parametrize("statement", DAMAGE.values(), ids=DAMAGE)
def test_a_changed_row_is_noticed_by_whoever_reads_it_and_can_be_repaired(folder, statement):
    changed(folder, statement)
    with pytest.raises(CorpusIndexError, match="damaged") as caught, CodeIndex.open(folder) as index:
        index.document(1)
    assert len(str(caught.value).splitlines()) == 1
    with pytest.raises(CorpusIndexError, match="damaged"), CodeIndex.open(folder) as index:
        index.check()
    repair = CodeIndex.repair(folder)
    with CodeIndex.open(folder, writable=True) as index:
        index.check()
        assert len(index) >= len(LANGUAGES) - repair.removed - (statement == DAMAGE["document lost"])
        assert (repair.removed > 0) <= repair.read_again
        texts = {stored.text for stored in index.documents(index.ids())}
        assert texts <= {document(number, None).text for number in range(len(LANGUAGES))}


def test_a_record_of_a_file_that_was_changed_is_noticed_and_read_again_after_a_repair(folder):
    with CodeIndex.open(folder, writable=True) as index:
        index.mark_seen("made", [SeenFile("0.txt", 5, 6, "ab"), SeenFile("1.txt", 5, 6, "cd")])
        index.commit()
    changed(folder, "UPDATE seen SET digest = 'ef' WHERE path = '0.txt'")
    with CodeIndex.open(folder) as index, pytest.raises(CorpusIndexError, match="record of a file of made"):
        index.seen("made")
    assert CodeIndex.repair(folder).read_again
    with CodeIndex.open(folder) as index:
        assert index.seen("made") == {"1.txt": SeenFile("1.txt", 5, 6, None)}


def test_a_repair_of_a_whole_index_changes_nothing(folder):
    with CodeIndex.open(folder) as index:
        before = index.documents(index.ids())
    assert CodeIndex.repair(folder) == Repair(0, 0, read_again=False)
    with CodeIndex.open(folder) as index:
        assert index.documents(index.ids()) == before


@pytest.mark.parametrize("part", ["postings", "index.json"])
def test_a_part_that_is_lost_is_restored_from_the_catalogue(folder, part):
    if part == "postings":
        for manifest in (folder / part).glob("manifest-*"):
            manifest.write_text("{}", "utf-8")
    else:
        (folder / part).write_text("{}", "utf-8")
    with pytest.raises(CorpusIndexError, match="damaged"):
        CodeIndex.open(folder)
    assert CodeIndex.repair(folder).computed == (len(LANGUAGES) if part == "postings" else 0)
    with CodeIndex.open(folder) as index:
        index.check()
        assert len(index) == len(LANGUAGES)


def test_a_catalogue_of_another_format_is_refused_with_both_versions(folder):
    newer = sqlite3.connect(folder / "catalogue.sqlite")
    newer.execute("PRAGMA user_version = 9")
    newer.close()
    with pytest.raises(
        CorpusIndexError, match=r"catalogue of format 9, written by another .* expected format 6; build it"
    ):
        CodeIndex.open(folder)


def test_owners_of_damaged_rows_are_not_counted(tmp_path):
    """An owner decides what is no evidence, so its rows are compared with their checksums too."""
    with CodeIndex.create(tmp_path / "index") as index:
        index.add([Document("x = 1\n" * 9, "python", "file", None, (Origin("s", "a.py", repository="ada/tool"),))])
        index.commit()
        assert index._catalogue.holders([1, 2]) == {1: Holder((("ada", 1),), is_function=False)}
        assert index._catalogue.owners_up_to(5) == 1
    for damage, expected in (
        ("files SET repository = 'eve/tool'", "file 1"),
        ("origins SET first_line = 2", "origins"),
    ):
        shutil.copytree(tmp_path / "index", copy := tmp_path / expected.replace(" ", ""))
        with sqlite3.connect(copy / "catalogue.sqlite") as database:
            database.execute(f"UPDATE {damage}")
        database.close()
        with CodeIndex.open(copy) as index, pytest.raises(CorpusIndexError, match=expected):
            index._catalogue.holders([1])
