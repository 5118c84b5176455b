"""The provider interface: send a request and stream events, the last of them the whole response.

Deltas are transient (for the screen); the `Response` is what the log keeps.
"""

from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol, TypeAlias, TypeVar

from prunecli.model.messages import Block, Json, Usage
from prunecli.model.requests import Request
from prunecli.model.signals import TextDelta, ThinkingDelta, ToolCallDelta

__all__ = ["Provider", "Response", "StreamEvent", "TextDelta", "ThinkingDelta", "ToolCallDelta", "joined"]


@dataclass(frozen=True, slots=True)
class Begun:
    """What the response has cost so far: billed even if it is stopped now. Sent whenever the endpoint reports it."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class Response:
    """The whole response, given only after the endpoint's `message_stop`.

    A tool input that is no JSON object is `{messages.INVALID_INPUT: raw text}`; tool ids are unique within it.
    The last three fields are those of `AssistantMessage`.
    """

    content: tuple[Block, ...]
    stop_reason: str
    usage: Usage
    model: str
    request_id: str = ""
    input_transformations: tuple[Mapping[str, Json], ...] | None = None
    thinking_tokens: int | None = None
    applied_edits: tuple[Mapping[str, Json], ...] | None = None


StreamEvent: TypeAlias = Begun | TextDelta | ThinkingDelta | ToolCallDelta | Response
_T = TypeVar("_T")


def joined(events: Iterable[_T]) -> list[_T]:
    """The same, with deltas of one text that follow each other as one: a flood brings hundreds at a time, and each
    costs its way to the screen."""
    out: list[_T] = []
    for kind, group in groupby(events, type):
        if kind is TextDelta or kind is ThinkingDelta:
            out.append(kind("".join([delta.text for delta in group])))  # type: ignore[arg-type]
        else:
            out += group
    return out


class Provider(Protocol):
    """A source of responses."""

    def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        """Send the request once. Yields `Begun` where usage is reported, deltas, and exactly one `Response`, last.

        Never retries (the loop does, visibly). Canceling closes the connection. Raises a `ProviderError`: a
        stream that ends before its end is `ConnectionLost`, an error event in mid-stream its own kind.
        """
        ...

    async def models(self) -> tuple[tuple[str, int], ...]:
        """What the endpoint offers: (model name, context window in tokens or 0). Raises a `ProviderError`."""
        ...

    async def close(self) -> None:
        """Free connections. Safe to call twice."""
        ...
