"""What an importer hands over: the records of a conversation, where it came from, and what was not kept."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from prunecli.model.events import Record
from prunecli.model.messages import Json

Kind: TypeAlias = Literal[
    "session", "agent-session", "messages", "claude-code", "pi", "codex", "opencode", "gemini-cli"
]

IMPORTED = "session.imported"
"""The setting that says where an imported session came from: `Origin.to_json`."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The session as its own program knew it: id, name, directory, model; `started` in unix ms, 0 if unknown."""

    kind: Kind
    id: str = ""
    name: str = ""
    cwd: str = ""
    model: str = ""
    started: int = 0

    def to_json(self) -> dict[str, Json]:
        """As the log keeps it."""
        return {
            "kind": self.kind,
            "id": self.id,
            "cwd": self.cwd,
            "model": self.model,
            "started": self.started,
        }


@dataclass(frozen=True, slots=True)
class Branch:
    """Another line of the same conversation: all its records; `common` is the last seq it shares with the main
    line."""

    records: list[Record]
    common: int


def _no_branches() -> Iterator[Branch]:
    return iter(())


@dataclass(frozen=True, slots=True)
class Imported:
    """A conversation: `left_out` counts by kind what was not kept, `damaged` has a sentence for each bad line.

    `branches` makes the other lines, of which there are `branch_count`: each takes as long as the main one.
    """

    origin: Origin
    records: list[Record]
    left_out: Mapping[str, int] = field(default_factory=dict)
    damaged: tuple[str, ...] = ()
    branch_count: int = 0
    branches: Callable[[], Iterator[Branch]] = _no_branches
