"""A Qdrant server over HTTP for tests: the REST interface, and behind it the engine that qdrant-client has of its own.

Bodies are read by the models that are made from the server's own OpenAPI description, so what a server would not take
is refused here too.
"""

import json
import threading
import warnings
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, TypeAdapter, ValidationError
from qdrant_client import QdrantClient
from qdrant_client.http import models

DONE = {"operation_id": 0, "status": "completed"}


def _created(engine, name, body):
    return engine.create_collection(name, vectors_config=body.vectors, sparse_vectors_config=body.sparse_vectors)


def _indexed(engine, name, body):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own engine filters without indexes, and says so
        engine.create_payload_index(name, body.field_name, body.field_schema)
    return DONE


def _scrolled(engine, name, body):
    points, offset = engine.scroll(
        name, body.filter, limit=body.limit, offset=body.offset, with_payload=body.with_payload
    )
    return {"points": points, "next_page_offset": offset}


def _asked(engine, name, body):
    return engine.query_points(
        name, body.query, using=body.using, limit=body.limit, with_payload=body.with_payload or False
    )


def _changed(engine, name, body):
    engine.batch_update_points(name, body.operations)
    return [DONE] * len(body.operations)


ROUTES = {
    ("GET", "/exists"): (None, lambda engine, name, _: {"exists": engine.collection_exists(name)}),
    ("GET", ""): (None, lambda engine, name, _: engine.get_collection(name)),
    ("PUT", ""): (models.CreateCollection, _created),
    ("PUT", "/index"): (models.CreateFieldIndex, _indexed),
    ("PUT", "/points"): (models.PointsList, lambda engine, name, body: engine.upsert(name, body.points)),
    ("POST", "/points"): (
        models.PointRequest,
        lambda engine, name, body: engine.retrieve(name, body.ids, with_payload=body.with_payload),
    ),
    ("POST", "/points/scroll"): (models.ScrollRequest, _scrolled),
    ("POST", "/points/count"): (models.CountRequest, lambda engine, name, body: engine.count(name, body.filter)),
    ("POST", "/points/query"): (models.QueryRequest, _asked),
    ("POST", "/points/query/batch"): (
        models.QueryRequestBatch,
        lambda engine, name, body: [_asked(engine, name, search) for search in body.searches],
    ),
    ("POST", "/points/batch"): (models.UpdateOperations, _changed),
    ("POST", "/points/payload"): (
        models.SetPayload,
        lambda engine, name, body: engine.set_payload(name, body.payload, body.filter or body.points),
    ),
    ("POST", "/points/delete"): (
        models.PointsSelector,
        lambda engine, name, body: engine.delete(name, body.filter if hasattr(body, "filter") else body.points),
    ),
    ("POST", "/facet"): (
        models.FacetRequest,
        lambda engine, name, body: engine.facet(name, body.key, limit=body.limit),
    ),
}
"""Method and path behind the collection → what the body has to be, and the answer."""


class _Answering(BaseHTTPRequestHandler):
    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.requests.append((self.command, urlsplit(self.path).path))
        status, result = self.answered(body)
        sent = json.dumps({"result": result, "status": "ok", "time": 0.0} if status == 200 else result).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def answered(self, body):
        if self.server.key is not None and self.headers.get("api-key") != self.server.key:
            return 401, {"status": {"error": "Must provide an API key"}}
        _, _, name, *rest = urlsplit(self.path).path.split("/", 3)
        model, act = ROUTES[self.command, "/" + rest[0] if rest else ""]
        try:
            parsed = None if model is None else TypeAdapter(model).validate_json(body)
            return 200, _plain(act(self.server.engine, unquote(name), parsed))
        except (ValidationError, ValueError) as error:
            return 400, {"status": {"error": f"Wrong input: {error}"}}

    do_GET = do_POST = do_PUT = answer  # noqa: N815  names of the library

    def log_message(self, *_):
        pass


def _plain(value):
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    return {key: _plain(entry) for key, entry in value.items()} if isinstance(value, dict) else value


@contextmanager
def qdrant_server(key=None):
    """The server, in a thread of its own; `requests` are those that came, `url` is where it is."""
    with HTTPServer(("127.0.0.1", 0), _Answering) as server:
        server.engine = QdrantClient(":memory:")
        server.key, server.requests = key, []
        server.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
            server.engine.close()
