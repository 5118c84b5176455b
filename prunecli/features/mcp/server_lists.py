"""The lists of a server, read page by page, with limits; tools that cannot be used or shown are left out."""

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from mcp import Client, MCPError
from mcp_types.methods import parse_server_result
from pydantic import ValidationError

from prunecli.features.mcp.results import in_line
from prunecli.features.mcp.server_state import Offer, RemotePrompt, RemoteResource, RemoteTool, usable
from prunecli.util.figures import counted

if TYPE_CHECKING:
    from mcp.shared._stream_protocols import ReadStream
    from mcp.shared.message import SessionMessage
    from mcp_types import Tool, ToolAnnotations

MAX_PAGES = 50
MAX_ITEMS = 2_000
"""Maximum items of one kind from one server."""
_MAX_DESCRIPTION = 4_000
_MAX_URI = 500

T = TypeVar("T")


class ValidTools:
    """The messages of a stream, with invalid tools in lists mended or left out: the SDK rejects a whole list for one.

    `version` returns the version of the protocol in use. `gone` has a line for each invalid tool.
    """

    def __init__(self, stream: "ReadStream[SessionMessage | Exception]", version: Callable[[], str]) -> None:
        self._stream = stream
        self._version = version
        self.gone = list[str]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def receive(self) -> "SessionMessage | Exception":
        return self._without_invalid(await self._stream.receive())

    def __aiter__(self) -> "ValidTools":
        return self

    async def __anext__(self) -> "SessionMessage | Exception":
        return self._without_invalid(await self._stream.__anext__())

    async def __aenter__(self) -> "ValidTools":
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> bool | None:
        return await self._stream.__aexit__(*error)

    def _without_invalid(self, message: "SessionMessage | Exception") -> "SessionMessage | Exception":
        result: Any = getattr(getattr(message, "message", None), "result", None)
        tools = result.get("tools") if isinstance(result, dict) else None
        if isinstance(tools, list) and self._problem(result, tools) and not self._problem(result, []):
            kept = result["tools"] = list[Any]()
            for tool in tools:
                mended = tool if not self._problem(result, [tool]) else _mended(tool)
                if problem := self._problem(result, [mended]):
                    name = tool.get("name") if isinstance(tool, dict) else "unnamed"
                    self.gone.append(f"tool {in_line(str(name), 60)} left out: {problem}")
                else:
                    kept.append(mended)
        return message

    def _problem(self, result: dict[str, Any], tools: list[Any]) -> str:
        """Return the first problem of a list with these tools, "" if there is none."""
        try:
            parse_server_result("tools/list", self._version(), {**result, "tools": tools})
        except ValidationError as error:
            found = error.errors(include_url=False, include_input=False)[0]
            return in_line(": ".join(filter(None, (".".join(map(str, found["loc"][2:])), found["msg"]))))
        return ""


def _mended(tool: Any) -> Any:
    """Return the tool with an input schema of the protocol's form, and without what nobody reads.

    The endpoint never gets a server's schema; the model reads it as text, and the server checks its calls.
    """
    if not isinstance(tool, dict):
        return tool
    schema = tool.get("inputSchema")
    kept = {key: tool[key] for key in ("name", "title", "description") if key in tool}
    return {
        **kept,
        "inputSchema": {
            "type": "object",
            **({"allOf": [schema]} if isinstance(schema, dict) and schema else {}),
        },
    }


async def offer_of(client: Client, log: Callable[[str], None], gone: list[str]) -> Offer:
    """Read a server's whole offer. Raises the SDK's error if listing tools fails; other lists that fail are empty.

    `gone` is that of the client's `ValidTools`.
    """
    able = client.server_capabilities
    gone.clear()
    tools = await _all(lambda at: client.list_tools(cursor=at), "tools") if able.tools else []
    resources = prompts = ()  # type: Any
    if able.resources:
        resources = await _perhaps(_all(lambda at: client.list_resources(cursor=at), "resources"), log)
    if able.prompts:
        prompts = await _perhaps(_all(lambda at: client.list_prompts(cursor=at), "prompts"), log)
    kept = dict[str, RemoteTool]()
    for one in map(_tool, tools):
        if usable(one.name):
            kept.setdefault(one.name, one)  # a repeated name must not replace the tool that was approved
    unusable = len(tools) - len(kept)
    for line in gone:
        log(line)
    return Offer(
        tuple(kept.values()),
        tuple(
            RemoteResource(
                resource.uri, in_line(resource.title or resource.name), in_line(resource.description or "")
            )
            for resource in resources
            if len(resource.uri) <= _MAX_URI and resource.uri.isprintable() and " " not in resource.uri
        ),
        tuple(
            RemotePrompt(
                prompt.name,
                in_line(prompt.description or prompt.title or ""),
                tuple((in_line(arg.name, 40), bool(arg.required)) for arg in prompt.arguments or ()),
            )
            for prompt in prompts
            if usable(prompt.name)
        ),
        _left_out(unusable, gone),
    )


def _left_out(unusable: int, gone: list[str]) -> str:
    """Return one line about tools that were left out, or ""."""
    more = f" (and {len(gone) - 1} more)" if len(gone) > 1 else ""
    names = f"{counted(unusable, 'tool')} left out: unusable or repeated names"
    return "; ".join(filter(None, (gone[0] + more if gone else "", names if unusable else "")))


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
    try:
        return await listed
    except (MCPError, ValueError) as error:
        log(f"a list could not be read: {in_line(str(error))}")
        return ()
