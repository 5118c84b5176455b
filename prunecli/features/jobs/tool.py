"""jobs: list background commands, read their output, wait for one, or end one."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar

from prunecli.model.messages import Json
from prunecli.model.requests import JOBS
from prunecli.model.touches import Touches
from prunecli.tools.tool import ToolContext, ToolOutput, in_one_line
from prunecli.util.errors import ToolError
from prunecli.util.frozen import frozen

MAX_WAIT = 600.0

if TYPE_CHECKING:
    from prunecli.features.jobs.jobs import Jobs as SessionJobs


@frozen
class JobsInput:
    job: Annotated[int | None, "its number; without: list all"] = None
    wait: Annotated[float | None, "seconds to wait for its end"] = None
    lines: Annotated[str | None, "such as 1-50, instead of what is new"] = None
    stop: bool = False


class Jobs:
    """The `jobs` tool. Its calls touch nothing, since the commands were judged when they began."""

    name: ClassVar[str] = JOBS
    description: ClassVar[str] = (
        "State and new output of a command that bash runs in the background. A notice tells when it ends."
    )
    parallel: ClassVar[bool] = True
    Input: ClassVar[type] = JobsInput

    def summary(self, given: Mapping[str, Json]) -> str:
        if not given.get("job"):
            return "list"
        lines = f"lines {in_one_line(given['lines'])}" if given.get("lines") else ""
        wait = f"wait {in_one_line(given['wait'])} s" if given.get("wait") else ""
        return " ".join(filter(None, [str(given["job"]), "stop" if given.get("stop") else "", wait, lines]))

    def touches(self, _: object) -> Touches:
        return Touches()

    async def run(self, given: JobsInput, context: ToolContext) -> ToolOutput:
        jobs: SessionJobs | None = context.parts.get("jobs")
        if jobs is None:
            raise ToolError("There are no jobs here")
        if given.job is None:
            return jobs.listed()
        if given.wait is not None and not 0 <= given.wait <= MAX_WAIT:
            raise ToolError(f"wait is in seconds, at most {MAX_WAIT:.0f}.")
        if given.stop:
            await jobs.stop(given.job)
        elif given.wait:
            await jobs.wait(given.job, given.wait, context)
        return await jobs.look(given.job, given.lines, context)
