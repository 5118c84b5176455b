"""The words in which OpenAI's two protocols differ from the Messages API, and servers from each other.

Checked against the types of the openai SDK 3.57 and its documentation (November 2026).
"""

import re
from collections.abc import Mapping
from hashlib import sha256
from types import MappingProxyType

from prunecli.model.messages import OTHER_WIRE
from prunecli.util.frozen import frozen

REASONING = f"{OTHER_WIRE}reasoning:"
"""Begins the signature of a reasoning item of the Responses API; its JSON follows: id, model, encrypted_content."""
CHAT = f"{OTHER_WIRE}chat:"
"""Begins the signature of reasoning over Chat Completions; the field that brought it follows."""
EXTRA = f"{OTHER_WIRE}extra:"
"""Begins the data of a redacted block: what a server attached to the call behind it, as JSON."""

STOP_REASONS: Mapping[str, str] = MappingProxyType(
    {
        "stop": "end_turn",
        "length": "max_tokens",
        "tool_calls": "tool_use",
        "function_call": "tool_use",
        "content_filter": "refusal",
        "max_output_tokens": "max_tokens",
        "steered": "end_turn",
        "error": "refusal",
        "model_length": "model_context_window_exceeded",
    }
)
"""The stop reasons of both protocols: `finish_reason` of a choice, and `incomplete_details.reason`."""

REASONING_FIELDS = ("reasoning_content", "reasoning")
"""The fields of a delta with reasoning: DeepSeek, Qwen, Kimi, GLM, llama.cpp and vLLM use the first, OpenRouter,
Groq, Cerebras and Ollama the second."""

STREAM_USAGE, CACHE_KEY, CACHE_OPTIONS, RETENTION, SUMMARY, ENCRYPTED, PHASE, NEW_LIMIT, OLD_LIMIT = (
    f"{OTHER_WIRE}{name}"
    for name in (
        *("stream_options", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention"),
        *("reasoning.summary", "include", "phase", "max_completion_tokens", "max_tokens"),
    )
)
"""Optional fields of these protocols, by the names under which a rejection is remembered."""

SKIPPED_SIGNATURE = "skip_thought_signature_validator"
"""What Gemini accepts for the thought signature of a call that another model made."""

_REASONS = re.compile(r"(?:.*/)?(?:gpt-(?:[5-9]|\d\d|oss)|o\d|codex)")
_PHASES = re.compile(r"(?:.*/)?gpt-(?:5\.[3-9]|[6-9]|\d\d)")
_EXPLICIT = re.compile(r"(?:.*/)?gpt-(?:5\.[6-9]|[6-9]|\d\d)")
_NINE = re.compile(r"[a-zA-Z0-9]{9}")
_LONGEST_ID = 40
_DATE = re.compile(r"-\d{4}-\d\d-\d\d$")


def short_id(call_id: str) -> str:
    """Return the id of a call as both protocols accept it: at most 40 characters."""
    if len(call_id) <= _LONGEST_ID:
        return call_id
    return f"{call_id[: _LONGEST_ID - 13]}_{sha256(call_id.encode()).hexdigest()[:12]}"


def reasons(model: str) -> bool:
    """Return whether a model takes the `reasoning` options."""
    return _REASONS.match(model.lower()) is not None


def has_new_limit(model: str) -> bool:
    """Return whether a model rejects `max_tokens`, at any server."""
    return reasons(model) and "oss" not in model


def has_phases(model: str) -> bool:
    """Return whether a model wants to know which of its earlier messages were comments and which answers."""
    return _PHASES.match(model.lower()) is not None


def has_breakpoints(model: str) -> bool:
    """Return whether a model's prompt cache has explicit breakpoints, whose writing is billed."""
    return _EXPLICIT.match(model.lower()) is not None


def undated(model: str) -> str:
    """Return a model's name without its date, since an endpoint reports the dated name of an alias."""
    return _DATE.sub("", model.lower())


@frozen
class Dialect:
    """What a server does differently.

    `limit` is the field for the maximum tokens of an answer. `is_openai`: it takes the optional fields of OpenAI's
    own service; `has_cache_key`: of these at least `prompt_cache_key`. `encrypts`: it sends reasoning encrypted over
    the Responses API if asked to. `stream_usage`: it reports usage in a stream if asked to. `thinks_back`: it accepts
    reasoning in earlier answers; `thinks_always`: it rejects a call without it. `signs_calls`: it rejects calls
    without their `extra_content`. `nine`: the ids of calls have nine letters and digits.
    """

    limit: str = "max_tokens"
    is_openai: bool = False
    has_cache_key: bool = False
    encrypts: bool = False
    stream_usage: bool = True
    thinks_back: bool = True
    thinks_always: bool = False
    signs_calls: bool = False
    nine: bool = False

    def id_of(self, call_id: str) -> str:
        """Return the id of a call as the server accepts it."""
        if self.nine:
            return call_id if _NINE.fullmatch(call_id) else sha256(call_id.encode()).hexdigest()[:9]
        return short_id(call_id)


PLAIN = Dialect()
OPENAI = Dialect(
    "max_completion_tokens", is_openai=True, has_cache_key=True, encrypts=True, thinks_back=False
)
