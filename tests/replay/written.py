"""Sessions written in code, to be lived through by the program: prompts, answers with calls, results, and what the
user does between two runs."""

from collections.abc import Sequence

from prunecli.model.events import AssistantMessage, Event, Record, SessionStarted, ToolResult, UserMessage
from prunecli.model.messages import Block, Json, Text, ToolUse
from tests.replay.playable import MODEL, plain
from tests.replay.through import Act

SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000
START = 1_700_000_000_000

Called = tuple[str, dict[str, Json], "str | Sequence[Block]"]
"""A tool, its input, and the result."""


def lines(count: int, about: str = "line", width: int = 40) -> str:
    """A text of numbered lines that differ."""
    return "\n".join(
        f"{about} {number}: " + f"{number * 7919:08d} " * (width // 9) for number in range(1, count + 1)
    )


class Written:
    """A session that grows step by step. `acts` are what the user does, by the number of the record that follows."""

    def __init__(self) -> None:
        self.records: list[Record] = [Record(0, START, SessionStarted("written", "/", MODEL))]
        self.acts: dict[int, Act] = {}
        self._calls = 0

    def prompt(self, text: str = "go on", *, wait: int = SECOND, first: Act | None = None) -> "Written":
        """The user says something, after this time and after doing something."""
        if first is not None:
            self.acts[len(self.records)] = first
        return self._add(UserMessage((Text(text),), "import"), wait)

    def says(self, text: str = "done") -> "Written":
        return self._add(plain(AssistantMessage((Text(text),), MODEL)), 0)

    def summarizes(self, summary: str, *, wait: int = SECOND, first: Act | None = None) -> "Written":
        """The user asks for a summary, after this time, or does something that includes this."""
        self.acts[len(self.records)] = first or (lambda runtime: runtime.compact())
        return self._add(plain(AssistantMessage((Text(summary),), MODEL)), wait)

    def calls(self, *called: Called, text: str = "", wait: int = SECOND, failed: bool = False) -> "Written":
        """An answer that calls tools, and their results, each this much later."""
        uses = [ToolUse(f"call{self._calls + at}", name, given) for at, (name, given, _) in enumerate(called)]
        self._calls += len(called)
        said = (Text(text),) if text else ()
        self._add(plain(AssistantMessage((*said, *uses), MODEL)), 0)
        for use, (name, _, result) in zip(uses, called, strict=True):
            content = (Text(result),) if isinstance(result, str) else tuple(result)
            self._add(ToolResult(use.id, name, content, failed), wait)
        return self

    def steers(self, text: str) -> "Written":
        """The user says something while the model works."""
        return self._add(UserMessage((Text(text),), "steering"), 0)

    def number_from(self, number: int) -> None:
        """The ids of the next calls begin here."""
        self._calls = number

    def reads(self, path: str, text: str, **more: Json) -> "Written":
        return self.calls(("read", {"path": path, **more}, text))

    def runs(self, command: str, output: str, *, failed: bool = False) -> "Written":
        return self.calls(("bash", {"command": command}, output), failed=failed)

    def _add(self, event: Event, wait: int) -> "Written":
        self.records.append(Record(len(self.records), self.records[-1].timestamp + wait, event))
        return self
