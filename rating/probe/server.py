"""The tools as an MCP server over standard input and output, and nothing besides."""

import json
import logging
import sys
from typing import Any, Final

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from rating.probe import words
from rating.probe.schemas import ARGUMENTS, RESULTS
from rating.probe.scorecard import TOOL
from rating.probe.tools import DESCRIPTIONS, READ_ONLY, Probe

log = logging.getLogger(__name__)

#: What Python tells of before it happens. None of it is needed to serve, so none of it is let be.
OUTSIDE: Final = frozenset(
    {
        "socket.connect",
        "socket.bind",
        "socket.sendto",
        "socket.getaddrinfo",
        "socket.gethostbyname",
        "sqlite3.connect",
        "subprocess.Popen",
        "os.system",
    }
)


def serve(probe: Probe) -> None:
    """Serve until standard input ends."""
    anyio.run(_serve, probe)


async def _serve(probe: Probe) -> None:
    shut_in()
    server = server_of(probe)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def server_of(probe: Probe) -> Server[Any]:
    """The server of a probe, on no transport yet."""

    async def list_tools(
        context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools())

    async def call_tool(
        context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        return result_of(probe, params.name, params.arguments or {})

    name, version = TOOL.split()
    return Server(
        name,
        version=version,
        instructions=f"{words.HEADER} {words.ASK_HOW} {words.RATE_HOW}",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def tools() -> list[types.Tool]:
    """The twelve tools as a host is told of them."""
    return [
        types.Tool(
            name=name,
            description=DESCRIPTIONS[name],
            input_schema=ARGUMENTS[name],
            output_schema=RESULTS[name],
            annotations=types.ToolAnnotations(
                read_only_hint=name in READ_ONLY,
                destructive_hint=False,
                idempotent_hint=name in READ_ONLY or name == "finish_scored_run",
                open_world_hint=False,
            ),
        )
        for name in ARGUMENTS
    ]


def result_of(probe: Probe, tool: str, arguments: dict[str, Any]) -> types.CallToolResult:
    """What a call gives. A fault of ours is logged, and says nothing of what was sent."""
    try:
        answer = probe.call(tool, arguments)
    except Exception:
        log.exception("%.40s failed", tool)
        said = "The probe failed at this call, by a fault of its own. Its log says more."
        return types.CallToolResult(content=[types.TextContent(text=said)], is_error=True)
    content: list[types.ContentBlock] = [types.TextContent(text=answer.text)]
    if answer.refused:
        return types.CallToolResult(content=content, is_error=True)
    return types.CallToolResult(content=content, structured_content=json.loads(answer.text))


def shut_in() -> None:
    """Let this process reach no network, no database and no other program, for good.

    Python cannot take such a hook away again. The event loop that serves is there already.
    """

    def refuse(event: str, args: tuple[Any, ...]) -> None:
        if event in OUTSIDE:
            raise PermissionError(f"The probe reaches nothing outside this machine: {event}.")

    sys.addaudithook(refuse)
