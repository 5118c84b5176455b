"""The difference between two requests: messages added, replaced, removed, and where the prompt cache broke."""

from bisect import bisect_left
from collections.abc import Generator, Iterator, Sequence
from typing import Literal, TypeAlias

from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.model.events import (
    AssistantMessage,
    Record,
    RequestSent,
    SettingChanged,
)
from prunecli.model.messages import Json, Usage
from prunecli.model.requests import PREAMBLE, Preamble, WireMessage
from prunecli.util.frozen import frozen

_AT_A_TIME = 256
"""Records processed per step."""

Change: TypeAlias = Literal["added", "replaced", "removed"]


@frozen
class Sent:
    """A request: its record, its model, and what the endpoint reported."""

    seq: int
    timestamp: int
    model: str
    usage: Usage


@frozen
class Changed:
    """The change in the sent form of an entry. Tokens are wire bytes / 4, before and after."""

    change: Change
    seq: int
    before: int
    after: int


@frozen
class Difference:
    """The difference from one request to another.

    `same` are tokens (characters / 4) of the later request before the first different message, `same_messages` their
    number, `new` the tokens (wire bytes / 4) from there on. `broken_at` is the entry where the cached prefix ends,
    None if everything sent before is unchanged. `preamble`: system prompt or tools differ. `model`: the model
    differs, so nothing was cached.
    """

    first: Sent
    second: Sent
    changes: tuple[Changed, ...]
    same_messages: int
    same: int
    new: int
    broken_at: int | None
    preamble: bool
    model: bool


class Requests:
    """The requests of a log and their differences.

    `sent`, oldest first, is complete once `reading` is exhausted. A response without a recorded request (imported
    sessions) counts as its own request.
    """

    def __init__(self, records: Sequence[Record]) -> None:
        self.sent: list[Sent] = []
        self._records = list(records)
        self._preambles: list[tuple[int, Json]] = []

    def reading(self) -> Iterator[None]:
        """Read the records in steps."""
        is_open = False
        for number, record in enumerate(self._records):
            if not number % _AT_A_TIME:
                yield
            match record.event:
                case RequestSent(model=model):
                    self.sent.append(Sent(record.seq, record.timestamp, model, Usage()))
                    is_open = True
                case AssistantMessage() as event:
                    before = Sent(record.seq, record.timestamp, event.model, Usage())
                    if is_open:
                        before = self.sent.pop()
                    self.sent.append(
                        Sent(before.seq, before.timestamp, before.model or event.model, event.usage)
                    )
                    is_open = False
                case SettingChanged(key=key, value=value) if key == PREAMBLE:
                    self._preambles.append((record.seq, value))
                case _:
                    pass

    def compare(self, first: Sent, second: Sent) -> Generator[None, None, Difference]:
        """Compare two requests in steps; the last step returns the content that only one of them sent.

        The log is folded up to each of them.
        """
        old = (yield from self._before(first.seq)).messages()
        context = yield from self._before(second.seq)
        new = context.messages()
        pairs = enumerate(zip(old, new, strict=False))
        same = next((at for at, (a, b) in pairs if a.canonical != b.canonical), min(len(old), len(new)))
        before, after = _by_entry(old[same:]), _by_entry(new[same:])
        return Difference(
            first,
            second,
            tuple(_changes(before, after)),
            same,
            context.counts.tokens_of(context.items[: context.wire.item_at(same)]),
            sum(len(message.canonical) for message in new[same:]) // 4,
            _broken_at(old, new, same),
            self._preamble(first.seq) != self._preamble(second.seq),
            first.model != second.model,
        )

    def _before(self, at: int) -> Generator[None, None, Context]:
        """Fold the log up to record `at`."""
        context = Context(Chars4(), billed=False)
        for number, record in enumerate(self._records[: bisect_left(self._records, at, key=_seq)]):
            context.apply(record)
            if not number % _AT_A_TIME:
                yield
        return context

    def _preamble(self, at: int) -> Preamble:
        number = bisect_left(self._preambles, at, key=lambda pair: pair[0])
        value = self._preambles[number - 1][1] if number else None
        if not isinstance(value, dict):
            return Preamble((), ())
        return Preamble.of(tuple(value.get("system", ())), tuple(value.get("tools", ())))


def _seq(record: Record) -> int:
    return record.seq


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
    """Return the entry of the first different block. A last message that only grew is not a break."""
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
