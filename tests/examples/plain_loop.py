"""A plain loop over Anthropic's Messages API: old tool output is pruned when that pays.

ANTHROPIC_API_KEY=... python tests/examples/plain_loop.py FOLDER PROMPT
"""

import os
import sys
from pathlib import Path
from typing import Any

import httpx2

from prunecli.library import Pruner

READ = {
    "name": "Read",
    "description": "Read a file.",
    "input_schema": {"type": "object", "properties": {"file_path": {"type": "string"}}},
}
HEADERS = {"x-api-key": os.environ.get("ANTHROPIC_API_KEY", ""), "anthropic-version": "2023-06-01"}


def run(folder: Path, prompt: str, client: httpx2.Client) -> str:
    """Let the model read files until it has an answer, and return that."""
    pruner, usage = Pruner("auto"), None
    messages: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "text", "text": prompt}]}]
    while True:
        sent = pruner.request(messages, usage)
        body = {"model": "claude-sonnet-4-5", "max_tokens": 4_000, "tools": [READ], "messages": marked(sent)}
        response = client.post("/v1/messages", json=body)
        answer = response.raise_for_status().json()
        usage = answer["usage"]
        messages.append({"role": "assistant", "content": answer["content"]})
        calls = [block for block in answer["content"] if block["type"] == "tool_use"]
        if not calls:
            return "".join(block.get("text", "") for block in answer["content"])
        messages.append({"role": "user", "content": [result(folder, call) for call in calls]})


def result(folder: Path, call: dict[str, Any]) -> dict[str, Any]:
    text = (folder / call["input"]["file_path"]).read_text()
    return {"type": "tool_result", "tool_use_id": call["id"], "content": text}


def marked(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages with a cache breakpoint at the end."""
    *before, last = messages
    *blocks, end = last["content"]
    return [*before, {**last, "content": [*blocks, {**end, "cache_control": {"type": "ephemeral"}}]}]


if __name__ == "__main__":
    with httpx2.Client(base_url="https://api.anthropic.com", headers=HEADERS, timeout=600) as anthropic:
        print(run(Path(sys.argv[1]), sys.argv[2], anthropic))
