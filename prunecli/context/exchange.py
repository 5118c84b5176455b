"""Entries and exchanges, as the fold stores them.

An entry is a message of the log, named by its `seq`. An exchange is an assistant message with all of its tool
results: the unit of dropping.
"""

from collections.abc import Container, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from prunecli.context import render
from prunecli.context.render import Ids, wire_ids
from prunecli.context.tokens import Sizes, image_tokens
from prunecli.model import searches
from prunecli.model.edits import Edit
from prunecli.model.events import (
    AssistantMessage,
    CompactionApplied,
    Record,
    Spilled,
    ToolResult,
    UserMessage,
)
from prunecli.model.messages import (
    Block,
    Json,
    RedactedThinking,
    Text,
    Thinking,
    ToolUse,
    is_media,
    sendable,
    tool_uses,
)
from prunecli.model.notes import notice_parts, opens_turn
from prunecli.model.requests import ASK, own_name
from prunecli.model.touches import Touches, named

EntryKind: TypeAlias = Literal["user", "command", "assistant", "result", "summary"]
Said: TypeAlias = UserMessage | AssistantMessage | ToolResult | CompactionApplied


@dataclass(slots=True, eq=False)
class Entry:
    """One message of the log. `text` is the texts that are sent unless edited, joined by newlines.

    `opens_turn`: a user turn begins with this entry, which is never true for a notice or an attachment.
    For a result, `call` is the tool use that it answers; for a `!cmd`, an equivalent bash call; for an attachment,
    the call that would return it (both are of kind `command`). `touches` is what that call touches, None if unknown.
    `origin` is the result that a recall or a `/restore` brought back, if it is only one. `is_sent` is False if no
    part of the entry can be sent. `beside` are the summaries that this one replaced, but whose user messages stay.
    """

    seq: int
    timestamp: int
    kind: EntryKind
    event: Said
    is_sent: bool = True
    exchange: "Exchange | None" = None
    call: ToolUse | None = None
    touches: Touches | None = None
    origin: "Entry | None" = None
    beside: tuple["Entry", ...] = ()
    opens_turn: bool = False
    sizes: Sizes = field(default_factory=Sizes)
    _wire: tuple[bytes, ...] | None = None

    @property
    def wire(self) -> tuple[bytes, ...]:
        """The entry's canonical blocks, made on first use.

        Content that was compacted before anything was sent therefore costs neither time nor memory.
        """
        if self._wire is None:
            self._wire = self._made()
        return self._wire

    def forget_wire(self) -> None:
        """Free the blocks of an entry and its results that left the context. The blocks are made again if needed."""
        self._wire = None
        if self.exchange and self.exchange.head is self:
            for result in self.exchange.results:
                result.forget_wire()

    def _made(self) -> tuple[bytes, ...]:
        match self.event:
            case _ if not self.is_sent:
                return ()
            case ToolResult():
                return (render.result(self.event, self.ids),)
            case CompactionApplied(summary):
                return (render.text(summary),)
            case AssistantMessage(content):
                return render.assistant(content, self.ids)
            case UserMessage():
                return render.blocks(self.event.sent)

    @property
    def fixed(self) -> tuple[int, ...]:
        """The texts of a user message that are fixed sentences of prunecli."""
        content = self.event.content if isinstance(self.event, UserMessage) else ()
        given = self.event.fixed if isinstance(self.event, UserMessage) else ()
        return tuple([at for at, block in enumerate(content) if at in given and isinstance(block, Text)])

    @property
    def apart(self) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
        """The blocks of a user message without its fixed sentences, and those."""
        content, fixed = self.event.content if isinstance(self.event, UserMessage) else (), self.fixed
        rest = [block for at, block in enumerate(content) if at not in fixed]
        return render.blocks(tuple(rest)), render.blocks(tuple([content[at] for at in fixed]))

    @property
    def block(self) -> bytes | None:
        """The canonical block of a summary by the endpoint, which may only be sent first."""
        return render.signed(self.event) if isinstance(self.event, CompactionApplied) else None

    @property
    def words(self) -> tuple[bytes, ...]:
        """The user's messages in the range of such a summary, sent at the position of its record."""
        return tuple(render.text(render.users_words(said)) for said in self.typed if self.kind == "summary")

    @property
    def ids(self) -> Ids:
        """The wire ids of the exchange's calls that differ from the calls' own ids."""
        return self.exchange.ids if self.exchange else {}

    @property
    def countable_chars(self) -> int:
        """The characters of `countable`, counted once."""
        if self.sizes.chars < 0:
            self.sizes.chars = sum(map(len, self.countable))
        return self.sizes.chars

    @property
    def prunable(self) -> bool:
        """Whether the entry is a result, the output of a `!cmd`, an attachment, or a notice that may be cleared."""
        if isinstance(self.event, UserMessage):
            return self.kind == "command" and self.event.has_output
        return self.kind == "result"

    @property
    def is_scanned(self) -> bool:
        """Whether some prune may leave out the entry or a part of it: an answer with its calls, or a result."""
        return self.kind == "assistant" or self.prunable

    def takes(self, edit: Edit) -> bool:
        """Return whether this edit can target the entry."""
        match edit.kind:
            case "drop" | "memo" | "strip":
                return self.kind == "assistant"
            case "cut":
                calls = self.exchange.calls if self.exchange and self.exchange.head is self else ()
                return any(call.id == edit.tool_use_id for call in calls)
            case "clear" | "trim":
                return self.prunable
            case _:
                return True

    @property
    def tool_name(self) -> str:
        """The tool that produced the result or the recalled original; "" for entries that are not results."""
        call = self.origin.call if self.origin else self.call
        return call.name if call else ""

    @property
    def is_attached(self) -> bool:
        """Whether the entry is an attachment of the message before it."""
        return isinstance(self.event, UserMessage) and self.event.origin == "attachment"

    @property
    def is_error(self) -> bool:
        """Whether the entry is the result of a failed call."""
        return isinstance(self.event, ToolResult) and self.event.is_error

    @property
    def texts(self) -> list[str]:
        """The texts that an edit would replace: for a `!cmd` only its output, for a long result only the shown
        part."""
        return self._all_texts if self.spilled is None else [self.spilled.shown]

    @property
    def _all_texts(self) -> list[str]:
        if isinstance(self.event, CompactionApplied):
            return [self.event.summary]
        return [block.text for block in self.content if isinstance(block, Text)]

    @property
    def content(self) -> tuple[Block, ...]:
        """The entry's blocks: for a `!cmd` only its output, for an attachment only the attached content."""
        if isinstance(self.event, CompactionApplied):
            return ()
        return self.event.content[1:] if self.kind == "command" else self.event.content

    @property
    def details(self) -> Mapping[str, Json]:
        """The details that the tool recorded for the screen and for plans."""
        if isinstance(self.event, UserMessage):
            return self.event.attached.details if self.event.attached else {}
        return self.event.details if isinstance(self.event, ToolResult) else {}

    @property
    def text(self) -> str:
        """The texts joined by newlines."""
        return "\n".join(self.texts)

    @property
    def whole(self) -> str:
        """The texts joined by newlines, including the part that was held back."""
        return "\n".join(self._all_texts)

    @property
    def spilled(self) -> Spilled | None:
        """The part of a long result that is sent; None if the whole result is sent."""
        if isinstance(self.event, UserMessage):
            return self.event.attached.spilled if self.event.attached else None
        return self.event.spilled if isinstance(self.event, ToolResult) else None

    @property
    def held_tokens(self) -> int:
        """The raw tokens of the part that was held back."""
        return self.spilled.tokens if self.spilled else 0

    @property
    def chars(self) -> int:
        """The number of code points in the texts, without separators."""
        return sum(map(len, self.texts))

    @property
    def images(self) -> int:
        """The number of images and documents in the entry."""
        content = () if isinstance(self.event, CompactionApplied) else self.event.content
        return sum(map(is_media, content))

    @property
    def image_tokens(self) -> int:
        """The raw estimate of the entry's images and documents, made once."""
        if self.sizes.images < 0:
            event = self.event
            self.sizes.images = 0 if isinstance(event, CompactionApplied) else image_tokens(event.content)
        return self.sizes.images

    @property
    def countable(self) -> list[str]:
        """Everything in the entry that costs tokens, as texts. An answer that is not sent costs none."""
        if isinstance(self.event, ToolResult):
            return [block.text for block in self.event.sent if isinstance(block, Text)]
        if isinstance(self.event, CompactionApplied):
            words = [text for one in (self, *self.beside) for text in one.typed]
            return render.summary_texts(self.event, words)
        if not isinstance(self.event, AssistantMessage):
            return self.typed + self.texts
        found: list[str] = []
        for block in sendable(self.event.content) if self.is_sent else ():
            if isinstance(block, Text):
                found.append(block.text)
            elif isinstance(block, ToolUse):
                found.append(block.name + render.compact(block.input))
            elif isinstance(block, Thinking):
                found += [block.thinking] if block.signature else []
            else:
                found += searches.countable(block)
        return found

    @property
    def spoken(self) -> list[str]:
        """Everything in an answer that costs tokens except its thinking, as texts."""
        content = self.event.content if isinstance(self.event, AssistantMessage) else ()
        words = [block.text for block in content if isinstance(block, Text)]
        words += [text for block in content for text in searches.countable(block)]
        return [*words, *(call.name + render.compact(call.input) for call in tool_uses(content))]

    @property
    def typed(self) -> list[str]:
        """The user's own text, which no edit replaces: the command of a `!cmd`, the text beside a summary."""
        if isinstance(self.event, CompactionApplied):
            return [self.event.words] if self.event.words else []
        if self.kind != "command" or not isinstance(self.event, UserMessage):
            return []
        return [block.text for block in self.event.content[:1] if isinstance(block, Text)]


@dataclass(slots=True, eq=False)
class Exchange:
    """An assistant message (`head`) with the results of its calls, in log order.

    `started` maps each started call to its touches, None if its record does not have them. `ids` are the calls sent
    under another id.
    """

    head: Entry
    calls: tuple[ToolUse, ...]
    results: list[Entry] = field(default_factory=list)
    started: dict[str, Touches | None] = field(default_factory=dict)
    ids: Ids = field(default_factory=dict)
    seq: int = field(init=False)

    def __post_init__(self) -> None:
        self.seq = self.head.seq  # identifies the exchange

    @property
    def last_seq(self) -> int:
        return self.results[-1].seq if self.results else self.head.seq

    @property
    def entries(self) -> list[Entry]:
        """The assistant message and its results."""
        return [self.head, *self.results]

    def claim(self, owners: MutableMapping[str, "Exchange"]) -> set[str]:
        """Claim the ids of the exchange's calls and return those that are sent.

        A result for a response that must not be replayed does not answer an earlier call with the same id.
        """
        content = self.head.event.content if isinstance(self.head.event, AssistantMessage) else ()
        for call in tool_uses(content):
            owners.pop(call.id, None)
        owners.update(dict.fromkeys([call.id for call in self.calls], self))
        return {self.ids.get(call.id, call.id) for call in self.calls}

    @property
    def begins_with_thinking(self) -> bool:
        """Whether the sent form of its assistant message begins with thinking, ignoring edits."""
        content = self.head.event.content if isinstance(self.head.event, AssistantMessage) else ()
        first = content[0] if content and self.head.is_sent else None
        return isinstance(first, RedactedThinking) or (isinstance(first, Thinking) and bool(first.signature))

    @property
    def unanswered(self) -> tuple[ToolUse, ...]:
        """The calls that have no result yet."""
        if len(self.results) in (0, len(self.calls)):
            return () if self.results else self.calls
        answered = {result.call.id for result in self.results if result.call}
        return tuple(call for call in self.calls if call.id not in answered)


def user_entry(record: Record, event: UserMessage, entries: Mapping[int, Entry]) -> Entry:
    """Return the entry of a user message, a `!cmd` with its output, a notice, or an attachment. `entries` are the
    earlier entries."""
    if notice_parts(event):
        return Entry(record.seq, record.timestamp, "command", event, opens_turn=False)
    if event.origin == "attachment" and event.has_output:
        call = touches = None
        if event.attached is not None:
            call = ToolUse("", event.attached.tool_name, event.attached.input)
            touches = named(call.name, call.input)
        return Entry(record.seq, record.timestamp, "command", event, call=call, touches=touches)
    if event.origin == "command" and len(event.content) > 1:
        command = event.content[0].text if isinstance(event.content[0], Text) else ""
        command = command.removeprefix("!").strip()
        call, touches = ToolUse("", "bash", {"command": command}), Touches(runs=(command,))
        origin = _origin(entries.get(event.restores[0]) if len(event.restores) == 1 else None)
        return Entry(
            record.seq,
            record.timestamp,
            "command",
            event,
            call=call,
            touches=touches,
            origin=origin,
            opens_turn=True,
        )
    is_sent = any(map(render.is_said, event.content)) or render.is_lost(event.content)
    return Entry(record.seq, record.timestamp, "user", event, is_sent, opens_turn=opens_turn(event))


def assistant_entry(record: Record, event: AssistantMessage, taken: Container[str]) -> Entry:
    """Return the entry of a response, with its exchange. Blocks that must not be replayed have no wire form.

    `taken` are the wire ids of earlier calls.
    """
    is_sent = event.stop_reason != "refusal" and render.is_answer(event.content)
    entry = Entry(record.seq, record.timestamp, "assistant", event, is_sent)
    calls = tool_uses(event.content) if is_sent else ()
    entry.exchange = Exchange(entry, calls, ids=wire_ids(calls, record.seq, taken))
    return entry


def result_entry(
    record: Record, event: ToolResult, exchange: Exchange, call: ToolUse, entries: Mapping[int, Entry]
) -> Entry:
    """Return the entry of a call's result, not yet added to its exchange. `entries` are the earlier entries."""
    wanted = call.input.get("entry") if own_name(call.name) == "recall" else None
    return Entry(
        record.seq,
        record.timestamp,
        "result",
        event,
        exchange=exchange,
        call=call,
        touches=exchange.started.get(call.id) or named(call.name, call.input),
        origin=_origin(entries.get(wanted) if isinstance(wanted, int) else None),
    )


def _origin(shown: Entry | None) -> Entry | None:
    """Return the entry whose original is shown again, if it is only one."""
    return (shown.origin or shown) if shown and shown.call else None


def summary_entry(record: Record, event: CompactionApplied) -> Entry:
    """Return the entry that replaces a compacted range."""
    return Entry(record.seq, record.timestamp, "summary", event)


def call_argument(given: Mapping[str, Json]) -> tuple[str, str] | None:
    """Return the first of path, command, pattern, query, url in a call's input, as (name, value), or None."""
    for name in ("path", "command", "pattern", "query", "url"):
        if isinstance(given.get(name), str):
            return name, given[name]
    return None


def why_held(entry: Entry | None, in_progress: Exchange | None) -> str:
    """Return why an entry itself must not be changed, or "". It may belong to the open exchange, or be the user's
    answer."""
    if entry is None:
        return ""
    if entry.kind == "result" and entry.call and entry.call.name == ASK and not entry.is_error:
        return "your answer"
    return "in progress" if entry.exchange and entry.exchange is in_progress else ""
