"""mcp_search and mcp_call: what they take, what they touch, and what they say without servers."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from prunecli.agent.asking import Answer, Asked
from prunecli.features.mcp.call_tool import McpCall, McpCallInput
from prunecli.features.mcp.search_tool import McpSearch, McpSearchInput
from prunecli.features.mcp.server_state import Wanted
from prunecli.model.messages import Json, ToolUse, plain_text
from prunecli.model.touches import Touches
from prunecli.tools.inputs import definition, parse
from prunecli.tools.tool import FilesSeen, ToolContext, ToolOutput, text_output
from prunecli.util.errors import ToolError
from tests.mcp.running import raw
from tests.scripted import calls, says
from tests.starting import start


class Fake:
    """Servers that say what they were asked."""

    async def search(self, words: str) -> str:
        return f"found {words}"

    def check(self, server: str, tool: str) -> None:
        raise AssertionError("only a call that is asked about is checked")

    async def call(
        self, server: str, tool: str, arguments: Mapping[str, Json], progress: Callable[[str], None]
    ) -> ToolOutput:
        return text_output(f"{server} {tool} {dict(arguments)}")


def context(folder: Path, servers: Fake | None) -> ToolContext:
    return ToolContext(folder, folder, {}, FilesSeen(), parts={"mcp": servers} if servers else {})


async def test_both_pass_on_what_they_are_given(tmp_path: Path) -> None:
    here = context(tmp_path, Fake())
    assert plain_text((await McpSearch().run(McpSearchInput("a b"), here)).content) == "found a b"
    given = parse(McpCallInput, {"server": "github", "tool": "issue", "arguments": {"title": "x"}})
    assert plain_text((await McpCall().run(given, here)).content) == "github issue {'title': 'x'}"
    assert (
        McpCall().summary({"server": "github", "tool": "issue", "arguments": {"a": 1}}) == "github:issue a=1"
    )
    assert McpCall().summary({"server": 1, "arguments": "no"}) == "1:"


async def test_without_servers_they_say_so(tmp_path: Path) -> None:
    for run in (
        McpSearch().run(McpSearchInput(), context(tmp_path, None)),
        McpCall().run(McpCallInput("a", "b"), context(tmp_path, None)),
    ):
        with pytest.raises(ToolError, match="No MCP servers are configured"):
            await run


async def test_nobody_is_asked_about_a_call_that_cannot_succeed(tmp_path: Path) -> None:
    uses = [
        ToolUse(f"t{number}", "mcp_call", {"server": server, "tool": "echo"})
        for number, server in enumerate(("off", "gone"))
    ]
    runtime = start(tmp_path, [calls(*uses), says("Done.")])
    runtime.parts["mcp"].load = lambda: [Wanted(raw("noise", name="off"), "disabled", "off in this session")]
    asked: list[Asked] = []

    async def answer(one: Asked) -> Answer:
        asked.append(one)
        return Answer("deny")

    runtime.asker = answer
    await runtime.submit("call them")
    found = [one.event for one in runtime.session.context.entries.values() if one.kind == "result"]
    assert [(plain_text(one.content), one.is_error) for one in found] == [
        ("The server off is not available: off in this session.", True),
        ("There is no MCP server 'gone'. Servers: off.", True),
    ]
    assert asked == []
    await runtime.close()


def test_a_call_touches_the_servers_tool_and_a_search_nothing() -> None:
    assert McpCall().touches(McpCallInput("github", "issue")) == Touches(calls=("github:issue",))
    assert not Touches(calls=("github:issue",)).is_nothing
    assert McpSearch().touches(McpSearchInput()).is_nothing


def test_arguments_are_an_object_and_nothing_else() -> None:
    assert definition(McpCall())["input_schema"]["properties"]["arguments"]["type"] == "object"
    with pytest.raises(ToolError, match="arguments must be an object, not"):
        parse(McpCallInput, {"server": "a", "tool": "b", "arguments": "{}"})
    with pytest.raises(ToolError, match="server is missing; tool is missing"):
        parse(McpCallInput, {})
