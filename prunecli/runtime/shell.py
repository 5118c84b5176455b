"""`!cmd`: the user's own command, run as the bash tool runs the model's."""

from typing import TYPE_CHECKING

from prunecli.model.messages import Text
from prunecli.runtime.toolbox import load_tools
from prunecli.tools.tool import bounded_output

if TYPE_CHECKING:
    from prunecli.runtime.runtime import Runtime


async def output_of(runtime: "Runtime", command: str) -> str:
    """What the command printed, within the limit of tool outputs. Raises ToolError where it can't be run."""
    tool = runtime.tools.get("bash") or load_tools(("bash",))["bash"]
    output = await tool.run(tool.Input(command=command), runtime.tool_context(approved=True))
    output = bounded_output(output, runtime.config.tools.max_output_bytes)
    return "\n".join(block.text for block in output.content if isinstance(block, Text))
