"""A program in its simplest form: it sends the whole conversation each time, through a proxy, and marks the end."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2

from prunecli.features.proxy.conversation import HowToPrune
from prunecli.features.proxy.hosting import Hosting, Running, hosted
from prunecli.session.completing import Clock, system_clock
from tests.endpoint import Endpoint

LONG = "a line of output\n" * 400
KEY = "sk-ant-api03-" + "k" * 20
TOOLS = [
    {
        "name": "Read",
        "description": "Read a file.",
        "input_schema": {"type": "object", "properties": {"file_path": {"type": "string"}}},
    }
]


@asynccontextmanager
async def proxied(
    endpoint: Endpoint, home: Path, said: list[str], clock: Clock = system_clock, **how: Any
) -> AsyncIterator[Running]:
    """A proxy in front of an endpoint, for programs in `home`."""
    environ = {"HOME": str(home), "PATH": "/usr/bin:/bin", "ANTHROPIC_API_KEY": KEY}
    strategy = how.pop("strategy", "")
    how_to = HowToPrune("test", **how)
    asked = Hosting(endpoint.base_url, environ, how_to, strategy=strategy, say=said.append, clock=clock)
    async with hosted(asked) as running:
        yield running


class Program:
    """Sends messages with a cache breakpoint at the end, or on the last `marks` of the user, and runs its tools.
    `fields` are added to each request."""

    marks = 1

    def __init__(
        self,
        address: str,
        model: str = "claude-sonnet-4-5",
        *,
        stream: bool = True,
        tools: Sequence[dict[str, Any]] = TOOLS,
        run: Callable[[dict[str, Any]], Any] = lambda _: LONG,
        headers: dict[str, str] | None = None,
        **fields: Any,
    ) -> None:
        self.address, self.model, self.stream = address, model, stream
        self.tools, self.run, self.fields, self.headers = tools, run, fields, headers or {}
        self.messages: list[dict[str, Any]] = []
        self.answers: list[dict[str, Any]] = []

    def body(self) -> dict[str, Any]:
        messages = list(self.messages)
        for at in range(len(messages) - 1, -1, -2)[: self.marks]:
            content = messages[at]["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            marked = [*blocks[:-1], {**blocks[-1], "cache_control": {"type": "ephemeral"}}]
            messages[at] = {**messages[at], "content": marked}
        return {
            "model": self.model,
            "max_tokens": 1_000,
            "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
            "tools": self.tools,
            "messages": messages,
            "stream": self.stream,
            **self.fields,
        }

    async def ask(self, client: httpx2.AsyncClient) -> httpx2.Response:
        headers = {"x-api-key": KEY, "anthropic-version": "2023-06-01", **self.headers}
        return await client.post(f"{self.address}/v1/messages", json=self.body(), headers=headers)

    async def answer(self, client: httpx2.AsyncClient) -> dict[str, Any]:
        """Send the messages and add the answer to them."""
        response = await self.ask(client)
        assert response.status_code == 200, response.text
        message = assembled(response.text) if self.stream else response.json()
        self.answers.append(message)
        self.messages.append({"role": "assistant", "content": message["content"]})
        return message

    async def turn(self, client: httpx2.AsyncClient, words: str) -> dict[str, Any]:
        """Send a prompt and run tools until the model is done; return its last message."""
        self.messages.append({"role": "user", "content": words})
        while True:
            message = await self.answer(client)
            calls = [block for block in message["content"] if block["type"] == "tool_use"]
            if not calls:
                return message
            results = [
                {
                    "type": "tool_result",
                    "tool_use_id": call["id"],
                    "content": await asyncio.to_thread(self.run, call),
                }
                for call in calls
            ]
            self.messages.append({"role": "user", "content": results})


def assembled(text: str) -> dict[str, Any]:
    """The message of a stream, as a program keeps it."""
    blocks: list[dict[str, Any]] = []
    usage: dict[str, Any] = {}
    for line in text.splitlines():
        if not line.startswith("data:"):
            continue
        event = json.loads(line[5:])
        match event["type"]:
            case "message_start":
                usage |= event["message"]["usage"]
            case "content_block_start":
                blocks.append({**event["content_block"], "raw": ""})
            case "content_block_delta":
                delta = event["delta"]
                keys = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
                if delta["type"] == "input_json_delta":
                    blocks[-1]["raw"] += delta["partial_json"]
                else:
                    key = keys[delta["type"]]
                    blocks[-1][key] = blocks[-1].get(key, "") + delta[key]
            case "message_delta":
                usage |= event["usage"]
    for block in blocks:
        raw = block.pop("raw")
        if block["type"] == "tool_use":
            block["input"] = json.loads(raw or "{}")
    return {"content": blocks, "usage": usage}
