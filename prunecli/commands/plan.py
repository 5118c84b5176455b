"""/plan: switch to plan mode, where the agent only reads and proposes a plan to approve."""

from collections.abc import Sequence
from typing import Literal

from prunecli.commands.command import Effect, Say, Submit, refuse
from prunecli.model.messages import plain_text
from prunecli.model.notes import plan_in
from prunecli.runtime import Runtime

ANSWERS: tuple[tuple[Literal["edits", "ask", "no"], str], ...] = (
    ("edits", "Yes, go on in edits mode"),
    ("ask", "Yes, go on in ask mode"),
    ("no", "Keep planning, and say what to change"),
)
"""The answers to a plan: the mode to go on in, or no."""


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Plan mode: the agent only reads, then proposes a plan; /plan TASK starts at once."""
    if arguments == "off":
        refuse("plan", [arguments], "a task; Shift+Tab changes the mode")
    runtime.gatekeeper.mode = "plan"
    if arguments:
        return [Submit(arguments)]
    return [Say("Plan mode: the agent only reads, then proposes a plan to approve or deny.")]


def plan_of(runtime: Runtime) -> str:
    context = runtime.session.context
    last = context.items[-1] if context.items else None
    if runtime.gatekeeper.mode != "plan" or runtime.running or last is None or last.kind != "assistant":
        return ""
    return plan_in(plain_text(getattr(last.event, "content", ())))
