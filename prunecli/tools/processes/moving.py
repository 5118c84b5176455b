"""The interface to the runtime's jobs for the tools bash and jobs: moving commands to the background."""

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Protocol

from prunecli.tools.processes.confinement import Confined

if TYPE_CHECKING:
    import asyncio

    from prunecli.tools.processes.background import KeptOutput
    from prunecli.tools.processes.command import Moved
    from prunecli.tools.tool import ToolContext, ToolOutput


class JobControl(Protocol):
    """The commands of a session in the background, for the tools bash and jobs."""

    def movable(self, *, soon: bool) -> "Moving":
        """Return the object that can move a new command to the background: `soon`, or when the user asks. Raises
        ToolError."""

    def listed(self) -> "ToolOutput":
        """Return all jobs, one line each."""

    async def look(self, number: int, lines: str | None, context: "ToolContext") -> "ToolOutput":
        """Return a job's state and output: these lines, or the new output. Raises ToolError."""

    async def wait(self, number: int, seconds: float, context: "ToolContext") -> None:
        """Wait until a job ends, for at most this many seconds. Raises ToolError."""

    async def stop(self, number: int) -> None:
        """End a job. Raises ToolError."""


class Moving(Protocol):
    """The move of one command to the background. `asked` is done when the command should move."""

    asked: "asyncio.Future[None]"
    output: "KeptOutput"

    def moved(
        self, moved: "Moved", command: str, box: Confined, rest: AsyncExitStack, printed: str
    ) -> "ToolOutput":
        """Return the result of the call, given what the command `printed`. `rest` is closed when the command ends."""

    def close(self) -> None:
        """Forget the move, because the call is over."""
