"""What the functions of a plugin are given, and what they may answer. docs/plugins.md says which belongs where."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prunecli.util.frozen import frozen


@frozen
class Glance:
    """A session at one moment. `tokens` is the size of the next request and `window` the most it may have; `cost` is
    in US dollars. `options` are those of the plugin, by section."""

    cwd: Path
    session_id: str
    session_name: str
    model: str
    mode: str
    tokens: int
    window: int
    cost: float
    options: Mapping[str, Any]


@frozen
class Call:
    """A tool call of the model. `task` names the subagent that makes it, "" for none."""

    tool: str
    input: Mapping[str, Any]
    task: str = ""


@frozen
class Result:
    """The text of a tool's result."""

    text: str
    is_error: bool


@frozen
class Cut:
    """A change that a prune is about to make to an entry, with the tokens that it removes. `tool` is the tool of its
    call, "" for none."""

    entry: int
    kind: str
    tokens: int
    tool: str = ""


@frozen
class Refuse:
    """The answer that stops what is about to happen."""

    reason: str


@frozen
class Ask:
    """The answer that has the user asked before a call, even if rules would let it run."""

    reason: str
