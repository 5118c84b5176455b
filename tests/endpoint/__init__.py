"""A strict fake of Anthropic's Messages API for tests and benchmarks; README.md is its manual.

Everything a test needs is importable from here.
"""

from tests.endpoint.cache import Usage
from tests.endpoint.faults import (
    SIGNATURE_ERROR,
    SIGNATURE_MESSAGE,
    BrokenChunk,
    Close,
    CloseBeforeResponse,
    CutToolJson,
    Drip,
    DropKeepAlive,
    EchoKey,
    EndOfBody,
    ErrorEvent,
    Fault,
    HttpError,
    Insert,
    RawResponse,
    Reset,
    Stall,
)
from tests.endpoint.record import Recorded, Refusal
from tests.endpoint.rules import MODELS, Model, Rules
from tests.endpoint.script import DEFAULT_REPLY, Call, Raw, Redacted, Reply, Text, Thinking
from tests.endpoint.server import Endpoint, serve
from tests.endpoint.signatures import redact, sign

__all__ = [
    "DEFAULT_REPLY",
    "MODELS",
    "SIGNATURE_ERROR",
    "SIGNATURE_MESSAGE",
    "BrokenChunk",
    "Call",
    "Close",
    "CloseBeforeResponse",
    "CutToolJson",
    "Drip",
    "DropKeepAlive",
    "EchoKey",
    "EndOfBody",
    "Endpoint",
    "ErrorEvent",
    "Fault",
    "HttpError",
    "Insert",
    "Model",
    "Raw",
    "RawResponse",
    "Recorded",
    "Redacted",
    "Refusal",
    "Reply",
    "Reset",
    "Rules",
    "Stall",
    "Text",
    "Thinking",
    "Usage",
    "redact",
    "serve",
    "sign",
]
