"""ASGI middleware of the service: a limit on request bodies, and counts and times for Prometheus."""

import asyncio
import time
from collections.abc import Callable

from fastapi.responses import JSONResponse
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

TRACE = "/api/trace"
TOO_MANY, AGAIN = "too many requests are waiting; try again in a second", {"Retry-After": "1"}
"""The answer to a request that cannot wait: its text and its headers."""

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """Requests by path and status, their durations, and the calls in progress."""

    def __init__(self, calls: Callable[[], int], documents: Callable[[], int]) -> None:
        self.registry = CollectorRegistry()
        names = ("path", "status")
        self.requests = Counter("assay_requests", "Requests answered", names, registry=self.registry)
        self.seconds = Histogram(
            "assay_request_seconds", "Time to the end of the answer", ("path",), buckets=SECONDS, registry=self.registry
        )
        Gauge("assay_calls", "Calls that run or wait", registry=self.registry).set_function(calls)
        Gauge("assay_documents", "Documents in the index", registry=self.registry).set_function(documents)

    def text(self) -> bytes:
        """Return the metrics in the exposition format of Prometheus."""
        return generate_latest(self.registry)


class MetricsMiddleware:
    """ASGI middleware that fills `Metrics`; paths are those of routes, so that their number is bounded."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, timing it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        # an application that raises starts no answer, and the server around it answers 500
        began, status = time.perf_counter(), 500

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, noted)
        finally:
            # a path that nobody serves is chosen by the caller: as a label it would grow without end
            route = scope.get("route")
            path = getattr(route, "path", "other")
            self.metrics.requests.labels(path, str(status)).inc()
            self.metrics.seconds.labels(path).observe(time.perf_counter() - began)


class BodyLimit:
    """ASGI middleware: 413 for a body of more than `most` bytes, whatever length it claims, 408 after `seconds`.

    A body is refused before it is read into memory; so is that of a trace while `is_full`, with 503.
    """

    def __init__(self, app: ASGIApp, *, most: int, seconds: float, is_full: Callable[[], bool]) -> None:
        self.app = app
        self.most = most
        self.seconds = seconds
        self.is_full = is_full

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, counting."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if scope["path"] == TRACE and self.is_full():
            await JSONResponse({"detail": TOO_MANY}, 503, AGAIN)(scope, receive, send)
            return
        # a body that says it is too large is refused unread; one that says nothing counts as none so far
        claimed = dict(scope["headers"]).get(b"content-length", b"0")
        read = int(claimed) if claimed.isdigit() and int(claimed) > self.most else 0
        begun = whole = late = False
        deadline = asyncio.get_running_loop().time() + self.seconds

        # the length that a caller claims is only a hint: the bytes are counted as they come, and the stream is cut off
        async def counted() -> Message:
            nonlocal read, whole, late
            try:
                async with asyncio.timeout_at(None if whole else deadline):
                    message = await receive()
            except TimeoutError:
                late = True
                return {"type": "http.disconnect"}
            read += len(message.get("body", b""))
            whole = not message.get("more_body", False)
            return message if read <= self.most else {"type": "http.disconnect"}

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = begun or not (late or read > self.most)
            if begun:  # else what the application says of a body that broke off is of no use to the caller
                await send(message)

        if read <= self.most:
            await self.app(scope, counted, watched)
        if not begun:
            refusal = JSONResponse({"detail": f"the request is larger than {self.most:,} bytes"}, 413)
            if late:
                detail = f"the request did not arrive whole within {self.seconds:g} s"
                refusal = JSONResponse({"detail": detail}, 408, {"Connection": "close"})
            await refusal(scope, receive, send)
