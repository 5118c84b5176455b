"""Servers that others wrote. Those of the Python registry come with the extra `test`. Those of npm need node, and
`MCP_NODE`, a folder where they are installed: `npm install @modelcontextprotocol/server-everything
@modelcontextprotocol/server-filesystem`. The proxy needs `mcp-proxy` of PyPI on the PATH, from an environment of its
own, because it needs an older SDK. Then `pytest -m endpoint tests/mcp`."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from prunecli.features.mcp.definition import Definition, Transport
from prunecli.features.mcp.hub import Hub
from prunecli.model.messages import Image, plain_text
from prunecli.runtime.forms import Elicitation, Reply
from prunecli.util.errors import ToolError
from tests.mcp.running import free_port, hub_of, listening, nothing, server_of
from tests.waiting import until

NODE = Path(os.environ.get("MCP_NODE", "none")) / "node_modules/@modelcontextprotocol"


def module(name: str, *words: str) -> Definition:
    return Definition(name.removeprefix("mcp_server_"), command=sys.executable, args=("-m", name, *words))


def node(name: str, *words: str) -> Definition:
    program = shutil.which("node")
    if program is None or not NODE.is_dir():
        pytest.skip("needs node, and the servers in MCP_NODE")
    return Definition(name, command=program, args=(str(NODE / f"server-{name}" / "dist/index.js"), *words))


def repository(folder: Path) -> None:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)


def serving(package: str, given: str) -> Callable[[int], list[str]]:
    """A server of the Python registry over streamable HTTP: its `main` knows standard input only."""
    code = (
        f"from pathlib import Path; from {package}.server import create_server;"
        f"create_server({given}).run('streamable-http', port="
    )
    return lambda port: [sys.executable, "-c", f"{code}{port})"]


async def use_time(hub: Hub) -> None:
    given = {"timezone": "Europe/Berlin"}
    output = await hub.ask(hub.call("time", "get_current_time", given, nothing))
    assert "Europe/Berlin" in plain_text(output.content)
    wrong = await hub.ask(hub.call("time", "get_current_time", {"timezone": "Nowhere"}, nothing))
    assert wrong.is_error


async def use_git(hub: Hub, folder: Path) -> None:
    assert len(server_of(hub, "git").offer.tools) > 5
    output = await hub.ask(hub.call("git", "git_status", {"repo_path": str(folder)}, nothing))
    assert "No commits yet" in plain_text(output.content)


async def test_the_time_server_of_the_python_registry(tmp_path: Path) -> None:
    async with hub_of(tmp_path, module("mcp_server_time")) as hub:
        await use_time(hub)


async def test_the_git_server_of_the_python_registry(tmp_path: Path) -> None:
    repository(tmp_path)
    async with hub_of(tmp_path, module("mcp_server_git", "--repository", str(tmp_path))) as hub:
        await use_git(hub, tmp_path)


async def test_both_over_http_side_by_side(tmp_path: Path) -> None:
    repository(tmp_path)
    with (
        listening(serving("mcp_server_time", "'UTC'")) as clock,
        listening(serving("mcp_server_git", f"Path({str(tmp_path)!r})")) as git,
    ):
        definitions = [
            Definition(name, "http", url=f"{address}/mcp")
            for name, address in (("time", clock), ("git", git))
        ]
        async with hub_of(tmp_path, *definitions) as hub:
            await asyncio.gather(use_time(hub), use_git(hub, tmp_path))


async def test_a_server_behind_a_url_that_goes_and_comes_back_is_used_again(tmp_path: Path) -> None:
    port, words = free_port(), serving("mcp_server_time", "'UTC'")
    with ExitStack() as stack:
        address = stack.enter_context(listening(words, port))
        async with hub_of(tmp_path, Definition("time", "http", url=f"{address}/mcp")) as hub:
            await use_time(hub)
            stack.close()
            with pytest.raises(ToolError, match="The connection to the server time was lost"):
                await use_time(hub)
            await until(lambda: server_of(hub, "time").state == "failed")
            for _ in range(2):
                with pytest.raises(ToolError, match="The server time is not connected"):
                    await use_time(hub)
            stack.enter_context(listening(words, port))
            await use_time(hub)


@pytest.mark.endpoint
@pytest.mark.parametrize(("transport", "path"), [("http", "mcp"), ("sse", "sse")])
async def test_a_proxy_that_speaks_the_protocol_of_last_year(
    tmp_path: Path, transport: Transport, path: str
) -> None:
    program = shutil.which("mcp-proxy") or pytest.skip("needs mcp-proxy on the PATH")
    words = [sys.executable, "--", "-m", "mcp_server_time"]
    with listening(lambda port: [program, "--port", str(port), *words]) as address:
        definition = Definition("time", transport, url=f"{address}/{path}")
        async with hub_of(tmp_path, definition) as hub:
            await use_time(hub)


@pytest.mark.endpoint
async def test_the_filesystem_server_of_npm(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the content")
    async with hub_of(tmp_path, node("filesystem", str(tmp_path))) as hub:
        assert "read_text_file" in [tool.name for tool in server_of(hub, "filesystem").offer.tools]
        given = {"path": str(tmp_path / "a.txt")}
        output = await hub.ask(hub.call("filesystem", "read_text_file", given, nothing))
        assert plain_text(output.content) == "the content"
        outside = await hub.ask(hub.call("filesystem", "read_text_file", {"path": "/etc/passwd"}, nothing))
        assert outside.is_error


@pytest.mark.endpoint
@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_the_server_of_npm_with_everything(tmp_path: Path, transport: str) -> None:
    asked: list[Elicitation] = []

    async def answer(one: Elicitation) -> Reply:
        asked.append(one)
        return Reply("decline")

    definition = node("everything", "stdio")
    with ExitStack() as stack:
        if transport == "http":
            program = [definition.command, definition.args[0], "streamableHttp"]
            address = stack.enter_context(listening(lambda _: program))
            definition = Definition("everything", "http", url=f"{address}/mcp")
        async with hub_of(tmp_path, definition, elicit=answer) as hub:
            offer = server_of(hub, "everything").offer
            assert len(offer.tools) > 5
            assert offer.resources
            assert offer.prompts
            output = await hub.ask(hub.call("everything", "echo", {"message": "hello"}, nothing))
            assert "hello" in plain_text(output.content)
            image = await hub.ask(hub.call("everything", "get-tiny-image", {}, nothing))
            assert any(isinstance(block, Image) for block in image.content)
            said: list[str] = []
            long = {"duration": 2, "steps": 4}
            await hub.ask(hub.call("everything", "trigger-long-running-operation", long, said.append))
            assert said
            if "trigger-elicitation-request" in [tool.name for tool in offer.tools]:
                await hub.ask(hub.call("everything", "trigger-elicitation-request", {}, nothing))
                assert asked
                assert len(asked[0].fields) > 1
            assert (await hub.ask(hub.read("everything", offer.resources[0].uri, 1_000)))[0]
