"""What hooks and plugins may stop: prunes, and the end of a run."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from prunecli.agent.policy import HELD
from prunecli.context.compaction import last_word
from prunecli.context.ledger import prun_applied
from prunecli.context.state import Context
from prunecli.model.edits import Edit
from prunecli.model.events import Event, Pinned, PrunApplied, SettingChanged, UserMessage
from prunecli.model.notes import keeps_going
from prunecli.runtime.host import Host

MAX_STOPS = 8
"""Maximum times in a row that hooks or plugins may keep the agent from stopping."""


def stops(context: Context) -> int:
    """Return the number of times that the agent was kept from stopping since the user's last message."""
    count = 0
    for item in reversed(context.items):
        if item.opens_turn:
            break
        count += isinstance(item.event, UserMessage) and keeps_going(item.event)
    return count


def all_vetoed(host: Host, prunes: Sequence[PrunApplied], why: str) -> Sequence[Event]:
    """Return the events to record if nothing may be pruned until the next user message. A prune that the model asked
    for is recorded without edits, so that it is not proposed again; `why` is its reason."""
    asked = [replace(_with(host, prune, ()), reason=why) for prune in prunes if prune.source == "model"]
    return asked or [SettingChanged(HELD, last_word(host.session.context))]


def some_vetoed(
    host: Host, prunes: Sequence[PrunApplied], vetoed: Collection[int], pinned: Collection[int]
) -> Sequence[Event]:
    """Return the events to record if the `vetoed` entries must stay. They and the others of `pinned` are pinned, and
    the strategies decide again without them."""
    context = host.session.context
    fresh = tuple(sorted(set(pinned) - context.pinned))
    pins: list[Event] = [Pinned(fresh)] if fresh else []
    if not vetoed:
        return [*pins, *prunes]
    asked = [_without(host, prune, vetoed) for prune in prunes if prune.source == "model"]
    if not fresh and not asked:  # already pinned, but proposed anyway
        return [SettingChanged(HELD, last_word(context))]
    return [*pins, *asked]


def _without(host: Host, prune: PrunApplied, kept: Collection[int]) -> PrunApplied:
    """Return a prune of the model without the edits of some entries. Memos are kept only if a drop remains."""
    edits = tuple(edit for edit in prune.edits if edit.seq not in kept and edit.kind != "strip")
    if not any(edit.kind == "drop" for edit in edits):
        edits = ()
    return _with(host, prune, edits)


def _with(host: Host, prune: PrunApplied, edits: Sequence[Edit]) -> PrunApplied:
    view = host.policy.view(host.session.context)
    return prun_applied(
        view, prune.source, edits, strategy=prune.strategy, memo=prune.memo, reason=prune.reason
    )
