"""What does the service clear from its own copy of a request? The edit `clear_tool_uses_20250919`.

The oldest results go first; what is asked to stay stays. Only the copy that the model sees gets shorter: thinking is
checked against what was sent. The service does not remember what it cleared: each request is cleared anew.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from tests.endpoint.content import Facts
from tests.endpoint.render import RenderedBlock
from tests.endpoint.shape import Json, RefusedError, expect, shape, unknown_tag

CLEAR_TOOL_USES = "clear_tool_uses_20250919"
CLEAR_THINKING = "clear_thinking_20251015"
_PLACEHOLDER_TOKENS = 7
"""What stands in place of a cleared result."""


@dataclass(frozen=True, slots=True)
class Edit:
    """The edit that a request asks for."""

    trigger: str = "input_tokens"
    above: int = 100_000
    keep: int = 3
    at_least: int = 0
    exclude: tuple[str, ...] = ()
    inputs: bool | tuple[str, ...] = False

    def takes_input(self, tool: str) -> bool:
        """Whether the arguments of this tool's calls go too."""
        return self.inputs if isinstance(self.inputs, bool) else tool in self.inputs


@dataclass(frozen=True, slots=True)
class Cleared:
    """The blocks that stand for others, by (message, block), and what the answer says of it."""

    blocks: Mapping[tuple[int, int], RenderedBlock] = field(default_factory=dict)
    applied: tuple[dict[str, Json], ...] = ()


class Message(Protocol):
    """A message with its facts."""

    @property
    def value(self) -> Json: ...
    @property
    def facts(self) -> Facts: ...


def edits_of(management: Json) -> tuple[Edit, ...]:
    """The edits that `context_management` asks for. Raises RefusedError."""
    where = "context_management"
    shape(management, where, {}, {"edits": list})
    edits = management.get("edits") or ()
    found: list[Edit] = []
    for at, edit in enumerate(edits):
        if isinstance(edit, dict) and edit.get("type") == CLEAR_THINKING:
            _check_thinking(edit, f"{where}.edits.{at}.{CLEAR_THINKING}")
        else:
            found.append(_edit(edit, f"{where}.edits.{at}"))
    for kind, count in ((CLEAR_TOOL_USES, len(found)), (CLEAR_THINKING, len(edits) - len(found))):
        if count > 1:
            raise RefusedError(f"{where}.edits", f"Strategy '{kind}' can only be specified once")
    return tuple(found)


def _check_thinking(edit: Json, place: str) -> None:
    """Check an edit of old thinking. All of it is kept here, as Claude Code asks for."""
    shape(edit, place, {"type": str}, {"keep": None})
    if (keep := edit.get("keep")) not in (None, "all"):
        expect(keep, dict, f"{place}.keep")
        _measure(keep, ("thinking_turns",), f"{place}.keep")


def _edit(edit: Json, where: str) -> Edit:
    if not isinstance(edit, dict) or edit.get("type") != CLEAR_TOOL_USES:
        unknown_tag(edit, (CLEAR_THINKING, CLEAR_TOOL_USES), where)
    place = f"{where}.{CLEAR_TOOL_USES}"
    fields = {"trigger": dict, "keep": dict, "clear_at_least": dict, "exclude_tools": list}
    shape(edit, place, {"type": str}, {**fields, "clear_tool_inputs": None})
    made = Edit()
    if (trigger := edit.get("trigger")) is not None:
        kind, above = _measure(trigger, ("input_tokens", "tool_uses"), f"{place}.trigger")
        made = replace(made, trigger=kind, above=above)
    if (keep := edit.get("keep")) is not None:
        made = replace(made, keep=_measure(keep, ("tool_uses",), f"{place}.keep")[1])
    if (least := edit.get("clear_at_least")) is not None:
        made = replace(made, at_least=_measure(least, ("input_tokens",), f"{place}.clear_at_least")[1])
    made = replace(made, exclude=_names(edit.get("exclude_tools") or [], f"{place}.exclude_tools"))
    inputs = edit.get("clear_tool_inputs") or False
    if not isinstance(inputs, bool):
        inputs = _names(inputs, f"{place}.clear_tool_inputs")
    return replace(made, inputs=inputs)


def _measure(value: Json, kinds: Sequence[str], where: str) -> tuple[str, int]:
    if value.get("type") not in kinds:
        unknown_tag(value, kinds, where)
    place = f"{where}.{value['type']}"
    shape(value, place, {"type": str, "value": int}, {})
    if value["value"] < 0:
        raise RefusedError(f"{place}.value", "Input should be greater than or equal to 0")
    return value["type"], value["value"]


def _names(value: Json, where: str) -> tuple[str, ...]:
    expect(value, list, where)
    for at, name in enumerate(value):
        expect(name, str, f"{where}.{at}")
    return tuple(value)


def clear(edit: Edit, messages: Sequence[Message], tokens: int) -> Cleared:
    """What is cleared from a request of so many tokens."""
    uses = _uses(messages)
    if (tokens if edit.trigger == "input_tokens" else len(uses)) <= edit.above:
        return Cleared()
    able = [one for one in uses if one[0] not in edit.exclude]
    blocks: dict[tuple[int, int], RenderedBlock] = {}
    saved = 0
    gone = able[: max(0, len(able) - edit.keep)]
    for name, call, result in gone:
        for place in (result, *([call] if edit.takes_input(name) else [])):
            before = messages[place[0]].facts.blocks[place[1]]
            less = min(before.tokens, _PLACEHOLDER_TOKENS)
            key = hashlib.blake2b(b"cleared\0" + before.key, digest_size=16).digest()
            blocks[place] = replace(before, key=key, tokens=less)
            saved += before.tokens - less
    if not gone or saved < edit.at_least:
        return Cleared()
    told = {"type": CLEAR_TOOL_USES, "cleared_tool_uses": len(gone), "cleared_input_tokens": saved}
    return Cleared(blocks, (told,))


def _uses(messages: Sequence[Message]) -> list[tuple[str, tuple[int, int], tuple[int, int]]]:
    """Each answered call, the oldest first: its tool, and the places of call and result."""
    calls: dict[str, tuple[str, tuple[int, int]]] = {}
    found: list[tuple[str, tuple[int, int], tuple[int, int]]] = []
    for index, message in enumerate(messages):
        for at, name in message.facts.calls:
            calls[name] = (message.value["content"][at]["name"], (index, at))
        for at, name in message.facts.results:
            if name in calls:
                tool, place = calls[name]
                found.append((tool, place, (index, at)))
    return found
