"""How a runtime stands: its figures, whether work was left open, and what an entry said originally."""

from typing import TYPE_CHECKING

from prunecli.agent.decide import at_rest
from prunecli.context.state import Context
from prunecli.errors import ToolError
from prunecli.model.messages import Block
from prunecli.model.notes import typed
from prunecli.runtime.setup import Status

if TYPE_CHECKING:
    from prunecli.runtime.runtime import Runtime


def status(runtime: "Runtime") -> Status:
    """The figures of now."""
    waiting = [*runtime.mailbox.steering, *runtime.mailbox.follow_ups]
    context, policy = runtime.session.context, runtime.policy
    return Status(
        policy.ledger(context),
        policy.decided(context)[1],
        runtime.bill,
        runtime.model_name,
        runtime.gatekeeper.mode,
        runtime.choices.pruning,
        runtime.running,
        not context.counts.scale.measured,
        runtime.gatekeeper.trusted,
        tuple(typed(message) for message in waiting),
        runtime.session.name,
    )


def unfinished(context: Context) -> bool:
    """Whether the session was left in the middle of something."""
    last = next((item for item in reversed(context.items) if item.kind != "command"), None)
    if last is None:
        return False
    cut = last.kind == "assistant" and getattr(last.event, "stop_reason", "") == "interrupted"
    return not cut and at_rest(context) is None


def original(context: Context, seq: int) -> tuple[Block, ...]:
    """What an entry said before any prune. Raises ToolError for the user's entries and for none."""
    entry = context.entries.get(seq)
    if entry is None or entry.kind not in ("result", "command", "assistant"):
        raise ToolError(f"There is no tool result or answer numbered {seq}")
    return tuple(getattr(entry.event, "content", ()))
