"""Manual edits by command: finds entries by the numbers that /context shows, restores them, and reports the cost."""

import re
from collections.abc import Iterable, Sequence

from prunecli.config.typed import got
from prunecli.context.exchange import Entry
from prunecli.context.impact import Impact, impact
from prunecli.context.manual_edits import Plan, at_the_end, in_place
from prunecli.context.state import Context
from prunecli.model.events import Event, Record, UserMessage
from prunecli.plugins.features import available
from prunecli.runtime.runtime import Runtime
from prunecli.util.errors import UsageError

NUMBERS = available("/context lists the entries with their numbers")
_RANGE = re.compile(r"(\d{1,15})-(\d{1,15})")


def entries_of(runtime: Runtime, words: Sequence[str], hint: str = NUMBERS) -> tuple[int, ...]:
    """Return the entries with these numbers or in ranges such as 12-20.

    Raises UsageError if there are none; `hint` describes the arguments that the command takes.
    """
    known = runtime.session.context.entries
    seqs: dict[int, None] = {}
    for word in words:
        ends = _RANGE.fullmatch(word)
        if not ends and not word.isdecimal():
            raise UsageError(f"expected an entry number, got {got(word)}", hint)
        if ends:
            found = [seq for seq in known if int(ends[1]) <= seq <= int(ends[2])]
        else:
            found = [int(word)] if len(word) <= 15 and int(word) in known else []
        if not found:
            raise UsageError(f"{word} is not an entry of this session", NUMBERS)
        seqs.update(dict.fromkeys(sorted(found)))
    if not seqs:
        raise UsageError("No entry given", hint)
    return tuple(seqs)


def bring_back(
    runtime: Runtime, seqs: Sequence[int], *, where_they_were: bool = False
) -> tuple[Plan, Impact]:
    """Plan to restore pruned entries at the end of the context, or in place. Return the plan and its cost.

    An answer stands for its results as well. A plan without events does nothing; `carry_out` does the others.
    """
    context = runtime.session.context
    seqs = list(dict.fromkeys(part for seq in seqs for part in _with_results(context.entries[seq])))
    plan = in_place(context, seqs) if where_they_were else at_the_end(context, seqs)
    return plan, impact(context, plan.events, runtime.policy.market)


def _with_results(entry: Entry) -> list[int]:
    whole = entry.exchange.entries if entry.exchange and entry.kind == "assistant" else [entry]
    return [part.seq for part in whole]


def foreseen(runtime: Runtime, events: Iterable[Event]) -> Context:
    """Return the context after these events. The log is folded again, so this may take as long as a resume."""
    records, later = list(runtime.session.records), runtime.new_context()
    for event in events:
        records.append(Record(records[-1].seq + 1, records[-1].timestamp + 1, event))
    for record in records:
        later.apply(record)
    return later


def carry_out(runtime: Runtime, events: Iterable[Event]) -> None:
    """Record the user's edits. While the agent works, a message that restores entries waits like steering.

    Raises StorageFailed, SessionReadOnly.
    """
    for event in events:
        if not (isinstance(event, UserMessage) and runtime.running):
            runtime.emit(event)
        elif event not in runtime.mailbox.steering:
            runtime.mailbox.steering.append(event)


def in_a_sentence(words: str) -> str:
    """Return words as a sentence with a leading space; "" for none."""
    return f" {words[:1].upper()}{words[1:]}." if words else ""


def thinking_cost(runtime: Runtime, *events: Event) -> str:
    """Return a sentence, with a leading space, on the events' effect on thinking; "" if there is none."""
    return in_a_sentence(impact(runtime.session.context, events, runtime.policy.market).thinking)
