"""The lists of a server, read page by page, with limits; names that cannot be shown or called are left out."""

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from prunecli.mcp.results import in_line
from prunecli.mcp.state import Offer, RemotePrompt, RemoteResource, RemoteTool, usable

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import Tool, ToolAnnotations

MAX_PAGES = 50
MAX_ITEMS = 2_000
"""Maximum items of one kind from one server."""
_MAX_DESCRIPTION = 4_000
_MAX_URI = 500
_MAX_INSTRUCTIONS = 4_000

T = TypeVar("T")


async def offer_of(client: "Client", log: Callable[[str], None]) -> Offer:
    """Read a server's whole offer. Raises the SDK's error if listing tools fails; other lists that fail are empty."""
    able = client.server_capabilities
    tools = await _all(lambda at: client.list_tools(cursor=at), "tools") if able.tools else []
    resources = prompts = ()  # type: Any
    if able.resources:
        resources = await _perhaps(_all(lambda at: client.list_resources(cursor=at), "resources"), log)
    if able.prompts:
        prompts = await _perhaps(_all(lambda at: client.list_prompts(cursor=at), "prompts"), log)
    kept = {one.name: one for one in map(_tool, tools) if usable(one.name)}
    gone = len(tools) - len(kept)
    return Offer(
        tuple(kept.values()),
        tuple(
            RemoteResource(one.uri, in_line(one.title or one.name), in_line(one.description or ""))
            for one in resources
            if len(one.uri) <= _MAX_URI and one.uri.isprintable() and " " not in one.uri
        ),
        tuple(
            RemotePrompt(
                one.name,
                in_line(one.description or one.title or ""),
                tuple((in_line(arg.name, 40), bool(arg.required)) for arg in one.arguments or ()),
            )
            for one in prompts
            if usable(one.name)
        ),
        in_line(client.instructions or "", _MAX_INSTRUCTIONS),
        f"{gone} {'tool' if gone == 1 else 'tools'} left out: unusable or repeated names" if gone else "",
    )


def _tool(tool: "Tool") -> RemoteTool:
    description = tool.description or tool.title or ""
    return RemoteTool(
        tool.name,
        in_line(description, _MAX_DESCRIPTION),
        tool.input_schema,
        _claims(tool.annotations),
    )


def _claims(hints: "ToolAnnotations | None") -> str:
    """Return the server's statement on a tool's effects, "" if there is none."""
    if hints is None:
        return ""
    if hints.read_only_hint:
        return "only reads"
    if hints.destructive_hint is False:
        return "changes things, but destroys nothing"
    return "may destroy things" if hints.destructive_hint else ""


async def _all(page: Callable[[str | None], Awaitable[Any]], what: str) -> list[Any]:
    found: list[Any] = []
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        answer = await page(cursor)
        found += getattr(answer, what)
        cursor = answer.next_cursor
        if not cursor or len(found) >= MAX_ITEMS:
            break
    return found[:MAX_ITEMS]


async def _perhaps(listed: Awaitable[list[T]], log: Callable[[str], None]) -> Iterable[T]:
    from mcp import MCPError

    try:
        return await listed
    except (MCPError, ValueError) as error:
        log(f"a list could not be read: {in_line(str(error))}")
        return ()
