"""What can go wrong with a response, as values: put in a script alone, or attached to a Reply.

`after` counts server-sent events, the message_start and pings included: 0 is before the first one, a number
beyond the last means the end. A response that is not streamed counts as two events, the halves of its body.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tests.endpoint.shape import Json

ERROR_TYPES = {
    400: ("invalid_request_error", "Invalid request"),
    401: ("authentication_error", "invalid x-api-key"),
    402: ("billing_error", "Your credit balance is too low to access the Anthropic API."),
    403: ("permission_error", "Your API key does not have permission to use the specified resource."),
    404: ("not_found_error", "Not Found"),
    413: ("request_too_large", "Request exceeds the maximum size"),
    429: ("rate_limit_error", "This request would exceed your organization's rate limit."),
    500: ("api_error", "Internal server error"),
    504: ("timeout_error", "Request timed out"),
    529: ("overloaded_error", "Overloaded"),
}
STATUS_OF = {kind: status for status, (kind, _) in ERROR_TYPES.items()}


@dataclass(frozen=True, slots=True)
class HttpError:
    """An error status. Type and message are the service's for it unless given; `retry_after` is sent as it is
    (seconds, a date or garbage); `body` replaces the error object."""

    status: int
    message: str = ""
    type: str = ""
    retry_after: str | int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None


@dataclass(frozen=True, slots=True)
class RawResponse:
    """Any bytes in place of the answer: HTML from a proxy, compressed garbage, a flood (`body` x `repeat`)."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"content-type": "text/html"})
    repeat: int = 1


@dataclass(frozen=True, slots=True)
class EchoKey:
    """An error whose text repeats the API key of the request; with `after` as an error event in the stream."""

    status: int = 401
    after: int | None = None


@dataclass(frozen=True, slots=True)
class CloseBeforeResponse:
    """The connection ends before any byte of an answer."""

    reset: bool = False


@dataclass(frozen=True, slots=True)
class DropKeepAlive:
    """The answer is whole, then the connection goes, unannounced: at once, or when the next request arrives."""

    when: Literal["after_response", "next_request"] = "next_request"


@dataclass(frozen=True, slots=True)
class ErrorEvent:
    """An `error` event in the stream, then its end. Not streamed: the status that belongs to the type."""

    after: int
    type: str = "overloaded_error"
    message: str = "Overloaded"


@dataclass(frozen=True, slots=True)
class EndOfBody:
    """The body ends in good order, without the rest of the events."""

    after: int


@dataclass(frozen=True, slots=True)
class Close:
    """The connection is closed in the middle of the body (no last chunk)."""

    after: int


@dataclass(frozen=True, slots=True)
class Reset:
    """A TCP reset in the middle of the body."""

    after: int


@dataclass(frozen=True, slots=True)
class BrokenChunk:
    """A chunk whose size is no number, then the connection is closed."""

    after: int


@dataclass(frozen=True, slots=True)
class Stall:
    """Nothing more until `endpoint.release()`; with `ping_every` (seconds) pings only. `before_headers`: not even
    a status line until then."""

    after: int = 0
    ping_every: float | None = None
    before_headers: bool = False


@dataclass(frozen=True, slots=True)
class Insert:
    """One more event: of an unknown type, with an unknown delta, out of order. `data` as text is sent as it is."""

    after: int
    event: str = "mystery"
    data: Mapping[str, Json] | str = field(default_factory=lambda: {"type": "mystery"})


@dataclass(frozen=True, slots=True)
class CutToolJson:
    """The input of the last call is cut at byte `at` of its JSON text."""

    at: int
    stop_reason: str = "max_tokens"


@dataclass(frozen=True, slots=True)
class Drip:
    """The body in pieces of `size` bytes, each written by itself, `delay` seconds apart; cuts events, lines and
    characters."""

    size: int = 1
    delay: float = 0.0


InPlace: TypeAlias = HttpError | RawResponse | EchoKey | CloseBeforeResponse
"""Faults that leave nothing of the reply (an EchoKey with `after` excepted)."""

Placed: TypeAlias = ErrorEvent | EndOfBody | Close | Reset | BrokenChunk | Stall | Insert
"""Faults at one place of the stream."""

Fault: TypeAlias = InPlace | Placed | DropKeepAlive | CutToolJson | Drip

SIGNATURE_MESSAGE = "messages.1.content.0: Invalid `signature` in `thinking` block"
SIGNATURE_ERROR = HttpError(400, SIGNATURE_MESSAGE)
"""A replayed thinking block is refused; in mid-stream ErrorEvent(k, "invalid_request_error", SIGNATURE_MESSAGE)."""
