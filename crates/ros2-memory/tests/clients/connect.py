"""The ways to reach the server, in both major versions of the `mcp` package."""

import contextlib
import dataclasses
import os
import typing

import mcp
from mcp.client import streamable_http
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters, stdio_client


@dataclasses.dataclass
class Connection:
    """What is the same in both majors: named JSON in, the result as its JSON out."""

    list_tools: typing.Callable
    call_tool: typing.Callable
    protocol: str
    server_info: dict
    instructions: str


@dataclasses.dataclass
class Way:
    name: str
    transport: typing.Callable
    is_newest: bool

    def open(self):
        return newest(self.transport) if self.is_newest else with_handshake(self.transport)


def as_json(model):
    """A result as it was on the wire: camelCase, and without what was absent."""
    return model.model_dump(mode="json", by_alias=True, exclude_unset=True)


@contextlib.asynccontextmanager
async def with_handshake(transport):
    """A session that begins with `initialize`, as every 1.x client's does."""
    async with transport() as streams:
        # Some transports add a way to read the session's name.
        async with mcp.ClientSession(*streams[:2]) as session:
            hello = as_json(await session.initialize())
            yield Connection(
                session.list_tools,
                session.call_tool,
                hello["protocolVersion"],
                hello["serverInfo"],
                hello["instructions"],
            )


@contextlib.asynccontextmanager
async def newest(transport):
    """A session that agrees on the newest revision without a handshake, as clients since 2.0 can."""
    async with mcp.Client(transport(), mode="auto") as client:
        yield Connection(
            client.session.list_tools,
            client.session.call_tool,
            client.protocol_version,
            as_json(client.server_info),
            client.instructions,
        )


def ways(server, directory, url, is_newest):
    transports = {}
    if server:
        arguments = ["serve", "--transport", "stdio", "--bag-dir", str(directory), "-o", "recorder=none"]
        parameters = StdioServerParameters(command=server, args=arguments)
        # What the server logs is of no interest unless it is asked for.
        log = None if os.environ.get("SHOW_SERVER_LOG") else open(os.devnull, "w")
        transports["stdio"] = lambda: stdio_client(parameters, *([log] if log else []))
    if url:
        http = getattr(streamable_http, "streamablehttp_client", None) or streamable_http.streamable_http_client
        transports["/mcp"] = lambda: http(url + "/mcp")
        transports["/sse"] = lambda: sse_client(url + "/sse")
    suffix = " without handshake" if is_newest else ""
    return [Way(name + suffix, transport, is_newest) for name, transport in transports.items()]
