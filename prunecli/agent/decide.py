"""Decides the next step, as a pure function of the context, the inbox, the policy and the limits.

`loop.py` carries the steps out, so resuming a crashed session means running again.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from prunecli.agent.nudge import nudge
from prunecli.agent.policy import MAX_REPEATS, Policy
from prunecli.context.compaction import CompactionPlan, last_word
from prunecli.context.exchange import Entry, Exchange
from prunecli.context.state import Context
from prunecli.model.events import AssistantMessage, EndReason, PrunApplied, UserMessage
from prunecli.model.messages import ToolUse
from prunecli.model.notes import keeps_going
from prunecli.util.figures import counted, money
from prunecli.util.frozen import frozen

CUT = {
    "max_tokens": 'reply hit the length limit; prompt "continue" to go on',
    "model_context_window_exceeded": 'reply filled the context window; /compact, then prompt "continue"',
}
"""The note for an answer that is not complete, by stop reason."""
MAX_CYCLE = 4
"""The length of the longest cycle of calls that is noticed."""
MAX_PAUSES = 10
"""Maximum times in a row that the endpoint may pause one turn of the model."""


@frozen
class Steer:
    """Record messages that came while the agent worked."""

    messages: tuple[UserMessage, ...]


@frozen
class Prune:
    """Record the decided prunes. This is the step that breaks the prompt cache."""

    events: tuple[PrunApplied, ...]


@frozen
class Send:
    """Send the next request."""


@frozen
class Act:
    """Run the calls that have no result yet, in source order."""

    calls: tuple[ToolUse, ...]


@frozen
class Done:
    """End the run; `note` gives the reason if it is not obvious. `cut`: the last answer is not complete."""

    reason: EndReason
    note: str = ""
    cut: bool = False


@frozen
class Compact:
    """Replace the older part of the session with a summary."""

    plan: CompactionPlan


Action: TypeAlias = Steer | Prune | Compact | Send | Act | Done


@frozen
class Inbox:
    """Messages sent while the agent works.

    Steering is delivered after the current tool calls, and follow-ups when the agent would otherwise stop. Notices
    are delivered before the next request; they do not wake an idle agent.
    """

    steering: tuple[UserMessage, ...] = ()
    follow_ups: tuple[UserMessage, ...] = ()
    notices: tuple[UserMessage, ...] = ()


class Mailbox:
    """Queued user messages, visible and editable until the loop takes them.

    `notices` are delivered once. `news` are functions that return the notices due now. They run at each step, so they
    must be quick and omit anything that is already in the context. `complete` adds mentioned content to a message
    before it is recorded.
    """

    complete: Callable[[UserMessage], Awaitable[UserMessage]] | None

    def __init__(self, news: Iterable[Callable[[], Sequence[UserMessage]]] = ()) -> None:
        self.complete = None
        self.steering: list[UserMessage] = []
        self.follow_ups: list[UserMessage] = []
        self.notices: list[UserMessage] = []
        self.news = list(news)

    def emptied(self) -> "Mailbox":
        other = Mailbox(self.news)
        other.complete = self.complete
        return other

    def inbox(self) -> Inbox:
        due = (message for source in self.news for message in source())
        return Inbox(tuple(self.steering), tuple(self.follow_ups), (*self.notices, *due))

    def taken(self, messages: tuple[UserMessage, ...]) -> None:
        for waiting in (self.steering, self.follow_ups, self.notices):
            waiting[:] = [message for message in waiting if message not in messages]


@frozen
class Limits:
    """The limits of one run and their use so far: requests (`--max-turns`) and USD (`--max-cost`).

    `compacted_at` is the boundary or user turn of the last compaction attempt; the next attempt waits for a new
    user message.
    """

    max_turns: int | None = None
    max_cost: float | None = None
    turns: int = 0
    cost: float = 0.0
    compacted_at: int = -1


@dataclass(slots=True)
class Spending:
    """The amount that a run and its tasks have spent so far, in USD."""

    spent: float = 0.0


def next_action(context: Context, inbox: Inbox, policy: Policy, limits: Limits) -> Action:
    """Return the next step of a run, without changing anything."""
    exchange = context.in_progress
    if exchange and exchange.unanswered:
        return Act(exchange.unanswered)
    if planned_by_model := policy.planned_by_model(context):
        return Prune(tuple(planned_by_model))
    if inbox.steering:
        return Steer(inbox.steering)
    if done := at_rest(context):
        return Steer(inbox.follow_ups) if inbox.follow_ups and done.reason == "finished" else done
    if stop := _limit(context, limits):
        return stop
    if inbox.notices:
        return Steer(inbox.notices)
    if suggested := nudge(context, policy):
        return Steer((suggested,))
    may_compact = limits.compacted_at < last_word(context)
    if context.ahead.billed and may_compact and (plan := policy.compact(context)) and plan.ready:
        return Compact(plan)  # before prunes change what it was made of
    if prunes := policy.prunes(context):
        return Prune(tuple(prunes))
    if may_compact and (plan := policy.compact(context)):
        instead = policy.instead_of(context, plan)
        return Prune(tuple(instead)) if instead else Compact(plan)
    if relief := policy.relief(context):
        return Prune(tuple(relief))
    return Send()


def at_rest(context: Context) -> Done | None:
    """Return Done if the model's last message ends its turn, None if a run would continue.

    User commands (`!cmd`, `/restore`) need no answer, and neither do notices, unless one tells the agent to go on.
    """
    last = next((item for item in reversed(context.items) if item.kind != "command" or _goes_on(item)), None)
    if last is None:
        return Done("finished", "nothing to answer yet")
    if last.kind != "assistant" or not isinstance(last.event, AssistantMessage):
        return None
    if last.event.stop_reason == "refusal":
        return Done("limit", "the model refused to answer")
    if last.exchange and last.exchange.calls:
        return None
    if _paused(last):
        return None
    if cut := CUT.get(last.event.stop_reason):
        return Done("finished", cut, cut=True)
    return Done("finished")


def unfinished(context: Context) -> bool:
    """Return whether the session was interrupted, so that a run would continue it."""
    last = next((item for item in reversed(context.items) if item.kind != "command"), None)
    if last is None:
        return False
    cut = last.kind == "assistant" and getattr(last.event, "stop_reason", "") == "interrupted"
    return not cut and at_rest(context) is None


def _goes_on(item: Entry) -> bool:
    return isinstance(item.event, UserMessage) and keeps_going(item.event)


def _limit(context: Context, limits: Limits) -> Done | None:
    if limits.max_turns is not None and limits.turns >= limits.max_turns:
        return Done("limit", f"stopped after {counted(limits.turns, 'turn')} (--max-turns)")
    if limits.max_cost is not None and limits.cost >= limits.max_cost:
        return Done("limit", f"stopped at {money(limits.cost)} (--max-cost)")
    pauses = [item for item in context.items[-MAX_PAUSES:] if _paused(item)]
    if len(pauses) == MAX_PAUSES and limits.turns >= MAX_PAUSES:
        return Done("limit", f"stopped: the endpoint paused the turn {MAX_PAUSES} times in a row")
    if length := _cycle(context.exchanges, last_word(context)):
        calls = "made the same call" if length == 1 else f"repeated the same {length} calls"
        results = "result" if length == 1 else "results"
        return Done("limit", f"stopped: the model {calls} {MAX_REPEATS} times with the same {results}")
    return None


def _paused(item: Entry) -> bool:
    return isinstance(item.event, AssistantMessage) and item.event.stop_reason == "pause_turn"


def _cycle(exchanges: Sequence[Exchange], after: int) -> int:
    """Return the length of the cycle of calls that the last exchanges repeat with the same results, 0 for none.
    Only exchanges after the record `after` count."""
    for length in range(1, MAX_CYCLE + 1):
        recent = exchanges[-MAX_REPEATS * length :]
        full = len(recent) == MAX_REPEATS * length and recent[0].seq > after
        if full and all(map(_same, recent, recent[length:])):
            return length
    return 0


def _same(one: Exchange, other: Exchange) -> bool:
    calls, others = ([(call.name, call.input) for call in exchange.calls] for exchange in (one, other))
    return (
        bool(calls)
        and calls == others
        and all(entry.whole == again.whole for entry, again in zip(one.results, other.results, strict=False))
    )
