"""`{"messages": [...]}` in Anthropic Messages form, as records: tool names and arguments stay as they are.

Each user message, assistant message and tool result is a record of its own, as a session would have logged them.
"""

from collections.abc import Iterable, Mapping

from prunecli.model.codec import block_from_json, content_from_json
from prunecli.model.events import AssistantMessage, Event, Record, ToolResult, UserMessage
from prunecli.model.messages import Block, Json, tool_uses

START_MS = 1_600_000_000_000
"""Time of the first record; each later one is a second after the one before."""


def records_of(messages: Iterable[Mapping[str, Json]]) -> list[Record]:
    """The records of a list of messages. Raises ValueError that names the message for a malformed one."""
    events: list[Event] = []
    names: dict[str, str] = {}
    for index, message in enumerate(messages):
        try:
            for event in _events(message, names):
                events.append(event)
                if isinstance(event, AssistantMessage):
                    names.update((call.id, call.name) for call in tool_uses(event.content))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"messages.{index}: {error}") from error
    return [Record(seq, START_MS + 1_000 * seq, event) for seq, event in enumerate(events)]


def _events(message: Mapping[str, Json], names: Mapping[str, str]) -> Iterable[Event]:
    role, content = message["role"], message["content"]
    if role == "assistant":
        yield AssistantMessage(content_from_json(content))
        return
    if role != "user":
        raise ValueError(f"role {role!r} is neither user nor assistant")
    if isinstance(content, str):
        yield UserMessage(content_from_json(content), "import")
        return
    words: list[Block] = []
    for block in content:
        if block.get("type") == "tool_result":
            use = block["tool_use_id"]
            given = block.get("content") or []
            yield ToolResult(use, names.get(use, ""), content_from_json(given), bool(block.get("is_error")))
        else:
            words.append(block_from_json(block))
    if words:
        yield UserMessage(tuple(words), "import")
