"""`assay serve`: the index behind HTTP, with a web page."""

import logging
import math
import os
import signal
from typing import Annotated

import typer

from assay.cli.options import OUTPUT, At
from assay.errors import require

LIMITS = "Limits"
TOKEN = "ASSAY_TOKEN"  # noqa: S105  the name of a variable
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


def serve_command(
    *,
    index: At,
    host: Annotated[
        str,
        typer.Option(metavar="ADDRESS", help="Address; 0.0.0.0 accepts other machines.", rich_help_panel=OUTPUT),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port; 0 for any free port.", rich_help_panel=OUTPUT)
    ] = 8000,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Traces at a time (the cores of this machine).", rich_help_panel=LIMITS)
    ] = None,
    waiting: Annotated[int, typer.Option(min=0, help="Traces that may wait beside them.", rich_help_panel=LIMITS)] = 64,
    max_bytes: Annotated[int, typer.Option(min=1, help="Largest request in bytes.", rich_help_panel=LIMITS)] = 256
    * 1024,
    timeout: Annotated[
        float,
        typer.Option(
            min=0.01, help="Most seconds for a request to arrive, and for its answer.", rich_help_panel=LIMITS
        ),
    ] = 10.0,
) -> None:
    """Serve an index: a web page to paste code into, and an HTTP API described at `/openapi.json`.

    By default it accepts only this machine (--host). If the environment variable ASSAY_TOKEN is set, callers
    must send its value as a bearer token; the page asks for it. `/health` and `/metrics` are for its operators.

    **Example**: `assay serve --index my-index --port 8080`
    """
    require("fastapi", "uvicorn", "prometheus_client", purpose="assay serve")
    import uvicorn

    from assay.api import query_encoder, warn
    from assay.service import ServiceLimits, create_app, listening

    limits = ServiceLimits(max_bytes, timeout, workers or os.cpu_count() or 1, waiting)
    token = os.environ.get(TOKEN) or None
    is_local = host in {"127.0.0.1", "localhost", "::1"}
    if not is_local and token is None:
        warn(f"every machine that reaches {host} can read this index: set {TOKEN} to require a token")
    app = create_app(
        index, encoder=query_encoder(index), token=token, limits=limits, hosts=LOOPBACK if is_local else ("*",)
    )
    with listening(host, port) as socket:
        address, bound = socket.getsockname()[:2]
        shown = f"[{address}]" if ":" in address else address
        typer.echo(f"http://{shown}:{bound}/")
        # a caller that never reads its answer must not keep the service from ending
        grace = math.ceil(2 * timeout)
        config = uvicorn.Config(app, log_level="warning", server_header=False, timeout_graceful_shutdown=grace)
        logging.getLogger("uvicorn.error").addFilter(is_not_broken_off)
        try:
            uvicorn.Server(config).run(sockets=[socket])
        except KeyboardInterrupt:  # nothing is left to continue
            raise SystemExit(128 + signal.SIGINT) from None


def is_not_broken_off(record: logging.LogRecord) -> bool:
    """Return False for the traceback of a request that the end of the service broke off."""
    import asyncio

    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))
