"""The full text of a context node: the original, and what the model sees now."""

import json
from collections.abc import Iterator

from textual import events

from prunecli.context import labels
from prunecli.context.exchange import Entry
from prunecli.context.labels import Key
from prunecli.context.outline import Outline
from prunecli.context.spill import held_part
from prunecli.front.presentation import entries as shown
from prunecli.front.presentation.outcomes import state_of
from prunecli.model.events import AssistantMessage, CompactionApplied, ToolResult
from prunecli.model.messages import Image, Json, Text, Thinking, ToolUse
from prunecli.tui.screens.reading import ReadingScreen
from prunecli.tui.transcript.transcript_view import Transcript
from prunecli.util.figures import counted
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
        and any(_seen(outline, one) for one in entry.exchange.results)
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
