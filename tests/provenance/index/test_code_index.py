"""The index of a corpus: what is added is found, what is removed is gone, and every state is whole."""

import sys

import pytest

from assay.corpora import Document, Origin
from assay.errors import CorpusIndexError
from assay.provenance import CodeIndex
from assay.provenance.index import SeenFile
from assay.provenance.index.folder import DESCRIPTION
from assay.retrieval import TooShort, document_vectors, fingerprint_hashes
from assay.retrieval.postings import Overlap

ADD = """def add_prices(basket):
    total = 0
    for item in basket:
        total += item.price * item.count
    return total
"""
READ = """def read_lines(path):
    with open(path) as stream:
        return [line.strip() for line in stream if line]
"""
JOIN = """def join_words(words, mark):
    out = ''
    for word in words:
        out = out + mark + word
    return out[1:]
"""


def document(text, path="a.py", source="shop", **more):
    return Document(text, "python", "function", "f", (Origin(source, path, **more),))


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "index"


@pytest.fixture
def index(folder):
    with CodeIndex.create(folder) as made:
        yield made


def found(index, text, form="characters"):
    overlap = index.candidates_by_fingerprints(text, "python")[form]
    assert isinstance(overlap, Overlap)
    return {document.text for document in index.documents(overlap.documents.tolist())}


def test_a_fragment_finds_the_text_it_was_cut_from(index):
    index.add([document(ADD), document(READ), document(JOIN)])
    assert found(index, ADD[30:100]) == {ADD}
    overlap = index.candidates_by_fingerprints(ADD, "python")["characters"]
    assert overlap.containment[0] == overlap.jaccard[0] == 1


def test_a_renamed_copy_is_found_by_its_tokens(index):
    index.add([document(ADD), document(READ)])
    renamed = ADD.replace("total", "s").replace("basket", "rows").replace("item", "row")
    assert found(index, renamed, "tokens") == {ADD}


def test_a_text_that_occurs_twice_is_one_document_with_two_origins(index):
    counts = index.add([document(ADD, "a.py"), document(ADD, "b.py"), document(READ)])
    assert (counts.documents, counts.duplicates, counts.origins) == (2, 1, 3)
    again = index.add([document(ADD, "b.py"), document(ADD, "c.py")])
    assert (again.documents, again.duplicates, again.origins) == (0, 2, 1)
    (first,) = [entry for entry in index.documents(index.ids()) if entry.text == ADD]
    assert [origin.path for origin in first.origins] == ["a.py", "b.py", "c.py"]


def test_what_was_stored_comes_back_whole(index, folder):
    origin = Origin("shop", "ü/a.py", "o/r", "c0ffee", "MIT", "Ada", "https://example.org/a", 7)
    text = ADD + "# \ud800 \U0001f600\r\n"
    index.add([Document(text, "python", "file", None, (origin,))])
    index.commit()
    with CodeIndex.open(folder) as reader:
        stored = reader.document(reader.ids()[0])
    assert (stored.text, stored.language, stored.kind, stored.name) == (text, "python", "file", None)
    assert stored.origins == (origin,)


def test_hashes_and_vectors_computed_elsewhere_give_the_same_index(tmp_path, letter_encoder):
    texts, encoder = [ADD, READ, ADD, JOIN], letter_encoder
    documents = [document(text) for text in texts]
    with (
        CodeIndex.create(tmp_path / "a", encoder=encoder) as here,
        CodeIndex.create(tmp_path / "b", encoder=encoder) as there,
    ):
        here.add(documents)
        there.add(documents, hashes=fingerprint_hashes(texts, "python"), vectors=document_vectors(encoder, texts))
        for value in (here, there):
            assert found(value, READ) == {READ}
            assert value.candidates_by_vector(JOIN, 1)[0].tolist() == [3]
        assert here.info().postings == there.info().postings


def test_removing_a_file_keeps_what_also_stands_elsewhere(index):
    index.add([document(ADD, "a.py"), document(READ, "a.py"), document(ADD, "b.py"), document(JOIN, "a.py", "other")])
    assert index.remove(source="shop", path="a.py") == 1
    assert found(index, ADD) == {ADD}
    assert not found(index, READ)
    assert index.remove(source="shop") == 1
    assert [entry.text for entry in index.documents(index.ids())] == [JOIN]
    assert index.info().sources == ("other",)


def test_documents_go_by_number_and_no_number_is_used_twice(index):
    index.add([document(ADD), document(READ)])
    assert index.remove_documents([2, 99]) == 1
    index.commit()
    index.add([document(JOIN)])
    assert index.ids() == [1, 3]
    with pytest.raises(CorpusIndexError, match="no document 2"):
        index.document(2)


def test_a_reader_sees_commits_and_nothing_else(index, folder):
    index.add([document(ADD)])
    with CodeIndex.open(folder) as reader:
        assert len(reader) == 0
        index.commit()
        assert found(reader, ADD) == {ADD}
        with reader.snapshot():
            index.remove(source="shop")
            index.add([document(READ)])
            index.commit()
            index.compact()
            assert found(reader, ADD) == {ADD}
        assert not found(reader, ADD)
        assert found(reader, READ) == {READ}


def test_what_was_not_committed_is_gone(index, folder):
    index.add([document(ADD)])
    index.commit()
    index.add([document(READ)])
    index.mark_seen("shop", [SeenFile("b.py")])
    index.close()
    with CodeIndex.open(folder, writable=True) as again:
        assert [entry.text for entry in again.documents(again.ids())] == [ADD]
        assert not again.seen("shop")
        again.add([document(JOIN)])
        again.commit()
        assert found(again, JOIN) == {JOIN}


def test_rolling_back_is_as_if_nothing_had_been_done(index):
    index.add([document(ADD)])
    index.commit()
    before = index.info()
    index.remove(source="shop")
    index.add([document(READ)])
    index.roll_back()
    assert index.info() == before
    assert found(index, ADD) == {ADD}


def test_files_seen_are_remembered_until_their_source_is_removed(index):
    files = [
        SeenFile("a.py", 10, 123, "ab"),
        SeenFile("b.bin", 5, 99, None, "binary"),
        SeenFile("c.bin", skipped="binary"),
    ]
    index.mark_seen("shop", files)
    index.mark_seen("other", [SeenFile("a.py", skipped="too large")])
    index.mark_seen("shop", [SeenFile("c.bin", skipped="generated")])
    index.commit()
    assert index.seen("shop") == {"a.py": files[0], "b.bin": files[1], "c.bin": SeenFile("c.bin", skipped="generated")}
    assert index.info().skipped == {"binary": 1, "generated": 1, "too large": 1}
    index.remove(source="shop")
    assert index.seen("shop") == {}
    assert index.info().seen == 1


def test_a_path_that_is_no_utf_8_can_be_stored(index):
    index.add([document(ADD, "\udcff.py")])
    index.mark_seen("shop", [SeenFile("\udcff.py")])
    assert index.document(1).origins[0].path == "\\udcff.py"
    assert index.remove(source="shop", path="\udcff.py") == 1


def test_a_text_too_short_says_so(index):
    assert isinstance(index.candidates_by_fingerprints("x = 1")["characters"], TooShort)


def test_a_document_without_fingerprints_is_kept_and_counted(index):
    index.add([document("x = 1")])
    assert len(index) == 1
    assert index.document(1).text == "x = 1"


def test_the_paper_profile_finds_too(folder):
    with CodeIndex.create(folder, profile="paper") as index:
        index.add([document(ADD), *(document(READ + f"# {at}\nx{at} = {at}\n") for at in range(300))])
        index.commit()
        assert found(index, ADD) == {ADD}
        common = index.candidates_by_fingerprints(READ, "python")["characters"]
        assert common.too_common > 0
        assert common.looked_up <= 64


def test_vectors_find_the_nearest_text(folder, letter_encoder):
    with CodeIndex.create(folder, encoder=letter_encoder) as index:
        index.add([document(ADD), document(READ), document(JOIN)])
        index.commit()
        ids, similarities = index.candidates_by_vector(READ, 2)
        assert ids[0] == 2
        assert similarities[0] == pytest.approx(1, abs=1e-3)
        index.remove_documents([2])
        assert 2 not in index.candidates_by_vector(READ, 3)[0]
        index.commit()
        index.compact()
        assert index.info().vectors == 2


class TwoSides:
    """Reads a query as a document in which every z is an a."""

    def __init__(self, inner):
        self.inner, self.name, self.digest, self.dimensions = inner, inner.name, inner.digest, inner.dimensions

    def encode(self, texts):
        return self.inner.encode(texts)

    def for_queries(self):
        other = TwoSides(self.inner)
        other.encode = lambda texts: self.inner.encode([text.replace("z", "a") for text in texts])
        return other


def test_a_query_is_encoded_as_queries_are(folder, letter_encoder):
    with CodeIndex.create(folder, encoder=TwoSides(letter_encoder)) as index:
        index.add([document("a = a"), document("b = b")])
        index.commit()
        ids, similarities = index.candidates_by_vector("z = z", 1)
    assert ids.tolist() == [1]
    assert similarities[0] == pytest.approx(1, abs=1e-3)


def test_another_encoder_is_refused(folder, letter_encoder):
    CodeIndex.create(folder, encoder=letter_encoder).close()
    other = type(letter_encoder)()
    other.digest = "fedcba9876543210"
    with pytest.raises(CorpusIndexError, match=r"letters.*0123456789ab.*fedcba987654"):
        CodeIndex.open(folder, encoder=other)
    with pytest.raises(CorpusIndexError, match="adding documents needs that encoder"):
        CodeIndex.open(folder, writable=True)
    with CodeIndex.open(folder) as reader, pytest.raises(CorpusIndexError, match="opened without its encoder"):
        reader.candidates_by_vector("x")


def test_an_index_without_vectors_finds_nothing_by_vector(index):
    with pytest.raises(CorpusIndexError, match="has no vectors"):
        index.candidates_by_vector("x")


def test_a_second_writer_is_refused_and_a_reader_is_not(index, folder):
    with pytest.raises(CorpusIndexError, match="another process is writing"):
        CodeIndex.open(folder, writable=True)
    CodeIndex.open(folder).close()
    index.close()
    CodeIndex.open(folder, writable=True).close()


def test_a_reader_changes_nothing(index, folder):
    with CodeIndex.open(folder) as reader, pytest.raises(CorpusIndexError, match="opened for reading"):
        reader.add([document(ADD)])


@pytest.mark.parametrize("make", [lambda folder: folder / "absent", lambda folder: folder])
def test_a_folder_that_is_no_index_is_refused(tmp_path, make):
    with pytest.raises(CorpusIndexError, match="no index here"):
        CodeIndex.open(make(tmp_path))


def test_an_index_is_made_in_an_empty_folder_only(tmp_path):
    (tmp_path / "something").touch()
    with pytest.raises(CorpusIndexError, match="is not empty"):
        CodeIndex.create(tmp_path)


def test_an_index_of_another_format_is_refused(index, folder):
    index.close()
    path = folder / DESCRIPTION
    for content in (path.read_text("utf-8").replace('"format": 1', '"format": 9'), '{"format": 9, "other": "fields"}'):
        path.write_text(content, "utf-8")
        with pytest.raises(
            CorpusIndexError,
            match=r"index of format 9, written by another .* expected format 1; build it",
        ):
            CodeIndex.open(folder)
    path.write_text("{", "utf-8")
    with pytest.raises(CorpusIndexError, match="damaged"):
        CodeIndex.open(folder)


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are another matter there")
def test_an_index_on_a_read_only_disk_can_be_read(index, folder):
    index.add([document(ADD)])
    index.commit()
    index.close()
    folders = [folder, folder / "postings"]
    for entry in folders:
        entry.chmod(0o500)
    try:
        with CodeIndex.open(folder) as reader:
            assert found(reader, ADD) == {ADD}
    finally:
        for entry in folders:
            entry.chmod(0o700)
