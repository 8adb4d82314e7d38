"""The routes of the service over one index.

Every route that reads the index asks for the token, if the service has one. The page, its files, `/health` and the
API's description are open. Nothing outside the index is readable: documents go by number.
"""

import logging
import os
import secrets
import threading
from collections.abc import Callable, Mapping
from http import HTTPStatus
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from fastapi.responses import FileResponse, PlainTextResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from assay.errors import CorpusIndexError
from assay.escaping import json_text, visible
from assay.provenance import Searchable, open_index, trace
from assay.service import answers
from assay.service.middleware import AGAIN, TOO_MANY, TRACE, Metrics
from assay.service.queue import CallerGone, CallQueue, TooManyCalls, unless_gone
from assay.service.schemas import DocumentAnswer, InfoAnswer, Refusal, TraceAnswer, TraceRequest
from assay.service.settings import ServiceLimits
from assay.types import Encoder

R = TypeVar("R")

LOG = logging.getLogger("assay.service")

PAGE = Path(str(files("assay.service") / "page"))
BEARER = HTTPBearer(auto_error=False, description="The value of ASSAY_TOKEN, if the service was started with one.")
"""Declares the token in `/openapi.json`."""


CLIENT_CLOSED = 499
"""Status of a request whose caller has gone, in the metrics."""

WARMING = "for name in names:\n    print(name, total + 1, 'a text')\n" * 5


class Readers:
    """The index, opened once for each thread."""

    def __init__(self, place: Path | str, encoder: Encoder | None) -> None:
        self._place = str(place)
        self._encoder = encoder
        self._of_thread = threading.local()
        self._opened: list[Searchable] = []
        # else the first caller would wait for the compiler
        trace(WARMING, self.index(), method="winnowing")  # compiles the loops, and reports a broken index at once

    def index(self) -> Searchable:
        """Return the index of this thread."""
        # a connection to the catalogue serves one question at a time: with one for each thread none waits
        opened: Searchable | None = getattr(self._of_thread, "index", None)
        if opened is None:
            opened = open_index(self._place, encoder=self._encoder)
            self._of_thread.index = opened
            self._opened.append(opened)
        return opened

    def close(self) -> None:
        """Close all of them."""
        for index in self._opened:
            index.close()


class Service:
    """The routes over one index; see `create_app`."""

    def __init__(
        self,
        place: Path | str,
        encoder: Encoder | None,
        token: str | None,
        limits: ServiceLimits,
        runs: Path | None = None,
    ) -> None:
        self.runs = runs
        self.most_bytes = limits.body_bytes
        self.readers = Readers(place, encoder)
        workers = limits.workers or os.cpu_count() or 1
        self.traces = CallQueue(workers=workers, waiting=limits.waiting, seconds=limits.seconds)
        # an operator's question must not wait behind traces: a service under load is not dead
        self.probes = CallQueue(workers=1, waiting=limits.waiting, seconds=limits.seconds)
        self.metrics = Metrics(lambda: self.traces.calls, lambda: len(self.readers.index()))
        self._token = token
        self._seconds = limits.seconds

    def close(self) -> None:
        """Let what runs end, and close the index."""
        self.traces.close()
        self.probes.close()
        self.readers.close()

    @property
    def routes(self) -> APIRouter:
        """All of them, those that read the index guarded."""
        check = [Depends(self.authorised)] if self._token is not None else []
        guarded = APIRouter(dependencies=check, responses=refusals(401, 422, 500, 503, 504))
        guarded.get("/api/info", tags=["provenance"])(self.info)
        guarded.post(TRACE, tags=["provenance"], responses=refusals(400, 408, 413))(self.trace)
        guarded.get("/api/documents/{number}", tags=["provenance"], responses=refusals(404))(self.document)
        guarded.get("/metrics", tags=["service"], response_class=PlainTextResponse)(self.exposition)
        everything = APIRouter()
        everything.get("/", include_in_schema=False)(self.page)
        everything.get("/health", tags=["service"], responses=refusals(500, 503, 504))(self.health)
        everything.include_router(guarded)
        return everything

    def authorised(self, sent: Annotated[HTTPAuthorizationCredentials | None, Depends(BEARER)] = None) -> None:
        """Refuse callers that do not send the token."""
        self.check_token(sent.credentials if sent else "")

    def check_token(self, token: str) -> None:
        """Refuse a caller whose token is another one.

        Raises:
            HTTPException: with status 401.
        """
        # compared in a time that does not depend on how much of it is right
        if self._token is not None and not secrets.compare_digest(token.encode(), self._token.encode()):
            raise HTTPException(401, "this service requires a token", {"WWW-Authenticate": "Bearer"})

    def check_size(self, arguments: Mapping[str, object]) -> None:
        """Refuse arguments of a tool that are larger than a request may be.

        Raises:
            HTTPException: with status 413.
        """
        # JSON may hold half a character, which has no bytes of UTF-8 and is counted all the same
        if len(json_text(arguments, ensure_ascii=False).encode("utf-8", "surrogatepass")) > self.most_bytes:
            raise HTTPException(413, f"the request is larger than {self.most_bytes:,} bytes")

    async def page(self) -> FileResponse:
        """The web page."""
        return FileResponse(PAGE / "index.html")

    async def health(self) -> dict[str, str]:
        """Check that the index can be read."""
        await self.run(lambda: len(self.readers.index()), self.probes)
        return {"status": "ok"}

    async def exposition(self) -> Response:
        """Counts and times for Prometheus."""
        text = await self.run(self.metrics.text, self.probes)
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    async def info(self) -> InfoAnswer:
        """Describe the index and the methods by which it can be searched."""
        return await self.run(lambda: answers.described(self.readers.index()))

    async def trace(self, request: TraceRequest, caller: Request) -> TraceAnswer:
        """The sources of a piece of code, the most likely first."""
        # the body was read, so what is received next is that the caller has gone
        traced = self.run(lambda: answers.answer(self.readers.index(), request))
        try:
            return await unless_gone(traced, caller.receive)
        except CallerGone:
            raise HTTPException(CLIENT_CLOSED, "the caller has closed its connection") from None

    async def document(self, number: int) -> DocumentAnswer:
        """A document of the index with all its origins."""
        document = await self.run(lambda: answers.document(self.readers.index(), number))
        if document is None:
            raise HTTPException(404, f"no document {number}")
        return document

    async def run(self, call: Callable[[], R], queue: CallQueue | None = None) -> R:
        """Return the value of a call, within the limits.

        Args:
            call: reads the index.
            queue: that it waits in; None for that of traces.

        Raises:
            HTTPException: too many wait, or it took too long.
        """
        try:
            return await (queue or self.traces).run(call)
        except TooManyCalls:
            raise HTTPException(503, TOO_MANY, AGAIN) from None
        except TimeoutError:
            raise HTTPException(504, f"no answer within {self._seconds:g} s; send less code") from None


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Describe the answers that are no results, for `/openapi.json`."""
    return {status: {"model": Refusal, "description": HTTPStatus(status).phrase} for status in statuses}


def index_failed(error: CorpusIndexError) -> str:
    """Write to the log why the index cannot be read, and return what callers may know of it."""
    LOG.error("%s", visible(str(error)))
    return "the index cannot be read; the log of the service says why"
