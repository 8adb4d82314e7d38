"""A function is stored with the lines of its file as dictionary, and outlives that file."""

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import CorpusIndexError
from assay.provenance import CodeIndex, Document, Origin
from assay.provenance.index.stored_texts import inflated, stored_texts
from assay.provenance.sources import pieces

LINES = "".join(f"        total = total * {number} + entry_{number}.value\n" for number in range(30))
METHOD = f"    def count(self, total):\n{LINES}        return total\n"
FILE = f"class Counter:\n    size = 1\n\n{METHOD}\nclass Other:\n    size = 2\n"
TEXT = st.text(st.sampled_from("ab \n\r\té\udc80"), max_size=60)


def documents(path, text=FILE):
    return [
        Document(piece.text, "python", piece.kind, piece.name, (Origin("made", path, first_line=piece.first_line),))
        for piece in pieces(text, "python").pieces
    ]


@pytest.fixture
def folder(tmp_path):
    with CodeIndex.create(tmp_path / "index") as index:
        index.add(documents("a.py"))
        index.commit()
    return tmp_path / "index"


def rows(folder):
    reader = sqlite3.connect(folder / "catalogue.sqlite")
    stored = reader.execute("SELECT id, base, start, stop, length(text) FROM documents ORDER BY id").fetchall()
    reader.close()
    return stored


def texts(folder, kind="function"):
    with CodeIndex.open(folder) as index:
        index.check()
        return [document.text for document in index.documents(index.ids()) if document.kind == kind]


def changed(folder, statement):
    outsider = sqlite3.connect(folder / "catalogue.sqlite")
    outsider.create_function("origin_checksum", 3, lambda *_: 0)  # the trigger of a removed origin wants one
    with outsider:
        outsider.execute(statement)
    outsider.close()


@given(TEXT, st.lists(st.tuples(TEXT, st.integers(1, 9), st.booleans()), max_size=4))
def test_every_text_is_read_back_whatever_line_its_origin_names(whole, functions):
    batch = [Document(whole, None, "file", None, (Origin("made", "a"),))] + [
        Document(text, None, "function", "f", (Origin("made", "a" if here else "b", first_line=line),))
        for text, line, here in functions
    ]
    for document, (size, base, start, stop, stored) in zip(batch, stored_texts(enumerate(batch)), strict=True):
        dictionary = b"" if base is None else whole.encode("utf-8", "surrogatepass")[start:stop]
        text = inflated(stored, dictionary)
        assert (len(text), text.decode("utf-8", "surrogatepass")) == (size, document.text)


def test_a_function_refers_to_its_lines_in_its_file(folder):
    (file, none, *_), (_, base, start, stop, size) = rows(folder)
    assert (none, base, FILE[start:stop]) == (None, file, METHOD)
    assert size < len(METHOD) / 8  # a few bytes a line
    assert texts(folder) == [documents("a.py")[1].text]


def test_a_function_of_another_file_outlives_the_file_that_it_was_stored_with(folder):
    (_, function) = documents("a.py")
    with CodeIndex.open(folder, writable=True) as index:
        index.add(documents("b.py", FILE.replace("size = 2", "size = 3")))
        index.remove(source="made", path="a.py")
        index.commit()
    assert texts(folder) == [function.text]
    assert rows(folder)[0][1] is None


def test_a_changed_file_is_noticed_by_who_reads_its_function_and_both_go_in_a_repair(folder):
    changed(folder, "UPDATE documents SET text = x'00' WHERE base IS NULL")
    with CodeIndex.open(folder) as index, pytest.raises(CorpusIndexError, match="damaged: document 1 "):
        index.document(2)
    assert CodeIndex.repair(folder).removed == 2
    assert texts(folder) == []


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE documents SET base = 2 WHERE id = 2",
        "UPDATE documents SET start = start + 1 WHERE id = 2",
        "UPDATE documents SET stop = stop - 1 WHERE id = 2",
        "UPDATE documents SET size = 1 WHERE id = 2",
    ],
)
def test_a_changed_reference_is_noticed(folder, change):
    changed(folder, change)
    with CodeIndex.open(folder) as index, pytest.raises(CorpusIndexError, match="damaged: document 2 "):
        index.document(2)


def test_a_function_outlives_the_repair_of_a_file_that_lost_its_place(folder):
    changed(folder, "DELETE FROM origins WHERE document = 1")
    assert CodeIndex.repair(folder).removed == 1
    assert texts(folder) == [documents("a.py")[1].text]
