"""The HTTP service and callers that mean harm: every request of its description, and requests to others through it."""

import json
import re
import socket
import threading
from urllib.parse import urlsplit

import httpx
import pytest
import schemathesis
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

from assay.errors import CorpusIndexError, DataError
from assay.service import ServiceLimits, answers, create_app
from support.serving import serving
from support.snippets import MEDIAN

OPERATIONS = (("/health", "GET"), ("/metrics", "GET"), ("/api/info", "GET"), ("/api/trace", "POST"),
              ("/api/documents/{number}", "GET"))  # fmt: skip


@pytest.fixture(scope="module")
def address(small_index):
    with serving(small_index) as found:
        yield found


@pytest.fixture(scope="module")
def description(address):
    return schemathesis.openapi.from_url(f"{address}openapi.json")


@pytest.fixture(scope="module")
def caller(small_index):
    """A client of the service over two functions."""
    with TestClient(
        create_app(small_index, limits=ServiceLimits(seconds=120)), raise_server_exceptions=False
    ) as client:
        yield client


def test_every_operation_is_tried(description):
    operations = {(each.ok().path, each.ok().method.upper()) for each in description.get_all_operations()}
    assert operations == set(OPERATIONS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "method", "mode"),
    [(*operation, GenerationMode.POSITIVE) for operation in OPERATIONS]
    + [(*operation, GenerationMode.NEGATIVE) for operation in OPERATIONS[-2:]],  # the others take nothing
)
def test_every_request_gets_an_answer_that_the_description_names(description, path, method, mode):
    """Valid and invalid ones: status, headers and content are those that `/openapi.json` promises."""

    @given(description[path][method].as_strategy(generation_mode=mode))
    @settings(
        max_examples=25 if method == "POST" else 8,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def answered(case):
        # a method by vector is valid, and refused by an index that has none
        case.call_and_validate(excluded_checks=[positive_data_acceptance])

    answered()


ADDRESSES = ("http://127.0.0.1:1/", "http://169.254.169.254/latest/meta-data", "file:///etc/passwd", "//example.org/a",
             "gopher://127.0.0.1:6379/_INFO", "\\\\example.org\\share")  # fmt: skip


@pytest.fixture
def connections(monkeypatch):
    """Where this process tries to connect to, or looks for an address of."""
    tried = []

    def refused(*arguments, **_):
        tried.append(arguments)
        raise OSError("no connection in this test")

    monkeypatch.setattr(socket.socket, "connect", refused)
    monkeypatch.setattr(socket.socket, "connect_ex", refused)
    monkeypatch.setattr(socket, "getaddrinfo", refused)
    return tried


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_request_makes_the_service_ask_somebody_else(caller, connections, address):
    """Not by its fields, its headers or its path; nor does the service send a caller elsewhere."""
    names = ("X-Forwarded-Host", "X-Forwarded-For", "Referer", "Origin")
    headers = {name: address.replace("\\", "/") for name in names}
    fields = (
        {"code": address},
        {"code": MEDIAN, "language": address},
        {"code": MEDIAN, "method": address},
        {"code": MEDIAN, "index": address, "encoder": address, "url": address},
    )
    for body in fields:
        assert caller.post("/api/trace", json=body, headers=headers).status_code in {200, 422}
    for path in (f"/api/documents/{address}", f"/{address}", f"/static/{address}", f"/api/info?index={address}"):
        answer = caller.get(path, headers=headers, follow_redirects=False)
        assert "location" not in answer.headers
    assert connections == []


def test_an_address_in_the_index_is_not_asked(caller, connections):
    """The second document has a `javascript:` address, the first one of the web: they are passed on, not followed."""
    place = caller.post("/api/trace", json={"code": MEDIAN}).json()["findings"][0]["places"][0]
    assert place["url"].startswith("https://")
    assert caller.get(f"/api/documents/{place['document_id']}").status_code == 200
    assert connections == []


def test_a_fault_of_the_index_names_no_place_on_this_machine(caller, monkeypatch, caplog):
    def damaged(*_):
        raise CorpusIndexError("/srv/secret/index: damaged\n::error::a")

    monkeypatch.setattr(answers, "described", damaged)
    answer = caller.get("/api/info")
    assert answer.status_code == 500
    assert "/srv" not in json.dumps(answer.json())
    assert caplog.messages == [r"/srv/secret/index: damaged\n\x3a:error::a"]


def test_a_request_that_does_not_arrive_whole_is_refused_and_the_connection_ends(small_index):
    with (
        serving(small_index, limits=ServiceLimits(seconds=0.5)) as address,
        socket.create_connection((urlsplit(address).hostname, urlsplit(address).port), timeout=60) as stalled,
    ):
        stalled.sendall(
            b"POST /api/trace HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b'Content-Length: 100\r\n\r\n{"code": '
        )
        answer = b"".join(iter(lambda: stalled.recv(4096), b""))
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert answer.endswith(b'{"detail":"the request did not arrive whole within 0.5 s"}')


def test_a_call_whose_caller_has_gone_is_not_worked_off(small_index, monkeypatch):
    begun, released, traced = threading.Event(), threading.Event(), []

    def slow(_, request):
        traced.append(request.code)
        begun.set()
        released.wait(60)
        raise DataError("traced")

    monkeypatch.setattr(answers, "answer", slow)
    with serving(small_index, limits=ServiceLimits(workers=1, seconds=60)) as address:
        place = (urlsplit(address).hostname, urlsplit(address).port)
        callers = []
        for code in (b"a", b"b", b"c"):
            callers.append(socket.create_connection(place, timeout=60))
            body = b'{"code": "%s"}' % code
            callers[-1].sendall(
                b"POST /api/trace HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
            )
            assert begun.wait(60)
        while calls_of(address) < len(callers):
            pass
        callers[1].close()
        while calls_of(address) == len(callers):
            pass
        released.set()
        for caller in (callers[0], callers[2]):
            with caller:
                answer = b""
                while b'"detail":"traced"' not in answer:
                    part = caller.recv(4096)
                    assert part, answer
                    answer += part
    assert traced == ["a", "c"]


def calls_of(address):
    """Calls that run or wait, as the service counts them."""
    return int(float(re.search(r"^assay_calls (\S+)", httpx.get(f"{address}metrics").text, re.MULTILINE)[1]))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b'{"code": "\xff"}', "byte 10 is not UTF-8 text"),
        (b"[" * 100_000, "maximum recursion depth"),
        (b"9" * 5_000, "limit (4300 digits)"),
    ],
)
def test_a_body_that_cannot_be_read_is_refused_with_the_reason(caller, body, reason):
    answer = caller.post("/api/trace", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert answer.json()["detail"].startswith("the body is not JSON: ")
    assert reason in answer.json()["detail"]


@pytest.mark.parametrize("body", [b'{"code": "a\\ud800b"}', b'{"\\ud800": 1}'])
def test_half_a_character_is_an_answer_as_well(caller, body):
    answer = caller.post("/api/trace", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in {200, 422}


def test_a_body_that_cannot_wait_is_refused_before_it_is_read(small_index, monkeypatch):
    begun, released = threading.Event(), threading.Event()

    def slow(*_):
        begun.set()
        released.wait(60)

    monkeypatch.setattr(answers, "answer", slow)
    head = (
        b"POST /api/trace HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    )
    with serving(small_index, limits=ServiceLimits(workers=1, waiting=0, seconds=60)) as address:
        place = (urlsplit(address).hostname, urlsplit(address).port)
        with (
            socket.create_connection(place, timeout=60) as first,
            socket.create_connection(place, timeout=60) as second,
        ):
            first.sendall(head % 13 + b'{"code": "a"}')
            assert begun.wait(60)
            second.sendall(head % 250_000)
            answer = second.recv(4096)
            released.set()
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert b"retry-after: 1\r\n" in answer
