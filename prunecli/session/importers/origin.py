"""The result of an importer: records, origin, and what was left out."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Literal, TypeAlias

from prunecli.model.events import Record
from prunecli.model.messages import Json
from prunecli.util.frozen import frozen

Kind: TypeAlias = Literal[
    "session", "agent-session", "messages", "claude-code", "pi", "codex", "opencode", "gemini-cli"
]


@frozen
class Origin:
    """The identity of the session in its own program. `started` is in unix ms, 0 if unknown; `agent` is that program,
    "" if the kind of file implies it."""

    kind: Kind
    id: str = ""
    name: str = ""
    cwd: str = ""
    model: str = ""
    started: int = 0
    agent: str = ""

    def to_json(self) -> dict[str, Json]:
        return {
            "kind": self.kind,
            "id": self.id,
            "cwd": self.cwd,
            "model": self.model,
            "started": self.started,
        }


@frozen
class Branch:
    """Another branch of the conversation with all its records. `common` is the last seq shared with the main line."""

    records: list[Record]
    common: int


def no_branches() -> Iterator[Branch]:
    return iter(())


@frozen
class Imported:
    """A conversation. `left_out` counts skipped items by kind; `damaged` has a message for each bad line.

    `branches` builds the other `branch_count` branches; each takes as long as the main line.
    """

    origin: Origin
    records: list[Record]
    left_out: Mapping[str, int] = field(default_factory=dict)
    damaged: tuple[str, ...] = ()
    branch_count: int = 0
    branches: Callable[[], Iterator[Branch]] = no_branches
