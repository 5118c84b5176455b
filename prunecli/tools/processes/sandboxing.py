"""The interface for running a command inside any sandbox.

The runtime passes a `Sandboxing` to the tools. `bare` is the `Sandboxing` without a sandbox.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Protocol

from prunecli.util.frozen import frozen

if TYPE_CHECKING:
    import asyncio


@frozen
class Blocked:
    """What the sandbox kept from a command. `line` tells the model, "" if there is nothing to tell; `harm` tells the
    user what the command would do with it: "needs network: pypi.org".

    A second run needs `network`, the hidden paths `reads`, to be `outside` the sandbox, or only approval.
    """

    line: str = ""
    harm: str = ""
    network: bool = False
    reads: tuple[str, ...] = ()
    outside: bool = False


NOTHING = Blocked()


def _nothing(_: str) -> Blocked:
    return NOTHING


@frozen
class Overlay:
    """A folder that a command sees with changes of its own, which go to `upper`. `work` is an empty folder beside
    that, for one command."""

    folder: str
    upper: str
    work: str


@frozen
class SandboxedCommand:
    """A command ready to run: its words, its environment, the descriptors that it inherits and the overlays to mount.
    It is ended when `enough` is done.

    `program` is the sandbox's own program, "" if it has none; its processes are not the command's. `explain` takes
    the output of a failed command and returns what the sandbox blocked; `hints` does so for one that succeeded.
    `afterwards` is called when the command is over, and returns a line on files that the sandbox renamed, or "".
    """

    argv: Sequence[str]
    env: Mapping[str, str]
    descriptors: tuple[int, ...] = ()
    program: str = ""
    explain: Callable[[str], Blocked] = _nothing
    afterwards: Callable[[], str] = str
    hints: Callable[[str], Blocked] = _nothing
    overlays: Sequence[Overlay] = ()
    enough: "asyncio.Future[None] | None" = None


class Sandboxing(Protocol):
    """A function that puts a command into the sandbox. Temporary files for it are removed when the context ends."""

    def __call__(
        self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], command: str
    ) -> AbstractAsyncContextManager[SandboxedCommand]:
        """Confine `argv`, which runs the line `command`. Raises ToolError."""


@asynccontextmanager
async def bare(
    argv: Sequence[str], *, cwd: str, env: Mapping[str, str], command: str
) -> AsyncIterator[SandboxedCommand]:
    """Yield the command unchanged, to run without a sandbox."""
    del cwd, command
    yield SandboxedCommand(argv, env)
