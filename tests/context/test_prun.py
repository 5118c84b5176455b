"""Plans of pruns at the edge: where what could go has to stay."""

import pytest

from prunecli.context.prun import plan_prun
from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.context.view import View
from prunecli.model.events import AssistantMessage, Record, ToolResult, UserMessage
from prunecli.model.messages import Text, Thinking, ToolUse


@pytest.mark.parametrize("memo", [None, "what was learned"])
def test_the_thinking_that_begins_the_open_loop_stays_and_nothing_is_pruned(memo: str | None) -> None:
    """API-22: without it the request would be refused; it is the only exchange that could go."""
    events = [
        UserMessage((Text("go"),)),
        AssistantMessage((Thinking("hm", "sig"), ToolUse("t1", "read", {"path": "a.py"})), "m", "tool_use"),
        ToolResult("t1", "read", (Text("line\n" * 80),)),
        AssistantMessage((ToolUse("t2", "read", {"path": "b.py"}),), "m", "tool_use"),
        ToolResult("t2", "read", (Text("line\n" * 80),)),
    ]
    context = Context(Chars4())
    for seq, event in enumerate(events):
        context.apply(Record(seq, 1_000 + seq, event))
    plan = plan_prun(View(context, 600), 30, memo)
    assert plan.exchanges == ()
    assert plan.message.startswith("Nothing to prune")
