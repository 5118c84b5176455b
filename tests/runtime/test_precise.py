"""Counting tokens beside a session that goes on."""

import threading
from pathlib import Path

from prunecli.model.events import AssistantMessage
from prunecli.model.messages import Text
from prunecli.runtime.precise import LARGE_CHARS, count_ahead
from tests.starting import start


class Counter:
    """Counts characters; keeps the threads that asked."""

    name = "characters"

    def __init__(self) -> None:
        self.threads: set[int] = set()

    def count(self, text: str) -> int:
        self.threads.add(threading.get_ident())
        return len(text)

    def count_many(self, texts: list[str]) -> list[int]:
        return [self.count(text) for text in texts]


async def test_a_large_answer_is_counted_in_a_thread_and_not_again(tmp_path: Path) -> None:
    session = start(tmp_path).session
    counter = Counter()
    session.context.tally.recount(counter, {})
    session.emit(AssistantMessage((Text("x" * LARGE_CHARS),), "demo", "end_turn"))
    assert [entry.size[0] for entry in session.context.tally.uncounted(LARGE_CHARS)] == [LARGE_CHARS]
    await count_ahead(session.context)
    assert counter.threads
    assert threading.get_ident() not in counter.threads
    assert session.context.tally.uncounted(LARGE_CHARS) == []


async def test_what_another_counter_said_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    session = start(tmp_path).session
    tally = session.context.tally

    class Swapping(Counter):
        def count(self, text: str) -> int:
            tally.counter = Counter()
            return -7

    tally.recount(Swapping(), {})
    session.emit(AssistantMessage((Text("x" * LARGE_CHARS),), "demo", "end_turn"))
    await count_ahead(session.context)
    assert len(tally.uncounted(LARGE_CHARS)) == 1
