"""/jobs: the commands in the background."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from prunecli.commands.command import Effect, Live, Say, Table
from prunecli.features.jobs.jobs import Jobs
from prunecli.runtime import Runtime
from prunecli.util.errors import ToolError, UsageError

if TYPE_CHECKING:
    from prunecli.features.jobs.job import Job

VERBS = ("stop", "detach")
_NONE = "No jobs. The model starts them with bash, or you move a running command to the background."
_WAYS = "/jobs NUMBER shows its output · /jobs stop NUMBER · /jobs detach NUMBER keeps it when prunecli exits"


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Show commands in the background; /jobs NUMBER, stop NUMBER or detach NUMBER."""
    verb, _, rest = arguments.rpartition(" ")
    if not arguments:
        return [_all(runtime) if runtime.parts.of(Jobs).visible() else Say(_NONE)]
    if not rest.isdecimal() or verb.strip() not in ("", *VERBS):
        raise UsageError(
            f"/jobs {arguments}: expected NUMBER, stop NUMBER or detach NUMBER", "/jobs lists them"
        )
    try:
        job = runtime.parts.of(Jobs).job(int(rest[:9]))
        match verb.strip():
            case "stop" if job.over:
                return [Say(f"Job {job.number} has already ended.")]
            case "stop":
                job.ask_to_stop()
                return [Say(f"Stopping job {job.number} …")]
            case "detach":
                way, folder = job.detach(), runtime.setup.places.shown(job.output.folder)
                stays = f"Job {job.number} will continue when prunecli exits."
                return [Say(f"{stays} To stop it then: {way}. Output: {folder}")]
            case _:
                return [_output(runtime, job)]
    except ToolError as error:
        raise UsageError(str(error), "/jobs lists them") from error


def _output(runtime: Runtime, job: "Job") -> Table:
    job.look()
    first, lines = job.newest_lines()
    rows = tuple((str(number), line) for number, line in enumerate(lines, first))
    title, note = f"Job {job.number}: {job.state}", f"{job.command}\n{_WAYS}"
    live = Live(partial(_output, runtime, job), runtime.parts.of(Jobs).watch)
    return Table(title, ("line", "output"), rows, (0,), note, from_end=True, live=live)


def _all(runtime: Runtime) -> Table:
    rows = tuple(
        (f"{job.number}{f' ({job.who})' if job.who else ''}", job.state, job.command, job.output.last_line())
        for job in runtime.parts.of(Jobs).visible()
    )
    live = Live(partial(_all, runtime), runtime.parts.of(Jobs).watch)
    return Table("Jobs", ("job", "state", "command", "last line"), rows, (), _WAYS, live=live)


def words(runtime: Runtime, before: str) -> Sequence[tuple[str, str]]:
    jobs = [(str(job.number), f"{job.state}  {job.command}") for job in runtime.parts.of(Jobs).visible()]
    return jobs if before else [*jobs, ("stop", "end one"), ("detach", "keep one when prunecli exits")]
