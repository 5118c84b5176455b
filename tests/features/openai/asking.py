"""A provider before the stand-in, and conversations in canonical form, for the tests of this folder."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from prunecli.context import render
from prunecli.features.openai.provider import OpenAiProvider, Target
from prunecli.features.openai.tables import OPENAI, Dialect
from prunecli.model.codec import canonical
from prunecli.model.events import ToolResult
from prunecli.model.messages import Block, Text, ToolUse, tool_uses
from prunecli.model.requests import Preamble, Request, WireMessage
from prunecli.providers.provider import Response, StreamEvent
from prunecli.providers.response_reader import Patience
from tests.openai_endpoint.server import OpenAiEndpoint

WIRES = ("chat", "responses")
TOOL = {
    "name": "bash",
    "description": "Runs a command.",
    "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}},
}
KEY = "sk-proj-0123456789abcdef"


def provider(
    endpoint: OpenAiEndpoint, wire: Any = "chat", dialect: Dialect = OPENAI, **more: Any
) -> OpenAiProvider:
    """A provider for the stand-in."""
    given = {"headers": {"Authorization": f"Bearer {KEY}"}, "secrets": (KEY,), **more}
    return OpenAiProvider(Target(endpoint.api, wire, dialect, **given))


def said(words: str) -> WireMessage:
    """A message of the user."""
    return WireMessage.of("user", (canonical({"type": "text", "text": words}),), (0,))


def answered(content: tuple[Block, ...]) -> WireMessage:
    """An answer of the model."""
    blocks = render.assistant(content, {})
    return WireMessage.of("assistant", blocks, (0,) * len(blocks))


def returned(
    *calls: ToolUse, text: str = "done", is_error: bool = False, content: tuple[Block, ...] = ()
) -> WireMessage:
    """The results of calls."""
    blocks = tuple(
        render.result(ToolResult(call.id, call.name, content or (Text(text),), is_error=is_error), {})
        for call in calls
    )
    return WireMessage.of("user", blocks, (0,) * len(blocks))


def request(
    *messages: WireMessage, model: str = "gpt-5.5", tools: Sequence[Any] = (TOOL,), **options: Any
) -> Request:
    """A request with a system prompt and tools."""
    preamble = Preamble.of(("You are a test.",), tuple(tools))
    return Request(model, 1000, preamble, messages or (said("Hello"),), **options)


async def events_of(made: OpenAiProvider, asked: Request) -> list[StreamEvent]:
    """All events of one request."""
    return [event async for event in made.stream(asked)]


async def response_to(made: OpenAiProvider, asked: Request) -> Response:
    """The response to one request."""
    *_, last = await events_of(made, asked)
    assert isinstance(last, Response)
    return last


async def turn(made: OpenAiProvider, asked: Request) -> tuple[Request, Response]:
    """The response to a request, and the request that goes on after it: with the results of its calls, or a word."""
    response = await response_to(made, asked)
    calls = tool_uses(response.content)
    after = returned(*calls) if calls else said("Go on.")
    return replace(asked, messages=(*asked.messages, answered(response.content), after)), response


SHORT = Patience(first=0.3, silence=0.3, pings=0.5)
"""For an endpoint that falls silent."""
