"""The streaming response: its parts have their own slots until the record arrives.

A part that matches the record keeps its entry; others are replaced. An entry without text takes no row, so withdrawn
text disappears.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from prunecli.front.presentation import entries as shown
from prunecli.front.presentation.transcript_changes import Board, Change, Feed, Finish, Tail
from prunecli.model.messages import Block, Opaque, Text, Thinking, ToolUse
from prunecli.util.figures import in_tokens, short

ANNOUNCE_CHARS = 1_000
"""Characters of a tool call between two progress updates."""

TAIL_CHARS = 300
"""Trailing characters of a summary that are shown."""

Kind: TypeAlias = Literal["text", "thinking", "call"]
NOTHING = shown.Assistant("")


@dataclass(slots=True)
class Growing:
    """A part of the response: its slot and its content so far. `id` and `name` are those of a call."""

    kind: Kind
    slot: int
    parts: list[str]
    id: str = ""
    name: str = ""
    size: int = 0
    announced: int = 0


class Streaming:
    def __init__(self, board: Board, *, fold_thinking: bool) -> None:
        self._board = board
        self._fold_thinking = fold_thinking
        self._parts: list[Growing] = []

    def grow(self, kind: Literal["text", "thinking"], text: str) -> list[Change]:
        """Append text of the answer or the reasoning."""
        changes: list[Change] = []
        last = self._parts[-1] if self._parts else None
        if last is None or last.kind != kind:
            changes += self._close_last()
            thought = shown.Thinking(streaming=True, folded=self._fold_thinking)
            added = self._board.add(shown.Assistant(streaming=True) if kind == "text" else thought)
            last = Growing(kind, added.slot, [])
            self._parts.append(last)
            changes.append(added)
        last.parts.append(text)
        changes.append(Feed(last.slot, text))
        return changes

    def write_call(self, id_: str, name: str, json: str) -> list[Change]:
        """Append input of a tool call."""
        changes: list[Change] = []
        call = next((part for part in self._parts if part.kind == "call" and part.id == id_), None)
        if call is None:
            changes += self._close_last()
            added = self._board.add(shown.ToolCall(name, state=shown.ToolState.WAITING))
            call = Growing("call", added.slot, [], id_, name)
            self._parts.append(call)
            changes.append(added)
        call.size += len(json)
        if call.size - call.announced >= ANNOUNCE_CHARS:
            call.announced = call.size
            said = f"writing, {short(call.size)} characters"
            entry = shown.ToolCall(call.name, state=shown.ToolState.WAITING, outcome=said)
            changes.append(self._board.put(call.slot, entry))
        return changes

    def _close_last(self) -> list[Change]:
        last = self._parts[-1] if self._parts else None
        return [Finish(last.slot)] if last and last.kind != "call" else []

    def settle(self) -> list[Change]:
        """Keep the streamed parts, since no more will come. An unfinished call will not run."""
        parts, self._parts = self._parts, []
        return [self._left(part) for part in parts]

    def _left(self, part: Growing) -> Change:
        if part.kind == "call":
            return self._board.put(part.slot, shown.ToolCall(part.name, state=shown.ToolState.INTERRUPTED))
        return Finish(part.slot)

    def discard(self) -> list[Change]:
        parts, self._parts = self._parts, []
        return [self._board.put(part.slot, NOTHING) for part in parts]

    def claim(self, block: Block) -> Growing | None:
        """Remove and return the streamed part for a block of the record; return None if nothing of it was
        streamed."""
        for part in self._parts:
            if _same(part, block):
                self._parts.remove(part)
                return part
        return None

    def show(self, part: Growing, entry: shown.Entry, words: str) -> Change:
        """Replace a part with the record's entry; a part with the same text stays."""
        if part.kind != "call" and "".join(part.parts) == words:
            self._board.entries[part.slot] = entry
            return Finish(part.slot)
        return self._board.put(part.slot, entry)


def _same(part: Growing, block: Block) -> bool:
    match block:
        case ToolUse(id_):
            return part.kind == "call" and part.id == id_
        case Opaque({"type": "server_tool_use", "id": id_}):
            return part.kind == "call" and part.id == id_
        case Text():
            return part.kind == "text"
        case Thinking():
            return part.kind == "thinking"
        case _:
            return False


class Summarizing:
    """A summary being written: a line with its latest words, like a running tool, until its record arrives."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._slot: int | None = None
        self._last = ""

    @property
    def now(self) -> bool:
        return self._slot is not None

    def begin(self, tokens: int, focus: str) -> list[Change]:
        self._last = ""
        about = f"of ~{in_tokens(tokens)}" + (f": {focus}" if focus else "")
        added = self._board.add(shown.ToolCall("summary", about, shown.ToolState.RUNNING))
        self._slot = added.slot
        return [added]

    def grow(self, text: str) -> list[Change]:
        if self._slot is None:
            return []
        self._last = (self._last + text)[-TAIL_CHARS:]
        return [Tail(self._slot, tuple(self._last.strip("\n").split("\n")))]

    def again(self) -> list[Change]:
        self._last = ""
        return [] if self._slot is None else [Tail(self._slot, ())]

    def end(self) -> list[Change]:
        slot, self._slot = self._slot, None
        return [] if slot is None else [self._board.put(slot, NOTHING)]
