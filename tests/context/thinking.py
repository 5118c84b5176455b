"""A session in memory on a model with bound thinking: what tests of its figures share."""

from collections.abc import Mapping
from typing import Any

from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.model.claude import may_read
from prunecli.model.edits import Edit
from prunecli.model.events import (
    AssistantMessage,
    Event,
    PrunApplied,
    Record,
    RequestSent,
    SettingChanged,
    ToolResult,
    UserMessage,
)
from prunecli.model.messages import Text, Thinking, ToolUse, Usage

OPUS = "claude-opus-5-5"


def dropped(
    path: str, reason: str = "prefix_binding_mismatch", type_: str = "thinking_dropped"
) -> Mapping[str, Any]:
    return {"type": type_, "path": path, "reason": reason}


class Talk:
    """A session on a bound model: each step thinks 30 tokens of the 50 that it says, and reads 100 tokens."""

    def __init__(self, steps: int = 0, thinking: int | None = 30) -> None:
        self.context = Context(Chars4())
        self.records: list[Record] = []
        self.thinking = thinking
        self.told: list[str] = []
        self.use(OPUS)
        self.emit(UserMessage((Text("look"),)))
        for _ in range(steps):
            self.step()

    def emit(self, event: Event) -> int:
        seq = len(self.records)
        self.records.append(Record(seq, seq, event))
        self.context.apply(self.records[-1])
        return seq

    def use(self, model: str) -> None:
        self.model = model
        self.emit(SettingChanged("model.name", model))

    def step(self, *report: Mapping[str, Any]) -> int:
        """A request, and an answer that reports what is foreseen, or this."""
        self.emit(RequestSent(self.model, 0, ""))
        return self.answer(*(report or self.foreseen()))

    def foreseen(self) -> list[Mapping[str, Any]]:
        places = [
            (f"messages.{at}.content.{block}", seq)
            for at, message in enumerate(self.context.messages())
            for block, seq in enumerate(message.seqs)
        ]
        first = {seq: path for path, seq in reversed(places)}
        return [dropped(first[seq], self._why(seq)) for seq in self.unseen()]

    def _why(self, seq: int) -> str:
        event = self.context.entries[seq].event
        is_read = isinstance(event, AssistantMessage) and may_read(self.model, event.model)
        return f"{'prefix' if is_read else 'model'}_binding_mismatch"

    def answer(self, *report: Mapping[str, Any] | None) -> int:
        name = f"t{len(self.records)}"
        content = (Thinking("", f"signed {name}"), Text("w" * 40), ToolUse(name, "read", {}))
        given = None if report == (None,) else tuple(one for one in report if one is not None)
        gone = sum(one.get("type") == "thinking_dropped" for one in given or self.foreseen())
        prompt = self.context.counts.context_tokens + 30 * (len(self.unseen()) - gone)
        seq = self.emit(
            AssistantMessage(content, self.model, "tool_use", Usage(prompt, 50), "", 0, given, self.thinking)
        )
        self.told += self.context.unseen.told(self.model)
        self.emit(ToolResult(name, "read", (Text("x" * 400),)))
        return seq

    def results(self) -> list[int]:
        return [seq for seq, entry in self.context.entries.items() if entry.kind == "result"]

    def clear(self, result: int) -> PrunApplied:
        return PrunApplied("user", (Edit("clear", self.results()[result], None, "[gone]", 100, 2),))

    def unseen(self) -> list[int]:
        return sorted(self.context.unseen.dropped)
