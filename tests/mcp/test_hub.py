"""Servers that work: made with the SDK, over stdio and HTTP."""

import asyncio
import json
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from prunecli.features.mcp.definition import Definition
from prunecli.features.mcp.hub import MISSING, Hub
from prunecli.features.mcp.server_state import Wanted
from prunecli.model.messages import Image, plain_text
from prunecli.runtime.forms import Elicitation, Reply
from prunecli.util.errors import ToolError
from tests.mcp.running import HERE, hub_of, listening, nothing, raw, sdk, server_of, world
from tests.serving import Answer, as_json, serving
from tests.waiting import until, wait_until


@pytest.fixture
def address() -> Iterator[str]:
    """A server behind a URL."""
    script = str(HERE / "sdk_server.py")
    with listening(lambda port: [sys.executable, script, f"port={port}"]) as server:
        yield f"{server}/mcp"


async def use(hub: Hub, name: str) -> None:
    server = server_of(hub, name)
    assert server.state == "connected", (server.why, server.log)
    names = [tool.name for tool in server.offer.tools]
    assert names[:2] == ["echo", "weather"]
    assert server.offer.tools[0].claims == "only reads"
    output = await hub.ask(hub.call(name, "echo", {"text": "hello"}, nothing))
    assert (plain_text(output.content), output.is_error) == ("hello", False)
    failed = await hub.ask(hub.call(name, "fail", {}, nothing))
    assert failed.is_error
    assert "fail" in plain_text(failed.content)
    picture = (await hub.ask(hub.call(name, "picture", {}, nothing))).content
    assert any(isinstance(block, Image) and block.width == 1 for block in picture)
    weather = plain_text((await hub.ask(hub.call(name, "weather", {"city": "Bonn"}, nothing))).content)
    assert weather.count("degrees") == 1, "structured content that a text repeats is not added"
    assert [one.uri for one in server.offer.resources] == ["fake://notes", "fake://dot.png"]
    text, images = await hub.ask(hub.read(name, "fake://notes", 1_000))
    assert (text, images) == ("the notes are here", ())
    assert len((await hub.ask(hub.read(name, "fake://dot.png", 1_000)))[1]) == 1
    asked = server.offer.prompts[0]
    assert (asked.name, asked.arguments) == ("review", (("file", True), ("style", False)))
    assert "Review a.py" in await hub.ask(hub.prompt(name, "review", {"file": "a.py"}))


async def test_tools_resources_and_prompts_over_stdio(tmp_path: Path) -> None:
    async with hub_of(tmp_path, sdk()) as hub:
        await use(hub, "fake")
        assert server_of(hub, "fake").log[0] == "starting"


async def test_tools_resources_and_prompts_over_http(tmp_path: Path, address: str) -> None:
    async with hub_of(tmp_path, Definition("web", "http", url=address)) as hub:
        await use(hub, "web")


@pytest.mark.parametrize("status", [400, 404])
async def test_a_server_that_forgot_the_session_gets_a_new_one_with_the_next_call(
    tmp_path: Path, status: int
) -> None:
    """A server of last year's protocol that knows only the second session."""
    sessions = count()

    def answer(method: str, _: str, body: bytes) -> Answer:
        message = json.loads(body) if method == "POST" else {"method": ""}
        given: dict[str, Any]
        match message["method"]:
            case "initialize":
                next(sessions)
                facts = {"serverInfo": {"name": "x", "version": "1"}, "capabilities": {"tools": {}}}
                code, given = 200, {"result": {"protocolVersion": "2025-06-18", **facts}}
            case "tools/list":
                tool = {"name": "echo", "inputSchema": {"type": "object"}}
                code, given = 200, {"result": {"tools": [tool]}}
            case "tools/call" if "2" in repr(sessions):
                code, given = 200, {"result": {"content": [{"type": "text", "text": "well"}]}}
            case "tools/call":
                error = {"code": -32000, "message": "Bad Request: No valid session ID provided"}
                code, given = status, {"error": error}
            case _:
                code, given = 400, {"error": {"code": -32601, "message": "Method not found"}}
        return as_json({"jsonrpc": "2.0", "id": message.get("id"), **given}, code)

    with serving(answer) as served:
        async with hub_of(tmp_path, Definition("web", "http", url=f"{served.address}/mcp")) as hub:
            with pytest.raises(ToolError, match=r"server web was lost: .*No valid session"):
                await hub.ask(hub.call("web", "echo", {}, nothing))
            output = await hub.ask(hub.call("web", "echo", {}, nothing))
            assert plain_text(output.content) == "well"


async def test_a_url_where_nobody_listens_is_one_line(tmp_path: Path) -> None:
    async with hub_of(tmp_path, Definition("web", "http", url="http://127.0.0.1:9/mcp", timeout=20)) as hub:
        server = server_of(hub, "web")
        assert server.state == "failed"
        assert server.why
        assert "\n" not in server.why


@pytest.mark.long
async def test_progress_moves_the_time_limit_on(tmp_path: Path) -> None:
    said: list[str] = []
    async with hub_of(tmp_path, sdk(timeout=8)) as hub:
        output = await hub.ask(hub.call("fake", "wait", {"seconds": 10, "steps": 10}, said.append))
        assert plain_text(output.content) == "waited"
        assert "3 of 10  step 3" in said


async def test_a_call_that_stays_silent_costs_its_time_limit(tmp_path: Path) -> None:
    """The limit also applies to the start of the server, so it is one that starts quickly."""
    async with hub_of(tmp_path, raw("silent_once", timeout=5, name="mute")) as hub:
        with pytest.raises(ToolError, match="did not answer within 5 seconds"):
            await hub.ask(hub.call("mute", "echo", {}, nothing))
        output = await hub.ask(hub.call("mute", "echo", {}, nothing))
        assert plain_text(output.content) == "well"


async def test_a_canceled_call_leaves_the_server_usable(tmp_path: Path) -> None:
    async with hub_of(tmp_path, sdk()) as hub:
        said: list[str] = []
        task = asyncio.ensure_future(hub.ask(hub.call("fake", "wait", {"seconds": 600}, said.append)))
        await until(lambda: said)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        output = await hub.ask(hub.call("fake", "echo", {"text": "on"}, nothing))
        assert plain_text(output.content) == "on"


async def test_a_question_reaches_the_user_and_its_answer_the_server(tmp_path: Path) -> None:
    asked: list[Elicitation] = []

    async def answer(one: Elicitation) -> Reply:
        asked.append(one)
        return Reply("accept", {"color": "red", "count": 2})

    async with hub_of(tmp_path, raw("asks"), elicit=answer) as hub:
        output = await hub.ask(hub.call("asks", "echo", {}, nothing))
        assert plain_text(output.content) == '{"action": "accept", "content": {"color": "red", "count": 2}}'
    assert (asked[0].server, asked[0].message) == ("asks", "Which color?")
    assert [(field.name, field.kind, field.required) for field in asked[0].fields] == [
        ("color", "choice", True),
        ("count", "integer", False),
    ]
    async with hub_of(tmp_path, raw("asks")) as hub:
        output = await hub.ask(hub.call("asks", "echo", {}, nothing))
        assert plain_text(output.content) == '{"action": "decline"}'


async def test_a_new_tool_is_listed_again(tmp_path: Path) -> None:
    async with hub_of(tmp_path, sdk()) as hub:
        await hub.ask(hub.call("fake", "grow", {}, nothing))
        await until(lambda: "grown" in [tool.name for tool in server_of(hub, "fake").offer.tools])
        assert plain_text((await hub.ask(hub.call("fake", "grown", {}, nothing))).content) == "new"
    async with hub_of(tmp_path, raw("grows")) as hub:
        await hub.ask(hub.call("grows", "echo", {}, nothing))
        await until(lambda: "grown_1" in [tool.name for tool in server_of(hub, "grows").offer.tools])


async def test_servers_are_added_ended_and_started_again_while_others_go_on(tmp_path: Path) -> None:
    one, two = raw("plain", name="one"), raw("plain", name="two")
    async with hub_of(tmp_path, one) as hub:
        hub.use([Wanted(one), Wanted(two)])
        await until(lambda: [server.state for server in hub.servers] == ["connected", "connected"])
        hub.use([Wanted(one, "disabled", "off"), Wanted(two)])
        await until(lambda: server_of(hub, "one").state == "disabled")
        with pytest.raises(ToolError, match="one is not available: off"):
            await hub.ask(hub.call("one", "echo", {"text": ""}, nothing))
        hub.restart("two")
        assert plain_text((await hub.ask(hub.call("two", "echo", {"text": "b"}, nothing))).content) == "b"
        hub.use([Wanted(two)])
        assert [server.name for server in hub.servers] == ["two"]
        for server, tool, wrong in (
            ("one", "echo", "no MCP server 'one'. Servers: two"),
            ("two", "nothing", "has no tool 'nothing'"),
        ):
            with pytest.raises(ToolError, match=wrong):
                await hub.ask(hub.call(server, tool, {}, nothing))


async def test_nothing_starts_before_it_is_begun_and_what_is_held_does_not_start(tmp_path: Path) -> None:
    hub = Hub(world(tmp_path))
    hub.use([Wanted(sdk("held"), "needs approval", "ask")])
    hub.begin()
    assert not hub.begun
    assert [(one.state, one.why) for one in hub.servers] == [("needs approval", "ask")]
    with pytest.raises(ToolError, match="No MCP server is running"):
        await hub.ask(hub.settled())
    hub.close()


def test_without_the_sdk_each_server_says_what_to_install(tmp_path: Path) -> None:
    def missing() -> None:
        raise ImportError("no mcp")

    hub = Hub(world(tmp_path), load=missing)
    hub.use([Wanted(sdk())])
    hub.begin()
    wait_until(lambda: hub.servers[0].state == "failed")
    assert hub.servers[0].why == MISSING
    hub.close()
