"""Requests for the tests of this folder."""

from typing import Any

from prunecli.model.codec import canonical
from prunecli.model.requests import Preamble, Request, WireMessage

TOOL = {
    "name": "bash",
    "description": "Runs a command.",
    "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}},
}


def request(words: str = "Hello", model: str = "claude-sonnet-4-6", **options: Any) -> Request:
    """One user message, one tool and a system prompt."""
    block = canonical({"type": "text", "text": words})
    preamble = Preamble.of(("You are a test.",), (TOOL,))
    return Request(model, 1000, preamble, (WireMessage.of("user", (block,), (0,)),), **options)
