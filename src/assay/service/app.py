"""The HTTP service: where does this code come from? The routes are in `assay.service.routes`."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext
from http import HTTPStatus
from importlib.util import find_spec
from pathlib import Path

from fastapi import FastAPI, Request, Response
from fastapi.exception_handlers import http_exception_handler
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.routing import Route

from assay import __version__
from assay.errors import AssayError, CorpusIndexError
from assay.escaping import visible
from assay.guard import short_reason
from assay.service.middleware import BodyLimit, MetricsMiddleware
from assay.service.routes import PAGE, Service, index_failed
from assay.service.settings import ServiceLimits
from assay.types import Encoder

SECURITY = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';"
    " connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


def create_app(
    place: Path | str,
    *,
    encoder: Encoder | None = None,
    token: str | None = None,
    limits: ServiceLimits | None = None,
    hosts: tuple[str, ...] = ("*",),
    runs: Path | None = None,
) -> FastAPI:
    """Return the service over one index.

    Args:
        place: folder or address of the index; changes that a writer commits are served from the next request on.
        encoder: the index's own; without it there is no search by vector.
        token: callers must send it as `Authorization: Bearer …`; None accepts every caller.
        limits: sizes, times and numbers of requests.
        hosts: host names that are accepted; `*` for all. A list protects against web pages of other sites (DNS
            rebinding).
        runs: folder of finished audits that agents may read.

    Raises:
        CorpusIndexError: the index cannot be opened.
    """
    limits = limits or ServiceLimits()
    service = Service(place=place, encoder=encoder, token=token, limits=limits, runs=runs)
    agents = None
    if find_spec("mcp") is not None:
        from assay.service.agents import AgentRoute  # noqa: PLC0415  its packages are optional

        agents = AgentRoute(service)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with agents.sessions.run() if agents is not None else nullcontext():
            yield
        service.close()

    app = FastAPI(
        title="assay",
        summary="Where does this code come from?",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,  # its pages fetch their scripts from elsewhere
        redoc_url=None,
    )
    # what is added last is met first: a request is counted, then its host is checked, then its size
    app.add_middleware(
        BodyLimit, most=limits.body_bytes, seconds=limits.seconds, is_full=lambda: service.traces.is_full
    )
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))
    app.add_middleware(MetricsMiddleware, metrics=service.metrics)
    app.middleware("http")(secured)
    app.exception_handler(AssayError)(failed)
    app.exception_handler(RequestValidationError)(refused)
    app.exception_handler(HTTPException)(unreadable)
    app.include_router(service.routes)
    if agents is not None:
        # POST alone: without sessions a GET would open a stream of events that nobody ever writes to or closes
        app.router.routes.append(Route("/mcp", agents, methods=["POST"]))
    # files by name from the package alone: Starlette refuses what leads outside of the folder
    app.mount("/static", StaticFiles(directory=PAGE), name="static")
    return app


async def secured(request: Request, following: Callable[[Request], Awaitable[Response]]) -> Response:
    """Add security headers to every answer: the browser loads nothing from elsewhere."""
    response = await following(request)
    response.headers.update(SECURITY)
    return response


async def failed(_: Request, error: AssayError) -> JSONResponse:
    """Answer in one line: the caller's fault; or the index's, whose place on this machine only the log says."""
    if isinstance(error, CorpusIndexError):
        return JSONResponse({"detail": index_failed(error)}, 500)
    return JSONResponse({"detail": visible(str(error))}, 422)


async def unreadable(request: Request, error: HTTPException) -> Response:
    """Answer in one line why a body cannot be read; other refusals say it themselves."""
    if error.status_code == HTTPStatus.BAD_REQUEST and error.__cause__ is not None:
        error.detail = visible(f"the body is not JSON: {short_reason(error.__cause__)}")
    return await http_exception_handler(request, error)


async def refused(request: Request, error: RequestValidationError) -> JSONResponse:
    """Answer in one line what a request lacks."""
    first = error.errors()[0]
    # an entry holds the input of the caller too: only the fault and its place are passed on
    if first["type"] == "json_invalid":
        return JSONResponse({"detail": f"the body is not JSON: {first['ctx']['error']}, at {first['loc'][-1]}"}, 400)
    if first["loc"] == ("body",):
        received = request.headers.get("Content-Type", "no type")
        detail = f"body: received {received}, expected a JSON object with Content-Type: application/json"
        return JSONResponse({"detail": visible(detail)}, 422)
    place = ".".join(str(part) for part in first["loc"] if part != "body") or "body"
    return JSONResponse({"detail": visible(f"{place}: {first['msg']}")}, 422)
