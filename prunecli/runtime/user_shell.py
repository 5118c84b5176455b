"""`!cmd`: the user's own shell commands."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from prunecli.model.events import UserMessage
from prunecli.model.messages import Text
from prunecli.runtime.runtime import Runtime
from prunecli.runtime.toolbox import load_tools
from prunecli.session.session import Session
from prunecli.tools.processes.sandboxing import bare
from prunecli.tools.processes.screen import RAW_HANDLE
from prunecli.tools.tool import bounded_output
from prunecli.util.errors import ToolError


def is_busy(runtime: Runtime) -> bool:
    """Return whether the agent or a command of the user is working, so that the session can't be left."""
    return runtime.running or runtime.session.running.in_command


@contextmanager
def _in_command(session: Session) -> Iterator[None]:
    session.running.in_command = True
    try:
        yield
    finally:
        session.running.in_command = False


async def shell(
    runtime: Runtime,
    command: str,
    *,
    show_model: bool,
    progress: Callable[[str], None] = lambda _: None,
    so_far: Callable[[str], None] = lambda _: None,
) -> str:
    """Run the user's own command, outside the sandbox; the model sees it and its output unless `!!` was typed.

    Returns the output. While the command runs, `progress` gets the last lines; if it is interrupted or its output
    can't be recorded, `so_far` gets the whole output. A canceled command is recorded with its output so far. Raises
    ToolError if it cannot run. Raises StorageFailed; output that could not be recorded is recorded later.
    """
    tool = runtime.tools.get("bash") or load_tools(("bash",))["bash"]
    session, key = runtime.session, f"!{command}"

    def hold(text: str) -> None:
        so_far(text)
        if show_model:
            session.hold(key, text)

    context = replace(runtime.tool_context(approved=True), progress=progress, so_far=hold, confine=bare)
    with _in_command(session):
        if show_model:
            runtime.prepare()
            session.hold(key, "")
        async with runtime.sandbox.workbench.in_use:
            pass  # what a layer covers must not change below it
        try:
            output = await tool.run(tool.Input(command=command), context)
        except asyncio.CancelledError:
            session.answer_open_calls()
            await asyncio.to_thread(session.commit)
            raise
        except ToolError:
            session.running.forget()  # the command never ran
            raise
        output = bounded_output(output, runtime.config.tools.max_output_bytes)
        text = "\n".join(block.text for block in output.content if isinstance(block, Text))
        text = text.replace(RAW_HANDLE, "]")
        if show_model:
            so_far(text)
            session.keep(UserMessage((Text(key), Text(text)), "command"))
            await asyncio.to_thread(session.commit)
        return text
