"""The state of a runtime: its figures, unfinished work, and original entries."""

from prunecli.agent.decide import Mailbox, at_rest
from prunecli.agent.gatekeeper import SessionGatekeeper
from prunecli.agent.policy import Policy, Waiting
from prunecli.context.bill import Bill
from prunecli.context.economics import last_use
from prunecli.context.gate import next_prunes
from prunecli.context.state import Context
from prunecli.errors import ToolError
from prunecli.figures import short
from prunecli.model.messages import Block
from prunecli.model.notes import typed
from prunecli.runtime.balance import Balance
from prunecli.runtime.choices import Choices
from prunecli.runtime.setup import Status
from prunecli.session.session import Session


def status(
    session: Session,
    mailbox: Mailbox,
    choices: Choices,
    policy: Policy,
    gatekeeper: SessionGatekeeper,
    balance: Balance,
    bill: Bill,
    running: bool,
    sandbox: str = "",
    jobs: int = 0,
) -> Status:
    waiting = [*mailbox.steering, *mailbox.follow_ups]
    context = session.context
    return Status(
        balance.beside(policy.ledger(context)),
        _waiting(context, policy),
        bill,
        choices.model.name,
        gatekeeper.mode,
        choices.pruning,
        running,
        not context.counts.is_reported,
        gatekeeper.trusted,
        tuple(typed(message) for message in waiting),
        session.name,
        sandbox,
        jobs=jobs,
        cached_at=last_use(context, policy.market) or 0,
    )


def _waiting(context: Context, policy: Policy) -> Waiting | None:
    prunes, waiting = policy.decided(context)
    if not prunes:
        return waiting
    freed = next_prunes(context, prunes, policy.market)
    return Waiting(f"{short(freed)} to prune with the next request", "", freed)


def unfinished(context: Context) -> bool:
    last = next((item for item in reversed(context.items) if item.kind != "command"), None)
    if last is None:
        return False
    cut = last.kind == "assistant" and getattr(last.event, "stop_reason", "") == "interrupted"
    return not cut and at_rest(context) is None


def original(context: Context, seq: int) -> tuple[Block, ...]:
    """Return the original content of an entry. Raises ToolError for user messages and unknown entries."""
    entry = context.entries.get(seq)
    if entry is None or entry.kind not in ("result", "command", "assistant"):
        raise ToolError(f"There is no tool result or answer numbered {seq}")
    return entry.content if entry.is_attached else tuple(getattr(entry.event, "content", ()))
