"""A service that listens, as callers meet it."""

import socket
import threading
from contextlib import contextmanager

import uvicorn

from assay.service import BACKLOG, Connections, ServiceLimits, create_app

PATIENCE = 60


@contextmanager
def serving(folder, connections=None, **settings):
    """A service on a free port of this machine, with the limits on connections that `assay serve` has."""
    app = create_app(folder, **{"limits": ServiceLimits(seconds=PATIENCE), **settings})
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(
            uvicorn.Config(app, log_level="error", http=(connections or Connections()).protocol(), backlog=BACKLOG)
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
        finally:
            server.should_exit = True
            thread.join(PATIENCE)
