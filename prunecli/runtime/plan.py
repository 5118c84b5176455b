"""The plan waiting for the user's approval."""

from prunecli.model.messages import plain_text
from prunecli.model.planning import plan_in
from prunecli.runtime.runtime import Runtime


def plan_of(runtime: Runtime) -> str:
    """The plan at the end of the last answer in plan mode, or ""."""
    context = runtime.session.context
    last = context.items[-1] if context.items else None
    if runtime.gatekeeper.mode != "plan" or runtime.running or last is None or last.kind != "assistant":
        return ""
    return plan_in(plain_text(getattr(last.event, "content", ())))
