"""What two requests of a session differ in: messages added, replaced, removed, and where the prompt cache broke.

A pure function of the log: it is folded once up to the later of the two requests.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.model.events import AssistantMessage, Record, RequestSent
from prunecli.model.messages import Usage
from prunecli.model.requests import Preamble, WireMessage

Change: TypeAlias = Literal["added", "replaced", "removed"]


@dataclass(frozen=True, slots=True)
class Sent:
    """A request: the record at which it went out, its model, and what the endpoint reported of it."""

    seq: int
    timestamp: int
    model: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class Changed:
    """What happened to what is sent of an entry; tokens are the wire's bytes / 4, before and after."""

    change: Change
    seq: int
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Difference:
    """From one request to another. `same` and `new` are tokens (bytes / 4) of the later one's messages before and
    from the first that differs, `same_messages` the number of the former. `broken_at` is the entry at which what
    was cached ends, None where everything that was sent before stands unchanged. `preamble` says that system
    prompt or tools are others, `model` that the model is: then nothing was cached."""

    first: Sent
    second: Sent
    changes: tuple[Changed, ...]
    same_messages: int
    same: int
    new: int
    broken_at: int | None
    preamble: bool
    model: bool


def requests_sent(records: Sequence[Record]) -> list[Sent]:
    """The requests of a log, oldest first. A response without a recorded request, as imported sessions have them,
    stands for its own. Costs O(records)."""
    found: list[Sent] = []
    is_open = False
    for record in records:
        event = record.event
        if isinstance(event, RequestSent):
            found.append(Sent(record.seq, record.timestamp, event.model, Usage()))
            is_open = True
        elif isinstance(event, AssistantMessage):
            before = found.pop() if is_open else Sent(record.seq, record.timestamp, event.model, Usage())
            found.append(Sent(before.seq, before.timestamp, before.model or event.model, event.usage))
            is_open = False
    return found


def difference(records: Sequence[Record], first: Sent, second: Sent) -> Difference:
    """What the later request sent that the earlier one did not, and the other way round. Costs O(records)."""
    context = Context(Chars4())
    one: tuple[Preamble, tuple[WireMessage, ...]] | None = None
    for record in records:
        if record.seq == first.seq:
            one = context.preamble, context.messages()
        if record.seq >= second.seq:
            break
        context.apply(record)
    two = context.preamble, context.messages()
    (old_preamble, old), (new_preamble, new) = one or two, two
    same = next(
        (at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a.canonical != b.canonical),
        min(len(old), len(new)),
    )
    rest = sum(len(message.canonical) for message in new[same:])
    before, after = _by_entry(old[same:]), _by_entry(new[same:])
    return Difference(
        first,
        second,
        tuple(_changes(before, after)),
        same,
        sum(len(message.canonical) for message in new[:same]) // 4,
        rest // 4,
        _broken_at(old, new, same),
        old_preamble != new_preamble,
        first.model != second.model,
    )


Blocks: TypeAlias = dict[int, list[bytes]]


def _by_entry(messages: Sequence[WireMessage]) -> Blocks:
    found: Blocks = {}
    for message in messages:
        for seq, block in zip(message.seqs, message.blocks, strict=True):
            found.setdefault(seq, []).append(block)
    return found


def _changes(before: Blocks, after: Blocks) -> list[Changed]:
    found: list[Changed] = []
    for seq in sorted({*before, *after}):
        old, new = before.get(seq, []), after.get(seq, [])
        if old != new:
            change: Change = "added" if not old else "removed" if not new else "replaced"
            found.append(Changed(change, seq, _tokens(old), _tokens(new)))
    return found


def _tokens(blocks: Sequence[bytes]) -> int:
    return sum(map(len, blocks)) // 4


def _broken_at(old: Sequence[WireMessage], new: Sequence[WireMessage], same: int) -> int | None:
    """The entry of the first block that is another; a last message that only got longer is no break."""
    if same >= len(old):
        return None
    if same >= len(new):
        return old[same].seqs[0]
    a, b = old[same], new[same]
    if a.role == b.role and same == len(old) - 1 and b.blocks[: len(a.blocks)] == a.blocks:
        return None
    pairs = zip(a.seqs, a.blocks, b.blocks, strict=False)
    seqs = (*(seq for seq, x, y in pairs if x != y), *b.seqs[len(a.blocks) :], a.seqs[-1])
    return seqs[0]
