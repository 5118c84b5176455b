"""The provider interface: a provider sends a request and streams events. The last event is the whole response.

Deltas are transient (for the screen); only the `Response` goes into the log.
"""

from collections.abc import AsyncIterator, Iterable, Mapping
from itertools import groupby
from typing import Protocol, TypeAlias, TypeVar

from prunecli.model.messages import Block, Json, Usage
from prunecli.model.requests import Request
from prunecli.model.signals import TextDelta, ThinkingDelta, ToolCallDelta
from prunecli.providers.models import Offer
from prunecli.util.frozen import frozen

__all__ = ["Provider", "Response", "StreamEvent", "TextDelta", "ThinkingDelta", "ToolCallDelta", "joined"]


@frozen
class Begun:
    """The usage of the response so far, which is billed even if the response is stopped now, and the finished
    thinking before its text. Sent each time the endpoint reports usage or finishes thinking."""

    usage: Usage
    thinking: tuple[Block, ...] = ()


@frozen
class Response:
    """The whole response, yielded only after the endpoint's `message_stop`.

    A tool input that is not a JSON object becomes `{messages.INVALID_INPUT: raw text}`; tool ids are unique within
    the response. The fields from `input_transformations` on are those of `AssistantMessage`.
    """

    content: tuple[Block, ...]
    stop_reason: str
    usage: Usage
    model: str
    request_id: str = ""
    input_transformations: tuple[Mapping[str, Json], ...] | None = None
    thinking_tokens: int | None = None
    applied_edits: tuple[Mapping[str, Json], ...] | None = None
    message_id: str = ""
    cache_miss: Mapping[str, Json] | None = None


StreamEvent: TypeAlias = Begun | TextDelta | ThinkingDelta | ToolCallDelta | Response
_T = TypeVar("_T")


def joined(events: Iterable[_T]) -> list[_T]:
    """Return the deltas with consecutive ones of the same text joined, because each has to be shown and a flood
    brings hundreds at a time."""
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
        """Send the request once. Yields `Begun` if usage is reported early, deltas, and finally exactly one
        `Response`. Never retries; the loop does that visibly. Canceling closes the connection. Raises a
        `ProviderError`: an interrupted stream raises `ConnectionLost`, and an error event raises the class of that
        error.
        """

    async def models(self) -> tuple[Offer, ...]:
        """Return the endpoint's models. Raises a `ProviderError`."""

    async def close(self) -> None:
        """Free connections. Safe to call twice."""
