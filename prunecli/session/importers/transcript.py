"""A transcript under construction: what an importer finds, as the events that this program would have logged.

Whatever the source says, what is built here folds to valid requests: ids and tool names are made valid, a result
answers a call once, an image has its bytes.
"""

import binascii
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from prunecli.context.render import SUMMARISED, summary
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
from prunecli.session.clock import next_timestamp
from prunecli.session.importers.names import ours
from prunecli.session.importers.origin import Origin

MALFORMED = (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError)
"""What reading a record of the wrong shape raises: such a record is passed over and named."""

CLEARED = "[Old tool result content cleared]"
"""Stands for a result that the source's program had cleared without saying what the model saw instead."""
_NOT_IN_ID = re.compile(r"[^a-zA-Z0-9_-]")
_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_LAST_MS = 4_102_444_800_000  # the year 2100: later times are no times
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
        """How many events there are: the seq of the next one."""
        return len(self._events)

    def add(self, event: Event, when: int | None = None) -> int:
        """Appends an event; its seq. Without a time it gets that of the one before, plus one."""
        self._events.append((when, event))
        return len(self._events) - 1

    def skip(self, what: str, count: int = 1) -> None:
        """Counts something that is left out."""
        if count:
            self.left_out[what] += count

    def user(self, content: Iterable[Block], when: int | None = None) -> int:
        """Something the user said, if anything; its seq, or that of the next event."""
        blocks = tuple(content)
        return self.add(UserMessage(blocks, "import"), when) if blocks else len(self)

    def command(self, typed: str, output: str | Iterable[Block], when: int | None = None) -> int:
        """A command that the user ran from the prompt, with its output, which may be pruned."""
        shown = (Text(output),) if isinstance(output, str) else tuple(output)
        return self.add(UserMessage((Text(typed), *shown), "command"), when)

    def notice(self, title: str, text: str | Iterable[Block], when: int | None = None) -> int:
        """Text that the source's program wrote for the model. Only its title is kept from pruning."""
        return self.command(f"[{title}]", text, when)

    def assistant(self, message: AssistantMessage, when: int | None = None) -> int:
        """A response; one without content is not kept."""
        return self.add(message, when) if message.content else len(self)

    def replace_usage(self, seq: int, usage: Usage) -> None:
        """The usage of a response, where the source tells it later."""
        when, event = self._events[seq]
        if isinstance(event, AssistantMessage):
            self._events[seq] = (when, replace(event, usage=usage))

    def call(self, given_id: Json, name: Json, given: Json) -> ToolUse:
        """A call in our names, with an id that the endpoint accepts and that no other call has."""
        source_id = given_id if isinstance(given_id, str) and given_id else f"import_{len(self._ids)}"
        plain = _NOT_IN_ID.sub("_", source_id)[:120]
        unique, number = plain, 2
        while unique in self._ids:
            unique, number = f"{plain}_{number}", number + 1
        self._ids.add(unique)
        whole = given if isinstance(given, dict) else {"input": given}
        valid = _NOT_IN_ID.sub("_", string(name))[:128] or "tool"
        source = ToolUse(unique, valid, mapping(whole))
        use = ours(source)
        self._calls[source_id] = _Call(use, source)
        return use

    def has_result(self, source_id: Json) -> bool:
        """Whether there is a call of this id, and its result."""
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
        """The answer to a call; one without a call, or a second one, is left out."""
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
        """A summary stands for all that came before it, from `tail_start` on nothing. `block` and `said` are the
        endpoint's signed summary and the user's words beside it."""
        tail = len(self) if tail_start is None else tail_start
        self.add(CompactionApplied(summary, 0, tail, tokens, block=block, words=said), when)

    def cleared(
        self, source_ids: Iterable[Json], when: int | None = None, text: str = CLEARED, by: str = "source"
    ) -> None:
        """The source's program had replaced these results by a text."""
        seqs = [self._results[one] for one in source_ids if isinstance(one, str) and one in self._results]
        if seqs:
            edits = tuple(Edit("clear", seq, self._use_id(seq), text) for seq in seqs)
            self.add(PrunApplied("strategy", edits, by, messages_removed=len(edits)), when)

    def dropped(self, seq: int, when: int | None = None, memo: str = "", by: str = "source") -> None:
        """The source's program had left a response out, with its results; `memo` stood in their place."""
        if seq < len(self) and isinstance(self._events[seq][1], AssistantMessage):
            noted = (Edit("memo", seq, None, memo),) if memo else ()
            self.add(PrunApplied("strategy", (Edit("drop", seq), *noted), by, messages_removed=1), when)

    def _use_id(self, seq: int) -> str | None:
        event = self._events[seq][1]
        return event.tool_use_id if isinstance(event, ToolResult) else None

    def records(self) -> list[Record]:
        """All events as records, their times strictly increasing."""
        records: list[Record] = []
        last = 0
        for seq, (when, event) in enumerate(self._events):
            last = next_timestamp(when if when is not None else last + 1, last)
            records.append(Record(seq, last, event))
        return records


def summarised(text: str) -> str:
    """A summary as the model is to see it: said to be one, as our own are."""
    return text if text.startswith(SUMMARISED) else summary(text)


def why(error: BaseException) -> str:
    """What is wrong with a record, of what reading it raised."""
    said = f"no {error.args[0]}" if isinstance(error, KeyError) and error.args else str(error)
    return said[:200]


def milliseconds(value: Json) -> int | None:
    """A time, ISO 8601 (UTC where it names no zone) or unix milliseconds; None for what is none."""
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
    """A number of tokens; 0 for what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 <= value < _MOST_TOKENS else 0


def words(value: Json) -> str:
    """A well-formed text; "" for what is none."""
    return string(value) if isinstance(value, str) else ""


def part(value: Json) -> Mapping[str, Json]:
    """The object, or an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def picture(media_type: Json, data: Json, transcript: Transcript) -> Block:
    """An image, or a word for one whose bytes are missing, damaged or of a kind that no endpoint takes."""
    if isinstance(media_type, str) and media_type in _PICTURES and isinstance(data, str) and data:
        try:
            if binascii.a2b_base64(data, strict_mode=True):
                return Image(media_type, data)
        except ValueError:
            pass
    transcript.skip("images without usable bytes")
    return Text("[image]")
