"""server_clear (Anthropic): let the endpoint prune the oldest results itself; all thinking stays.

It proposes no edit: each request names the rule. The endpoint applies the rule to its own copy of the conversation,
after checking the thinking against the request. Source: `clear_tool_uses_20250919` of Anthropic's Messages API.
"""

from typing import Annotated, Literal

from prunecli.context.strategy import Proposal, Size
from prunecli.context.view import View
from prunecli.model.messages import Json
from prunecli.util.by_project import ALLOWED
from prunecli.util.frozen import frozen

NOTE = "the endpoint chooses which results it clears, with each request"


@frozen
class Options:
    """The endpoint's own options and defaults."""

    trigger: Annotated[Size, "Clear only in requests with more than this many `trigger_by`.", ALLOWED] = (
        100_000
    )
    trigger_by: Annotated[
        Literal["input_tokens", "tool_uses"],
        "What `trigger` counts: prompt tokens, or tool calls in the prompt.",
        ALLOWED,
    ] = "input_tokens"
    keep: Annotated[Size, "Newest calls whose results are never cleared.", ALLOWED] = 3
    clear_at_least: Annotated[
        Size, "Clear only if this many tokens would be freed; 0: any number.", ALLOWED
    ] = 0
    exclude_tools: Annotated[tuple[str, ...], "Tools whose results are never cleared.", ALLOWED] = ()
    clear_tool_inputs: Annotated[
        bool | tuple[str, ...],
        "Also clear the arguments of calls: of all, of none, or of these tools.",
        ALLOWED,
    ] = False


def propose(view: View, options: Options) -> Proposal:
    """Propose nothing: the endpoint decides when it has the request."""
    return Proposal((), NOTE, lambda _: "the endpoint chooses what it clears")


def context_edit(options: Options) -> dict[str, Json]:
    """Return the edit requested from the endpoint. Options that are off are omitted."""
    edit: dict[str, Json] = {
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": options.trigger_by, "value": options.trigger},
        "keep": {"type": "tool_uses", "value": options.keep},
    }
    if options.clear_at_least:
        edit["clear_at_least"] = {"type": "input_tokens", "value": options.clear_at_least}
    if options.exclude_tools:
        edit["exclude_tools"] = list(options.exclude_tools)
    if inputs := options.clear_tool_inputs:
        edit["clear_tool_inputs"] = inputs if isinstance(inputs, bool) else list(inputs)
    return edit
