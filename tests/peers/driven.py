"""One installed program, driven for thirty turns, with resumes, a subagent, an interrupt, a compaction and a rewind.

Every turn is a process of its own that resumes the conversation.
"""

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from tests.endpoint import Call, Endpoint, Reply, Stall, Text, Thinking
from tests.peers.programs import KEY, SECONDS, Peer

BOUND, UNBOUND = "claude-opus-5-5", "claude-sonnet-4-6"
TURNS, DELEGATES, WAITS, COMPACTS, REWINDS = 30, 6, 10, 15, 22
_READS, _DELEGATES = (
    ("Read", "read"),
    {"Agent": "general-purpose", "Task": "general-purpose", "task": "general"},
)
_PROMPT = re.compile(r"(Read|Delegate|Wait for) file (/\S+\.txt)")
_SCRIPT = """#!/bin/sh
echo "$ANTHROPIC_BASE_URL" > {home}/target
ANTHROPIC_BASE_URL={url}/${{ANTHROPIC_BASE_URL##*/}} exec {binary} "$@"
"""
"""A wrapped program whose requests take the way through the relay to the proxy of its wrap."""
PYTHON = {"PYTHONPATH": str(Path(__file__).parents[2]), "PATH": os.environ["PATH"]}


def answer(request: Any, index: int) -> Reply:
    """Read the file that the prompt names, or delegate that; with a result, be done. Depends on prompts only."""
    tools = {tool["name"]: tool.get("input_schema", {}) for tool in request.get("tools", ())}
    last = next(one["content"] for one in reversed(request["messages"]) if one["role"] != "system")
    blocks = [{"type": "text", "text": last}] if isinstance(last, str) else last
    text = "\n".join(block["text"] for block in blocks if block["type"] == "text")
    thinking = request.get("thinking", {"type": "adaptive" if request["model"] == BOUND else "disabled"})
    thinks = [Thinking("hm")] if tools and thinking["type"] != "disabled" else []
    if any(block["type"] == "tool_result" for block in blocks):
        return Reply([*thinks, "It is done."])
    found = [*_PROMPT.finditer(text)][-1:]
    if not found or not tools or re.search(r"(?i)summar(?:y|ize)", text[found[0].end() :]):
        return Reply([*thinks, "<summary>Files were read.</summary>"])
    what, path = found[0].groups()
    if what == "Wait for":
        return Reply([*thinks, Text("I wait for it. " * 20)], faults=Stall(4))
    agent = next((one for one in _DELEGATES if one in tools), "")
    if what == "Delegate" and agent:
        given = {"description": "Read it", "prompt": f"Read file {path}", "subagent_type": _DELEGATES[agent]}
        return Reply([*thinks, "I delegate.", Call(agent, given)])
    name = next(one for one in _READS if one in tools)
    key = next(one for one in ("file_path", "filePath", "path") if one in tools[name]["properties"])
    return Reply([*thinks, "I read.", Call(name, {key: path})])


@dataclass
class Run:
    """One program in a folder of its own, at an endpoint or a proxy. `wraps` are the words before its own."""

    peer: Peer
    home: Path
    model: str
    url: str
    endpoint: Endpoint
    wraps: Sequence[str] = ()
    environ: dict[str, str] = field(default_factory=dict)

    @property
    def cwd(self) -> Path:
        return self.home / "project"

    def file(self, number: int) -> Path:
        return self.cwd / f"f{number}.txt"

    def prepare(self) -> None:
        self.cwd.mkdir()
        if self.wraps:
            self.script.write_text(_SCRIPT.format(binary=self.peer.binary(), home=self.home, url=self.url))
            self.script.chmod(0o755)
        for number in range(TURNS + 1):
            lines = (f"line {line} of file {number}, with some words" for line in range(200))
            self.file(number).write_text("\n".join(lines))
        made = dict(self.peer.prepare(self.home, self.cwd, self.url))
        if self.peer.program == "claude":
            made["ANTHROPIC_MODEL"] = self.model
        elif self.peer.program == "opencode":
            config = json.loads(made["OPENCODE_CONFIG_CONTENT"].replace("claude-sonnet-4-5", self.model))
            known: dict[str, Any] = {"reasoning": True, "limit": {"context": 200_000, "output": 32_000}}
            known["options"] = {"thinking": {"type": "adaptive"}}
            config["provider"]["anthropic"] |= {"npm": "@ai-sdk/anthropic", "models": {self.model: known}}
            made["OPENCODE_CONFIG_CONTENT"] = json.dumps(config)
        else:
            known = {"id": self.model, "contextWindow": 200_000, "maxTokens": 32_000}
            known["reasoning"] = self.model != BOUND  # pi 0.73 knows no newer one, which always thinks
            provider = {"baseUrl": self.url, "api": "anthropic-messages", "apiKey": KEY, "models": [known]}
            settings = {"compaction": {"enabled": True, "keepRecentTokens": 3_000}}
            (self.home / ".pi/agent/models.json").write_text(
                json.dumps({"providers": {"anthropic": provider}})
            )
            (self.home / ".pi/agent/settings.json").write_text(json.dumps(settings))
        self.environ = {"HOME": str(self.home), **PYTHON, **made}

    def words(self, number: int, prompt: str) -> list[str]:
        own = self.peer.words(number, prompt, self.cwd)
        return [*self.wraps, self.binary, *(word.replace("claude-sonnet-4-5", self.model) for word in own)]

    @property
    def binary(self) -> str:
        return str(self.script if self.wraps else self.peer.binary())

    @property
    def script(self) -> Path:
        return self.home / self.peer.program

    def turn(self, words: Sequence[str]) -> str:
        process = self.started(words)
        out, err = process.communicate(timeout=SECONDS)
        assert process.returncode == 0, f"{words}: {out[-300:]} {err[-600:]}"
        return out

    def started(self, words: Sequence[str], stdin: int = subprocess.DEVNULL) -> "subprocess.Popen[str]":
        place: Any = {"cwd": self.cwd, "env": self.environ, "start_new_session": True}
        pipe = subprocess.PIPE
        return subprocess.Popen(words, stdin=stdin, stdout=pipe, stderr=pipe, text=True, **place)

    def all_turns(self) -> None:
        for number in range(TURNS):
            what = {DELEGATES: "Delegate", WAITS: "Wait for"}.get(number, "Read")
            words = self.words(number, f"{what} file {self.file(number)}")
            if number == WAITS:
                self.interrupt(words)
            elif number == COMPACTS:
                self.compact()
            elif number == REWINDS:
                self.rewind()
            else:
                self.turn(words)

    def interrupt(self, words: Sequence[str]) -> None:
        process = self.started(words)
        self.endpoint.blocking(self.endpoint.stall_reached())
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does, so that a wrapped program gets it too
        try:
            process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        self.endpoint.release()

    def compact(self) -> None:
        if self.peer.program == "claude":
            self.turn(self.words(1, "/compact"))
        elif self.peer.program == "pi":
            self.ask_pi({"type": "compact"})
        else:
            self.ask_opencode("summarize", {"providerID": "anthropic", "modelID": self.model})

    def rewind(self) -> None:
        """Go back two turns."""
        if self.peer.program == "claude":
            paths = (self.home / ".claude/projects").glob("*/*.jsonl")
            path = max(paths, key=lambda one: one.stat().st_mtime)
            rows = [json.loads(line) for line in path.read_text().splitlines() if "It is done." in line]
            done = [row["uuid"] for row in rows if row["type"] == "assistant"]
            words = self.words(0, f"Read file {self.file(TURNS)}")
            self.turn([*words, "--resume", path.stem, "--resume-session-at", done[-3]])
        elif self.peer.program == "pi":
            messages = self.ask_pi({"type": "get_fork_messages"})["messages"]
            self.ask_pi({"type": "fork", "entryId": messages[-2]["entryId"]})
        else:
            users = [
                one["info"]["id"] for one in self.exported()["messages"] if one["info"]["role"] == "user"
            ]
            self.ask_opencode("revert", {"messageID": users[-2]})

    def ask_pi(self, command: Mapping[str, Any]) -> Any:
        words = [self.binary, "--mode", "rpc", "--continue", *self.words(0, "")[3:]]
        process = self.started(words, subprocess.PIPE)
        assert process.stdin
        assert process.stdout
        process.stdin.write(json.dumps(command) + "\n")
        process.stdin.flush()
        said = next(row for row in map(json.loads, process.stdout) if row["type"] == "response")
        process.stdin.close()
        process.stdout.read()
        process.wait(SECONDS)
        assert said["success"], said
        return said["data"]

    def ask_opencode(self, what: str, body: Mapping[str, Any]) -> None:
        path = f"/session/{self.exported()['info']['id']}/{what}"
        process = self.started([self.binary, "serve", "--port", "0"])
        assert process.stdout
        try:
            url = next(found[0] for line in process.stdout if (found := re.search(r"http://\S+", line)))
            params = {"directory": str(self.cwd)}
            httpx2.post(url + path, json=body, params=params, timeout=SECONDS).raise_for_status()
        finally:
            process.terminate()
            process.communicate()

    def exported(self) -> Any:
        """OpenCode's newest session of its own. To a pipe, `export` writes 64 KB at most."""
        [newest, *_] = json.loads(self.turn([self.binary, "session", "list", "--format", "json"]))
        self.turn(["sh", "-c", 'exec "$0" export "$1" > export.json', self.binary, newest["id"]])
        return json.loads((self.cwd / "export.json").read_text())

    def logged(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Each answer with its calls, output tokens and stop reason; and its input, cached and written tokens."""
        if self.peer.program == "opencode":
            for message in self.exported()["messages"]:
                if message["info"].get("finish"):
                    parts = [part for part in message["parts"] if part["type"] in ("text", "tool")]
                    said = [part.get("text") or [part["tool"], part["state"]["input"]] for part in parts]
                    tokens, stop = message["info"]["tokens"], message["info"]["finish"]
                    usage = tokens["input"], tokens["cache"]["read"], tokens["cache"]["write"]
                    yield self.plain([said, tokens["output"], stop]), usage
            return
        rows: dict[str, Any] = {}
        for path in (
            *self.home.glob(".claude/projects/**/*.jsonl"),
            *self.home.glob(".pi/agent/sessions/**/*.jsonl"),
        ):
            for row in map(json.loads, path.read_text().splitlines()):
                message = row.get("message") or {}
                if message.get("role") == "assistant" and message.get("model") != "<synthetic>":
                    one = rows.setdefault(message.get("id") or row["id"], {**message, "content": []})
                    one["content"] += message["content"]
                    one |= {"usage": message["usage"], "stop_reason": message.get("stop_reason")}
        for row in rows.values():
            blocks = [block for block in row["content"] if block["type"] != "thinking"]
            said = [
                block.get("text") or [block["name"], block.get("input") or block.get("arguments")]
                for block in blocks
            ]
            usage = (
                list(row["usage"].values())[:4]
                if "cacheRead" in row["usage"]
                else [
                    row["usage"][f"{key}_tokens"]
                    for key in ("input", "output", "cache_read_input", "cache_creation_input")
                ]
            )
            stop = row["stop_reason"] or row.get("stopReason")
            yield self.plain([said, usage[1], stop]), (usage[0], usage[2], usage[3])

    def plain(self, value: Any) -> str:
        return json.dumps(value).replace(str(self.cwd), "")
