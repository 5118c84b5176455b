"""Starts a front end. Imports neither typer nor anything that the first frame does not need.

Every start without a subcommand waits for this module.
"""

import gc
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from prunecli.cli.piped_input import FIRST_SECONDS, NO_INPUT, WAITING, came_late, read_input
from prunecli.util.errors import OutputFailed, PrunecliError, SessionError, UsageError, report_unawaited
from prunecli.util.launch_options import Launch
from prunecli.util.lazy import lazy
from prunecli.util.paths import Places
from prunecli.util.sanitize import visible

if TYPE_CHECKING:
    from prunecli.runtime import Runtime

if TYPE_CHECKING:
    import asyncio

    from prunecli import tui
    from prunecli.cli import worktrees
    from prunecli.front import plain as plain_front
    from prunecli.front.headless import run as headless
    from prunecli.front.headless import stream
    from prunecli.model import requests
    from prunecli.providers import demo_tour
    from prunecli.runtime import answer_schema, make
    from prunecli.tools.processes import environment
    from prunecli.util import private_file
else:
    asyncio = lazy("asyncio")
    tui = lazy("prunecli.tui")
    worktrees = lazy("prunecli.cli.worktrees")
    plain_front = lazy("prunecli.front.plain")
    headless = lazy("prunecli.front.headless.run")
    stream = lazy("prunecli.front.headless.stream")
    requests = lazy("prunecli.model.requests")
    demo_tour = lazy("prunecli.providers.demo_tour")
    answer_schema = lazy("prunecli.runtime.answer_schema")
    make = lazy("prunecli.runtime.make")
    environment = lazy("prunecli.tools.processes.environment")
    private_file = lazy("prunecli.util.private_file")


COLLECT_SECONDS = 1.5
"""Seconds of a headless run after which Python collects garbage. By then everything is imported."""


def launch(
    asked: Launch, environ: Mapping[str, str] | None = None, *, patience: float = FIRST_SECONDS
) -> int:
    """Start the front end and return the exit code. Raises PrunecliError before a front end runs.

    `patience`: the seconds that a headless run which needs no input waits for its first byte.
    """
    environ = dict(os.environ if environ is None else environ)
    if (
        asked.headless
        and dict(asked.flags or {}).get("--model") == "demo"
        and demo_tour.is_tour(asked.prompt)
    ):
        asked = in_scratch_folder(asked)
        _err(f"prunecli: the tour runs in {visible(str(asked.cwd))}")
    if asked.worktree is None:
        return _launched(asked, environ, patience)
    asked, worktree = worktrees.enter(asked, asked.cwd or working_directory(), environ)
    try:
        code = _launched(asked, environ, patience)
    except PrunecliError:
        worktrees.leave(worktree, _err, None)
        raise
    worktrees.leave(worktree, _err, None if asked.headless else _asked)
    return code


def _launched(asked: Launch, environ: dict[str, str], patience: float) -> int:
    if asked.headless:
        gc.disable()  # until COLLECT_SECONDS: a collection during imports finds nothing
        try:
            schema = _schema(asked)
            return _headless(asked, _made(asked, environ), schema, patience)
        finally:
            _collect_again()
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("the terminal interface needs a terminal", "use -p to run without one")
    runtimes: list[Runtime] = []

    def made() -> "Runtime":
        runtimes.append(_made(asked, environ))
        return runtimes[0]

    is_plain = asked.plain or environ.get("TERM", "") in ("", "dumb")
    if is_plain:
        code = plain_front.run_plain(made, prompt=asked.prompt)
    else:
        code = tui.run_tui(
            made,
            places=Places.of(environ),
            cwd=asked.cwd or working_directory(),
            environ=environ,
            prompt=asked.prompt,
            inline=asked.inline,
        )
    if runtimes and runtimes[0].leaves_for_tour:
        sys.stdout.flush()
        plain = ["--plain"] if is_plain else []
        os.execve(sys.executable, [sys.executable, "-m", "prunecli", "demo", *plain], environ)  # noqa: S606
    return code


def _made(asked: Launch, environ: Mapping[str, str]) -> "Runtime":
    """Create the runtime, then hide the environment from other processes."""
    runtime = make.make_runtime(replace(asked, cwd=asked.cwd or working_directory()), environ)
    environment.hide_environment(runtime.config.key_variables)
    return runtime


def demo_launch(*, plain: bool = False) -> Launch:
    """Return the tour: the demo model in a new scratch folder, which is kept for inspection."""
    try:
        folder = Path(private_file.make_temporary("prunecli-demo-"))
    except OSError as error:
        raise UsageError(f"the tour needs a scratch folder: {error.strerror}") from error
    return Launch(
        flags={"--model": "demo", "--permission-mode": "edits"},
        trust=True,
        cwd=folder,
        introduction=demo_tour.INTRODUCTION,
        guide=demo_tour.GUIDE,
        plain=plain,
    )


def in_scratch_folder(asked: Launch) -> Launch:
    """Return the start of a headless tour: wherever it starts, it changes no file of the user's."""
    tour = demo_launch()
    return replace(asked, cwd=tour.cwd, trust=True, flags={**(asked.flags or {}), **(tour.flags or {})})


def working_directory() -> Path:
    """Return the current directory. Raises UsageError if it has been deleted."""
    try:
        return Path.cwd()
    except OSError as error:
        raise UsageError(
            "the current directory no longer exists", "change to another one, for example with cd ~"
        ) from error


def _schema(asked: Launch) -> "answer_schema.AnswerSchema | None":
    if not asked.json_schema:
        return None
    return answer_schema.AnswerSchema.of(asked.json_schema)


def _headless(
    asked: Launch, runtime: "Runtime", schema: "answer_schema.AnswerSchema | None", patience: float
) -> int:

    terminal = sys.stdin is None or sys.stdin.isatty()
    streams = asked.input_format == "stream-json" and not terminal
    needed = not (asked.prompt.strip() or asked.continue_last or asked.resume)
    piped = "" if streams or terminal else _piped(None if needed else patience)
    if piped is None:
        runtime.notices.append(NO_INPUT)
    whole = "\n\n".join(part for part in (asked.prompt, (piped or "").strip()) if part)
    prompts = [whole] if whole else []
    if any(not prompt.strip() for prompt in prompts):
        raise UsageError("the prompt is empty", "add it after -p, or pipe it in")
    if not prompts and not (asked.continue_last or asked.resume or streams):
        raise UsageError("no prompt", "add one after -p, or pipe it in")
    if schema and not prompts and not streams:
        raise UsageError("--json-schema: no prompt to answer", "add one after -p, or pipe it in")

    async def run() -> int:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(report_unawaited)
        loop.call_later(COLLECT_SECONDS, _collect_again)
        try:
            form, partial = asked.output_format, asked.partial_messages
            if streams:
                source, again = sys.stdin.fileno(), bool(asked.continue_last or asked.resume)
                return await stream.run_stream(
                    runtime,
                    asked.prompt,
                    source,
                    form=form,
                    out=_out,
                    err=_err,
                    go_on=again,
                    schema=schema,
                    partial=partial,
                )
            return await headless.run_headless(
                runtime,
                prompts,
                form=form,
                out=_out,
                err=_err,
                schema=schema,
                partial=partial,
                is_typed=not piped,
                late=_late if piped is None else bool,
            )
        finally:
            await runtime.close()

    return asyncio.run(run())


def _out(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _err(line: str) -> None:
    sys.stderr.write(line + "\n")


def _asked(question: str) -> str:
    """Ask on the terminal; the end of the input is no answer."""
    try:
        return input(question).strip().lower()
    except (EOFError, KeyboardInterrupt):
        _err("")
        return ""


def _collect_again() -> None:
    """Collect garbage from now on, but not among what exists: at the end of a run that alone would take 20 ms."""
    gc.freeze()
    gc.enable()


def _piped(patience: float | None) -> str | None:
    """Return standard input; None if it stays silent for this many seconds. Bytes that are not UTF-8 become visible
    replacement characters. Raises UsageError."""
    data = read_input(
        sys.stdin.fileno(), requests.MAX_BODY_BYTES, FIRST_SECONDS if patience is None else patience
    )
    if data is None and patience is None:
        sys.stderr.write(f"{WAITING}\n")
        data = read_input(sys.stdin.fileno(), requests.MAX_BODY_BYTES)
    return None if data is None else data.decode("utf-8", "replace")


def _late() -> bool:
    return came_late(sys.stdin.fileno())


def exit_code(error: PrunecliError) -> int:
    """Return the exit code for an error at startup. Shells report 141 for a closed pipe."""
    if isinstance(error, OutputFailed):
        return 141 if error.closed else 1
    return 4 if isinstance(error, SessionError) else 2


def complain(error: PrunecliError) -> int:
    if not (isinstance(error, OutputFailed) and error.closed):
        hint = f"{visible(error.hint)}\n" if error.hint else ""
        sys.stderr.write(f"prunecli: {visible(error.message)}\n{hint}")
    return exit_code(error)
