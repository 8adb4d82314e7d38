"""`assay serve`: the index behind HTTP, with a web page."""

import logging
import math
import os
import signal

import typer

from assay.cli.groups import grouped
from assay.cli.options import At
from assay.cli.unused import refuse_unused
from assay.errors import DataError, require
from assay.service import ServiceAddress, ServiceLimits

TOKEN = "ASSAY_TOKEN"  # noqa: S105  the name of a variable
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


@grouped
def serve_command(context: typer.Context, *, index: At, address: ServiceAddress, limits: ServiceLimits) -> None:
    """Serve an index: a web page to paste code into, and an HTTP API.

    The API is described at `/openapi.json`. By default only this machine can connect (--host). If the environment
    variable ASSAY_TOKEN is set, callers must send its value as a bearer token; the page asks for it. `/health` and
    `/metrics` are for whoever runs the server. Agents use the Model Context Protocol at `/mcp`, or through --mcp.

    **Example**: `assay serve --index my-index --port 8080`
    """
    require("fastapi", "uvicorn", "prometheus_client", purpose="assay serve")
    if address.runs is not None and not address.runs.is_dir():
        raise DataError(f"--runs {address.runs}: expected a folder of finished audits")
    # nothing is left to continue
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if address.mcp:
        refuse_unused(context, dict.fromkeys(("host", "port"), "--mcp speaks on standard input and output"))
        _speak(index, address, limits)
        return
    import uvicorn

    from assay.progress import warn
    from assay.provenance import query_encoder
    from assay.service import BACKLOG, Connections, create_app, listening

    # an empty value is no token, so the warning below appears
    token = os.environ.get(TOKEN) or None
    if not address.is_local and token is None:
        warn(f"every machine that reaches {address.host} can read this index: set {TOKEN} to require a token")
    app = create_app(
        index,
        encoder=query_encoder(index),
        token=token,
        limits=limits,
        # a web page may lead a name of its own to this machine (DNS rebinding): only names of this machine are answered
        hosts=LOOPBACK if address.is_local else ("*",),
        runs=address.runs,
    )
    # bound before its address is printed: a caller may connect at once, and port 0 has its number only now
    with listening(address.host, address.port) as socket:
        at, bound = socket.getsockname()[:2]
        # an address of IPv6 stands in brackets in a URL (RFC 3986, 3.2.2)
        shown = f"[{at}]" if ":" in at else at
        typer.echo(f"http://{shown}:{bound}/")
        # a caller that never reads its answer must not keep the service from ending
        grace = math.ceil(2 * limits.seconds)
        config = uvicorn.Config(
            app,
            log_level="warning",
            server_header=False,
            timeout_graceful_shutdown=grace,
            http=Connections(head_seconds=limits.seconds).protocol(),
            backlog=BACKLOG,
        )
        logging.getLogger("uvicorn.error").addFilter(is_not_broken_off)
        try:
            uvicorn.Server(config).run(sockets=[socket])
        except KeyboardInterrupt:  # nothing is left to continue
            raise SystemExit(128 + signal.SIGINT) from None


def _speak(index: str, address: ServiceAddress, limits: ServiceLimits) -> None:
    """Answer an agent on standard input and output."""
    require("mcp", purpose="assay serve --mcp")
    import asyncio

    from assay.provenance import query_encoder
    from assay.service.agents import speak
    from assay.service.routes import Service

    service = Service(index, query_encoder(index), token=None, limits=limits, runs=address.runs)
    try:
        asyncio.run(speak(service))
    except KeyboardInterrupt:
        raise SystemExit(128 + signal.SIGINT) from None
    finally:
        service.close()


def is_not_broken_off(record: logging.LogRecord) -> bool:
    """Return False for the traceback of a request that the end of the service broke off."""
    import asyncio

    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))
