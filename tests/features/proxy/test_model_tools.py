"""`prunecli mcp serve` behind the proxy: long results are shortened where the model can get the rest."""

import json
import os
import re
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest

from prunecli.context.manual_edits import plan_inputs
from prunecli.features.proxy.mcp_serve import answer_to
from tests.endpoint import Call, Endpoint, Reply
from tests.features.proxy.driving import TOOLS, Program, proxied
from tests.features.proxy.test_proxy import proved

BASH = {
    "name": "Bash",
    "description": "Run a command.",
    "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}},
}
OUTPUT = "".join(f"line {n} of a long output\n" for n in range(1, 3_001))


def sent(home: Path, method: str, **params: Any) -> dict[str, Any]:
    line = json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).encode()
    answer = answer_to(line, {"HOME": str(home)})
    assert answer is not None
    assert answer["id"] == 7
    return answer


def program(home: Path, address: str, prefix: str = "mcp__prunecli__", *, tells_id: bool = True) -> Program:
    """A program with the tools of our server, as Claude Code names and calls them."""
    made = sent(home, "tools/list")["result"]["tools"]
    ours = [
        {"name": prefix + t["name"], "description": t["description"], "input_schema": t["inputSchema"]}
        for t in made
    ]

    def run(call: dict[str, Any]) -> Any:
        if not call["name"].startswith(prefix):
            return OUTPUT
        meta = {"claudecode/toolUseId": call["id"]} if tells_id else {}
        name = call["name"].removeprefix(prefix)
        result = sent(home, "tools/call", name=name, arguments=call["input"], _meta=meta)["result"]
        return [{"type": "text", "text": block["text"]} for block in result["content"]]

    return Program(address, tools=[*TOOLS, BASH, *ours], run=run)


def results(messages: list[Any]) -> list[str]:
    """The texts of all tool results."""
    blocks = [
        block for message in messages if isinstance(message["content"], list) for block in message["content"]
    ]
    contents = [block["content"] for block in blocks if block["type"] == "tool_result"]
    return [one if isinstance(one, str) else "".join(part["text"] for part in one) for one in contents]


def number(request: Any, index: int) -> int:
    """The number behind `recall` in the newest shortened result."""
    text = next(one for one in reversed(results(request["messages"])) if "held back" in one)
    return int(text.partition("| recall ")[2].split()[0])


@pytest.mark.parametrize(("prefix", "tells_id"), [("mcp__prunecli__", True), ("prunecli_", False)])
async def test_a_long_result_is_shortened_and_the_model_gets_the_rest(
    tmp_path: Path, prefix: str, tells_id: bool
) -> None:
    said: list[str] = []

    def asks(request: Any, index: int) -> Any:
        match index % 3:
            case 0:
                return Reply([Call("Bash", {"command": f"run {index}"})])
            case 1:
                entry = number(request, index)
                return Reply([Call(f"{prefix}recall", {"entry": entry, "lines": "2000-2002"})])
            case _:
                return "Done."

    async with Endpoint(asks) as endpoint, httpx2.AsyncClient() as client:
        async with proxied(endpoint, tmp_path, said) as running:
            talk = program(tmp_path, running.address, prefix, tells_id=tells_id)
            await talk.turn(client, "read")
            path = "v1/messages/count_tokens"
            body = {key: talk.body()[key] for key in ("model", "system", "tools")}
            body["messages"] = [*talk.messages, {"role": "user", "content": "next"}]
            counted = await client.post(
                f"{running.address}/{path}",
                json=body,
                headers={"x-api-key": "k", "anthropic-version": "2023-06-01"},
            )
        async with proxied(endpoint, tmp_path, said) as running:
            talk.address = running.address
            await talk.turn(client, "and the next one")
        shown = results(endpoint.requests[-1].json["messages"])
    assert (endpoint.rejected, said) == ([], [])
    assert results(talk.messages)[0] == OUTPUT
    assert [len(one) < len(OUTPUT) / 2 for one in shown] == [True] * 4
    assert shown[1] == "".join(f"line {n} of a long output\n" for n in range(2_000, 2_003))
    assert counted.json().get("input_tokens", 0) < len(OUTPUT) / 8
    assert proved(tmp_path)[-1].endswith("6 requests: all good")


async def test_without_the_tools_results_are_sent_whole(tmp_path: Path) -> None:
    said: list[str] = []
    async with Endpoint([Reply([Call("Read", {})]), "Done."]) as endpoint, httpx2.AsyncClient() as client:
        async with proxied(endpoint, tmp_path, said) as running:
            await Program(running.address, run=lambda _: OUTPUT).turn(client, "read")
    assert (endpoint.rejected, said) == ([], [])
    assert results(endpoint.requests[-1].json["messages"]) == [OUTPUT]


async def test_the_model_prunes_its_own_context(tmp_path: Path) -> None:
    said: list[str] = []
    script = [
        *[Reply([Call("Read", {"file_path": f"{n}.txt"})]) for n in range(3)],
        Reply([Call("mcp__prunecli__prun", {"list": True})]),
        Reply([Call("mcp__prunecli__prun", {"tokens": 1_000})]),
        "Done.",
    ]
    async with Endpoint(script) as endpoint, httpx2.AsyncClient() as client:
        async with proxied(endpoint, tmp_path, said) as running:
            talk = program(tmp_path, running.address)
            await talk.turn(client, "read")
        counts = [len(request.json["messages"]) for request in endpoint.requests]
    assert (endpoint.rejected, said) == ([], [])
    assert results(talk.messages)[3].startswith("entries: what ~tokens")
    assert results(talk.messages)[4].startswith("Will remove")
    assert counts[:5] == [1, 3, 5, 7, 9]
    assert counts[5] < 11
    assert proved(tmp_path)[-1].endswith("6 requests: all good")


async def test_the_model_gets_back_an_input_that_its_user_cut(tmp_path: Path) -> None:
    said: list[str] = []
    text = "".join(f"{n}\t\x1b[1m{n}\r\n" for n in range(60))

    def asks(request: Any, index: int) -> Any:
        if index == 0:
            return Reply([Call("Edit", {"file_path": "a", "old_string": text, "new_string": "b"})])
        named = re.search(r"recall (\d+) input", str(request["messages"][1]))
        if index != 3 or named is None:
            return "Done."
        return Reply([Call("mcp__prunecli__recall", {"entry": int(named[1]), "lines": "input"})])

    async with Endpoint(asks) as endpoint, httpx2.AsyncClient() as client:
        async with proxied(endpoint, tmp_path, said) as running:
            talk = program(tmp_path, running.address)
            await talk.turn(client, "edit")
            await talk.turn(client, "thank you")
            [one] = running.conversations.all
            context = one.runtime.session.context
            for event in plan_inputs(one.runtime.policy.view(context), [context.exchanges[0].seq]).events:
                one.edit(event)
            await talk.turn(client, "what was it?")
    assert (endpoint.rejected, said) == ([], [])
    assert results(talk.messages)[-1] == f"[old text of Edit]\n{text}"
    assert proved(tmp_path)[-1].endswith("5 requests: all good")


def test_wrap_gives_claude_code_the_tools_and_changes_only_the_base_url(tmp_path: Path) -> None:
    program = tmp_path / "claude"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\nenv\n')
    program.chmod(0o755)
    environ = {**os.environ, "HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "prunecli", "wrap", str(program), "--continue", "-p", "hi"]
    done = subprocess.run(command, env=environ, cwd=tmp_path, capture_output=True, text=True, check=True)
    servers, allowed, *arguments = done.stdout.splitlines()[:5]
    server = json.loads(servers.removeprefix("--mcp-config="))["mcpServers"]["prunecli"]
    assert [*server["args"], allowed, *arguments] == [
        *("-P", "-m", "prunecli", "mcp", "serve"),
        "--allowedTools=mcp__prunecli__recall,mcp__prunecli__prun",
        *("--continue", "-p", "hi"),
    ]
    passed = dict(line.partition("=")[::2] for line in done.stdout.splitlines()[5:])
    changed = {name for name in passed.keys() & environ.keys() if passed[name] != environ[name]}
    assert changed <= {"_", "SHLVL", "PWD"}
    assert passed["ANTHROPIC_BASE_URL"].startswith("http://127.0.0.1:")


@pytest.mark.slow
@pytest.mark.parametrize(("trap", "code"), [("trap 'exit 7' TERM; ", 7), ("", 143)])
def test_a_signal_to_wrap_reaches_the_program_and_wrap_ends_with_it(
    tmp_path: Path, trap: str, code: int
) -> None:
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\n{trap}echo begun; while :; do sleep 0.05; done\n")
    program.chmod(0o755)
    environ = {**os.environ, "HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "prunecli", "wrap", str(program)]
    with subprocess.Popen(command, env=environ, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as wrapped:
        assert wrapped.stdout
        assert wrapped.stdout.readline() == "begun\n"
        wrapped.terminate()
        assert wrapped.wait(60) == code
    assert not list(tmp_path.rglob("*.sock"))


@pytest.mark.slow
def test_a_proxy_whose_terminal_is_closed_ends_in_order(tmp_path: Path) -> None:
    environ = {**os.environ, "HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "prunecli", "proxy", "--port", "0"]
    as_usual = partial(signal.signal, signal.SIGHUP, signal.SIG_DFL)
    with subprocess.Popen(
        command, env=environ, cwd=tmp_path, stdout=subprocess.PIPE, text=True, preexec_fn=as_usual
    ) as proxy:
        assert proxy.stdout
        assert proxy.stdout.readline().startswith("export ANTHROPIC_BASE_URL=")
        proxy.send_signal(signal.SIGHUP)
        assert proxy.wait(60) == 0
    assert not list(tmp_path.rglob("*.sock"))


def test_the_server_speaks_the_protocol_without_a_proxy(tmp_path: Path) -> None:
    begun = sent(tmp_path, "initialize", protocolVersion="2025-06-18")["result"]
    assert (begun["protocolVersion"], begun["serverInfo"]["name"]) == ("2025-06-18", "prunecli")
    assert sent(tmp_path, "ping")["result"] == {}
    refused = sent(tmp_path, "tools/call", name="recall", arguments={"entry": 1})["result"]
    assert refused["isError"]
    assert "prunecli wrap" in refused["content"][0]["text"]
    assert sent(tmp_path, "resources/list")["error"]["code"] == -32601
    told = answer_to(b'{"jsonrpc":"2.0","method":"notifications/initialized"}', {})
    broken = answer_to(b"{" * 100_000, {})
    assert told is None
    assert broken is not None
    assert broken["error"]["code"] == -32700
