"""A background command, used by tools, commands and notices."""

import asyncio
import re
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path

from prunecli.context.spill import prints_files
from prunecli.model.messages import Json
from prunecli.tools.bash import KEPT_BYTES, end_of, left_of, without_sandbox
from prunecli.tools.files.decoding import decoded, first_bytes, fitting_end
from prunecli.tools.processes.background import Child, KeptOutput, stop_detached
from prunecli.tools.processes.command import Ended, Moved
from prunecli.tools.processes.sandboxing import SandboxedCommand
from prunecli.tools.processes.screen import Screen, folded_note
from prunecli.tools.tool import TRUNCATION_MARKER, ToolOutput, text_output
from prunecli.util.errors import ToolError
from prunecli.util.figures import duration
from prunecli.util.sanitize import one_line

LAST_LINES, LAST_BYTES = 10, 2_000
COMMAND_CHARS = 500
SHOWN_LINES, SHOWN_BYTES = 1_000, 2_000
NOTE_BYTES = 300
_LINES = re.compile(r"(?:lines? )?(\d{1,12})(-(\d{1,12})?)?")


class Job:
    """A background command. `child` is None if an earlier process started it.

    `who` is the task that started it, "" for the session's own agent. `done` is set once its processes have ended and
    its sandbox is removed.
    """

    def __init__(
        self,
        number: int,
        command: str,
        output: KeptOutput,
        began: int,
        clock: Callable[[], int],
        who: str = "",
    ) -> None:
        self.number, self.command, self.output, self.began, self.who = number, command, output, began, who
        self.id = output.folder.name
        self.box: SandboxedCommand | None = None
        self.rest = AsyncExitStack()
        self.child: Child | None = None
        self.done = asyncio.Event()
        self.is_left = False
        self._clock = clock
        self._exited = asyncio.Event()
        self._ended: Ended | None = None
        self._ended_at = 0
        self._notes: list[str] = []
        self._read = 0
        self._told = ""
        self._stopped = False

    @staticmethod
    def of(
        moved: Moved,
        number: int,
        command: str,
        output: KeptOutput,
        began: int,
        clock: Callable[[], int],
        who: str,
    ) -> "Job":
        """Return a command that this process moved to the background. Call it in the event loop."""
        job = Job(number, command, output, began, clock, who)
        loop, descriptor = asyncio.get_running_loop(), moved.control.fileno()

        def exited() -> None:
            loop.remove_reader(descriptor)
            job._exited.set()

        job.child = Child(moved, output, exited)
        loop.add_reader(descriptor, job.child.look)
        return job

    @staticmethod
    def found(
        folder: Path, number: int, command: str, began: int, clock: Callable[[], int], told: str
    ) -> "Job":
        """Return a job of an earlier process: detached, or ended with it. `told` is that process's description of its
        end."""
        job = Job(number, command, KeptOutput(folder), began, clock)
        job.is_left, job._told = True, told
        job.look()
        return job

    async def ended(self) -> None:
        """Wait until the job's processes have ended, then close its sandbox."""
        await self._exited.wait()
        ended = self.child.over if self.child and self.child.over else Ended(None)
        if self.box is not None:
            ended = without_sandbox(ended, self.box.program)
            last = decoded(self.output.tail(KEPT_BYTES)) if ended.exit_code else ""
            blocked = self.box.explain(last).line if last else ""
            with suppress(OSError, ToolError):
                blocked = f"{blocked}\n{await asyncio.to_thread(self.box.afterwards)}"
            self._notes = [*left_of(ended), *(f"[{line}]" for line in blocked.split("\n") if line)]
        with suppress(OSError, ToolError):
            await self.rest.aclose()
        self._is_over(ended)

    def _is_over(self, ended: Ended) -> None:
        self._ended, self._ended_at = ended, self._clock()
        self.done.set()

    def look(self) -> None:
        if self.child is not None:
            self.child.look()
        elif not self.over and not self.output.supervisor():
            self._is_over(self.output.noted_end() or Ended(None))

    @property
    def over(self) -> bool:
        return self.done.is_set()

    @property
    def has_exited(self) -> bool:
        """Whether the job's processes have ended; its sandbox may still exist."""
        self.look()
        return self.over or bool(self.child and self.child.over)

    # Ends ----------------------------------------------------------------------------------------------------

    def ask_to_stop(self) -> None:
        if self.child is not None:
            self.child.stop()
        else:
            self._stopped = True
            stop_detached(self.output, 0)

    async def stop(self, seconds: float) -> None:
        """End the job: ask first, then kill."""
        if self.child is None:
            self._stopped = True
            await asyncio.to_thread(stop_detached, self.output, seconds)
            self.look()
            return
        self.child.stop()
        for now in (False, True):
            if now:
                self.child.stop(now=True)
            with suppress(TimeoutError):
                await asyncio.wait_for(self.done.wait(), seconds if not now else 1.0)
                return

    def detach(self) -> str:
        """Let the job outlive the program. Returns instructions for ending it. Raises ToolError if it has ended."""
        pid = self.child.pid if self.child is not None else self.output.supervisor()
        if self.has_exited or not pid:
            raise ToolError(f"Job {self.number} has ended.")
        if self.child is not None:
            self.child.detach()
        self.is_left = True
        return f"kill {pid}"

    # Words ---------------------------------------------------------------------------------------------------

    @property
    def state(self) -> str:
        """The state in words: `running 3m12s`, `detached 3m12s`, `exit code 1 after 3m12s`, `stopped after 4s`."""
        ended = self._ended or (self.child.over if self.child else None)
        if ended is None:
            word = "detached" if self.is_left else "running"
            return f"{word} {duration(max(0, self._clock() - self.began))}"
        if self.child is None and self._told:
            return self._told
        if self.child is None and self._stopped:
            return "stopped"
        if self.child is None:
            known = self.output.was_detached or (ended.exit_code or 0) > 0 or ended.timed_out
            return self._how(ended) if known else "ended with the program"
        took = f"after {duration(max(0, (self._ended_at or self._clock()) - self.began))}"
        if self.child.stopped and not ended.timed_out:
            return f"stopped {took}"
        return f"{self._how(ended)} {took}"

    def _how(self, ended: Ended) -> str:
        return "timed out" if ended.timed_out else end_of(ended, 0).strip("[]") or "exit code 0"

    def line(self) -> str:
        last = one_line(self.output.last_line())
        return f"{self.number}  {self.state}  {one_line(self.command)[:100]}" + (
            f"  | {last[:100]}" if last else ""
        )

    def last_lines(self) -> str:
        lines = decoded(fitting_end(self.output.tail(LAST_BYTES), LAST_BYTES)).splitlines()[-LAST_LINES:]
        return "\n".join([*lines, *self._notes])

    def newest_lines(self) -> tuple[int, list[str]]:
        """Return the newest lines, with long ones cut, and the number of the first."""
        part = self.output.part(0)
        rows = _rows(part.data)
        newest = [decoded(row[:SHOWN_BYTES]).rstrip("\r\n") for row in rows[-SHOWN_LINES:]]
        return part.first_line + len(rows) - len(newest), newest

    def begun_output(self, printed: str) -> ToolOutput:
        self._read = self.output.part(0).end
        end = " It ends with this task." if self.who else ""
        text = printed + ("\n" if printed and not printed.endswith("\n") else "")
        details: dict[str, Json] = {
            "job": {"number": self.number, "id": self.id, "command": self.command[:COMMAND_CHARS]}
        }
        return text_output(f"{text}[runs in the background as job {self.number}.{end}]", details)

    # Output --------------------------------------------------------------------------------------------------

    def read(self, lines: str | None, limit: int) -> ToolOutput:
        """Return output as a result: new output, or a range of lines. Raises ToolError for a range that does not
        exist."""
        over = self.over
        data, gap, first = self._lines(lines) if lines else self._new(over=over)
        output = Screen(limit, folds=not prints_files(self.command))
        output.add(data)
        text, cut = output.ended().text(max(limit - NOTE_BYTES, limit // 2))
        text += TRUNCATION_MARKER if cut else ""
        text += "" if not text or text.endswith("\n") else "\n"
        count = data.count(b"\n") + (not data.endswith(b"\n")) if data else 0
        shown = f"lines {first}-{first + count - 1}" if count else "no new output"
        text += "".join(f"{note}\n" for note in self._notes) if over and not lines else ""
        more = f"[… {gap:,} bytes are no longer kept …]\n" if gap else ""
        if output.is_folded:
            more += f"{folded_note(len(data) - output.ended().total)}\n"
        said = f"{more}{text}[job {self.number}: {self.state} | {shown}]"
        result = text_output(said, {"bytes": len(data)})
        raw = output.raw.raw if output.is_folded or not output.raw.is_text else None
        return ToolOutput(result.content, False, result.details, raw=raw)

    def _new(self, *, over: bool) -> tuple[bytes, int, int]:
        """Return the output since the last call, without an incomplete character at its end."""
        before, part = self._read, self.output.part(self._read)
        data = part.data if over else first_bytes(part.data, len(part.data))
        self._read = max(before, part.start + len(data))
        return data, max(0, part.start - before), part.first_line

    def _lines(self, wanted: str) -> tuple[bytes, int, int]:
        match = _LINES.fullmatch(wanted.strip())
        if match is None:
            raise ToolError(f'lines is a range such as "200-260", not {wanted[:40]!r}')
        part = self.output.part(0)
        rows = _rows(part.data)
        first, last = int(match[1]), part.first_line + len(rows) - 1
        stop = first if match[2] is None else int(match[3] or last)
        if not part.first_line <= first <= min(stop, last):
            there = f"lines {part.first_line:,} to {last:,} are kept" if rows else "there is no output yet"
            raise ToolError(f"{there}, not {wanted[:40]!r}.")
        return b"".join(rows[first - part.first_line : stop - part.first_line + 1]), 0, first


def _rows(data: bytes) -> list[bytes]:
    """Split the lines at line feeds only, as the line counts do."""
    found = [row + b"\n" for row in data.split(b"\n")]
    found[-1] = found[-1][:-1]
    return found if found[-1] else found[:-1]
