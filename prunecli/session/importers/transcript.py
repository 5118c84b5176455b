"""A transcript under construction: an importer's findings as events that prunecli would have logged.

The result always folds to valid requests: ids and tool names are made valid, each call gets at most one result, and
each image has its bytes.
"""

import binascii
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from prunecli.context.render import SUMMARIZED, summary
from prunecli.model.codec import mapping, string
from prunecli.model.edits import Edit
from prunecli.model.events import (
    AssistantMessage,
    CompactionApplied,
    Event,
    PrunApplied,
    Record,
    SessionStarted,
    ToolResult,
    UserMessage,
)
from prunecli.model.messages import Block, Image, Json, Text, ToolUse, Usage
from prunecli.session.completing import next_timestamp
from prunecli.session.importers.origin import Origin
from prunecli.session.importers.tool_names import ours
from prunecli.tools.files.image import header_of

MALFORMED = (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError)
"""Exceptions from reading a malformed record, which is then skipped and named."""

CLEARED = "[Old tool result content cleared]"
"""Replaces a result that the source program cleared without recording its replacement."""
_NOT_IN_ID = re.compile(r"[^a-zA-Z0-9_-]")
_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_LAST_MS = 4_102_444_800_000  # the year 2100; later times are invalid
_MOST_TOKENS = 10**12


@dataclass(slots=True)
class _Call:
    use: ToolUse
    source: ToolUse
    answered: bool = False


class Transcript:
    """Events in order with their times, and counts of what was left out."""

    def __init__(self, origin: Origin) -> None:
        self.origin = origin
        self.left_out: Counter[str] = Counter()
        self.damaged: list[str] = []
        self._events: list[tuple[int | None, Event]] = []
        self._calls: dict[str, _Call] = {}
        self._ids: set[str] = set()
        self._results: dict[str, int] = {}
        self.add(SessionStarted(origin.id or "import", origin.cwd, origin.model), origin.started or None)

    def __len__(self) -> int:
        """Return the number of events, which is the seq of the next one."""
        return len(self._events)

    def add(self, event: Event, when: int | None = None) -> int:
        """Append an event and return its seq. Without a time, it gets the previous one plus 1 ms."""
        self._events.append((when, event))
        return len(self._events) - 1

    def skip(self, what: str, count: int = 1) -> None:
        if count:
            self.left_out[what] += count

    def user(self, content: Iterable[Block], when: int | None = None) -> int:
        """Add a user message unless it is empty; return its seq, or that of the next event."""
        blocks = tuple(content)
        return self.add(UserMessage(blocks, "import"), when) if blocks else len(self)

    def command(self, typed: str, output: str | Iterable[Block], when: int | None = None) -> int:
        """Add a command that the user ran from the prompt, with its output, which may be pruned."""
        shown = (Text(output),) if isinstance(output, str) else tuple(output)
        return self.add(UserMessage((Text(typed), *shown), "command"), when)

    def notice(self, title: str, text: str | Iterable[Block], when: int | None = None) -> int:
        """Add text that the source program wrote for the model. Pruning may remove everything but its title."""
        return self.command(f"[{title}]", text, when)

    def assistant(self, message: AssistantMessage, when: int | None = None) -> int:
        return self.add(message, when) if message.content else len(self)

    def replace_usage(self, seq: int, usage: Usage) -> None:
        """Set the usage of a response, for sources that report it later."""
        when, event = self._events[seq]
        if isinstance(event, AssistantMessage):
            self._events[seq] = (when, replace(event, usage=usage))

    def call(self, given_id: Json, name: Json, given: Json, *, rename: bool = True) -> ToolUse:
        """Return a call under our tool name, or its own if not `rename`, with a valid and unique id."""
        source_id = given_id if isinstance(given_id, str) and given_id else f"import_{len(self._ids)}"
        plain = _NOT_IN_ID.sub("_", source_id)[:120]
        unique, number = plain, 2
        while unique in self._ids:
            unique, number = f"{plain}_{number}", number + 1
        self._ids.add(unique)
        whole = given if isinstance(given, dict) else {"input": given}
        valid = _NOT_IN_ID.sub("_", string(name))[:128] or "tool"
        source = ToolUse(unique, valid, mapping(whole))
        use = ours(source) if rename else source
        self._calls[source_id] = _Call(use, source)
        return use

    def has_result(self, source_id: Json) -> bool:
        call = self._calls.get(source_id) if isinstance(source_id, str) else None
        return call is not None and call.answered

    def result(
        self,
        source_id: Json,
        content: Iterable[Block],
        when: int | None = None,
        *,
        is_error: bool = False,
    ) -> None:
        """Add the result of a call. A result without a call and a second result are left out."""
        call = self._calls.get(source_id) if isinstance(source_id, str) else None
        if call is None or call.answered:
            self.skip("results without an open call")
            return
        call.answered = True
        details = {"source": {"name": call.source.name, "input": dict(call.source.input)}}
        event = ToolResult(call.use.id, call.use.name, tuple(content), is_error, details)
        self._results[source_id] = self.add(event, when)

    def compacted(
        self,
        summary: str,
        when: int | None = None,
        *,
        tail_start: int | None = None,
        tokens: int = 0,
        block: Mapping[str, Json] | None = None,
        said: str = "",
    ) -> None:
        """Add a summary of everything before it, except the entries from `tail_start` on. `block` and `said` are the
        endpoint's signed summary and the user's words sent with it."""
        tail = len(self) if tail_start is None else tail_start
        self.add(CompactionApplied(summary, 0, tail, tokens, block=block, words=said), when)

    def cleared(
        self, source_ids: Iterable[Json], when: int | None = None, text: str = CLEARED, by: str = "source"
    ) -> None:
        """Record that the source program replaced these results with text."""
        seqs = [self._results[one] for one in source_ids if isinstance(one, str) and one in self._results]
        if seqs:
            edits = tuple(Edit("clear", seq, self._use_id(seq), text) for seq in seqs)
            self.add(PrunApplied("strategy", edits, by, messages_removed=len(edits)), when)

    def dropped(self, seq: int, when: int | None = None, memo: str = "", by: str = "source") -> None:
        """Record that the source program dropped a response and its results. `memo` replaced them."""
        if seq < len(self) and isinstance(self._events[seq][1], AssistantMessage):
            noted = (Edit("memo", seq, None, memo),) if memo else ()
            self.add(PrunApplied("strategy", (Edit("drop", seq), *noted), by, messages_removed=1), when)

    def _use_id(self, seq: int) -> str | None:
        event = self._events[seq][1]
        return event.tool_use_id if isinstance(event, ToolResult) else None

    def records(self) -> list[Record]:
        """Return all events as records with strictly increasing times."""
        records: list[Record] = []
        last = 0
        for seq, (when, event) in enumerate(self._events):
            last = next_timestamp(when if when is not None else last + 1, last)
            records.append(Record(seq, last, event))
        return records


def summarized(text: str) -> str:
    """Return a summary in the form sent to the model, with the same mark as prunecli's own."""
    return text if text.startswith(SUMMARIZED) else summary(text)


def why(error: BaseException) -> str:
    """Return the problem with a record, from the exception that it caused."""
    if isinstance(error, TypeError | AttributeError | IndexError):
        return "not in the expected form"
    said = f"no {error.args[0]}" if isinstance(error, KeyError) and error.args else str(error)
    return said[:200]


def milliseconds(value: Json) -> int | None:
    """Parse a time in ISO 8601 (UTC if it has no zone) or unix milliseconds; return None if invalid."""
    found: float
    if isinstance(value, str):
        try:
            when = datetime.fromisoformat(value)
            found = (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1000
        except (ValueError, OverflowError):
            return None
    elif isinstance(value, int | float) and not isinstance(value, bool):
        found = value
    else:
        return None
    return int(found) if 0 < found < _LAST_MS else None


def count(value: Json) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 <= value < _MOST_TOKENS else 0


def words(value: Json) -> str:
    """Return a well-formed text; "" for other values."""
    return string(value) if isinstance(value, str) else ""


def part(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}


def picture(media_type: Json, data: Json, transcript: Transcript) -> Block:
    """Return an image, or a placeholder if its bytes are missing, damaged or of an unsupported type."""
    if isinstance(media_type, str) and media_type in _PICTURES and isinstance(data, str) and data:
        try:
            if raw := binascii.a2b_base64(data, strict_mode=True):
                return Image(media_type, data, *_size(raw))
        except ValueError:
            pass
    transcript.skip("unusable images")
    return Text("[image]")


def _size(image: bytes) -> tuple[int, int]:
    """Return the width and height of an image in pixels; 0 if they can't be read."""
    try:
        header = header_of(image)
    except ValueError:
        return 0, 0
    return header.width, header.height
