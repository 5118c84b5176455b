"""Reads `{"messages": [...]}` in Anthropic Messages form. Tool names and arguments stay unchanged.

Each user message, assistant message and tool result becomes one record, as in a session's log.
"""

import re
from collections.abc import Iterable, Mapping

from prunecli.context.compaction import signed_summary
from prunecli.context.render import summary
from prunecli.model.codec import block_from_json, content_from_json
from prunecli.model.events import AssistantMessage, CompactionApplied, Event, Record, ToolResult, UserMessage
from prunecli.model.messages import Block, Json, Opaque, RedactedThinking, Thinking, ToolUse, tool_uses
from prunecli.session.importers.transcript import MALFORMED, why

START_MS = 1_600_000_000_000
"""Timestamp of the first record; each later record is one second after the previous one."""
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")


def records_of(messages: Iterable[Mapping[str, Json]], model: object = "") -> list[Record]:
    """Return the records of a list of messages. Raises ValueError that names a malformed message.

    `model` answered, unless a message names another one.
    """
    events: list[Event] = []
    names: dict[str, str] = {}
    for index, message in enumerate(messages):
        try:
            for event in events_of(message, names, message.get("model") or model, first=not index):
                events.append(event)
                if isinstance(event, AssistantMessage):
                    names.update((call.id, call.name) for call in tool_uses(event.content))
        except MALFORMED as error:
            raise ValueError(f"messages.{index}: {why(error)}") from error
    return [Record(seq, START_MS + 1_000 * seq, event) for seq, event in enumerate(events)]


def events_of(
    message: Mapping[str, Json], names: Mapping[str, str], model: object, *, first: bool
) -> Iterable[Event]:
    """Yield the records of one message, the `first` of a conversation or a later one. `names` are those of the tools
    by call. Raises KeyError, TypeError, ValueError, AttributeError for a malformed message."""
    role, content = message["role"], message["content"]
    if role == "assistant":
        answer = content_from_json(content)
        block = signed_summary(answer[:1]) if first else None
        if block:
            yield CompactionApplied(summary(str(block["content"])), -1, 0, block=block)
        if len(answer) > 1 or not block:
            named = model if isinstance(model, str) else ""
            yield AssistantMessage(_answered(answer[1:] if block else answer), named)
        return
    if role not in ("user", "system"):
        raise ValueError(f"role {role!r} is none of user, assistant and system")
    if isinstance(content, str):
        yield UserMessage(content_from_json(content), "import")
        return
    spoken: list[Block] = []
    for block in content:
        if block.get("type") == "tool_result":
            use = block["tool_use_id"]
            if not isinstance(use, str):
                raise ValueError("tool_use_id is not a string")
            given = block.get("content") or []
            shown = _said_by_user(content_from_json(given))
            yield ToolResult(use, names.get(use, ""), shown, bool(block.get("is_error")))
        else:
            spoken.append(block_from_json(block))
    if spoken:
        yield UserMessage(_said_by_user(tuple(spoken)), "import")


def _answered(content: tuple[Block, ...]) -> tuple[Block, ...]:
    """Return the content. Raises ValueError for blocks that a response may not contain, and for invalid calls."""
    calls = tool_uses(content)
    if len({call.id for call in calls}) < len(calls):
        raise ValueError("two calls have the same id")
    for call in calls:
        if not _NAME.fullmatch(call.name):
            raise ValueError(f"invalid tool name {call.name[:40]!r}")
    for block in content:
        if isinstance(block, Opaque) and block.json.get("type") in (None, "tool_result"):
            raise ValueError(f"a response contains a block of type {block.json.get('type')}")
    return content


def _said_by_user(content: tuple[Block, ...]) -> tuple[Block, ...]:
    """Return the content. Raises ValueError for blocks that only a response may hold."""
    for block in content:
        if isinstance(block, ToolUse | Thinking | RedactedThinking):
            raise ValueError("a user message contains a call or thinking")
        if isinstance(block, Opaque) and block.json.get("type") in (None, "tool_result"):
            raise ValueError(f"a user message contains a block of type {block.json.get('type')}")
    return content
