"""The interface through which bash moves its commands to the background."""

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Protocol

from prunecli.tools.processes.sandboxing import SandboxedCommand

if TYPE_CHECKING:
    import asyncio

    from prunecli.tools.processes.background import KeptOutput
    from prunecli.tools.processes.command import Moved
    from prunecli.tools.tool import ToolOutput


class JobControl(Protocol):
    """What takes the commands, as `ToolContext.parts["jobs"]`."""

    def movable(self, *, soon: bool) -> "Moving":
        """Return the object that can move a new command to the background: `soon`, or when the user asks. Raises
        ToolError."""


class Moving(Protocol):
    """The move of one command to the background. `asked` is done when the command should move."""

    asked: "asyncio.Future[None]"
    output: "KeptOutput"

    def moved(
        self, moved: "Moved", command: str, box: SandboxedCommand, rest: AsyncExitStack, printed: str
    ) -> "ToolOutput":
        """Return the result of the call, given what the command `printed`. `rest` is closed when the command ends."""

    def close(self) -> None:
        """Forget the move, because the call is over."""
