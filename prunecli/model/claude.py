"""Features of a model, derived from its name: those of a Claude model, and whether it is one of OpenAI's."""

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

SHORT_NAMES: Mapping[str, str] = MappingProxyType(
    {"opus": "claude-opus-5-5", "sonnet": "claude-sonnet-5-5", "haiku": "claude-haiku-5-5"}
)
"""The newest model of each family, by family name."""

_VERSION = re.compile(r"claude-(?:([a-z]+)-)?(\d+)(?:[-.](\d{1,2}))?(?!\d)")
_OPENAI = re.compile(r"(?:.*/)?(?:gpt-|chatgpt-|codex-|o[134](?:-|$))")
_DATE = re.compile(r"-\d{4}-?\d\d-?\d\d$")
_UPPER = ("fable", "mythos")
_SYSTEM_SINCE = MappingProxyType(
    {"opus": (4, 8), "fable": (5, 0), "mythos": (5, 0), "sonnet": (5, 5), "haiku": (5, 5)}
)
"""The first version of each family that takes system messages within a conversation. Source: "Mid-conversation system
messages" in Anthropic's documentation."""
_BOUND_UPPER, _BOUND = (5, 1), (5, 5)
"""The first versions with bound thinking, of the larger families and of the others."""


def claude_version(name: str) -> tuple[int, int] | None:
    """Return the version, such as (5, 5) for `claude-opus-5-5` or `opus`; None without one or for another vendor."""
    match = _VERSION.search(_lower(name))
    return (int(match[2]), int(match[3] or 0)) if match else None


def reads_summaries(name: str) -> bool:
    """Return whether the model accepts summaries made by the endpoint, for it or another model."""
    version = claude_version(name)
    return version is not None and version >= (4, 6)


def takes_system_messages(name: str) -> bool:
    """Return whether the model takes system messages between the others. Newer models are assumed to do the same."""
    found = _family(name)
    return found is not None and found[1] >= _SYSTEM_SINCE.get(found[0], (99, 0))


@lru_cache(maxsize=256)
def is_bound(name: str) -> bool:
    """Return whether the model signs its thinking over everything before it ("preserved thinking").

    A changed or missing block before such a thinking block invalidates it and all later thinking: the endpoint
    rejects the request or, if asked to, drops those blocks. Models newer than the known ones are assumed to do the
    same.
    """
    version = claude_version(name)
    upper = any(one in name.lower() for one in _UPPER)
    return version is not None and version >= (_BOUND_UPPER if upper else _BOUND)


@lru_cache(maxsize=256)
def may_read(reader: str, writer: str) -> bool:
    """Return whether a model sees the thinking of another one. An endpoint omits other thinking but never rejects it.

    Blocks that a model cannot read come back when the conversation returns to a model that can. A model of OpenAI
    reads only its own. True for other names without a family or version. Source: "Preserved thinking" and the
    migration guides of Claude Opus, Sonnet and Haiku 5.5 and of Fable 5.1 and 5.2 in Anthropic's documentation; other
    clouds may differ.
    """
    mine, its = _family(reader), _family(writer)
    if mine is None or its is None or mine == its:
        return _is_openai(reader) == _is_openai(writer) == "" or _undated(reader) == _undated(writer)
    (family, version), (other, age) = mine, its
    if other in _UPPER and age >= (5, 2):
        return family in _UPPER and version >= (5, 2)
    if other == "haiku" and age >= _BOUND:
        return True
    if not is_bound(reader):
        return not is_bound(writer)
    match family:
        case "haiku":
            return False
        case "sonnet":
            return other not in _UPPER and age <= ((4, 8) if other == "opus" else (5, 0))
        case "opus":
            return other not in _UPPER and (age < _BOUND or other == "sonnet")
        case _:
            return age < _BOUND or other == "opus" or version >= (5, 2)


def _is_openai(name: str) -> str:
    found = _OPENAI.match(name.lower())
    return found[0] if found else ""


def _undated(name: str) -> str:
    return _DATE.sub("", name.lower().rpartition("/")[2])


def _family(name: str) -> tuple[str, tuple[int, int]] | None:
    match = _VERSION.search(_lower(name))
    return (match[1] or "", (int(match[2]), int(match[3] or 0))) if match else None


def _lower(name: str) -> str:
    return SHORT_NAMES.get(name.strip().lower(), name.lower())
