"""What happens next, as a pure function of the folded state, the inbox and the policy.

The loop is its short interpreter, so resuming a crashed session is simply running again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from prunecli.agent.policy import MAX_REPEATS, Policy
from prunecli.context.compaction import CompactionPlan, last_word
from prunecli.context.exchange import Entry, Exchange
from prunecli.context.state import Context
from prunecli.model.events import AssistantMessage, EndReason, PrunApplied, UserMessage
from prunecli.model.messages import ToolUse

MAX_PAUSES = 10
"""So many times in a row the endpoint may pause one turn of the model."""


@dataclass(frozen=True, slots=True)
class Steer:
    """The user said something while the agent worked: it goes into the log between turns."""

    messages: tuple[UserMessage, ...]


@dataclass(frozen=True, slots=True)
class Prune:
    """Decided prunes; here, visibly, is where the prompt cache breaks."""

    events: tuple[PrunApplied, ...]


@dataclass(frozen=True, slots=True)
class Send:
    """The model's turn."""


@dataclass(frozen=True, slots=True)
class Act:
    """Calls that wait for their results, in source order."""

    calls: tuple[ToolUse, ...]


@dataclass(frozen=True, slots=True)
class Done:
    """The run is over; `note` says why in words where it is not obvious."""

    reason: EndReason
    note: str = ""


@dataclass(frozen=True, slots=True)
class Compact:
    """A summary by the model is to replace the middle of the session."""

    plan: CompactionPlan


Action: TypeAlias = Steer | Prune | Compact | Send | Act | Done


@dataclass(frozen=True, slots=True)
class Inbox:
    """What the user said while the agent works: steering goes in after the current tool calls, follow-ups when
    the agent would be done."""

    steering: tuple[UserMessage, ...] = ()
    follow_ups: tuple[UserMessage, ...] = ()


class Mailbox:
    """What the user says while the agent works: visible and editable until it is taken."""

    def __init__(self) -> None:
        self.steering: list[UserMessage] = []
        self.follow_ups: list[UserMessage] = []

    def inbox(self) -> Inbox:
        """Its content as a value."""
        return Inbox(tuple(self.steering), tuple(self.follow_ups))

    def taken(self, messages: tuple[UserMessage, ...]) -> None:
        """These are in the log now."""
        for waiting in (self.steering, self.follow_ups):
            waiting[:] = [message for message in waiting if message not in messages]


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one run and how much of them is used: exchanges (`--max-turns`) and USD (`--max-cost`).

    `compacted_at` is the boundary or user turn at which a compaction was last tried: not tried again until the
    user says something.
    """

    max_turns: int | None = None
    max_cost: float | None = None
    turns: int = 0
    cost: float = 0.0
    compacted_at: int = -1


def next_action(context: Context, inbox: Inbox, policy: Policy, limits: Limits) -> Action:
    """The next step of a run. Changes nothing."""
    exchange = context.in_progress
    if exchange and exchange.unanswered:
        return Act(exchange.unanswered)
    if promised := policy.promised(context):
        return Prune(tuple(promised))
    if inbox.steering:
        return Steer(inbox.steering)
    if done := at_rest(context):
        return Steer(inbox.follow_ups) if inbox.follow_ups and done.reason == "finished" else done
    if stop := _limit(context, limits):
        return stop
    if prunes := policy.prunes(context):
        return Prune(tuple(prunes))
    if (plan := policy.compact(context)) and limits.compacted_at < last_word(context):
        room = policy.make_room(context)
        return Prune(tuple(room)) if room else Compact(plan)
    return Send()


def at_rest(context: Context) -> Done | None:
    """Done where the last word was the model's and asks for nothing, None where a run would go on. A command of the
    user's, a `!cmd` or a `/restore`, asks for no answer."""
    last = next((item for item in reversed(context.items) if item.kind != "command"), None)
    if last is None:
        return Done("finished", "nothing was asked")
    if last.kind != "assistant" or not isinstance(last.event, AssistantMessage):
        return None
    if last.event.stop_reason == "refusal":
        return Done("limit", "the model refused to answer")
    if last.exchange and last.exchange.calls:
        return None
    if _paused(last):
        return None
    if last.event.stop_reason in ("max_tokens", "model_context_window_exceeded"):
        return Done("finished", "the answer was cut at its length limit; say 'continue' to go on")
    return Done("finished")


def _limit(context: Context, limits: Limits) -> Done | None:
    if limits.max_turns is not None and limits.turns >= limits.max_turns:
        return Done("limit", f"stopped after {limits.turns} turns (--max-turns)")
    if limits.max_cost is not None and limits.cost >= limits.max_cost:
        return Done("limit", f"stopped at ${limits.cost:.2f} (--max-cost)")
    pauses = [item for item in context.items[-MAX_PAUSES:] if _paused(item)]
    if len(pauses) == MAX_PAUSES and limits.turns >= MAX_PAUSES:
        return Done("limit", f"stopped: the model's turn was paused {MAX_PAUSES} times in a row")
    recent = context.exchanges[-MAX_REPEATS:]
    if _repeats(recent) and recent[0].seq > last_word(context):
        return Done("limit", f"stopped: the same call gave the same answer {MAX_REPEATS} times")
    return None


def _paused(item: Entry) -> bool:
    return isinstance(item.event, AssistantMessage) and item.event.stop_reason == "pause_turn"


def _repeats(exchanges: Sequence[Exchange]) -> bool:
    """Whether the last exchanges are one call, repeated with the same answer (API-30)."""
    if len(exchanges) < MAX_REPEATS:
        return False
    seen = {
        (call.name, repr(sorted(call.input.items())), entry.text)
        for exchange in exchanges
        for call, entry in zip(exchange.calls, exchange.results, strict=False)
    }
    return len(seen) == 1 and all(len(exchange.calls) == 1 for exchange in exchanges)
