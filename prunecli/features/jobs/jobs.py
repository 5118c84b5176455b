"""Background commands. They belong to the program and end with it, unless detached.

Their supervisors record the output and the end (`tools/processes/background.py`), so a running job does not depend on
the program. A notice tells the model once about each end, at its next step or prompt. The log records each start, so
after a crash or a resume, jobs without a process are reported as ended.
"""

import asyncio
import os
import re
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard

from prunecli.model.events import Record, Rewound, ToolResult, UserMessage
from prunecli.model.fields import MOST as MOST_SEQ
from prunecli.model.messages import Json
from prunecli.model.notes import notice, notice_parts
from prunecli.model.requests import JOBS
from prunecli.model.signals import Notice
from prunecli.runtime.background import Background
from prunecli.runtime.parts import Part
from prunecli.session.session import Session
from prunecli.tools.tool import text_output
from prunecli.util.errors import ToolError
from prunecli.util.figures import counted
from prunecli.util.frozen import frozen
from prunecli.util.lazy import lazy
from prunecli.util.private_file import make_private
from prunecli.util.sanitize import one_line, shortened

if TYPE_CHECKING:
    from prunecli.features.jobs.job import Job
    from prunecli.runtime.host import Host
    from prunecli.tools.processes.background import KeptOutput
    from prunecli.tools.processes.command import Moved
    from prunecli.tools.processes.sandboxing import SandboxedCommand
    from prunecli.tools.tool import ToolContext, ToolOutput

if TYPE_CHECKING:
    import shutil

    from prunecli.features.jobs import job as job_module
    from prunecli.tools.processes import background
else:
    shutil = lazy("shutil")
    background = lazy("prunecli.tools.processes.background")
    job_module = lazy("prunecli.features.jobs.job")


MOST = 16
"""Maximum jobs that run at a time."""
FIRST_SECONDS = 1.0
"""Seconds after which a command becomes a job; a shorter one has an ordinary result."""
END_SECONDS = 4.0
WATCH_SECONDS = 1.0
"""Seconds between updates of a list of jobs that is shown."""
LINE_CHARS = 76
_ID = re.compile("[0-9a-f]{12}")
_TITLE = "job {} ended"
_END = re.compile(r"\n\[(.*)\](?:\n|$)")
LEFT_DAYS = 7
"""Days after which the output left by a killed program is deleted."""


@frozen
class Began:
    """The start of a background command: its number in the session, its id, the time (unix ms) and the record."""

    number: int
    id: str
    command: str
    at: int
    seq: int


class JobRecords:
    """The jobs in one session's log. Each record is read once."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.began: dict[int, Began] = {}
        self._told: dict[int, int] = {}
        self.ends: dict[int, str] = {}
        """The end of each job, as its notice described it."""
        self._read = 0
        self.last = 0

    def read(self) -> None:
        """Read the records added since the last call."""
        for record in self.session.records[self._read :]:
            self._take(record)
        self._read = len(self.session.records)

    @property
    def untold(self) -> tuple[Began, ...]:
        return tuple(one for one in self.began.values() if one.number not in self._told)

    def _take(self, record: Record) -> None:
        match record.event:
            case ToolResult(details=details):
                job, told = details.get("job"), details.get("jobs_told")
                if isinstance(job, dict) and _is_number(number := job.get("number")):
                    id_, command = str(job.get("id", "")), str(job.get("command", ""))
                    if _ID.fullmatch(id_):  # it names the folder of the output
                        self.began[number] = Began(number, id_, command, record.timestamp, record.seq)
                        self.last = max(self.last, number)
                for number in filter(_is_number, told if isinstance(told, list) else ()):
                    self._told[number] = record.seq
            case UserMessage(origin="command") as message:
                title, text = notice_parts(message) or ("", "")
                for number, began in self.began.items():
                    if title == title_of(number):
                        self._told[number] = record.seq
                        end = _END.match(text.removeprefix(began.command))
                        self.ends[number] = end[1] if end else ""
            case Rewound(to_seq):
                self.began = {number: one for number, one in self.began.items() if one.seq <= to_seq}
                self._told = {number: seq for number, seq in self._told.items() if seq <= to_seq}
            case _:
                pass


def new_id() -> str:
    return os.urandom(6).hex()


def _is_number(value: Json) -> TypeGuard[int]:
    return type(value) is int and 0 < value <= MOST_SEQ


def title_of(number: int) -> str:
    return _TITLE.format(number)


class Jobs(Part):
    """The jobs of one runtime. They share their numbering with those of the runtime that started it."""

    def __init__(self, host: "Host", parent: "Jobs | None" = None) -> None:
        super().__init__(host, parent)
        self._host = host
        self.first_seconds = FIRST_SECONDS
        self.all: list[Job] = parent.all if parent else []
        self._moving: list[_Moving] = parent._moving if parent else []
        self._tasks = Background(lambda line: host.session.tell(Notice(line, "warning")))
        self._records: JobRecords | None = None
        host.mailbox.news.append(self.due)

    @property
    def records(self) -> JobRecords:
        if self._records is None or self._records.session is not self._host.session:
            self._records = JobRecords(self._host.session)
        self._records.read()
        return self._records

    @property
    def count(self) -> int:
        return sum(not job.has_exited for job in self.all)

    # To the background ---------------------------------------------------------------------------------------

    def movable(self, *, soon: bool) -> "_Moving":
        """Return the object that can move a new command to the background: `soon`, or when the user asks. Raises
        ToolError."""
        if soon and self.count >= MOST:
            raise ToolError(f"{MOST} jobs are running: stop one first.")
        output = background.KeptOutput(self._folder() / new_id())
        moving = _Moving(self, output, self._host.setup.clock())
        if soon:
            try:
                moving.make_folder()
            except OSError as error:
                raise ToolError(f"{error.filename}: {error.strerror}: jobs can't be stored there.") from error
            asyncio.get_running_loop().call_later(self.first_seconds, moving.ask)
        self._moving.append(moving)
        return moving

    def to_background(self) -> bool:
        """Move the running command to the background; return False if there is none."""
        for moving in reversed(self._moving):
            if self.count < MOST and not moving.asked.done():
                moving.ask()
                return True
        return False

    def forget(self, moving: "_Moving") -> None:
        self._moving[:] = [one for one in self._moving if one is not moving]

    def _folder(self) -> Path:
        return self._host.setup.places.jobs

    def begin(
        self, moving: "_Moving", moved: "Moved", command: str, box: "SandboxedCommand", rest: AsyncExitStack
    ) -> "Job":
        number = 1 + max((self.records.last, *(job.number for job in self.all)))
        parts = number, command, moving.output, moving.begun, self._host.setup.clock
        job = job_module.Job.of(moved, *parts, self._host.who)
        job.box, job.rest = box, rest
        self.all.append(job)
        self._tasks.start(self._follow(job))
        return job

    async def _follow(self, job: "Job") -> None:
        """Wait for a job's end, then close its sandbox and tell the user."""
        await job.ended()
        line = one_line(f"Job {job.number} ended: {job.state} · {job.command}")
        self._host.session.tell(Notice(shortened(line, LINE_CHARS)))

    # Notices for the model -----------------------------------------------------------------------------------

    def due(self) -> Sequence[UserMessage]:
        untold = self.records.untold
        return tuple(message for one in untold if (message := self._news_of(one.number)) is not None)

    def _news_of(self, number: int) -> UserMessage | None:
        job = self._known(number)
        if job is None or not job.over:
            return None
        return notice(title_of(number), f"{job.command}\n[{job.state}]\n{job.last_lines()}".rstrip())

    def _known(self, number: int) -> "Job | None":
        """Return a job of the session. A job of an earlier process is read from its folder."""
        began = self.records.began.get(number)
        if began is None:
            return None
        for job in self.all:
            if job.id == began.id:
                job.look()
                return job
        parts = number, began.command, began.at, self._host.setup.clock
        job = job_module.Job.found(self._folder() / began.id, *parts, self.records.ends.get(number, ""))
        self.all.append(job)
        return job

    # Queries and actions -------------------------------------------------------------------------------------

    def of_session(self) -> "list[Job]":
        return [job for number in sorted(self.records.began) if (job := self._known(number))]

    def visible(self) -> "list[Job]":
        """Return the jobs shown to the user: those of the session, and others that are running."""
        own = self.of_session()
        others = [job for job in self.all if job not in own and not job.over]
        for job in others:
            job.look()
        return own + others

    def watch(self, changed: Callable[[], object]) -> Callable[[], None]:
        """Call `changed` every second, since times and output change without an event; return a function that ends
        this."""

        async def tell() -> None:
            while True:
                await asyncio.sleep(WATCH_SECONDS)
                changed()

        task = self._tasks.start(tell())

        def end() -> None:
            task.cancel()

        return end

    def job(self, number: int) -> "Job":
        """Return a job shown to the user. Raises ToolError."""
        jobs = [job for job in self.visible() if job.number == number]
        if not jobs:
            known = ", ".join(str(job.number) for job in self.visible())
            raise ToolError(f"There is no job {number}" + (f". Jobs: {known}." if known else "."))
        return jobs[0]

    def listed(self) -> "ToolOutput":
        """Return all jobs, one line each."""
        jobs = self.of_session()
        told: list[Json] = [job.number for job in jobs if job.over]
        return text_output("\n".join(job.line() for job in jobs) or "No jobs", {"jobs_told": told})

    async def look(self, number: int, lines: str | None, context: "ToolContext") -> "ToolOutput":
        """Return a job's state and output: these lines, or the new output. Raises ToolError."""
        job = self._own(number)
        over = job.over  # read before the output, so that the output is complete if the job has ended
        output = await asyncio.to_thread(job.read, lines, context.limits.max_output_bytes)
        told: list[Json] = [number] if over else []
        return replace(output, details={**output.details, "job_state": job.state, "jobs_told": told})

    def _own(self, number: int) -> "Job":
        job = self._known(number)
        if job is None:
            known = ", ".join(map(str, sorted(self.records.began)))
            raise ToolError(f"There is no job {number}" + (f". Jobs: {known}." if known else "."))
        return job

    async def wait(self, number: int, seconds: float, context: "ToolContext") -> None:
        """Wait until a job ends, for at most this many seconds. Raises ToolError."""
        job, until = self._own(number), time.monotonic() + seconds
        while not job.over and (left := until - time.monotonic()) > 0:
            context.progress(job.last_lines())
            with suppress(TimeoutError):
                await asyncio.wait_for(job.done.wait(), min(0.5, left))
            job.look()

    async def stop(self, number: int) -> None:
        """End a job. Raises ToolError."""
        await self.end(self._own(number))

    async def end(self, job: "Job") -> None:
        """End a job and wait for it. Raises ToolError if it cannot be ended."""
        await job.stop(END_SECONDS)
        if not job.over:
            raise ToolError(f"Job {job.number} could not be stopped.")

    # The end -------------------------------------------------------------------------------------------------

    async def finish(self) -> list[str]:
        """End the jobs of this runtime that are not detached, and delete their output. Return a line for each.

        Waits until the supervisors of the others have recorded that they are detached, and checks what these made.
        """
        mine = [job for job in self.all if job.who == self._host.who and not job.is_left]
        running = [job for job in mine if not job.over]
        left = [job for job in self.all if job.is_left and job.child and not job.over]
        if left:
            for job in left:
                await asyncio.to_thread(background.wait_for_detached, job.output, END_SECONDS)
                with suppress(OSError, ToolError):
                    await job.rest.aclose()
        await asyncio.gather(*(job.stop(END_SECONDS) for job in running))
        for job in mine:
            await asyncio.to_thread(shutil.rmtree, job.output.folder, ignore_errors=True)
        self.all[:] = [job for job in self.all if job not in mine]
        return [f"Stopped job {job.number}: {one_line(job.command)[:200]}" for job in running]

    @property
    def for_tools(self) -> "Jobs | None":
        """These jobs if the tool is enabled: then commands can move to the background."""
        return self if JOBS in self._host.tools else None

    def working(self) -> str:
        jobs = sum(not (job.has_exited or job.is_left) for job in self.all)
        return counted(jobs, "job") if jobs else ""

    def extra_status(self) -> str:
        return counted(self.count, "job") if self.count else ""

    @property
    def keeps_sandbox(self) -> bool:
        return any(job.is_left and not job.over for job in self.all)


class _Moving:
    """The move of one command to the background."""

    def __init__(self, jobs: Jobs, output: "KeptOutput", begun: int) -> None:
        self.asked: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.output, self.begun = output, begun
        self._has_moved = False
        self._jobs = jobs

    def ask(self) -> None:
        """Move the command if the call has not ended."""
        if not self.asked.done():
            try:
                self.make_folder()
            except OSError:
                return  # it stays in the foreground, with its time limit
            self.asked.set_result(None)

    def make_folder(self) -> None:
        """Make the folder for the command's output. Raises OSError."""
        folder = self.output.folder
        make_private(folder.parent)
        _sweep(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)

    def moved(
        self, moved: "Moved", command: str, box: "SandboxedCommand", rest: AsyncExitStack, printed: str
    ) -> "ToolOutput":
        """See `tools.processes.moving.Moving`."""
        self._has_moved = True
        job = self._jobs.begin(self, moved, command, box, rest)
        return job.begun_output(printed)

    def close(self) -> None:
        self.asked.cancel()
        if not self._has_moved:
            with suppress(OSError):
                self.output.folder.rmdir()
        self._jobs.forget(self)


def _sweep(folder: Path) -> None:
    for name in os.listdir(folder):
        path = folder / name
        with suppress(OSError):
            if (
                time.time() - path.stat().st_mtime > LEFT_DAYS * 86_400
                and not background.KeptOutput(path).supervisor()
            ):
                shutil.rmtree(path, ignore_errors=True)
