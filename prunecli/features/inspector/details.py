"""What the inspector opens: the full text of a node, and the difference between two requests."""

import json
from bisect import bisect_left
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Static

from prunecli.commands.command import Table
from prunecli.context import cache_miss, labels
from prunecli.context.exchange import Entry
from prunecli.context.labels import Key, NodeKind
from prunecli.context.outline import Outline
from prunecli.context.spill import held_part
from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.front.presentation import entries as shown
from prunecli.front.presentation.outcomes import state_of
from prunecli.model.events import (
    AssistantMessage,
    CompactionApplied,
    Record,
    RequestSent,
    SettingChanged,
    ToolResult,
)
from prunecli.model.messages import Image, Json, Text, Thinking, ToolUse, Usage
from prunecli.model.requests import PREAMBLE, Preamble, WireMessage
from prunecli.tui.screens.dialog import Dialog
from prunecli.tui.screens.reading import ReadingScreen
from prunecli.tui.screens.table import Rows
from prunecli.tui.slices import Between, once
from prunecli.tui.transcript.transcript_view import Transcript
from prunecli.tui.widgets.fitting import last_keys
from prunecli.util.figures import counted, in_tokens, short
from prunecli.util.frozen import frozen
from prunecli.util.sanitize import one_line

_NOT_THERE = "No system prompt or tools in this log: another program wrote it"


def entries_of(outline: Outline, key: Key) -> Iterator[shown.Entry]:
    """Yield the transcript entries for a node: first what the model sees, if it differs, then the original."""
    context = outline.context
    if key.kind in ("system", "instructions", "tools"):
        yield shown.Divider("sent with every request")
        text = dict(labels.preamble(context)).get(key)
        yield _output(_NOT_THERE if text is None else _readable(text), outline.label(key))
        return
    if key.kind == "memo":
        yield shown.Divider("the model sees this in place of the dropped exchange")
        yield _output(labels.memo_of(context, key).text or "", "memo")
        return
    if key.kind == "turn" and key.seq < 0:
        yield shown.Notice("This session starts with a model message")
        return
    entry = context.entries[key.seq]
    dropped = entry.exchange is not None and context.dropped(entry.exchange)
    edit = context.text_edit(entry.seq)
    is_cut = edit is not None and edit.kind == "cut"
    edit = None if is_cut and key.kind != "calls" else edit
    if dropped:
        yield shown.Divider("not sent to the model")
    elif edit is not None:
        yield shown.Divider(f"the model sees this ({labels.state(context, key)})")
        yield _output(edit.text or "", outline.label(key), state=_state(entry))
    elif entry.spilled is not None:
        yield shown.Divider("the model sees this part")
        yield _output(entry.text, outline.label(key), state=_state(entry))
    elif (
        key.kind == "exchange"
        and entry.exchange
        and (is_cut or any(_seen(outline, result) for result in entry.exchange.results))
    ):
        yield shown.Divider("the model sees a part of this")
    else:
        yield shown.Divider("the model sees the original")
    if dropped or edit is not None or entry.spilled:
        yield shown.Divider("the original")
    yield from _original(outline, entry, key)


def _original(outline: Outline, entry: Entry, key: Key) -> Iterator[shown.Entry]:
    event = entry.event
    if isinstance(event, CompactionApplied):
        if event.words:
            yield _output(event.words, "your messages")
        yield _output(event.summary, "summary")
    elif isinstance(event, AssistantMessage):
        kinds = {"text": Text, "thinking": Thinking, "calls": ToolUse}
        for block in event.content:
            if key.kind in kinds and not isinstance(block, kinds[key.kind]):
                continue
            match block:
                case Text(text):
                    yield shown.Assistant(text)
                case Thinking(thinking):
                    yield shown.Thinking(thinking, folded=False)
                case ToolUse(_, name, given):
                    yield _output(_json(given), f"call {name}", "json")
                case _:
                    yield shown.Notice(f"{type(block).__name__} block")
        if key.kind == "exchange" and entry.exchange:
            for result in entry.exchange.results:
                name = "result of " + outline.label(Key("result", result.seq))
                yield _output(result.whole, name, "", _held(result), _seen(outline, result), _state(result))
    elif entry.kind == "result":
        yield _output(entry.whole, outline.label(key), held=_held(entry), state=_state(entry))
    else:
        yield from (shown.Prompt(block.text) for block in event.content if isinstance(block, Text))
    if images := sum(isinstance(block, Image) for block in getattr(event, "content", ())):
        yield shown.Notice(counted(images, "image"))


def _held(entry: Entry) -> tuple[int, int] | None:
    return held_part(entry.whole, entry.text) if entry.spilled else None


def _seen(outline: Outline, result: Entry) -> str:
    """Return what the model sees of a result that it does not see in full, "" for any other."""
    if outline.context.text_edit(result.seq) is not None:
        return labels.state(outline.context, Key("result", result.seq))
    return "sent in part" if result.spilled else ""


def _state(entry: Entry) -> shown.ToolState:
    """Return how the call of a result ended."""
    return state_of(entry.event) if isinstance(entry.event, ToolResult) else shown.ToolState.OK


def _output(
    text: str,
    name: str,
    language: str = "",
    held: tuple[int, int] | None = None,
    outcome: str = "",
    state: shown.ToolState = shown.ToolState.OK,
) -> shown.ToolCall:
    head, _, rest = name.partition(" ")
    body = shown.Output(text or "(no output)", language, held)
    return shown.ToolCall(head, rest, state, outcome, body=body, folded=False)


def _json(given: Json) -> str:
    return json.dumps(given, ensure_ascii=False, indent=2)


def _readable(pieces: str) -> str:
    values = [json.loads(line) for line in pieces.split("\n")]
    return "\n\n".join(str(value["text"]) if "text" in value else _json(value) for value in values)


class TextScreen(ReadingScreen):
    keys = "Up Down PgUp PgDn Home End to scroll · Esc to close"

    def __init__(self, outline: Outline, key: Key) -> None:
        super().__init__()
        self._outline = outline
        self._key = key

    @property
    def heading(self) -> str:
        label = one_line(self._outline.label(self._key)) or "(empty)"
        return f"{self._key.seq}  {label}" if self._key.seq >= 0 else label

    def fill(self, transcript: Transcript) -> None:
        transcript.append_many(entries_of(self._outline, self._key))
        self.call_after_refresh(transcript.home)

    def on_key(self, event: events.Key) -> None:
        """Handle a key: Enter also closes, and the arrow keys scroll."""
        transcript = self.query_one(Transcript)
        match event.key:
            case "enter":
                self.dismiss(None)
            case "up" | "k":
                transcript.scroll_rows(-1)
            case "down" | "j":
                transcript.scroll_rows(1)
            case "space":
                transcript.page_down()
            case _:
                return
        event.stop()
        event.prevent_default()


_AT_A_TIME = 256
"""Records processed per step."""

Change: TypeAlias = Literal["added", "replaced", "removed"]


@frozen
class Sent:
    """A request: its record, its model, and what the endpoint reported, also of why its prompt was not cached."""

    seq: int
    timestamp: int
    model: str
    usage: Usage
    cache_miss: Mapping[str, Json] | None = None


@frozen
class Changed:
    """The change in the sent form of an entry. Tokens are wire bytes / 4, before and after."""

    change: Change
    seq: int
    before: int
    after: int


@frozen
class Difference:
    """The difference from one request to another.

    `same` are tokens (characters / 4) of the later request before the first different message, `same_messages` their
    number, `new` the tokens (wire bytes / 4) from there on. `broken_at` is the entry where the cached prefix ends,
    None if everything sent before is unchanged. `preamble`: system prompt or tools differ. `model`: the model
    differs, so nothing was cached.
    """

    first: Sent
    second: Sent
    changes: tuple[Changed, ...]
    same_messages: int
    same: int
    new: int
    broken_at: int | None
    preamble: bool
    model: bool


class Requests:
    """The requests of a log and their differences.

    `sent`, oldest first, is complete once `reading` is exhausted. A response without a recorded request (imported
    sessions) counts as its own request.
    """

    def __init__(self, records: Sequence[Record]) -> None:
        self.sent: list[Sent] = []
        self._records = list(records)
        self._preambles: list[tuple[int, Json]] = []

    def reading(self) -> Iterator[None]:
        """Read the records in steps."""
        is_open = False
        for number, record in enumerate(self._records):
            if not number % _AT_A_TIME:
                yield
            match record.event:
                case RequestSent(model=model):
                    self.sent.append(Sent(record.seq, record.timestamp, model, Usage()))
                    is_open = True
                case AssistantMessage() as event:
                    before = Sent(record.seq, record.timestamp, event.model, Usage())
                    if is_open:
                        before = self.sent.pop()
                    self.sent.append(
                        Sent(
                            before.seq,
                            before.timestamp,
                            before.model or event.model,
                            event.usage,
                            event.cache_miss,
                        )
                    )
                    is_open = False
                case SettingChanged(key=key, value=value) if key == PREAMBLE:
                    self._preambles.append((record.seq, value))
                case _:
                    pass

    def compare(self, first: Sent, second: Sent) -> Generator[None, None, Difference]:
        """Compare two requests in steps; the last step returns the content that only one of them sent.

        The log is folded up to each of them.
        """
        old = (yield from self._before(first.seq)).messages()
        context = yield from self._before(second.seq)
        new = context.messages()
        pairs = enumerate(zip(old, new, strict=False))
        same = next((at for at, (a, b) in pairs if a.canonical != b.canonical), min(len(old), len(new)))
        before, after = _by_entry(old[same:]), _by_entry(new[same:])
        return Difference(
            first,
            second,
            tuple(_changes(before, after)),
            same,
            context.counts.tokens_of(context.items[: context.wire.item_at(same)]),
            sum(len(message.canonical) for message in new[same:]) // 4,
            _broken_at(old, new, same),
            self._preamble(first.seq) != self._preamble(second.seq),
            first.model != second.model,
        )

    def _before(self, at: int) -> Generator[None, None, Context]:
        """Fold the log up to record `at`."""
        context = Context(Chars4(), billed=False)
        for number, record in enumerate(self._records[: bisect_left(self._records, at, key=_seq)]):
            context.apply(record)
            if not number % _AT_A_TIME:
                yield
        return context

    def _preamble(self, at: int) -> Preamble:
        number = bisect_left(self._preambles, at, key=lambda pair: pair[0])
        value = self._preambles[number - 1][1] if number else None
        if not isinstance(value, dict):
            return Preamble((), ())
        return Preamble.of(tuple(value.get("system", ())), tuple(value.get("tools", ())))


def _seq(record: Record) -> int:
    return record.seq


Blocks: TypeAlias = dict[int, list[bytes]]


def _by_entry(messages: Sequence[WireMessage]) -> Blocks:
    found: Blocks = {}
    for message in messages:
        for seq, block in (*zip(message.seqs, message.blocks, strict=True), *message.notes):
            found.setdefault(seq, []).append(block)
    return found


def _changes(before: Blocks, after: Blocks) -> list[Changed]:
    changes: list[Changed] = []
    for seq in sorted({*before, *after}):
        old, new = before.get(seq, []), after.get(seq, [])
        if old != new:
            change: Change = "added" if not old else "removed" if not new else "replaced"
            changes.append(Changed(change, seq, _tokens(old), _tokens(new)))
    return changes


def _tokens(blocks: Sequence[bytes]) -> int:
    return sum(map(len, blocks)) // 4


def _broken_at(old: Sequence[WireMessage], new: Sequence[WireMessage], same: int) -> int | None:
    """Return the entry of the first different block. A last message that only grew is not a break."""
    if same >= len(old):
        return None
    if same >= len(new):
        return old[same].seqs[0]
    a, b = old[same], new[same]
    if a.role == b.role and same == len(old) - 1 and b.blocks[: len(a.blocks)] == a.blocks:
        return None
    pairs = zip(a.seqs, a.blocks, b.blocks, strict=False)
    seqs = (*(seq for seq, x, y in pairs if x != y), *b.seqs[len(a.blocks) :], a.seqs[-1])
    return seqs[0]


SETTLE_SECONDS = 0.05
"""Seconds before a comparison starts, so that holding a key down starts only one."""

_SIGNS = {"added": "+ added", "replaced": "~ replaced", "removed": "− removed"}
_HEADINGS = ("", "entry", "what", "before", "after")


def summary(found: Difference, number: int) -> list[str]:
    """Return the lines above the list, for request `number` (from 1) and the next one."""
    first, second = found.first, found.second
    model = f"{one_line(first.model)} → {one_line(second.model)}" if found.model else one_line(second.model)
    lines = [f"Request {number} → {number + 1} · {model}"]
    expected = ""
    if found.model:
        cache, expected = "model changed: nothing cached", cache_miss.MODEL
    elif found.preamble:
        cache = "system prompt or tools changed: cache broken from the start"
    elif found.broken_at is None:
        cache = "cache intact: only additions at the end"
    else:
        cache, expected = f"cache broken at entry {found.broken_at}", cache_miss.MESSAGES
    messages = counted(found.same_messages, "message")
    lines.append(f"{messages} unchanged (~{in_tokens(found.same)}), ~{short(found.new)} after that · {cache}")
    usage = second.usage
    if usage.prompt_tokens:
        read, written = usage.cache_read_input_tokens, usage.cache_creation_input_tokens
        told = f"cache read {short(read or 0)}, wrote {short(written or 0)}"
        told += f", uncached {short(usage.input_tokens)}"
        lines.append("endpoint: " + (told if read is not None else f"{in_tokens(usage.prompt_tokens)}"))
    else:
        lines.append("endpoint: no usage reported")
    if told := cache_miss.in_words(second.cache_miss, expected):
        lines.append(f"endpoint: {told}")
    return lines


def table(found: Difference, outline: Outline) -> Table:
    """Return a table with a row for each entry that was sent differently."""
    rows = [
        (
            _SIGNS[change.change],
            str(change.seq),
            _label(outline, change.seq),
            f"~{short(change.before)}" if change.change != "added" else "",
            f"~{short(change.after)}" if change.change != "removed" else "",
        )
        for change in found.changes
    ]
    return Table("", _HEADINGS, tuple(rows), (1, 3, 4))


def _label(outline: Outline, seq: int) -> str:
    entry = outline.context.entries.get(seq)
    if entry is None:
        return "(no longer in the context)"
    kind: NodeKind = (
        "result" if entry.kind == "result" else "exchange" if entry.kind == "assistant" else "turn"
    )
    prefix = {"user": "❯ ", "command": "❯ "}.get(entry.kind, "")
    return prefix + one_line(outline.label(Key(kind, seq)))


class DiffScreen(Dialog[None]):
    DEFAULT_CSS = """
    DiffScreen {
        background: $background;
        #said { height: auto; min-height: 3; max-height: 6; padding: 0 1; color: $foreground; }
        Rows { height: 1fr; margin: 1 1 0 1; scrollbar-size-vertical: 1; }
        Rows { background: $background; color: $foreground; }
        Rows .rows--heading { color: $muted; background: $background; }
        #help { height: 1; color: $muted; padding: 0 1; }
    }
    """

    def __init__(self, records: Sequence[Record], outline: Outline) -> None:
        super().__init__()
        self._outline = outline
        self._requests = Requests(records)
        self._between = Between(self)
        self.number = 0
        self._typed = ""
        self._due: Timer | None = None

    def compose(self) -> ComposeResult:
        yield Static("", id="said")
        yield Rows(Table("", _HEADINGS, ()))
        yield Static("", id="help")

    def on_mount(self) -> None:
        self.query_one(Rows).focus()
        self.query_one("#said", Static).update(Content("Reading the session …"))
        self._between.do("log", self._requests.reading(), self._compare_last)

    def _compare_last(self) -> None:
        self.number = max(1, len(self._requests.sent) - 1)
        self._compare()

    def _compare(self) -> None:
        last = len(self._requests.sent) - 1
        keys = f"Number and Enter: request 1 to {last} · Left/Right to move · Esc to close"
        fits = last_keys(keys, self.size.width - 2 if last > 0 else 0)
        self.query_one("#help", Static).update(Content(fits))
        if last < 1:
            lines = ["Nothing to compare: fewer than two requests sent"]
            self.query_one("#said", Static).update(Content("\n".join(lines)))
            return
        self.number = max(1, min(self.number, last))
        self.query_one("#said", Static).update(Content(f"Request {self.number} → {self.number + 1} …"))
        if self._due is not None:
            self._due.stop()
        self._due = once(self, SETTLE_SECONDS, self._begin)

    def _begin(self) -> None:
        self._between.do("difference", self._comparing(self.number), lambda: None)

    def _comparing(self, number: int) -> Iterator[None]:
        """Compare in steps and show the result. A newer comparison cancels this one."""
        first, second = self._requests.sent[number - 1 : number + 1]
        found = yield from self._requests.compare(first, second)
        self.query_one("#said", Static).update(Content("\n".join(summary(found, number))))
        self.query_one(Rows).show(table(found, self._outline))

    def on_key(self, event: events.Key) -> None:
        """Handle a key: Left and Right change the request, as do a number and Enter; Esc closes."""
        match event.key:
            case "escape" | "q" | "ctrl+c":
                self.dismiss(None)
            case "left" | "h":
                self._go(self.number - 1)
            case "right" | "l":
                self._go(self.number + 1)
            case "enter":
                if self._typed:
                    self._go(int(self._typed))
                else:
                    self.dismiss(None)
            case key if key.isdigit():
                self._typed = (self._typed + key)[-7:]
                self.query_one("#help", Static).update(Content(f"request {self._typed} · Enter"))
            case _:
                return
        event.stop()
        event.prevent_default()

    def _go(self, number: int) -> None:
        self._typed = ""
        if not self.number:
            return  # the requests are not known yet
        self.number = number
        self._compare()
