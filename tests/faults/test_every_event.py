"""Esc, a kill and a broken stream at every event of a session: the next request is valid, no call runs twice."""

import asyncio
import gc
from collections.abc import Callable
from pathlib import Path

import pytest

from prunecli.model.events import Record
from prunecli.util.errors import ConnectionLost, Overloaded, RateLimited
from tests.faults.playing import Play, Played, played, traces

SHORT, LONG = Play(1, 0), Play(3, 5)


class Killed(BaseException):
    """Stands for kill -9: nobody catches it."""


def events(play: Play) -> int:
    """How many things readers are told in a session without faults."""
    one = played(None, play)
    asyncio.run(one.go_on())
    return len(one.bench.told)


def at_event(one: Played, number: int, act: Callable[[], None]) -> None:
    """Acts when the n-th thing is told, once."""
    left = [number]

    def read(_: object) -> None:
        left[0] -= 1
        if left[0] == 0:
            act()

    one.session.subscribe(read)


def check(one: Played, ran: list[str]) -> None:
    one.check_requests()
    assert len(ran) == len(set(ran)), "a call ran twice"
    assert one.answered() == len(one.play.script)
    seqs = [record.seq for record in one.records]
    assert seqs == list(range(len(seqs)))


def interrupted_at(play: Play, number: int) -> bool:
    """Presses Esc at the n-th event and goes on; whether a run was stopped by it."""
    one = played(None, play)
    stopped = []

    async def run() -> None:
        task = asyncio.ensure_future(one.go_on())

        def escape() -> None:
            stopped.append(True)
            task.cancel()

        at_event(one, number, escape)
        try:
            await task
        except asyncio.CancelledError:
            pass  # between two runs there is nobody to catch it
        await one.go_on()

    asyncio.run(run())
    check(one, [*one.bench.tools["echo"].ran, *one.bench.tools["change"].ran])  # type: ignore[attr-defined]
    return bool(stopped)


def killed_at(folder: Path, play: Play, number: int) -> int:
    """Ends the process, as far as that can be played, at the n-th event, and goes on from the file. How many
    responses stand in the session in the end."""
    one = played(folder, play)

    def die() -> None:
        raise Killed

    at_event(one, number, die)
    with pytest.raises(Killed):
        asyncio.run(one.go_on())
    acknowledged = list(one.records)
    assert one.session._log is not None
    one.session._log.close()  # the lock goes with the process
    again = played(folder, play)
    assert again.records[: len(acknowledged)] == acknowledged
    asyncio.run(again.go_on())
    again.session.close()
    check(again, traces(folder))
    return again.answered()


def broken_at(play: Play, number: int, error: Exception) -> tuple[list[str], list[str]]:
    """Breaks the stream at the n-th stream event; the run tries again by itself. What its session says, and one
    that nothing broke."""
    one = played(None, play)
    one.bench.provider.broken = {number: error}
    asyncio.run(one.go_on())
    assert one.bench.provider.broken == {}
    assert one.bench.slept
    check(one, [*one.bench.tools["echo"].ran, *one.bench.tools["change"].ran])  # type: ignore[attr-defined]
    whole = played(None, play)
    asyncio.run(whole.go_on())
    return [said(record) for record in one.records], [said(record) for record in whole.records]


def said(record: Record) -> str:
    """What a record says, without the time that work took."""
    return repr(getattr(record.event, "content", type(record.event).__name__))


def streamed(play: Play) -> int:
    one = played(None, play)
    asyncio.run(one.go_on())
    count: int = one.bench.provider.streamed
    return count


DOSES = pytest.mark.parametrize(
    ("play", "every"),
    [(SHORT, 4), pytest.param(LONG, 1, marks=pytest.mark.long)],
    ids=["dose", "long session"],
)


@DOSES
def test_esc_at_events_of_a_session_leaves_a_valid_next_request(play: Play, every: int) -> None:
    total = events(play)
    assert sum(interrupted_at(play, number) for number in range(1, total, every)) >= total * 4 // 5 // every
    gc.collect()


@DOSES
def test_killed_at_events_of_a_session_it_goes_on_from_its_file(
    tmp_path: Path, play: Play, every: int
) -> None:
    for number in range(2, events(play), every):
        (tmp_path / f"{number}").mkdir()
        assert killed_at(tmp_path / f"{number}", play, number) == len(play.script)


@DOSES
@pytest.mark.parametrize("error", [ConnectionLost("gone"), Overloaded("busy"), RateLimited("slow", "", 3.0)])
def test_a_stream_broken_at_events_says_nothing_twice(error: Exception, play: Play, every: int) -> None:
    for number in range(1, streamed(play) + 1, every):
        broken, whole = broken_at(play, number, error)
        assert broken == whole
