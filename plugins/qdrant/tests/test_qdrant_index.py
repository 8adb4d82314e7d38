"""An index in Qdrant answers as one in a folder does; without a server.

Most tests run with the local mode of the client, Python code that answers as a server does; those that are marked
`on_both` also run with the engine of a server (`qdrant-edge-py`).
"""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import count

import numpy as np
import pytest

pytest.importorskip("qdrant_client", reason="qdrant-client is not installed")

import httpx
from qdrant_client import QdrantClient
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from assay.corpora import CorpusSettings, Document, Origin
from assay.corpora.open import open_sources
from assay.errors import CorpusIndexError
from assay.provenance import CodeIndex, TraceSettings, trace
from assay.provenance.confidence import CalibrationTable, IndexCalibration, bin_values, shipped_calibration
from assay.provenance.index import SeenFile
from assay.provenance.index.building import build, remove
from assay.provenance.index.reading import IndexSettings
from assay.provenance.search.boilerplate import NO_BOILERPLATE, Boilerplate
from assay.retrieval import fingerprint_hashes
from assay.retrieval.encoding import open_encoder
from assay_qdrant import QdrantIndex
from assay_qdrant import index as qdrant_index
from assay_qdrant.connection import KEY, PATIENCE, Calls, address_of, client_of
from assay_qdrant.points import first_number, indices_of, pack_hashes, unpack_hashes

ADDRESS = "http://localhost/corpus"


def text_of(number, lines=6):
    """A function of its own for each number."""
    body = "".join(f"    total_{line} = values[{number * 31 + line}] * {line + 7} - other\n" for line in range(lines))
    return f"def function_{number}(values, other):\n{body}    return sorted(values, key=str)[:{number + 3}]\n"


def document(text, path="a.py", source="here", **more):
    return Document(text, "python", "function", "f", (Origin(source, path, **more),))


@pytest.fixture(scope="module", params=["builtin:fragments"])
def encoder(request):
    return open_encoder(request.param)


def local_mode(_folder):
    """The Python code in qdrant-client that answers as a server does."""
    return QdrantClient(":memory:")


def server_engine(folder):
    """The code that a server runs on a shard."""
    pytest.importorskip("qdrant_edge", reason="qdrant-edge-py is not installed")
    from qdrant_engine import EngineClient

    return EngineClient(folder)


on_both = pytest.mark.parametrize("client", [local_mode, server_engine], indirect=True, ids=lambda way: way.__name__)


@pytest.fixture
def client(request, tmp_path):
    with_engine = getattr(request, "param", local_mode)(tmp_path / "engine")
    yield with_engine
    with_engine.close()


@pytest.fixture
def index(client):
    return QdrantIndex.create(ADDRESS, client=client)


@pytest.fixture
def pair(client, tmp_path, encoder):
    """The same documents in both kinds of index."""
    of_folder = CodeIndex.create(tmp_path / "index", encoder=encoder)
    of_server = QdrantIndex.create(ADDRESS, encoder=encoder, client=client)
    documents = [document(text_of(number), f"{number}.py", licence="MIT") for number in range(12)]
    documents.append(document(text_of(0), "copy.py", "elsewhere", author="ada"))
    for value in (of_folder, of_server):
        value.add(documents)
        value.commit()
    yield of_folder, of_server
    of_folder.close()


def shown(found, index):
    """A trace without what depends on the numbers of documents; cosines apart, which both kinds of index round."""
    rows = []
    for match in found.matches:
        text = index.document(match.document_id).text
        rows.append((text, match.path, match.similarity, match.containment, match.spans, match.channel))
        rows.append((match.licence, match.author, match.origins, match.confidence is None))
    cosines = [-1 if match.cosine is None else match.cosine for match in found.matches]
    return (rows, found.evidence, found.candidates), cosines


@pytest.mark.slow
@on_both
@pytest.mark.parametrize("encoder", ["builtin:fragments", "builtin:windows"], indirect=True)
@pytest.mark.parametrize("method", ["union", "hst", "winnowing", "vector"])
def test_a_trace_says_the_same_of_both(pair, method):
    query = text_of(3).replace("other", "renamed").replace("total", "sum")
    of_folder, of_server = (shown(trace(query, side, language="python", method=method, top=5), side) for side in pair)
    assert of_folder[0] == of_server[0]
    assert of_folder[1] == pytest.approx(of_server[1], abs=2e-3)
    assert of_server[0][0][0][0] == text_of(3)


@on_both
@pytest.mark.parametrize("profile", ["default", "paper"])
def test_overlaps_are_the_same_numbers(client, tmp_path, profile):
    documents = [document(text_of(number), f"{number}.py") for number in range(15)]
    (of_query,) = fingerprint_hashes([text_of(4) + text_of(9)], "python", profile)
    with CodeIndex.create(tmp_path / "index", profile=profile) as of_folder:
        of_server = QdrantIndex.create(ADDRESS, profile=profile, client=client)
        found = []
        for value in (of_folder, of_server):
            value.add(documents)
            for form, hashes in of_query.items():
                overlap = value.overlap(form, hashes)
                paths = [each.origins[0].path for each in value.documents(overlap.documents.tolist())]
                counts = (overlap.query, overlap.looked_up, overlap.too_common, overlap.absent, overlap.left)
                rows = sorted(zip(paths, overlap.shared.tolist(), overlap.sizes.tolist(), strict=True))
                found.append((form, rows, counts, value.frequencies(form, hashes).tolist()))
        assert found[: len(of_query)] == found[len(of_query) :]
        assert profile == "paper" or found[0][1]


@on_both
def test_what_many_owners_have_is_no_evidence(pair):
    ignoring = TraceSettings(boilerplate=Boilerplate(common=0.01, at_least=2))
    for side in pair:
        side.add([document(text_of(n), f"{n}.py", repository=f"owner{n % 4}/tool") for n in range(12)])
        side.commit()
    counts = [trace(text_of(3), side, language="python", settings=ignoring).evidence for side in pair]
    assert counts[0] == counts[1]
    assert any(channel.common for channel in counts[1])


@on_both
def test_a_text_is_stored_once_with_every_place_where_it_was_found(index):
    first = index.add([document(text_of(1)), document(text_of(1), "b.py")])
    again = index.add([document(text_of(1)), document(text_of(1), "c.py", repository="o/r", url="https://x")])
    assert (first.documents, first.duplicates, first.origins) == (1, 1, 2)
    assert (again.documents, again.duplicates, again.origins) == (0, 2, 1)
    (number,) = index.ids()
    assert [origin.path for origin in index.document(number).origins] == ["a.py", "b.py", "c.py"]
    assert index.info().origins == 3


@on_both
def test_adding_the_same_again_changes_nothing(pair):
    _, index = pair
    before = [index.document(entry) for entry in index.ids()]
    counts = index.add([document(text_of(number), f"{number}.py", licence="MIT") for number in range(12)])
    assert (counts.documents, counts.origins) == (0, 0)
    assert [index.document(entry) for entry in index.ids()] == before


@on_both
def test_removing_a_file_leaves_what_was_found_elsewhere(pair):
    of_folder, of_server = pair
    assert of_server.remove(source="here", path="0.py") == of_folder.remove(source="here", path="0.py") == 0
    assert of_server.remove(source="here", path="1.py") == 1
    of_folder.remove(source="here", path="1.py")
    texts = [{(document.text, document.origins) for document in index.documents(index.ids())} for index in pair]
    assert texts[0] == texts[1]
    assert of_server.remove(source="here") == 10
    assert of_server.paths("elsewhere") == ["copy.py"]
    assert of_server.paths("here") == []


@on_both
def test_two_texts_whose_digests_share_a_number_are_two_documents(index, monkeypatch):
    monkeypatch.setattr(qdrant_index, "first_number", lambda _digest: 7)
    index.add([document(text_of(1)), document(text_of(2))])
    index.add([document(text_of(3)), document(text_of(2), "b.py")])
    assert index.ids() == [7, 8, 9]
    assert {index.document(number).text for number in (7, 8, 9)} == {text_of(1), text_of(2), text_of(3)}


@on_both
def test_fingerprints_of_one_sparse_index_are_told_apart(index, monkeypatch):
    """All of them folded onto one number, the exact counts are those of the full hashes."""
    monkeypatch.setattr("assay_qdrant.points.indices_of", lambda hashes: (hashes & np.uint64(1)).astype("u4"))
    index.add([document(text_of(1)), document("def other(a):\n" + "    a.call(lambda: a ** a or a)\n" * 9)])
    (of_query,) = fingerprint_hashes([text_of(1)], "python")
    overlap = index.overlap("characters", of_query["characters"])
    assert [index.document(int(entry)).text for entry in overlap.documents] == [text_of(1)]
    assert overlap.shared.tolist() == overlap.sizes.tolist() == [len(np.unique(of_query["characters"]))]


def test_sparse_indices_of_winnowed_hashes_are_spread_evenly():
    """Winnowing prefers small hashes; a quarter of the indices lies in each quarter nevertheless."""
    found = fingerprint_hashes([text_of(number) for number in range(300)], "python")
    hashes = np.unique(np.concatenate([entry["characters"] for entry in found]))
    indices = indices_of(hashes)
    assert (hashes < 2**62).mean() > 0.5
    assert np.allclose(np.bincount(indices >> 29, minlength=4) / len(indices), 0.25, atol=0.05)
    assert indices.max() < 2**31  # what a segment does not know it numbers from there on, in 32 bits


def test_hashes_come_back_whole():
    hashes = np.array([2**64 - 1, 5, 2**63, 5], np.uint64)
    assert unpack_hashes(pack_hashes(hashes)).tolist() == [5, 2**63, 2**64 - 1]
    assert unpack_hashes("").tolist() == []
    assert first_number("f" * 64) == 2**53 - 1


@on_both
def test_a_build_into_qdrant_is_incremental_and_holds_what_a_folder_holds(index, tmp_path):
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for number in range(4):
        (corpus / f"m{number}.py").write_text(f"# SPDX-License-Identifier: MIT\n{text_of(number)}")
    with CodeIndex.create(tmp_path / "index") as of_folder:
        for change in (lambda: None, (corpus / "m1.py").unlink, lambda: (corpus / "m2.py").write_text(text_of(22))):
            change()
            told = []
            for value in (index, of_folder):
                counts = build(open_sources([str(corpus)]), value, IndexSettings(), jobs=1)
                told.append((counts.read, counts.unchanged, counts.gone, counts.documents))
            assert told[0] == told[1]
        assert {(document.text, document.name, document.origins) for document in index.documents(index.ids())} == {
            (document.text, document.name, document.origins) for document in of_folder.documents(of_folder.ids())
        }
        mine, other = index.info(), of_folder.info()
    assert (mine.documents, mine.origins, mine.sources, mine.seen) == (5, 5, (str(corpus),), 3)
    assert (other.documents, other.origins, other.sources, other.seen) == (5, 5, (str(corpus),), 3)
    assert mine.postings > 0
    assert index.languages() == {"python": 5}
    assert index.licences() == {"MIT": 4, "unknown": 1}
    assert remove(index, [str(corpus)]).files == 3
    assert len(index) == 0


def test_a_key_over_the_network_in_clear_is_warned_of(monkeypatch):
    monkeypatch.setenv(KEY, "hush")
    with pytest.warns(UserWarning, match="insecure"):
        client_of(address_of("http://qdrant.example")).close()


class _Stopped(BaseException):
    """As a kill: nothing of ours catches it."""


class _Stopping:
    """A client that sends so many requests and no more."""

    def __init__(self, client, requests):
        self._client, self._left = client, requests

    def __getattr__(self, name):
        if self._left == 0:
            raise _Stopped
        self._left -= 1
        return getattr(self._client, name)


@pytest.mark.slow
def test_a_build_stopped_before_any_of_its_requests_goes_on_to_the_same_index(tmp_path):
    """One file changes, one goes, one is new and has a text that is there already."""
    before, after = tmp_path / "before", tmp_path / "after"
    texts = {before: {"a": 1, "b": 2, "c": 3}, after: {"a": 4, "c": 3, "d": 3}}
    for folder, numbers in texts.items():
        folder.mkdir()
        for name, number in numbers.items():
            (folder / f"{name}.py").write_text(text_of(number, lines=3))
    settings = IndexSettings(CorpusSettings(granularity="file"))

    def bring(index, folder):
        build(open_sources([str(folder)], CorpusSettings(name="corpus")), index, settings, jobs=1)

    def held(index):
        return {(document.text, frozenset(document.origins)) for document in index.documents(index.ids())}

    with CodeIndex.create(tmp_path / "index") as whole:
        bring(whole, after)
        expected = held(whole)
    for requests in count():
        client = QdrantClient(":memory:")
        bring(QdrantIndex.create(ADDRESS, client=client), before)
        stopped = QdrantIndex.open(ADDRESS, client=client, writable=True)
        stopped._calls.client = _Stopping(client, requests)
        try:
            bring(stopped, after)
        except _Stopped:
            bring(QdrantIndex.open(ADDRESS, client=client, writable=True), after)
            assert held(QdrantIndex.open(ADDRESS, client=client)) == expected, requests
        else:
            break
        finally:
            client.close()
    assert requests > 10


def test_a_writer_killed_while_it_removes_reads_the_file_again(index):
    index.add([document(text_of(1))])
    index.mark_seen("here", [SeenFile("a.py", 9, None, "stamp"), SeenFile("b.py", 9, None, "stamp")])
    index._files.doubt("here", "a.py")
    assert [entry.digest for entry in index.seen("here").values()] == [None, "stamp"]


@pytest.mark.parametrize("forgotten", ["delete", "set_fields"])
def test_a_server_that_acknowledges_and_does_nothing_is_told_instead_of_asked_for_ever(index, monkeypatch, forgotten):
    asked = []
    index.add([document(text_of(number), f"{number}.py") for number in range(5)])
    index.add([document(text_of(0), "copy.py", "elsewhere")])
    monkeypatch.setattr(type(index._documents), forgotten, lambda _, what: asked.append(what))
    with pytest.raises(
        CorpusIndexError, match=r"acknowledged 3 times that \d documents no longer have the origin 'here'"
    ):
        index.remove(source="here")
    assert len([entry for entry in asked if entry]) == 3


def test_a_replica_that_lags_behind_is_waited_for(index, monkeypatch):
    index.add([document(text_of(number), f"{number}.py") for number in range(5)])
    delete, lost = type(index._documents).delete, [1, 2]

    def late(self, which):
        return lost.pop() if lost else delete(self, which)

    monkeypatch.setattr(type(index._documents), "delete", late)
    assert index.remove(source="here") == 5
    assert index.ids() == []


@on_both
def test_names_that_are_no_unicode_can_be_stored_and_removed(index):
    index.add([document(text_of(1), "caf\udce9.py", "so\udcffurce")])
    index.mark_seen("so\udcffurce", [SeenFile("caf\udce9.py", 1, None, "x")])
    assert index.remove(source="so\udcffurce", path="caf\udce9.py") == 1
    assert index.seen("so\udcffurce") == {}


@on_both
def test_a_calibration_of_its_own_is_kept_with_the_index(client, index):
    own = bin_values([(20, 0.3)] * 50)
    table = CalibrationTable("python", len(index), {"characters": own, "tokens": own})
    calibration = IndexCalibration(index.profile, (table,), provenance={"documents": len(index)})
    assert index.calibration() == shipped_calibration(index.profile)
    assert index.keep_calibration(calibration) == ADDRESS
    assert QdrantIndex.open(ADDRESS, client=client).calibration() == calibration


def test_a_snapshot_asks_nothing_twice(pair):
    _, index = pair
    asked = []
    index._calls.client = _Counting(index._calls.client, asked)
    trace(text_of(3), index, language="python", settings=TraceSettings(boilerplate=NO_BOILERPLATE), method="winnowing")
    assert asked.count("query_batch_points") == 2  # frequencies, of each channel
    assert asked.count("query_points") == 2
    assert asked.count("retrieve") <= 3  # calibration; what only the other channel found; the documents shown
    with index.snapshot():
        trace(text_of(3), index, language="python", method="winnowing")
        asked.clear()
        trace(text_of(3), index, language="python", method="winnowing")
        assert asked == ["query_points", "query_points", "retrieve"]


def test_the_graph_of_a_server_is_searched_as_widely_as_one_in_a_folder(client, encoder):
    asked = []

    class Recording:
        def __getattr__(self, name):
            return getattr(client, name)

        def query_points(self, *args, **options):
            asked.append((options["using"], options["search_params"]))
            return client.query_points(*args, **options)

    with QdrantIndex.create(ADDRESS, encoder=encoder, client=Recording()) as index:
        index.add([document(text_of(1))])
        trace(text_of(1), index, language="python")
    widths = {using: params and params.hnsw_ef for using, params in asked}
    assert widths == {"dense": 1024, "characters": None, "tokens": None}


class _Counting:
    def __init__(self, client, asked):
        self._client, self._asked = client, asked

    def __getattr__(self, name):
        self._asked.append(name)
        return getattr(self._client, name)


def test_an_index_is_opened_again_as_it_was_made(client, encoder):
    QdrantIndex.create(ADDRESS, profile="paper", encoder=encoder, client=client)
    described = QdrantIndex.described(ADDRESS, client=client)
    assert (described.profile.name, described.encoder) == ("paper", "builtin:fragments")
    without = QdrantIndex.open(ADDRESS, client=client)
    assert not without.finds_by_vector
    with pytest.raises(CorpusIndexError, match="opened without its encoder builtin:fragments"):
        without.candidates_by_vector("text")
    with pytest.raises(CorpusIndexError, match="opened for reading"):
        without.add([document(text_of(1))])
    with pytest.raises(CorpusIndexError, match="adding documents needs that encoder"):
        QdrantIndex.open(ADDRESS, writable=True, client=client)


@pytest.mark.slow
def test_an_index_is_loaded_from_the_disk_and_its_graph_finds_the_nearest(tmp_path, encoder):
    """Several vectors more than the engine searches without a graph."""
    edge = pytest.importorskip("qdrant_edge", reason="qdrant-edge-py is not installed")
    from qdrant_engine import EngineClient

    texts = [text_of(number, lines=2 + number % 5) for number in range(300)]
    queries = [text.replace("total", "amount") for text in texts[::25]]
    client = EngineClient(
        tmp_path,
        optimizers=edge.EdgeOptimizersConfig(indexing_threshold=1),
        graph=edge.HnswIndexConfig(m=16, ef_construct=100, full_scan_threshold=1, max_indexing_threads=1),
    )
    index = QdrantIndex.create(ADDRESS, encoder=encoder, client=client)
    index.add([document(text, f"{number}.py") for number, text in enumerate(texts)])
    before = [trace(query, index, language="python", method="winnowing").matches for query in queries]
    client.shards["corpus"].optimize()
    client.reopen()
    assert client.shards["corpus"].info().indexed_vectors_count >= len(texts)
    # how many candidates two channels have together depends on ties at the end of their lists, the best do not
    assert [trace(query, index, language="python", method="winnowing").matches for query in queries] == before
    with CodeIndex.create(tmp_path / "folder", encoder=encoder) as of_folder:
        of_folder.add([document(text, f"{number}.py") for number, text in enumerate(texts)])
        for query in queries:
            nearest = [
                [entry.text for entry in side.documents(side.candidates_by_vector(query, 10)[0].tolist())]
                for side in (index, of_folder)
            ]
            assert len(set(nearest[0]) & set(nearest[1])) >= 9
    assert [index.candidates_by_vector(text, 1)[1].max() for text in texts[:20]] == pytest.approx([1] * 20, abs=1e-3)
    assert max(index.candidates_by_vector(text, 1)[1].max() for text in texts[:20]) <= 1
    client.close()


def test_what_is_no_index_is_told(client, encoder):
    assert QdrantIndex.described(ADDRESS, client=client) is None
    with pytest.raises(CorpusIndexError, match="no index here: expected a collection 'corpus'"):
        QdrantIndex.open(ADDRESS, client=client)
    QdrantIndex.create(ADDRESS, client=client)
    with pytest.raises(CorpusIndexError, match="'corpus-files' is not empty"):
        QdrantIndex.create(ADDRESS, client=client)
    other = type("Other", (), {"digest": "0" * 64, "name": "other", "dimensions": encoder.dimensions})()
    QdrantIndex.create("http://localhost/second", encoder=encoder, client=client)
    with pytest.raises(CorpusIndexError, match="not of other"):
        QdrantIndex.open("http://localhost/second", encoder=other, client=client)
    client.set_payload("corpus-files", {"description": {"format": 99, "profile": {"name": "x", "channels": []}}}, [0])
    with pytest.raises(CorpusIndexError, match=r"^http://localhost/corpus: "):
        QdrantIndex.open(ADDRESS, client=client)


def test_addresses():
    plain = address_of("http://localhost")
    assert (plain.server, plain.collection, plain.prefix) == ("http://localhost:6333", "assay", None)
    full = address_of("https://host:443/proxy/code?shards=12&replicas=2")
    assert (full.server, full.prefix, full.collection) == ("https://host:443", "proxy", "code")
    assert (full.shards, full.replicas) == (12, 2)


@pytest.mark.parametrize(
    "text",
    ["http://", "http://h:x/c", "http://h/c?shards=0", "http://h/c?colour=red", "http://h/a b", "http://h/c#d"],
)
def test_addresses_that_are_none(text):
    with pytest.raises(CorpusIndexError, match=r"expected http\[s\]://"):
        address_of(text)


def test_a_password_in_an_address_is_not_repeated():
    with pytest.raises(CorpusIndexError, match=KEY) as told:
        address_of("https://user:hush@host/c")
    assert "hush" not in str(told.value)


@pytest.fixture
def server():
    """An HTTP server that gives one answer to everything."""

    class Answering(BaseHTTPRequestHandler):
        def answer(self):
            status, body = self.server.says
            self.server.keys.append(self.headers.get("api-key"))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PUT = answer  # noqa: N815  names of the library

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Answering) as made:
        made.keys = []
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("status", "body", "told"),
    [
        (401, b"Must provide an API key", f"refused .HTTP 401.: expected an API key in {KEY}"),
        (400, b'{"status": {"error": "Wrong input: too\\nmany"}}', "HTTP 400: Wrong input: too many$"),
        (200, b"<html>hello</html>", "the reply is not one of a Qdrant server"),
        (200, b'{"result": 3}', "the reply is not one of a Qdrant server"),
    ],
)
def test_a_server_that_refuses_is_one_line(server, monkeypatch, status, body, told):
    monkeypatch.delenv(KEY, raising=False)
    server.says = (status, body)
    with pytest.raises(CorpusIndexError, match=told):
        QdrantIndex.open(f"http://127.0.0.1:{server.server_port}/c")


def test_the_key_goes_to_the_server_and_into_no_message(server, monkeypatch):
    monkeypatch.setenv(KEY, "hush")
    server.says = (403, b"no")
    with pytest.raises(CorpusIndexError, match="the API key was not accepted") as told:
        QdrantIndex.open(f"http://127.0.0.1:{server.server_port}/c")
    assert set(server.keys) == {"hush"}
    assert "hush" not in str(told.value)


def test_no_server_is_one_line_at_once():
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as free:
        port = free.server_port
    with pytest.raises(CorpusIndexError, match=f"127.0.0.1:{port}/c: no Qdrant server answers there"):
        QdrantIndex.open(f"http://127.0.0.1:{port}/c")


def busy(status):
    return UnexpectedResponse(status, "", b"", httpx.Headers())


def lost():
    return ResponseHandlingException(httpx.ReadError("connection reset"))


def test_a_busy_server_is_asked_again_with_growing_pauses():
    waited = []
    faults = [busy(503), ResourceExhaustedResponse("slow down", 7), lost(), busy(429)]
    calls = Calls(None, "there", sleep=waited.append)
    assert calls(lambda _: "warm") == "warm"

    def request(_):
        if faults:
            raise faults.pop(0)
        return "answer"

    assert calls(request) == "answer"
    assert waited[1] == 7.0
    assert [0.5 <= waited[0] <= 1, 2 <= waited[2] <= 4, 4 <= waited[3] <= 8] == [True] * 3


def test_a_server_that_stays_busy_is_given_up():
    waited = []
    calls = Calls(None, "there", sleep=waited.append)

    def request(_):
        raise busy(502)

    with pytest.raises(CorpusIndexError, match=r"^there: HTTP 502"):
        calls(request)
    assert len(waited) == PATIENCE.attempts - 1


@on_both
def test_what_was_stored_twice_is_there_once(pair):
    """A request that was answered too late is repeated: points are replaced by themselves."""
    _, index = pair
    before = index.info()
    upsert = index._documents.upsert
    index._documents.upsert = lambda points: (upsert(points), upsert(points))
    index.add([document(text_of(77))])
    assert index.info().documents == before.documents + 1
