"""`prunecli mcp serve`: recall and prun for another agent, as an MCP server on standard input and output.

The server knows no conversation. It passes each call to the running proxies; the one that saw the model make the call
answers it. The SDK is not used, because the program waits for its servers and the SDK's import takes a second.
"""

import json
import os
import sys
import time
from typing import Any, cast

from prunecli import __version__
from prunecli.cli.shared import single
from prunecli.features.proxy.sockets import answers
from prunecli.tools.inputs import definition
from prunecli.tools.prun import Prun
from prunecli.tools.recall import Recall
from prunecli.tools.tool import Tool

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
_WAIT = 30
"""Seconds for an answer to end that may hold the call: programs run tools while the model still writes."""
_UNKNOWN = "No running proxy saw this call. The user has to start this program with: prunecli wrap PROGRAM"


def serve() -> None:
    """Offer recall and prun to a program behind the proxy, as an MCP server on stdin and stdout.

    `prunecli wrap claude` configures it. For other programs, this is the command of the server.
    """
    environ = dict(os.environ)
    for line in sys.stdin.buffer:
        if line.strip() and (answer := answer_to(line, environ)):
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


def answer_to(line: bytes, environ: dict[str, str]) -> dict[str, Any] | None:
    """Return the answer to one message, None for one without."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return _error(None, -32700, "Parse error")
    if not isinstance(message, dict) or "method" not in message:
        return None
    given = message.get("params")
    params: dict[str, Any] = given if isinstance(given, dict) else {}
    match message["method"]:
        case "initialize":
            asked = params.get("protocolVersion")
            result: dict[str, Any] = {
                "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "prunecli", "version": __version__},
            }
        case "ping":
            result = {}
        case "tools/list":
            result = {"tools": _tools()}
        case "tools/call":
            result = _called(params, environ)
        case _:
            id_ = message.get("id")
            return None if id_ is None else _error(id_, -32601, "Method not found")
    return {"jsonrpc": "2.0", "id": message.get("id"), "result": result}


def _error(id_: Any, code: int, why: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": why}}


def _tools() -> list[dict[str, Any]]:
    return [
        {
            "name": made["name"],
            "description": made["description"],
            "inputSchema": made["input_schema"],
            "annotations": {"readOnlyHint": True},
            "_meta": {"anthropic/alwaysLoad": True},
        }
        for made in map(definition, (Recall(), cast("Tool", Prun())))
    ]


def _called(params: dict[str, Any], environ: dict[str, str]) -> dict[str, Any]:
    meta = params.get("_meta")
    asked = {
        "tool": params.get("name"),
        "input": params.get("arguments") or {},
        "call": meta.get("claudecode/toolUseId") if isinstance(meta, dict) else None,
    }
    until = time.monotonic() + _WAIT
    while True:
        all_ = [answer for _, answer in answers(asked, environ)]
        if found := next((answer for answer in all_ if "content" in answer), None):
            return found
        if time.monotonic() > until or not any(answer.get("busy") for answer in all_):
            return {"content": [{"type": "text", "text": _UNKNOWN}], "isError": True}
        time.sleep(0.05)


app = single(serve)
