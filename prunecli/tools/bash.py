"""bash: run a command and return its output and exit status."""

import asyncio
import os
import signal
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from typing import Annotated, ClassVar

from prunecli.context.spill import prints_files
from prunecli.model.codec import well_formed
from prunecli.model.messages import Json
from prunecli.model.touches import Touches
from prunecli.tools.processes.command import Ended, Moved, run_movable
from prunecli.tools.processes.environment import shell_in
from prunecli.tools.processes.moving import JobControl, Moving
from prunecli.tools.processes.sandboxing import Blocked, bare
from prunecli.tools.processes.screen import Screen, folded_note
from prunecli.tools.tool import TRUNCATION_MARKER, ToolContext, ToolOutput, in_one_line, text_output
from prunecli.util.errors import ToolError
from prunecli.util.figures import counted
from prunecli.util.frozen import frozen

MAX_TIMEOUT = 3600.0
GRACE = 1.0
PROGRESS_INTERVAL = 0.1
KEEP_INTERVAL = 0.5
KEPT_BYTES = 16_384
"""Maximum bytes of output kept while a command runs: more than a screen, but few enough to write often."""

FIXED_ENVIRONMENT = {
    "EDITOR": "false",
    "GIT_EDITOR": "false",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "TERM": "dumb",
    "VISUAL": "false",
}
"""Variables that keep commands from waiting for input or drawing on a terminal."""

_BACKGROUND = "go on as a job of the tool jobs, without the default timeout"
_EXPLAINED = {126: ": not executable", 127: ": command not found"}


@frozen
class BashInput:
    command: str
    timeout: Annotated[float | None, "seconds, default 120"] = None


@frozen
class ConfinedInput(BashInput):
    outside: Annotated[bool, "run outside the sandbox; asks the user"] = False
    reason: Annotated[str | None, "why it must run outside"] = None


@frozen
class MovableInput(BashInput):
    background: Annotated[bool, _BACKGROUND] = False


@frozen
class ConfinedMovableInput(ConfinedInput):
    background: Annotated[bool, _BACKGROUND] = False


class Bash:
    """The `bash` tool. It runs each call in a new shell and leaves no process behind."""

    name: ClassVar[str] = "bash"
    description: ClassVar[str] = (
        "Run a command in a new bash in the working directory. Returns stdout and stderr together. "
        "No stdin, no terminal; background processes are ended with the call."
    )
    parallel: ClassVar[bool] = False
    Input: ClassVar[type] = BashInput

    def summary(self, given: Mapping[str, Json]) -> str:
        return in_one_line(given.get("command"))

    def touches(self, given: BashInput) -> Touches:
        return Touches(runs=(given.command,))

    async def run(self, given: BashInput, context: ToolContext) -> ToolOutput:
        """Run the command until it ends, times out, or is canceled.

        Raises ToolError if it cannot be started.
        """
        timeout = context.limits.bash_timeout if given.timeout is None else given.timeout
        if not 0 < timeout <= MAX_TIMEOUT:
            raise ToolError(f"timeout is in seconds, more than 0 and at most {MAX_TIMEOUT:.0f}.")
        output = Screen(context.limits.max_output_bytes, folds=not prints_files(given.command))
        background = getattr(given, "background", False)
        jobs: JobControl | None = context.parts.get("jobs")
        moving = jobs.movable(soon=background) if jobs else None
        shown = _Paced(PROGRESS_INTERVAL, lambda: context.progress(output.latest()))
        kept = _Paced(KEEP_INTERVAL, lambda: context.so_far(output.ended().text(KEPT_BYTES)[0]))

        def take(data: bytes) -> bool:
            output.add(data)
            shown.ask()
            kept.ask()
            return True

        shell = shell_in(context.env)
        try:
            limit = MAX_TIMEOUT if background and given.timeout is None else timeout
            over = await _run(given, shell, context, output, take, limit, moving)
        except asyncio.CancelledError:
            context.so_far(output.ended().text(context.limits.max_output_bytes)[0])
            raise
        finally:
            shown.close()
            kept.close()
            if moving:
                moving.close()
        if isinstance(over, ToolOutput):
            return over
        ended, blocked, lines = over
        notes = [*_notes(ended, timeout), *lines]
        if ended.exit_code and not shell.endswith("bash"):
            notes.insert(0, "[run by sh: bash was not found]")
        result = _result(output, ended, notes, context.limits.max_output_bytes)
        return replace(result, blocked=blocked)


async def _run(
    given: BashInput,
    shell: str,
    context: ToolContext,
    output: Screen,
    take: Callable[[bytes], bool],
    time_limit: float,
    moving: Moving | None,
) -> tuple[Ended, Blocked, list[str]] | ToolOutput:
    """Run the command in the sandbox. Return its end with what the sandbox blocked and lines about it, or the result
    of a command that continues in the background."""
    line = well_formed(given.command)
    outside = context.approved and getattr(given, "outside", False)
    confine = bare if outside else context.confine
    words, env = [shell, "-c", "--", line], {**context.env, **FIXED_ENVIRONMENT}
    async with AsyncExitStack() as stack:
        box = await stack.enter_async_context(confine(words, cwd=str(context.cwd), env=env, command=line))
        seconds = time_limit if given.timeout and getattr(given, "background", False) else 0.0
        ended = await run_movable(
            box.argv,
            cwd=context.cwd,
            env=box.env,
            take=take,
            time_limit=time_limit,
            grace=GRACE,
            descriptors=box.descriptors,
            moving=moving.asked if moving else None,
            order=partial(_order, moving, output, seconds) if moving else bytes,
            overlays=box.overlays,
            enough=box.enough,
        )
        if isinstance(ended, Moved):
            assert moving  # noqa: S101  # nothing else moves a command
            printed = output.ended().text(context.limits.max_output_bytes)[0]
            return moving.moved(ended, given.command, box, stack.pop_all(), printed)
        ended = without_sandbox(ended, box.program)
        blocked = (box.explain if ended.exit_code else box.hints)(output.raw.text(KEPT_BYTES)[0])
        renamed = await asyncio.to_thread(box.afterwards)
    return ended, blocked, [f"[{line}]" for line in (blocked.line, renamed) if line]


def _order(moving: Moving, output: Screen, seconds: float) -> bytes:
    """Return the order to the supervisor to keep the output from now on."""
    try:
        return moving.output.order(output.raw.newest, output.raw.total, output.raw.lines, seconds)
    except OSError as error:
        raise ToolError(f"The output cannot be kept in {error.filename}: {error.strerror}.") from error


class _Paced:
    """A limiter that calls `act` on request, but at most once in `interval` seconds."""

    def __init__(self, interval: float, act: Callable[[], None]) -> None:
        self._interval = interval
        self._act = act
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._next = 0.0

    def ask(self) -> None:
        if self._timer is None:
            self._timer = self._loop.call_at(max(self._next, self._loop.time()), self._do)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _do(self) -> None:
        self._timer = None
        self._next = self._loop.time() + self._interval
        self._act()


def _result(output: Screen, ended: Ended, notes: list[str], limit: int) -> ToolOutput:
    raw, shown = output.raw, output.ended()
    if output.is_folded:
        notes.insert(0, folded_note(raw.total - shown.total))
    reserve = sum(len(note.encode()) + 1 for note in notes) + len(TRUNCATION_MARKER) + 1
    text, cut = shown.text(max(limit - reserve, limit // 2))
    if cut:
        text += TRUNCATION_MARKER
    if notes:
        text += "" if not text or text.endswith("\n") else "\n"
        text += "\n".join(notes)
    details: dict[str, Json] = {
        "exit_code": ended.exit_code,
        "bytes": raw.total,
        "truncated": cut,
        "timed_out": ended.timed_out,
        "left": list(ended.left),
    }
    result = text_output(text, details, is_error=ended.timed_out or ended.exit_code != 0)
    return replace(result, raw=raw.raw) if output.is_folded or not raw.is_text else result


def without_sandbox(ended: Ended, program: str) -> Ended:
    """Return the end without the processes of the sandbox `program`, "" for none."""
    theirs = (f"{program} ", f"{os.path.basename(program)} ")
    left = (name for name in ended.left if not program or not f"{name} ".startswith(theirs))
    return replace(ended, left=tuple(left))


def _notes(ended: Ended, timeout: float) -> list[str]:
    end = end_of(ended, timeout)
    return [*left_of(ended), *([end] if end else [])]


def left_of(ended: Ended) -> list[str]:
    """Return the lines about processes that a command left behind."""
    notes = []
    if ended.left:
        count = len(ended.left)
        what = "1 background process was" if count == 1 else f"{count} background processes were"
        notes.append(f"[{what} ended: {'; '.join(ended.left)[:500]}]")
    if ended.stuck:
        notes.append(f"[{counted(ended.stuck, 'process')} could not be ended]")
    return notes


def end_of(ended: Ended, timeout: float) -> str:
    """Return the line about how a command ended; "" for exit code 0."""
    if ended.timed_out:
        return f"[timed out after {timeout:g} s]"
    if ended.exit_code is None:
        return "[ended from outside, exit code unknown]"
    if ended.exit_code < 0:
        return f"[killed by {_signal_name(-ended.exit_code)}]"
    code = ended.exit_code
    meaning = _EXPLAINED.get(code, f" ({_signal_name(code - 128)})" if 128 < code < 193 else "")
    return f"[exit code {code}{meaning}]" if code else ""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


class ConfinedBash(Bash):
    """bash for a session whose commands run in a sandbox: one call can ask to run outside."""

    description: ClassVar[str] = (
        f"{Bash.description} Commands run in a sandbox: only the working directory and /tmp are writable, secrets "
        "and most of the home folder are hidden, the network is restricted. If it blocks a command that the task "
        "needs, repeat that command with outside=true and a reason."
    )
    Input: ClassVar[type] = ConfinedInput

    def touches(self, given: BashInput) -> Touches:
        outside = getattr(given, "outside", False)
        reason = getattr(given, "reason", None) or "no reason given"
        return Touches(runs=(given.command,), outside=(reason,) if outside else ())


class MovableBash(Bash):
    Input: ClassVar[type] = MovableInput


class ConfinedMovableBash(ConfinedBash):
    Input: ClassVar[type] = ConfinedMovableInput
