"""Refuses request bodies that are too large, before they are read into memory."""

from fastapi.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class BodyLimit:
    """ASGI middleware: 413 for a body of more than `most` bytes, whatever length it claims."""

    def __init__(self, app: ASGIApp, *, most: int) -> None:
        self.app = app
        self.most = most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, counting."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        claimed = dict(scope["headers"]).get(b"content-length", b"0")
        read = int(claimed) if claimed.isdigit() and int(claimed) > self.most else 0
        begun = False

        async def counted() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            return message if read <= self.most else {"type": "http.disconnect"}

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = begun or read <= self.most
            if begun:  # else what the application says of a body that broke off is of no use to the caller
                await send(message)

        if read <= self.most:
            await self.app(scope, counted, watched)
        if not begun:
            refusal = JSONResponse({"detail": f"the request is larger than {self.most:,} bytes"}, 413)
            await refusal(scope, receive, send)
