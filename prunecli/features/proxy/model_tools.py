"""recall and prun for the model behind the proxy: answers calls that come through `prunecli mcp serve`."""

from collections.abc import Sequence
from typing import Any, cast

from prunecli.features.proxy.conversation import Conversation
from prunecli.model.codec import block_to_json
from prunecli.model.messages import Block, Image, Text
from prunecli.tools.inputs import parse
from prunecli.tools.prun import Prun
from prunecli.tools.recall import Recall
from prunecli.tools.tool import Tool
from prunecli.util.errors import ToolError

TOOLS: dict[str, Tool] = {"recall": Recall(), "prun": cast("Tool", Prun())}


async def called(conversations: Sequence[Conversation], asked: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a call, as MCP has it; only whether an answer is "busy" if no conversation made the call.

    `asked` has "tool", "input" and "call", the id of the call if the program tells it.
    """
    tool = TOOLS.get(str(asked.get("tool")))
    made = [(one, id_) for one in conversations if (id_ := one.made_call(asked))]
    if tool is None or not made:
        return {"busy": any(one.busy for one in conversations)}
    try:
        if len(made) > 1:
            raise ToolError("Two conversations made this call at once; make it again")
        conversation, id_ = made[0]
        if conversation.off:
            raise ToolError(f"This conversation is not pruned: {conversation.off}")
        given: Any = parse(tool.Input, asked["input"])
        output = await tool.run(given, conversation.runtime.tool_context(reads=True))
    except ToolError as error:
        return {"content": [{"type": "text", "text": str(error)}], "isError": True}
    conversation.keep_details(id_, output.details)
    return {"content": list(map(_content, output.content)), "isError": output.is_error}


def _content(block: Block) -> dict[str, Any]:
    match block:
        case Text(text):
            return {"type": "text", "text": text}
        case Image(media_type, data):
            return {"type": "image", "data": data, "mimeType": media_type}
        case _:
            return {"type": "text", "text": str(block_to_json(block))}
