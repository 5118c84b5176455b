"""`!cmd`: the user's own shell commands."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from prunecli.model.events import UserMessage
from prunecli.model.messages import Text
from prunecli.runtime.runtime import Runtime
from prunecli.runtime.toolbox import load_tools
from prunecli.tools.tool import bounded_output


async def shell(
    runtime: Runtime, command: str, *, show_model: bool, progress: Callable[[str], None] = lambda _: None
) -> str:
    """Runs the user's own command; the model sees it and its output unless `!!` was typed.

    Returns the output; `progress` gets its last lines while it runs. Raises ToolError where it can't be run.
    """
    tool = runtime.tools.get("bash") or load_tools(("bash",))["bash"]
    context = replace(runtime.tool_context(approved=True), progress=progress)
    output = await tool.run(tool.Input(command=command), context)
    output = bounded_output(output, runtime.config.tools.max_output_bytes)
    text = "\n".join(block.text for block in output.content if isinstance(block, Text))
    if show_model:
        runtime.prepare()
        runtime.session.emit(UserMessage((Text(f"!{command}"), Text(text)), "command"))
        await asyncio.to_thread(runtime.session.commit)
    return text
