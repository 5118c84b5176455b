"""`agent-session/1` files: sessions of other agents, already in Anthropic's blocks, a message a line.

The first line names format, source_agent, model and cwd; then `role` user | assistant | tool, `content`, `ts`
(ISO 8601) and `usage`. What marks a compaction in the source is passed over: nothing was lost there.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from prunecli.model.codec import content_from_json, strict_loads, usage_from_json
from prunecli.model.events import AssistantMessage, Event, Record, SessionStarted, ToolResult, UserMessage
from prunecli.model.messages import Block, Json, Opaque, Text, Thinking, ToolUse
from prunecli.session.clock import next_timestamp
from prunecli.session.importers.names import ours

FORMAT = "agent-session/1"


def records_of(lines: Iterable[str]) -> list[Record]:
    """The records of a file's lines. Raises ValueError that names the line for a malformed one."""
    records: list[Record] = []
    calls: dict[str, ToolUse] = {}
    last = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = strict_loads(line)
            events = [_started(value)] if number == 1 else list(_events(value, calls))
            when = _milliseconds(value.get("ts"), last)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"line {number}: {error}") from error
        for event in events:
            last = next_timestamp(when, last)
            records.append(Record(len(records), last, event))
    return records


def _started(head: Mapping[str, Json]) -> SessionStarted:
    if head.get("format") != FORMAT:
        raise ValueError(f"not {FORMAT}")
    name = str(head.get("session") or head.get("session_id") or "import")
    return SessionStarted(name, str(head.get("cwd") or ""), str(head.get("model") or ""))


def _events(message: Mapping[str, Json], calls: dict[str, ToolUse]) -> Iterator[Event]:
    role = message["role"]
    content = content_from_json(
        [_block(block, f"{message.get('i')}_{at}") for at, block in enumerate(message["content"])]
    )
    if role == "assistant":
        usage = usage_from_json(message.get("usage") or {})
        mapped = tuple(_mapped(block, calls) for block in content)
        yield AssistantMessage(mapped, str(message.get("model") or ""), "end_turn", usage)
    elif role == "user":
        words = (_pictured(block) for block in content if not isinstance(block, Thinking))
        yield UserMessage(tuple(words), "import")
    elif role == "tool":
        for block in message["content"]:
            yield _result(block, calls)
    else:
        raise ValueError(f"role {role!r} is none of user, assistant, tool")


def _block(block: Mapping[str, Json], place: str) -> Mapping[str, Json]:
    """The block in the API's shape: thinking stands under `text` there; a call may have no id."""
    if block.get("type") == "thinking" and "thinking" not in block:
        return {"type": "thinking", "thinking": block.get("text") or "", "signature": ""}
    if block.get("type") == "tool_use":
        given = block.get("input")
        whole = given if isinstance(given, dict) else {"input": given}
        return {**block, "id": block.get("id") or f"import_{place}", "input": whole}
    return block


def _mapped(block: Block, calls: dict[str, ToolUse]) -> Block:
    if not isinstance(block, ToolUse):
        return block
    calls[block.id] = block
    return ours(block)


def _result(block: Mapping[str, Json], calls: Mapping[str, ToolUse]) -> ToolResult:
    use = block["tool_use_id"]
    source = calls.get(use)
    given = block.get("content")
    content = content_from_json(given if given is not None else [])
    shown = tuple(map(_pictured, content))
    details = {"source": {"name": source.name, "input": dict(source.input)}} if source else {}
    name = ours(source).name if source else ""
    return ToolResult(use, name, shown, bool(block.get("is_error")), details)


def _pictured(block: Block) -> Block:
    """A word for an image, whose bytes such a file leaves out."""
    left_out = isinstance(block, Opaque) and block.json.get("type") == "image"
    return Text("[image]") if left_out else block


def _milliseconds(text: Json, last: int) -> int:
    if not isinstance(text, str):
        return last + 1
    return int(datetime.fromisoformat(text).timestamp() * 1000)
