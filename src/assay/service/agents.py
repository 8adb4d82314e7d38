"""The service for agents: the tools of the Model Context Protocol over the same answers, limits and token as HTTP.

`assay serve` answers at `/mcp` (streamable HTTP), `assay serve --mcp` on standard input and output.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import mcp_types as types
from anyio import wrap_file
from fastapi import HTTPException
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from assay import __version__
from assay.errors import AssayError, CorpusIndexError
from assay.escaping import visible
from assay.service import answers
from assay.service.routes import Service, index_failed
from assay.service.schemas import (
    AuditAnswer,
    AuditRequest,
    DetectAnswer,
    DetectRequest,
    LicenceAnswer,
    LicenceRequest,
    TraceAnswer,
    TraceRequest,
)

INSTRUCTIONS = (
    "Check code that you wrote before you commit it: trace says where it may be copied from and under which licence, "
    "licence reads the licence that a file states, detect finds declarations of generated code. A source is no proof "
    "of copying: two programs may share code by a common origin. Confidence is measured; below it nothing is reported."
)

ENVELOPE = 64 * 1024
"""Bytes of a message beside the arguments of a tool."""

ESCAPES = 6
"""Bytes that JSON needs at most for one: `\\u0000`."""


@dataclass(frozen=True, slots=True)
class AgentTool:
    """One tool: its words, its types, and what answers it."""

    description: str
    request: type[BaseModel]
    answer: type[BaseModel]
    call: Callable[[Any], BaseModel]


def tools_of(service: Service) -> Mapping[str, AgentTool]:
    """Return the tools over one service, by name."""
    return {
        "trace": AgentTool(
            description="Find the sources in the index that code may come from, "
            "with lines, licence, author and confidence.",
            request=TraceRequest,
            answer=TraceAnswer,
            call=lambda request: answers.answer(service.readers.index(), request),
        ),
        "licence": AgentTool(
            description="Read the licence that the tag or notice at the head of a file states.",
            request=LicenceRequest,
            answer=LicenceAnswer,
            call=answers.licence_answer,
        ),
        "detect": AgentTool(
            description="Find comments or commit messages that declare code as generated. It gives no score of style.",
            request=DetectRequest,
            answer=DetectAnswer,
            call=answers.declarations_in,
        ),
        "audit_report": AgentTool(
            description="Read the report of a finished audit, by the name of its folder below --runs.",
            request=AuditRequest,
            answer=AuditAnswer,
            call=lambda request: answers.audit_report(service.runs, request),
        ),
    }


def agent_server(service: Service) -> "Server[Any]":
    """Return the server of the protocol over one service."""
    tools = tools_of(service)

    async def listed(_: ServerRequestContext[Any], __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=name,
                    description=tool.description,
                    input_schema=tool.request.model_json_schema(),
                    output_schema=tool.answer.model_json_schema(),
                    annotations=types.ToolAnnotations(read_only_hint=True, open_world_hint=False),
                )
                for name, tool in tools.items()
            ]
        )

    async def called(_: ServerRequestContext[Any], params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = tools.get(params.name)
        if tool is None:
            return _error(f"tool: received {params.name!r}, expected {', '.join(tools)}")
        # every refusal is a result with `is_error`: an error of the protocol would not reach the model that asked
        try:
            service.check_size(params.arguments or {})
            request = tool.request.model_validate(params.arguments or {})
            answer = await service.run(lambda: tool.call(request))
        except ValidationError as error:
            first = error.errors()[0]
            return _error(f"{'.'.join(map(str, first['loc'])) or 'arguments'}: {first['msg']}")
        except HTTPException as error:
            return _error(str(error.detail))
        except CorpusIndexError as error:
            return _error(index_failed(error))
        except AssayError as error:
            return _error(str(error))
        text = types.TextContent(type="text", text=answer.model_dump_json())
        return types.CallToolResult(content=[text], structured_content=answer.model_dump(mode="json"))

    return Server("assay", version=__version__, instructions=INSTRUCTIONS, on_list_tools=listed, on_call_tool=called)


def _error(message: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=visible(message))], is_error=True)


class AgentRoute:
    """ASGI application of the protocol over HTTP; callers send the token of the service."""

    def __init__(self, service: Service) -> None:
        self._service = service
        # without sessions there is nothing that a caller could open and leave behind
        self.sessions = StreamableHTTPSessionManager(agent_server(service), json_response=True, stateless=True)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that has the token."""
        scheme, _, token = Request(scope).headers.get("Authorization", "").partition(" ")
        try:
            self._service.check_token(token.strip() if scheme.casefold() == "bearer" else "")
        except HTTPException as error:
            await JSONResponse({"detail": error.detail}, error.status_code, error.headers)(scope, receive, send)
            return
        await self.sessions.handle_request(scope, receive, send)


class BoundedLines:
    """Lines of a stream; one that is longer than the limit is read past, never kept.

    Args:
        stream: of bytes.
        most: bytes of a line.
    """

    TOO_LONG = "a line that is too long\n"
    """Stands for such a line; it is not JSON, so the protocol refuses it."""

    def __init__(self, stream: BinaryIO, most: int) -> None:
        self._stream = stream
        self._most = most

    def readline(self) -> str:
        """Return the next line with its end, "" at the end of the stream."""
        # one byte more than the limit tells a line that is too long from one that just fits
        line = self._stream.readline(self._most + 1)
        if len(line) <= self._most:
            return line.decode("utf-8", "replace")
        rest = line
        while rest and not rest.endswith(b"\n"):
            rest = self._stream.readline(self._most)
        return self.TOO_LONG


async def speak(service: Service) -> None:
    """Answer on standard input and output until the input ends."""
    server = agent_server(service)
    lines: Any = BoundedLines(sys.stdin.buffer, ENVELOPE + ESCAPES * service.most_bytes)
    async with stdio_server(stdin=wrap_file(lines)) as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
