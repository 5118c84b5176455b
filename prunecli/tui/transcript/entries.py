"""What the transcript can show: small frozen values, made by whoever knows the session.

Text comes as it is: it is sanitised when it is laid out. Fields named `pruned` hold the words of the mark that
stays when pruning took the entry out of the context (such as "pruned ~4.1K"); the widget adds "restore".
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NewType, Self

Key = NewType("Key", int)
"""Names an entry of a transcript; grows with each entry and is never used again, not even after `clear`."""


class Origin(StrEnum):
    """How a user's text came in."""

    PROMPT = "prompt"
    STEERING = "steering"
    FOLLOW_UP = "follow-up"
    SHELL = "shell"


class ToolState(StrEnum):
    """How far a tool call is."""

    WAITING = "waiting"
    RUNNING = "running"
    OK = "ok"
    ERROR = "error"
    DENIED = "denied"
    INTERRUPTED = "interrupted"


class Level(StrEnum):
    """How much a notice matters."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Prompt:
    """Text of the user, shown as typed."""

    text: str
    origin: Origin = Origin.PROMPT
    pruned: str = ""


@dataclass(frozen=True, slots=True)
class Assistant:
    """Markdown of the model. While `streaming`, more comes through `feed` until `finish`."""

    text: str = ""
    streaming: bool = False
    pruned: str = ""


@dataclass(frozen=True, slots=True)
class Thinking:
    """What the model thought, as Markdown; one line while folded. `streaming` as for `Assistant`."""

    text: str = ""
    streaming: bool = False
    folded: bool = True
    duration_ms: int | None = None
    pruned: str = ""


@dataclass(frozen=True, slots=True)
class Output:
    """Text a tool gave. With a `language` that Pygments knows ("python"), it is shown as code of it."""

    text: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Diff:
    """A unified diff of one file; hunks start with @@ lines, file headers may be missing.

    `path` names the language by its extension.
    """

    text: str
    path: str = ""

    @classmethod
    def between(cls, before: str, after: str, path: str = "", context: int = 3) -> Self:
        """The diff that leads from one text of a file to another, with so many lines of context."""
        from difflib import unified_diff

        lines = unified_diff(before.splitlines(), after.splitlines(), n=context, lineterm="")
        return cls("\n".join(list(lines)[2:]), path)

    def counts(self) -> tuple[int, int]:
        """How many lines it adds and removes."""
        start = 0 if self.text.startswith("@@ ") else self.text.find("\n@@ ") + 1  # below the file's header
        lines = self.text[start:].split("\n")
        return sum(line[:1] == "+" for line in lines), sum(line[:1] == "-" for line in lines)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool: a line, and below it, unfolded, what it gave.

    `argument` is the one thing that tells this call from the next (a command, a path); `outcome` the result in a
    few words ("1 failed, 41 passed"). While it runs without a `duration_ms` the widget counts the time itself.
    `folded` is how it starts, until the user folds or unfolds it; None folds output and shows diffs.
    """

    name: str
    argument: str = ""
    state: ToolState = ToolState.RUNNING
    outcome: str = ""
    duration_ms: int | None = None
    tokens: int | None = None
    body: Output | Diff | None = None
    folded: bool | None = None
    pruned: str = ""


@dataclass(frozen=True, slots=True)
class Notice:
    """A line or more of the program itself, neither the user's nor the model's."""

    text: str
    level: Level = Level.INFO


@dataclass(frozen=True, slots=True)
class Divider:
    """A rule across the transcript with a few words in it: a compaction, a resumed session."""

    label: str = ""


Entry = Prompt | Assistant | Thinking | ToolCall | Notice | Divider
