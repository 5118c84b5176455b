"""Requests of a session at each of its points: whether the endpoint would take them."""

import json
from collections.abc import Iterable
from typing import Any

from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.context.validate import validate
from prunecli.model.events import AssistantMessage, Event, Record, ToolResult, UserMessage
from prunecli.model.messages import Block
from prunecli.model.requests import Preamble, Request


def content(event: Event) -> tuple[Block, ...]:
    """The blocks of an event that must have some."""
    assert isinstance(event, UserMessage | AssistantMessage | ToolResult), event
    return event.content


def folded(records: Iterable[Record]) -> Context:
    """The context after all records."""
    context = Context(Chars4())
    for record in records:
        context.apply(record)
    return context


def sent(records: Iterable[Record]) -> list[dict[str, Any]]:
    """The messages of the next request."""
    return [json.loads(message.canonical) for message in folded(records).messages()]


def valid_points(records: Iterable[Record]) -> int:
    """Validates the request after each record that ends with the user's message; how many there were.

    Only what changed since the request before is looked at again, as when they are really sent.
    """
    context = Context(Chars4())
    points = 0
    for record in records:
        context.apply(record)
        messages = context.messages()
        if messages and messages[-1].role == "user":
            validate(Request("m", 1, Preamble((), ()), messages), context.wire.unchanged)
            context.wire.sent()
            points += 1
    return points
