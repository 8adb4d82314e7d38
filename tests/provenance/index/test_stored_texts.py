"""A function is stored with the lines of its file as dictionary, and outlives that file."""

import sqlite3
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from assay.corpora import Document, Origin, pieces
from assay.errors import CorpusIndexError
from assay.provenance import CodeIndex
from assay.provenance.index.stored_texts import inflated, stored_texts

LINES = "".join(f"        total = total * {number} + entry_{number}.value\n" for number in range(30))
METHOD = f"    def count(self, total):\n{LINES}        return total\n"
FILE = f"class Counter:\n    size = 1\n\n{METHOD}\nclass Other:\n    size = 2\n"
PLACE = st.tuples(st.sampled_from("AB"), st.sampled_from(["x.py", "y.py"]))
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


class Changes(RuleBasedStateMachine):
    """Additions, removals, roll-backs, compactions and repairs of an index, beside a dictionary of what it holds."""

    def __init__(self):
        super().__init__()
        self.temporary = TemporaryDirectory()
        self.folder = Path(self.temporary.name, "index")
        self.index = CodeIndex.create(self.folder)
        self.held, self.kept = {}, {}

    def teardown(self):
        self.index.close()
        self.temporary.cleanup()

    @rule(batch=st.lists(st.tuples(PLACE, st.integers(0, 3)), min_size=1, max_size=3))
    def add(self, batch):
        # versions of a path share their method, so that a base goes while a function of it stays
        of_batch = [
            Document(piece.text, "python", piece.kind, piece.name, (Origin(source, path, first_line=piece.first_line),))
            for (source, path), version in batch
            for piece in pieces(FILE.replace("size = 2", f"size = {version}"), "python").pieces
        ]
        self.index.add(of_batch)
        for document in of_batch:
            self.held.setdefault(document.text, set()).update(document.origins)

    @rule(place=PLACE, whole=st.booleans())
    def remove(self, place, whole):
        source, path = place
        self.index.remove(source=source, path=None if whole else path)
        gone = {o for places in self.held.values() for o in places if o.source == source and (whole or o.path == path)}
        self.held = {text: left for text, places in self.held.items() if (left := places - gone)}

    @rule()
    def roll_back(self):
        self.index.roll_back()
        self.held = deepcopy(self.kept)

    @rule(compact=st.booleans())
    def commit(self, compact):
        (self.index.compact if compact else self.index.commit)()
        self.kept = deepcopy(self.held)

    @rule(repair=st.booleans())
    def reopen(self, repair):
        self.index.close()
        if repair:
            assert CodeIndex.repair(self.folder).removed == 0
        self.index = CodeIndex.open(self.folder, writable=True)
        self.held = deepcopy(self.kept)

    @invariant()
    def holds_what_was_added(self):
        self.index.check()
        found = {document.text: set(document.origins) for document in self.index.documents(self.index.ids())}
        assert found == self.held
        with CodeIndex.open(self.folder) as reader:
            assert {document.text for document in reader.documents(reader.ids())} == set(self.kept)


TestChanges = Changes.TestCase
TestChanges.settings = settings(max_examples=5, stateful_step_count=10, deadline=None)
