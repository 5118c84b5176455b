"""Scripted models that speak OpenAI's Responses API and Gemini's API, for Codex and Gemini CLI. Loopback only."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from tests.peers.scene import BEGUN, DONE, TITLE, call_of, wanted


@contextmanager
def other_models(cwd: Path) -> Iterator[str]:
    """Serve both protocols; the base URL without a path."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._send("application/json", b'{"models": [], "data": []}')

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if self.path.endswith("/responses"):
                events = list(_responses(request, cwd))
                lines = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
                self._send("text/event-stream", lines.encode())
            elif ":streamGenerateContent" in self.path:
                self._send("text/event-stream", f"data: {json.dumps(_gemini(request, cwd))}\n\n".encode())
            elif ":countTokens" in self.path:
                self._send("application/json", b'{"totalTokens": 1000}')
            else:
                self._send("application/json", json.dumps(_gemini(request, cwd)).encode())

        def _send(self, kind: str, data: bytes) -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


# OpenAI's Responses API ----------------------------------------------------------------------------------------


def _responses(request: Any, cwd: Path) -> Iterator[dict[str, Any]]:
    items = request["input"]
    number = len(items)
    response = {"id": f"resp_{number}", "object": "response", "status": "in_progress", "output": []}
    yield {"type": "response.created", "response": response}
    output = _items(request, number, cwd)
    for at, item in enumerate(output):
        yield {"type": "response.output_item.added", "output_index": at, "item": item}
        yield {"type": "response.output_item.done", "output_index": at, "item": item}
    usage = {
        "input_tokens": 5_000 + 100 * number,
        "input_tokens_details": {"cached_tokens": 4_000},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 5},
        "total_tokens": 5_020 + 100 * number,
    }
    done = {**response, "status": "completed", "output": output, "usage": usage}
    yield {"type": "response.completed", "response": done}


def _items(request: Any, number: int, cwd: Path) -> list[dict[str, Any]]:
    tools = {tool["name"]: tool.get("parameters", {}) for tool in request.get("tools", ()) if "name" in tool}
    reasoning = {
        "type": "reasoning",
        "id": f"rs_{number}",
        "summary": [{"type": "summary_text", "text": "To be done."}],
        "encrypted_content": "c2VhbGVk",
    }
    last = request["input"][-1]
    if last.get("type", "").endswith("_output"):
        return [reasoning, _message(number, DONE)]
    text = " ".join(part.get("text", "") for part in last.get("content", ()) if isinstance(part, dict))
    found = wanted(text, cwd) if tools else None
    if found is None:
        return [_message(number, TITLE)]
    kind, argument = found
    if kind == "read" and not argument.endswith(".png"):
        kind, argument = "run", "cat notes.txt"  # Codex reads by its shell
    name, given = call_of(kind, argument, tools)
    call = {
        "type": "function_call",
        "id": f"fc_{number}",
        "call_id": f"call_{number}",
        "name": name,
        "arguments": json.dumps(given),
        "status": "completed",
    }
    return [reasoning, _message(number, BEGUN), call]


def _message(number: int, text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {
        "type": "message",
        "id": f"msg_{number}",
        "role": "assistant",
        "status": "completed",
        "content": content,
    }


# Gemini's API --------------------------------------------------------------------------------------------------


def _gemini(request: Any, cwd: Path) -> dict[str, Any]:
    declared = [one for tool in request.get("tools", ()) for one in tool.get("functionDeclarations", ())]
    tools = {one["name"]: one.get("parametersJsonSchema") or one.get("parameters", {}) for one in declared}
    contents = request["contents"]
    last = contents[-1]["parts"]
    text = " ".join(part.get("text", "") for part in last)
    found = wanted(text, cwd) if tools else None
    parts: list[dict[str, Any]]
    if any("functionResponse" in part for part in last):
        parts = [{"text": "It is done.", "thought": True}, {"text": DONE}]
    elif found is None:
        parts = [{"text": TITLE}]
    else:
        name, given = call_of(*found, tools)
        parts = [{"text": BEGUN}, {"functionCall": {"name": name, "args": given}}]
    tokens = 10_000 + 100 * len(contents)
    return {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {
            "promptTokenCount": tokens,
            "candidatesTokenCount": 20,
            "totalTokenCount": tokens + 20,
        },
        "modelVersion": "gemini-2.5-pro",
    }
