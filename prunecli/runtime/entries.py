"""Entries as the user names them, by the numbers that /context shows, and how they come back."""

import re
from collections.abc import Iterable, Sequence

from prunecli.context.acts import Plan, at_the_end, in_place
from prunecli.context.impact import Impact, impact
from prunecli.errors import UsageError
from prunecli.model.events import Event, UserMessage
from prunecli.runtime.runtime import Runtime

NUMBERS = "/context shows them with their numbers"
_RANGE = re.compile(r"(\d{1,15})-(\d{1,15})")


def entries_of(runtime: Runtime, words: Sequence[str], hint: str = NUMBERS) -> tuple[int, ...]:
    """The entries of these numbers and ranges such as 12-20. Raises UsageError for none and for what names none."""
    known = runtime.session.context.entries
    seqs: dict[int, None] = {}
    for word in words:
        ends = _RANGE.fullmatch(word)
        if ends:
            found = [seq for seq in known if int(ends[1]) <= seq <= int(ends[2])]
        else:
            found = [int(word)] if word.isdecimal() and len(word) <= 15 and int(word) in known else []
        if not found:
            raise UsageError(f"{word} is no entry of this session", NUMBERS)
        seqs.update(dict.fromkeys(sorted(found)))
    if not seqs:
        raise UsageError("which entry?", hint)
    return tuple(seqs)


def bring_back(
    runtime: Runtime, seqs: Sequence[int], *, where_they_were: bool = False
) -> tuple[Plan, Impact]:
    """Shows pruned entries again at the end, or puts them back where they were; what was done and what it costs.
    A plan that is not allowed did nothing. Raises StorageFailed, SessionReadOnly."""
    context = runtime.session.context
    plan = in_place(context, seqs) if where_they_were else at_the_end(context, seqs)
    effect = impact(context, plan.events, runtime.policy.market)
    carry_out(runtime, plan.events)
    return plan, effect


def carry_out(runtime: Runtime, events: Iterable[Event]) -> None:
    """Records what the user does to the context. A message that shows entries again goes in where steering does while
    the agent works, once. Raises StorageFailed, SessionReadOnly."""
    for event in events:
        if not (isinstance(event, UserMessage) and runtime.running):
            runtime.emit(event)
        elif event not in runtime.mailbox.steering:
            runtime.mailbox.steering.append(event)
