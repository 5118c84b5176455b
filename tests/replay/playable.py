"""Recorded sessions made ready to be lived through: what the program can be made to do again, in its own order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from prunecli.context import render
from prunecli.context.tokens import Chars4
from prunecli.model.events import AssistantMessage, Event, Record, SessionStarted, ToolResult, UserMessage
from prunecli.model.messages import Block, Text, ToolUse, Usage, plain_text, tool_uses

MODEL = "exact-1"
"""A model whose tokens are those of `chars4`, as the strict endpoint counts them."""


def playable(records: Sequence[Record]) -> list[Record] | None:
    """The records as the program can be made to live through them; None if the model never answered.

    Thinking is left out (it is not signed), images and several texts become one text, and a response takes no time.
    Results are in the order of their calls, missing ones are made up, and what the user said meanwhile follows them.
    Where the model answered nothing, the user says "go on"; after calls without an answer, the model says "done".
    """
    played = _Played()
    for record in records:
        played.take(record)
    played.end()
    return played.found if any(isinstance(one.event, AssistantMessage) for one in played.found) else None


@dataclass
class _Played:
    found: list[Record] = field(default_factory=list)
    _calls: tuple[ToolUse, ...] = ()
    _results: dict[str, tuple[int, ToolResult]] = field(default_factory=dict)
    _said: list[tuple[int, UserMessage]] = field(default_factory=list)
    _asks: bool = False
    _now: int = 0

    def take(self, record: Record) -> None:
        match record.event:
            case SessionStarted() as event:
                self._add(event, record.timestamp)
            case UserMessage(content=content):
                if text := plain_text(content).strip():
                    self._said.append((record.timestamp, UserMessage((Text(text),), "import")))
            case AssistantMessage() as answer:
                self._answer(plain(answer))
            case ToolResult() as result:
                self._results.setdefault(result.tool_use_id, (record.timestamp, result))

    def end(self) -> None:
        self._flush()
        if self._asks:
            self._answer(plain(AssistantMessage((Text("done"),), MODEL)))

    def _answer(self, event: AssistantMessage) -> None:
        self._flush()
        if not event.content:
            return
        if not self._asks:
            self._add(UserMessage((Text("go on"),), "import"))
        self._add(event)
        self._calls = tool_uses(event.content)
        self._asks = bool(self._calls)

    def _flush(self) -> None:
        """Add the results of the last answer and what the user has said since."""
        for call in self._calls:
            at, result = self._results.get(call.id, (0, ToolResult(call.id, call.name, ())))
            text = plain_text(result.content)
            shown = (Text(text if text.strip() else "(no output)"),)
            self._add(replace(result, content=shown, details={}), at)
        for at, message in self._said:
            self._add(message, at)
            self._asks = True
        self._calls, self._results, self._said = (), {}, []

    def _add(self, event: Event, at: int = 0) -> None:
        self._now = max(self._now, at)
        self.found.append(Record(len(self.found), self._now, event))


def plain(answer: AssistantMessage) -> AssistantMessage:
    """An answer without thinking, from the exact model, with its output tokens."""
    kept = tuple(
        block
        for block in answer.content
        if isinstance(block, ToolUse) or (isinstance(block, Text) and block.text.strip())
    )
    usage = Usage(100, sum(Chars4().count(text) for block in kept for text in _texts(block)), 0, 0)
    stop = "tool_use" if tool_uses(kept) else "end_turn"
    return replace(answer, content=kept, usage=usage, model=MODEL, stop_reason=stop)


def _texts(block: Block) -> Iterator[str]:
    if isinstance(block, Text):
        yield block.text
    elif isinstance(block, ToolUse):
        yield block.name + render.compact(block.input)
