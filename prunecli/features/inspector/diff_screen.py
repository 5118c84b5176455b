"""The difference between two sent requests: messages, tokens, and where the prompt cache broke."""

from collections.abc import Iterator, Sequence

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Static

from prunecli.commands.command import Table
from prunecli.context.labels import Key, NodeKind
from prunecli.context.outline import Outline
from prunecli.features.inspector.difference import Difference, Requests
from prunecli.model.events import Record
from prunecli.tui.screens.dialog import Dialog
from prunecli.tui.screens.table import Rows
from prunecli.tui.slices import Between, once
from prunecli.tui.widgets.fitting import last_keys
from prunecli.util.figures import counted, short
from prunecli.util.sanitize import one_line

SETTLE_SECONDS = 0.05
"""Seconds before a comparison starts, so that holding a key down starts only one."""

_SIGNS = {"added": "+ added", "replaced": "~ replaced", "removed": "− removed"}
_HEADINGS = ("", "entry", "what", "before", "after")


def summary(found: Difference, number: int) -> list[str]:
    """Return the lines above the list, for request `number` (from 1) and the next one."""
    first, second = found.first, found.second
    model = f"{one_line(first.model)} → {one_line(second.model)}" if found.model else one_line(second.model)
    lines = [f"Request {number} → {number + 1} · {model}"]
    if found.model:
        cache = "model changed: nothing cached"
    elif found.preamble:
        cache = "system prompt or tools changed: cache broken from the start"
    elif found.broken_at is None:
        cache = "cache intact: only additions at the end"
    else:
        cache = f"cache broken at entry {found.broken_at}"
    messages = counted(found.same_messages, "message")
    lines.append(
        f"{messages} unchanged (~{short(found.same)} tokens), ~{short(found.new)} after that · {cache}"
    )
    usage = second.usage
    if usage.prompt_tokens:
        read, written = usage.cache_read_input_tokens, usage.cache_creation_input_tokens
        told = f"cache read {short(read or 0)}, wrote {short(written or 0)}"
        told += f", uncached {short(usage.input_tokens)}"
        lines.append("endpoint: " + (told if read is not None else f"{short(usage.prompt_tokens)} tokens"))
    else:
        lines.append("endpoint: no usage reported")
    return lines


def table(found: Difference, outline: Outline) -> Table:
    """Return a table with a row for each entry that was sent differently."""
    rows = [
        (
            _SIGNS[one.change],
            str(one.seq),
            _label(outline, one.seq),
            f"~{short(one.before)}" if one.change != "added" else "",
            f"~{short(one.after)}" if one.change != "removed" else "",
        )
        for one in found.changes
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
        #said { height: 3; padding: 0 1; color: $foreground; }
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
