"""The kinds of transcript entries: small frozen values.

Text is raw: it is sanitized when laid out. `pruned` is the mark of an entry pruned from the context (such as "pruned
~4.1K"); the widget adds "restore".
"""

from enum import StrEnum
from typing import NewType

from prunecli.util.frozen import frozen

Key = NewType("Key", int)
"""The key of an entry. Keys increase and are never reused, not even after `clear`."""


class Origin(StrEnum):
    PROMPT = "prompt"
    STEERING = "steering"
    FOLLOW_UP = "follow-up"
    SHELL = "shell"


class ToolState(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    OK = "ok"
    ERROR = "error"
    DENIED = "denied"
    INTERRUPTED = "interrupted"


class Level(StrEnum):
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@frozen
class Prompt:
    text: str
    origin: Origin = Origin.PROMPT
    pruned: str = ""


@frozen
class Assistant:
    """The model's Markdown. While `streaming`, text comes through `feed` until `finish`."""

    text: str = ""
    streaming: bool = False
    pruned: str = ""


@frozen
class Thinking:
    """The model's thinking, as Markdown; one line while folded. `streaming` has the same meaning as for
    `Assistant`."""

    text: str = ""
    streaming: bool = False
    folded: bool = True
    pruned: str = ""


@frozen
class Output:
    """A tool's output. With a `language` known to Pygments ("python"), it is shown as code.

    `held` is the part of the text, from and to, that was not sent to the model.
    """

    text: str
    language: str = ""
    held: tuple[int, int] | None = None


@frozen
class Diff:
    """A unified diff of one file; hunks start with @@ lines, and file headers may be missing.

    The extension of `path` determines the language.
    """

    text: str
    path: str = ""

    def counts(self) -> tuple[int, int]:
        """Return the number of lines added and removed."""
        start = 0 if self.text.startswith("@@ ") else self.text.find("\n@@ ") + 1  # below the file's header
        lines = self.text[start:].split("\n")
        return sum(line[:1] == "+" for line in lines), sum(line[:1] == "-" for line in lines)


@frozen
class ToolCall:
    """A tool call: one line, and its output below when unfolded.

    `argument` identifies the call (a command, a path); `outcome` is the result in a few words ("1 failed, 41
    passed"). While it runs without a `duration_ms`, the widget counts the time. `folded` is the initial state until
    the user changes it; None folds output and long diffs.
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


@frozen
class Notice:
    text: str
    level: Level = Level.INFO


@frozen
class Divider:
    """A rule across the transcript with a label: a compaction, a resumed session."""

    label: str = ""


Entry = Prompt | Assistant | Thinking | ToolCall | Notice | Divider
