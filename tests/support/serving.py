"""A service that listens, as callers meet it."""

import socket
import threading
from contextlib import contextmanager

import uvicorn

from assay.service.app import ServiceLimits, create_app

PATIENCE = 60


@contextmanager
def serving(folder, **settings):
    """A service on a free port of this machine."""
    app = create_app(folder, **{"limits": ServiceLimits(seconds=PATIENCE), **settings})
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
        finally:
            server.should_exit = True
            thread.join(PATIENCE)
