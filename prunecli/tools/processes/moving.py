"""How a command moves to the background: what the tools bash and jobs need of the runtime's jobs."""

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Protocol

from prunecli.tools.processes.confinement import Confined

if TYPE_CHECKING:
    import asyncio

    from prunecli.tools.processes.background import KeptOutput
    from prunecli.tools.processes.command import Moved
    from prunecli.tools.tool import ToolContext, ToolOutput


class Jobs(Protocol):
    """The commands of a session in the background, for the tools bash and jobs."""

    def movable(self, *, soon: bool) -> "Moving":
        """The way to the background of a command that begins: `soon`, or when the user asks. Raises ToolError."""
        ...

    def listed(self) -> "ToolOutput":
        """All jobs, a line each."""
        ...

    async def look(self, number: int, lines: str | None, context: "ToolContext") -> "ToolOutput":
        """A job's state, and its output: these lines, or what is new. Raises ToolError."""
        ...

    async def wait(self, number: int, seconds: float, context: "ToolContext") -> None:
        """Wait until a job ends, so long at most. Raises ToolError."""
        ...

    async def stop(self, number: int) -> None:
        """End a job. Raises ToolError."""
        ...


class Moving(Protocol):
    """Moves one command to the background. `asked` is done when it should move."""

    asked: "asyncio.Future[None]"
    output: "KeptOutput"

    def moved(
        self, moved: "Moved", command: str, box: Confined, rest: AsyncExitStack, printed: str
    ) -> "ToolOutput":
        """The result of the call, which printed so much; `rest` is closed when the command ends."""
        ...

    def close(self) -> None:
        """Forget it: the call is over."""
        ...
