"""The interface of a tool: name, description, an input class that defines the schema, `touches` and `run`.

The input class is a frozen dataclass. `Annotated[str, "..."]` describes a field, and a default makes it optional. A
tool gets its resources through a `ToolContext` and returns a `ToolOutput`.
"""

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Literal,
    Protocol,
    runtime_checkable,
)

from prunecli.context.prun import PrunPlan
from prunecli.model.messages import Block, Json, Media, Text
from prunecli.model.touches import Touches
from prunecli.tools.processes.sandboxing import NOTHING, Blocked, Sandboxing, bare
from prunecli.util.frozen import frozen

if TYPE_CHECKING:
    from prunecli.tools.asking import AskUser

TRUNCATION_MARKER = "\n[OUTPUT TRUNCATED]"
NO_OUTPUT = "(no output)"
"""Replaces an empty or blank output, because the endpoint rejects blank text."""

SeenState = Literal["seen", "changed", "unseen"]
"""Whether the model has seen a file's current content, an older one, or none."""


@frozen
class ToolOutput:
    """The result of a call. `content` is for the model. `details` are for the screen and the log, and are never sent.

    `raw` are the original bytes if they are not valid text, or if a screen does not show all of them; the log keeps
    them as a blob. `blocked` is what the sandbox kept from a command; it is not recorded.
    """

    content: tuple[Block, ...]
    is_error: bool = False
    details: Mapping[str, Json] = field(default_factory=dict)
    raw: bytes | None = None
    blocked: Blocked = NOTHING


@frozen
class ToolLimits:
    """Limits of one call: bytes of output for the model, default seconds for a command."""

    max_output_bytes: int = 100_000
    bash_timeout: float = 120.0


class FilesSeen:
    """The file contents that the model last saw, for the stale-write check.

    They are kept in memory for a session. A file that was never seen may be edited by exact match but not
    overwritten. Files are identified by real path and by (device, inode), because an editor that saves by renaming
    changes the inode, and a move changes the path.
    `confirmed` are encodings that the user confirmed, by real path.
    """

    def __init__(self) -> None:
        self.confirmed: dict[str, str] = {}
        self._by_path: dict[str, bytes] = {}
        self._by_identity: dict[tuple[int, int], bytes] = {}

    def note(self, identity: tuple[int, int], digest: bytes, path: str) -> None:
        """Record that the model has seen or written this content of the file with this (device, inode) and real
        path."""
        self._by_identity[identity] = self._by_path[path] = digest

    def state(self, identity: tuple[int, int], path: str, digest: bytes) -> SeenState:
        """Return whether the model has seen the file's current content.

        A known (device, inode) at another path counts only as a move, because inode numbers are reused.
        """
        if path in self._by_path:
            return "seen" if self._by_path[path] == digest else "changed"
        return "seen" if self._by_identity.get(identity) == digest else "unseen"


PlanPrun = Callable[[int | str, str | None], PrunPlan]
"""(tokens or entries, memo) -> the plan, based on the current state and the earlier prun calls of the message.

Raises ValueError if the entries do not exist."""

Recall = Callable[[int], tuple[Block, ...]]
"""seq -> the original content of a tool result or assistant message. Raises ToolError for anything else."""


def _none(_: int) -> str:
    return ""


def _no_inputs(_: int) -> tuple[Block, ...]:
    return ()


@frozen
class Pages:
    """The pages of `recall`: at most `tokens`, as `count` counts them."""

    count: Callable[[str], int]
    tokens: int


@frozen
class ToolContext:
    """The resources of a call.

    Files may be changed inside `workspace` and the `added` folders; relative paths start at `cwd`. `env` is the
    complete environment of child processes, without keys. `progress` shows the last lines of output; `so_far` keeps
    all of it in case the call does not finish. `confine` puts commands into the sandbox. `approved`: the user
    allowed this call. `prunable` lists what `plan_prun` could remove. `raw` returns the output before folding, ""
    if it is not kept, and `inputs` the long texts in the inputs of an answer's calls. `media` describes the files
    that the model can see. `parts` are what features and plugins have for tools, by name. `ask` is None if nobody
    can be asked, and `pages` in older sessions, whose `recall` takes no lines.
    """

    workspace: Path
    cwd: Path
    env: Mapping[str, str]
    files_seen: FilesSeen
    limits: ToolLimits = ToolLimits()
    progress: Callable[[str], None] = lambda _: None
    so_far: Callable[[str], None] = lambda _: None
    plan_prun: PlanPrun | None = None
    prunable: Callable[[], str] | None = None
    recall: Recall | None = None
    raw: Callable[[int], str] = _none
    inputs: Recall = _no_inputs
    pages: Pages | None = None
    confine: Sandboxing = bare
    approved: bool = False
    call_id: str = ""
    parts: Mapping[str, Any] = field(default_factory=dict)
    added: tuple[Path, ...] = ()
    media: Media = Media()
    ask: "AskUser | None" = None


class Tool(Protocol):
    """One tool. `summary` is the line that the screen shows for a call: its main argument, unescaped.

    A tool also declares what its calls touch (`Declares`). Otherwise it may do anything, so the user is asked before
    each call, and its changes are saved like those of a command.
    """

    name: ClassVar[str]
    description: ClassVar[str]
    parallel: ClassVar[bool]
    """Whether calls may run in parallel. Such a tool changes nothing itself."""
    Input: ClassVar[type]

    def summary(self, given: Mapping[str, Json]) -> str:
        """Return the call's main argument in one line, from the raw input, which may be malformed."""

    async def run(self, given: Any, context: ToolContext) -> ToolOutput:
        """Run one call. Raises ToolError; leaves no process behind when canceled."""


@runtime_checkable
class Declares(Protocol):
    """A tool that declares what a call touches, for permissions, snapshots and strategies."""

    def touches(self, given: Any, /) -> Touches:
        """Return the files and commands of a call with this input. Reads no file."""


@runtime_checkable
class Checks(Protocol):
    """A tool that recognizes calls which cannot succeed, so that the user is not asked about them."""

    def check(self, given: Any, context: ToolContext, /) -> None:
        """Raise ToolError if a call with this input cannot succeed now. Runs in a thread; changes nothing.

        `context.approved`: the files that the call changes may be read without a question. Otherwise the error must
        not depend on what they hold.
        """


def touches_of(tool: Tool, given: object) -> Touches | None:
    """Return the declared touches of a call; None (it may do anything) if the tool declares none or its declaration
    fails."""
    try:
        return tool.touches(given) if isinstance(tool, Declares) else None
    except Exception:  # noqa: BLE001  # a defect of a tool must not end the run
        return None


def shown(content: tuple[Block, ...]) -> tuple[Block, ...]:
    """Return the content of a result, or `(no output)` if it is blank, as the model is shown."""
    blank = all(isinstance(block, Text) and not block.text.strip() for block in content)
    return (Text(NO_OUTPUT),) if blank else content


def text_output(
    text: str, details: Mapping[str, Json] | None = None, *, is_error: bool = False
) -> ToolOutput:
    """Return an output of one text; a blank text becomes `(no output)`."""
    return ToolOutput((Text(text if text.strip() else NO_OUTPUT),), is_error, details or {})


def in_one_line(value: Json) -> str:
    """Format any raw input value as one line."""
    return " ".join(value.split()) if isinstance(value, str) else "" if value is None else str(value)


def bounded(text: str, limit: int) -> str:
    """Cut the text to `limit` bytes of UTF-8 at a character boundary, and append the marker if it was cut.

    Source: tinyAgent's execution limits.
    """
    if len(text) <= limit // 4:
        return text
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return text
    return data[:limit].decode("utf-8", "ignore") + TRUNCATION_MARKER


def bounded_output(output: ToolOutput, limit: int) -> ToolOutput:
    """Cut the output's texts to at most `limit` bytes together; other blocks stay."""
    left, content = limit, list[Block]()
    for block in output.content:
        if isinstance(block, Text):
            text = bounded(block.text, left) if left > 0 else TRUNCATION_MARKER.strip()
            left -= len(text.encode("utf-8", "replace"))
            content.append(Text(text))
        else:
            content.append(block)
    return replace(output, content=tuple(content))
