"""Servers that others wrote. Those of the Python registry come with the extra `test`; those of npm need node, and
`MCP_NODE`, a folder where they are installed: `npm install @modelcontextprotocol/server-everything
@modelcontextprotocol/server-filesystem`, then `pytest -m endpoint tests/mcp`."""

import os
import shutil
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from prunecli.mcp.asking import Elicitation, Reply
from prunecli.mcp.definition import Definition
from prunecli.model.messages import Image, plain_text
from tests.mcp.running import hub_of, nothing, server_of
from tests.waiting import wait_until

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


def listening(words: list[str], port: int) -> "subprocess.Popen[bytes]":
    """A server that listens on this port."""
    process = subprocess.Popen(words, env={**os.environ, "PORT": str(port)}, stderr=subprocess.DEVNULL)

    def listens() -> bool:
        with closing(socket.socket()) as one:
            return one.connect_ex(("127.0.0.1", port)) == 0

    wait_until(listens)
    return process


async def test_the_time_server_of_the_python_registry(tmp_path: Path) -> None:
    async with hub_of(tmp_path, module("mcp_server_time")) as hub:
        given = {"timezone": "Europe/Berlin"}
        output = await hub.ask(hub.call("time", "get_current_time", given, nothing))
        assert "Europe/Berlin" in plain_text(output.content)
        wrong = await hub.ask(hub.call("time", "get_current_time", {"timezone": "Nowhere"}, nothing))
        assert wrong.is_error


async def test_the_git_server_of_the_python_registry(tmp_path: Path) -> None:
    repository(tmp_path)
    async with hub_of(tmp_path, module("mcp_server_git", "--repository", str(tmp_path))) as hub:
        assert len(server_of(hub, "git").offer.tools) > 5
        output = await hub.ask(hub.call("git", "git_status", {"repo_path": str(tmp_path)}, nothing))
        assert "No commits yet" in plain_text(output.content)


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

    definition, process = node("everything", "stdio"), None
    if transport == "http":
        with closing(socket.socket()) as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        process = listening([definition.command, definition.args[0], "streamableHttp"], port)
        definition = Definition("everything", "http", url=f"http://127.0.0.1:{port}/mcp")
    try:
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
    finally:
        if process is not None:
            process.kill()
            process.wait()
