"""One call to a tool: its time limit, and the questions that a server asks before it answers.

A server puts its questions into the result, and the call is sent again with the answers. Before 2026, a server sent
its own request, which the connection answers, or refused the call until a page was opened.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from mcp import Client, MCPError, UrlElicitationRequiredError
from mcp.client import ClientRequestContext
from mcp_types import (
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ErrorData,
    InputRequiredResult,
)
from pydantic import TypeAdapter

from prunecli.features.mcp.results import in_line, output_of
from prunecli.model.messages import Json, Media
from prunecli.tools.tool import ToolOutput
from prunecli.util.errors import ToolError

MAX_WAITS = 10
"""Maximum times that the time limit of a call may pass while the server reports progress."""
ROUNDS = 10
"""Maximum times that a server may ask before it answers a call."""


class Clock:
    """The time limit of one request, which progress extends."""

    def __init__(self, timeout: asyncio.Timeout, limit: float) -> None:
        self._timeout = timeout
        self._limit = limit
        self._last = asyncio.get_running_loop().time() + limit * MAX_WAITS

    def reporter(self, progress: Callable[[str], None]) -> Any:
        async def report(done: float, total: float | None, message: str | None) -> None:
            if self._timeout.when() is not None:
                again = asyncio.get_running_loop().time() + self._limit
                self._timeout.reschedule(min(again, self._last))
            share = f"{done:g} of {total:g}" if total else f"{done:g}"
            progress(f"{share}  {in_line(message)}" if message else share)

        return report


async def call_tool(
    client: Client, server: str, tool: str, arguments: Mapping[str, Json], report: Any, media: Media
) -> ToolOutput:
    """Call a tool. Raises ToolError if there is no result, and MCPError."""
    answer_types: TypeAdapter[Any] = TypeAdapter(CallToolResult | InputRequiredResult)
    responses: dict[str, Any] | None = None
    state: str | None = None
    for _ in range(ROUNDS):
        params = CallToolRequestParams(
            name=tool, arguments=dict(arguments), input_responses=responses, request_state=state
        )
        try:
            result = await client.session.send_request(
                CallToolRequest(params=params), answer_types, progress_callback=report
            )
        except MCPError as error:
            for key, wanted in _pages(error):
                if (await _answer(client, server, key, wanted)).action != "accept":
                    raise ToolError(f"{server}: a page was not opened, so {tool} was not called.") from None
            continue
        if not isinstance(result, InputRequiredResult):
            return output_of(result, media)
        wants, state = result.input_requests or {}, result.request_state
        responses = {key: await _answer(client, server, key, wanted) for key, wanted in wants.items()}
    raise ToolError(f"{server}:{tool} asked for input {ROUNDS} times without a result.")


async def _answer(client: Client, server: str, key: str, wanted: Any) -> Any:
    """Return the answer to a question from the server. Raises ToolError for a question that cannot be asked."""
    context = ClientRequestContext(session=client.session, request_id=key)
    reply = await client.session.dispatch_input_request(context, wanted)
    if isinstance(reply, ErrorData):
        raise ToolError(f"{server}: {in_line(reply.message)}")
    return reply


def _pages(error: MCPError) -> list[tuple[str, Any]]:
    """Return the pages that must be opened first. Raises the error again if it is about something else."""
    try:
        listed = UrlElicitationRequiredError.from_error(error.error).elicitations
    except (ValueError, TypeError, AttributeError):
        listed = []
    if not listed:
        raise error
    return [(f"page-{at}", ElicitRequest(params=one)) for at, one in enumerate(listed)]
