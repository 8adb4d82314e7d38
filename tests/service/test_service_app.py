"""What callers of the HTTP service meet."""

import re
import threading
from contextlib import contextmanager

import pytest
from fastapi.testclient import TestClient

from assay.corpora import Document, Origin
from assay.errors import CorpusIndexError
from assay.provenance import CodeIndex
from assay.service import ServiceLimits, create_app
from assay.service import answers as module
from support.snippets import GRAPH, MEDIAN

RENAMED = MEDIAN.replace("ordered", "arranged").replace("middle", "half").replace("values", "numbers")


@contextmanager
def client(folder, **settings):
    app = create_app(folder, **{"limits": ServiceLimits(seconds=120), **settings})
    with TestClient(app, raise_server_exceptions=False) as found:
        yield found


@pytest.fixture
def caller(small_index):
    """A client of the service over two functions."""
    with client(small_index) as found:
        yield found


def traced(found, code, **settings):
    return found.post("/api/trace", json={"code": code, **settings})


def first_place(answer):
    return answer.json()["findings"][0]["places"][0]


def test_a_copy_is_traced_to_its_source(caller):
    answer = traced(caller, MEDIAN, language="python").json()
    (finding,) = answer["findings"]
    assert (finding["is_copy"], finding["by"], finding["containment"]) == (True, "characters", 1.0)
    assert (finding["lines"][0][:2], finding["licences"]) == ("1-", ["MIT"])
    place = finding["places"][0]
    assert (place["path"], place["author"], place["lines"][0][:3]) == ("stats/<b>middle.py", "A. Author", "12-")
    assert answer["verdict"] == "MIT: 7 of 7 lines of median_of_values, from example/stats"


def test_a_renamed_copy_is_traced_to_its_source(caller):
    renamed = GRAPH.replace("queue", "pending").replace("seen", "visited").replace("cost", "price")
    answer = traced(caller, renamed, language="python")
    assert first_place(answer)["path"] == "graph.py"
    assert answer.json()["verdict"] == "GPL-3.0-only: 10 of 11 lines of shortest_path, renamed, from corpus"


@pytest.mark.parametrize(
    "code",
    [
        "class Kettle:\n    def boil(self):\n        self.heat(100, unit='C').wait()\n" * 3,
        "We went to the market and bought apples, pears and a little bread for the evening.\n" * 3,
    ],
)
def test_what_occurs_nowhere_has_no_source_and_the_answer_says_why(caller, code):
    answer = traced(caller, code).json()
    assert answer["findings"] == []
    assert answer["verdict"].startswith("no source: ")
    assert answer["explanation"]


@pytest.mark.parametrize("code", ["x = 1", "x=1", " ", "\n\n"])
def test_a_fragment_that_is_too_short_is_reported_as_such(caller, code):
    answer = traced(caller, code).json()
    assert answer["findings"] == []
    assert answer["verdict"].startswith("no source: too short")
    assert answer["too_short"].startswith("too short")


def test_top_bounds_the_sources_and_the_others_are_counted(caller):
    short = traced(caller, f"{MEDIAN}\n\n{GRAPH}", top=1).json()
    assert (len(short["findings"]), short["further"]) == (1, 1)
    assert len(traced(caller, f"{MEDIAN}\n\n{GRAPH}").json()["findings"]) == 2


def test_the_least_confidence_is_that_of_the_command_unless_a_request_says_otherwise(caller):
    shared = "\n".join(MEDIAN.splitlines()[2:4])
    little = f"def row_of(values, row):\n{shared}\n    row.append((middle, values))\n    return row\n"
    assert traced(caller, little, min_confidence=1).json()["findings"] == []
    assert traced(caller, little, min_confidence=0).json()["findings"]


def test_a_copy_is_shown_whatever_its_confidence(caller):
    assert traced(caller, RENAMED, min_confidence=1).json()["findings"][0]["is_copy"]


def test_a_document_is_read_by_its_number(caller):
    number = first_place(traced(caller, GRAPH))["document_id"]
    stored = caller.get(f"/api/documents/{number}").json()
    assert (stored["text"], stored["first_line"], stored["name"]) == (GRAPH, 40, "shortest_path")
    assert stored["origins"][0]["licence"] == "GPL-3.0-only"


@pytest.mark.parametrize("number", ["999999", "-1", "0"])
def test_a_document_that_is_not_there_is_404(caller, number):
    assert caller.get(f"/api/documents/{number}").status_code == 404


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({}, "code"),
        ({"code": ""}, "code"),
        ({"code": "x", "top": 0}, "top"),
        ({"code": "x", "top": 10**6}, "top"),
        ({"code": "x", "method": "magic"}, "method"),
        ({"code": 5}, "code"),
        ({"code": "x", "min_confidence": 2}, "min_confidence"),
        ({"code": "x", "treshold": 0.5}, "treshold"),
        ({"code": "x", "language": "pyton"}, "no language is called 'pyton'; did you mean python"),
    ],
)
def test_a_request_that_makes_no_sense_is_told_what_is_wrong(caller, body, named):
    answer = caller.post("/api/trace", json=body)
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith(named)


@pytest.mark.parametrize(
    ("body", "sent_as", "status", "detail"),
    [
        ("{", "application/json", 400, "the body is not JSON: Expecting property name enclosed in double quotes, at 1"),
        ("[]", "application/json", 422, "body: received application/json, expected a JSON object with"),
        ('{"code": "x"}', "text/plain", 422, "body: received text/plain, expected a JSON object with"),
        ('{"code": "x"}', None, 422, "body: received no type, expected a JSON object with"),
    ],
)
def test_what_is_no_json_object_is_refused_with_what_was_received(caller, body, sent_as, status, detail):
    answer = caller.post("/api/trace", content=body, headers={"Content-Type": sent_as} if sent_as else {})
    assert answer.status_code == status
    assert answer.json()["detail"].startswith(detail)


def test_vectors_are_refused_where_the_index_has_none(caller):
    answer = traced(caller, MEDIAN, method="vector")
    assert 400 <= answer.status_code < 600
    assert "vector" in answer.json()["detail"]


def test_a_request_that_is_too_large_is_refused_whatever_it_claims(small_index):
    with client(small_index, limits=ServiceLimits(body_bytes=1000, seconds=120)) as found:
        assert traced(found, "x" * 2000).status_code == 413
        chunks = (b'{"code": "' if at == 0 else b"x" * 100 for at in range(50))
        assert found.post("/api/trace", content=chunks).status_code == 413
        assert traced(found, MEDIAN).status_code == 200


@pytest.mark.parametrize(
    "path",
    ["/static/../app.py", "/static/..%2fapp.py", "/static/%2e%2e/app.py", "/../../etc/passwd", "/static//etc/passwd"],
)
def test_no_file_outside_the_page_is_readable(caller, path):
    assert caller.get(path).status_code == 404


def test_without_the_token_nothing_of_the_index_is_told(small_index):
    with client(small_index, token="secret") as found:  # noqa: S106  a word of the test
        for path in ("/api/info", "/api/documents/1", "/metrics"):
            assert found.get(path).status_code == 401
            assert found.get(path, headers={"Authorization": "Bearer wrong"}).status_code == 401
            assert found.get(path, headers={"Authorization": "Bearer secret"}).status_code == 200
        assert traced(found, MEDIAN).status_code == 401
        assert found.get("/").status_code == found.get("/health").status_code == 200


def test_a_page_of_others_cannot_call_a_local_service_under_its_own_name(small_index):
    with client(small_index, hosts=("localhost",)) as found:
        assert found.get("/api/info", headers={"Host": "evil.example"}).status_code == 400
        assert found.get("/api/info", headers={"Host": "localhost:8000"}).status_code == 200


def test_a_call_that_takes_too_long_and_one_too_many_are_told_so(small_index, monkeypatch):
    released = threading.Event()
    monkeypatch.setattr(module, "answer", lambda *_: released.wait(60))
    with client(small_index, limits=ServiceLimits(seconds=2, workers=1, waiting=0)) as found:
        assert traced(found, MEDIAN).status_code == 504
        busy = traced(found, MEDIAN)
        released.set()
    assert busy.status_code == 503
    assert busy.headers["Retry-After"] == "1"


def test_a_service_whose_workers_are_all_busy_is_still_healthy(small_index, monkeypatch):
    begun, released = threading.Event(), threading.Event()

    def slow(*_):
        begun.set()
        released.wait(60)

    monkeypatch.setattr(module, "answer", slow)
    with client(small_index, limits=ServiceLimits(seconds=120, workers=1, waiting=0)) as found:
        busy = threading.Thread(target=traced, args=(found, MEDIAN))
        busy.start()
        begun.wait(60)
        healthy = found.get("/health")
        released.set()
        busy.join()
    assert healthy.json() == {"status": "ok"}


def test_what_a_writer_commits_is_served_at_once(small_index, tmp_path):
    with CodeIndex.create(tmp_path / "growing") as index:
        index.commit()
        with client(tmp_path / "growing") as found:
            assert traced(found, MEDIAN).json()["findings"] == []
            index.add([Document(MEDIAN, "python", "file", None, (Origin("later", "later.py"),))])
            index.commit()
            assert first_place(traced(found, MEDIAN))["path"] == "later.py"


def test_what_it_counts_stands_in_the_metrics(caller):
    traced(caller, MEDIAN)
    caller.get("/nothing/here")
    text = caller.get("/metrics").text
    assert 'assay_requests_total{path="/api/trace",status="200"} 1.0' in text
    assert 'assay_requests_total{path="other",status="404"} 1.0' in text
    assert "assay_documents 2.0" in text


def test_the_description_names_every_route_and_nothing_is_fetched_from_elsewhere(caller):
    described = caller.get("/openapi.json").json()
    assert set(described["paths"]) == {"/health", "/metrics", "/api/info", "/api/trace", "/api/documents/{number}"}
    page = caller.get("/")
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    for text in (page.text, caller.get("/static/page.css").text, caller.get("/static/page.js").text):
        assert not re.search(r"https?://|src=\W?//|@import|url\(", text)


def test_an_index_that_cannot_be_opened_is_told_before_anything_is_served(tmp_path):
    with pytest.raises(CorpusIndexError, match="no index"):
        create_app(tmp_path)


@pytest.mark.parametrize(
    ("field", "body"),
    [
        ("language", b'{"code": "x", "language": "\\ud800"}'),
        ("code", b'{"code": "\\ud800 x", "language": "c"}'),
        ("method", b'{"code": "x", "method": "\\ud800"}'),
    ],
)
def test_text_that_is_no_unicode_is_422(caller, field, body):
    answer = caller.post("/api/trace", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    assert re.match(f"{field}: .*unicode", answer.json()["detail"])
