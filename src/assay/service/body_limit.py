"""Refuses request bodies that are too large, before they are read into memory, and those that arrive too slowly."""

import asyncio

from fastapi.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class BodyLimit:
    """ASGI middleware: 413 for a body of more than `most` bytes, whatever length it claims, 408 after `seconds`."""

    def __init__(self, app: ASGIApp, *, most: int, seconds: float) -> None:
        self.app = app
        self.most = most
        self.seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, counting."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        claimed = dict(scope["headers"]).get(b"content-length", b"0")
        read = int(claimed) if claimed.isdigit() and int(claimed) > self.most else 0
        begun = whole = late = False
        deadline = asyncio.get_running_loop().time() + self.seconds

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
