"""What is laid out of an earlier moment is what was sent then, wherever one comes from, whatever happened since."""

from collections import deque

from hypothesis import given
from hypothesis import strategies as st

from prunecli.inspector.difference import Requests, Sent
from prunecli.model.events import Record
from prunecli.model.messages import Usage
from prunecli.model.requests import WireMessage
from tests.inspector.test_difference import finished
from tests.laws.logs import sessions
from tests.laws.test_outline import folded


def sent_at(records: list[Record], at: int) -> tuple[WireMessage, ...]:
    """The messages as of before a record, folded from the start."""
    return folded([record for record in records if record.seq < at]).messages()


def blocks(messages: tuple[WireMessage, ...]) -> dict[int, list[bytes]]:
    found: dict[int, list[bytes]] = {}
    for message in messages:
        for seq, block in zip(message.seqs, message.blocks, strict=True):
            found.setdefault(seq, []).append(block)
    return found


@given(sessions(), st.data())
def test_a_difference_is_that_of_what_two_folds_would_send(
    records: list[Record], data: st.DataObject
) -> None:
    requests = Requests(records)
    deque(requests.reading(), 0)
    for _ in range(4):
        first, second = sorted(data.draw(st.integers(1, len(records))) for _ in range(2))
        steps = requests.compare(Sent(first, 0, "m", Usage()), Sent(second, 0, "m", Usage()))
        if data.draw(st.booleans()):
            deque(zip(range(data.draw(st.integers(0, 3))), steps, strict=False), 0)  # given up half-way
            steps = requests.compare(Sent(first, 0, "m", Usage()), Sent(second, 0, "m", Usage()))
        found = finished(steps)
        old, new = sent_at(records, first), sent_at(records, second)
        same = next(
            (at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a.canonical != b.canonical),
            min(len(old), len(new)),
        )
        assert found.same_messages == same
        assert found.new == sum(len(message.canonical) for message in new[same:]) // 4
        before, after = blocks(old[same:]), blocks(new[same:])
        changed = {seq for seq in {*before, *after} if before.get(seq) != after.get(seq)}
        assert {one.seq for one in found.changes} == changed
        for one in found.changes:
            assert one.before == sum(map(len, before.get(one.seq, []))) // 4
            assert one.after == sum(map(len, after.get(one.seq, []))) // 4
