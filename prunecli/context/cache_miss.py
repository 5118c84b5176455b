"""Why the endpoint did not read the prompt of the response before from its cache: as it tells, and as was predicted.

The endpoint compares the two requests themselves, whether or not their prompts were still stored.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from prunecli.context.state import Context
from prunecli.model.codec import is_count
from prunecli.model.messages import Json
from prunecli.util.figures import in_tokens
from prunecli.util.sanitize import one_line

MODEL, MESSAGES = "model_changed", "messages_changed"
_WORDS = MappingProxyType(
    {
        MODEL: "the model changed",
        "system_changed": "the system prompt changed",
        "tools_changed": "the tools changed",
        MESSAGES: "earlier messages changed",
    }
)
_UNKNOWN = ("previous_message_not_found", "unavailable")
"""The reasons of an endpoint that could not compare the requests."""


def kind_of(miss: Mapping[str, Json] | None) -> str:
    """Return the type of a reason; "" if the endpoint gave none, or could not compare."""
    kind = miss.get("type") if miss else None
    return kind if isinstance(kind, str) and kind not in _UNKNOWN else ""


def predicted(context: Context, model: str) -> str:
    """Return the type of the reason for the next request as prunecli knows it; "" if it only adds to the last one."""
    if not context.requested:
        return ""
    if model != context.requested:
        return MODEL
    return MESSAGES if context.wire.is_changed else ""


def words(kind: str) -> str:
    return _WORDS.get(kind) or one_line(kind.replace("_", " "))[:60]


def in_words(miss: Mapping[str, Json] | None, expected: str) -> str:
    """Return what the endpoint told of a request, and whether that was predicted; "" if it told nothing."""
    kind = kind_of(miss)
    if not miss or not kind:
        return ""
    missed = miss.get("cache_missed_input_tokens")
    more = f", {in_tokens(missed)} not read" if is_count(missed) else ""
    return f"{words(kind)}{more} ({'as predicted' if kind == expected else 'not predicted'})"


def counted_kinds(kinds: Iterable[str]) -> str:
    """Return how often each reason was told: "the model changed 2×, earlier messages changed"."""
    found = Counter(kind for kind in kinds if kind)
    return ", ".join(f"{words(kind)}{f' {count}×' if count > 1 else ''}" for kind, count in found.items())
