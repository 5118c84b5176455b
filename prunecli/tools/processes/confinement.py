"""How a tool runs a command inside the sandbox, whichever sandbox that is.

The runtime passes a `Confine` to the tools. `bare` is the one without a sandbox.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol


def _nothing(_: str) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Confined:
    """A command as it is to be run: its words, environment and the descriptors that it inherits.

    `program` is the sandbox's own, "" without one; its processes are not the command's. `explain` returns one line
    about what the sandbox blocked, from the output of a command that failed, or "". `afterwards` is called when the
    command is over, and returns one line about what the sandbox took back, or "".
    """

    argv: Sequence[str]
    env: Mapping[str, str]
    descriptors: tuple[int, ...] = ()
    program: str = ""
    explain: Callable[[str], str] = _nothing
    afterwards: Callable[[], str] = str


class Confine(Protocol):
    """Puts a command into the sandbox; what it needs there is gone when the context ends."""

    def __call__(
        self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], command: str
    ) -> AbstractAsyncContextManager[Confined]:
        """Confine `argv`, which runs the line `command`. Raises ToolError."""
        ...


@asynccontextmanager
async def bare(
    argv: Sequence[str], *, cwd: str, env: Mapping[str, str], command: str
) -> AsyncIterator[Confined]:
    """Run it as it is."""
    del cwd, command
    yield Confined(argv, env)
