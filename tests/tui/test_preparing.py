"""A summary is prepared while nobody is there: once, before the cache expires. It is used when they come back."""

import asyncio
from pathlib import Path

import pytest

from prunecli.agent.decide import Limits
from prunecli.context.spending import billed_responses
from prunecli.model.events import AttemptBilled, CompactionApplied
from prunecli.model.messages import Usage
from prunecli.runtime import Runtime
from tests.scripted import Scripted, says
from tests.starting import start
from tests.tui.showing_app import Shown, shown
from tests.tui.test_on_return import HOUR_MS, MODEL, Clock, long_session

MINUTE_MS = 60_000
ALMOST_MS = 4 * MINUTE_MS + 30_000
"""After so long, a 5-minute cache is about to expire."""
AHEAD = "compaction.ahead=true"
LINE = "Prepared a summary for $"


def prepared(runtime: Runtime) -> list[CompactionApplied]:
    events = [record.event for record in runtime.session.records]
    return [one.prepared for one in events if isinstance(one, AttemptBilled) and one.prepared]


def made(runtime: Runtime) -> list[CompactionApplied]:
    return [one.event for one in runtime.session.records if isinstance(one.event, CompactionApplied)]


async def away(s: Shown, clock: Clock, ms: int = ALMOST_MS) -> None:
    """Nobody types for a while."""
    s.conversation.tick()
    clock.now += ms
    s.conversation.tick()
    await s.pilot.pause()


async def test_it_is_prepared_once_and_used_at_once_and_free_after_the_cache_expired(tmp_path: Path) -> None:
    runtime, clock = long_session(tmp_path, AHEAD)
    async with shown(tmp_path, runtime=runtime) as s:
        await away(s, clock)
        await s.until_shown(LINE, "in case you come back after the cache expires")
        (ready,) = prepared(runtime)
        assert made(runtime) == [], "it is not in effect"
        assert runtime.session.context.user_turns[-1] == ready.tail_start, "the newest turn stays"
        runtime.emit(AttemptBilled(MODEL, Usage(10, 1, 120_000), "summary"))  # it is warm again
        await away(s, clock)
        assert len(prepared(runtime)) == 1, "the next one waits until this one is used"

        clock.now += HOUR_MS
        s.conversation.tick()
        await s.until_shown("The cache expired: 127K to send again, ~$0.79. Ctrl+S summarizes at once")
        before = runtime.bill
        await s.pilot.press("ctrl+s")
        await s.until(lambda: made(runtime))
        await s.idle()
        (summary,) = made(runtime)
        assert "the gist" in summary.summary
        assert (summary.usage, runtime.bill) == (Usage(), before), "it costs nothing more"
        kinds = [
            one.kind
            for one in billed_responses(runtime.session.records, runtime.session.context, lambda *_: 1.0)
        ]
        assert kinds[-2:] == ["prepared", "summary"]
        await s.type("/cost", "enter")
        await s.until_shown("prepared summary")


@pytest.mark.parametrize(("line", "shown_then"), [("go on", "fine"), ("/new", "Ask, or / for commands")])
async def test_a_prompt_or_another_session_stops_it_and_is_not_delayed(
    tmp_path: Path, line: str, shown_then: str
) -> None:
    stuck = Scripted(says("the gist").content, until=asyncio.Event())
    runtime, clock = long_session(tmp_path, AHEAD, script=[stuck, says("fine")])
    async with shown(tmp_path, runtime=runtime) as s:
        await away(s, clock)
        asked = runtime.session
        await s.type(line, "enter")
        await s.until_shown(shown_then)
        await s.until(lambda: line != "/new" or runtime.session is not asked)
        await s.idle()
        assert prepared(runtime) == []
        assert asked.context.ahead.billed is None


@pytest.mark.parametrize(
    ("sets", "idle_ms", "limit"),
    [
        ((), ALMOST_MS, None),
        ((AHEAD, "compaction.on_return=off"), ALMOST_MS, None),
        ((AHEAD,), 3 * MINUTE_MS, None),
        ((AHEAD,), HOUR_MS, None),
        ((AHEAD,), ALMOST_MS, 0.01),
        ((AHEAD, "model.name=some-model"), ALMOST_MS, 10.0),
    ],
    ids=["off by default", "no offer", "warm for long", "cold", "over --max-cost", "prices unknown"],
)
async def test_otherwise_none_is_prepared(
    tmp_path: Path, sets: tuple[str, ...], idle_ms: int, limit: float | None
) -> None:
    runtime, clock = long_session(tmp_path, *sets)
    runtime.run_limits = Limits(max_cost=limit)
    async with shown(tmp_path, runtime=runtime) as s:
        await away(s, clock, idle_ms)
        await s.idle()
        assert prepared(runtime) == []


async def test_somebody_who_types_is_not_away(tmp_path: Path) -> None:
    runtime, clock = long_session(tmp_path, AHEAD)
    async with shown(tmp_path, runtime=runtime) as s:
        clock.now += ALMOST_MS
        await s.type("what about")
        s.conversation.tick()
        await s.idle()
        assert prepared(runtime) == []


async def test_a_resumed_session_has_it(tmp_path: Path) -> None:
    runtime, clock = long_session(tmp_path, AHEAD, "compaction.on_return=auto")
    async with shown(tmp_path, runtime=runtime) as s:
        await away(s, clock)
        await s.until(lambda: prepared(runtime))
    path = runtime.session.path
    assert path is not None
    sets = f"model.name={MODEL}", "pruning.enabled=false", "compaction.on_return=auto"
    again = start(tmp_path, [says("welcome back")], clock=clock, sets=sets)
    again.open_session(path)
    clock.now += HOUR_MS
    await again.submit("and now?")
    (summary,) = made(again)
    assert "the gist" in summary.summary
    assert not summary.usage.prompt_tokens


async def test_nothing_is_prepared_without_a_screen(tmp_path: Path) -> None:
    runtime, clock = long_session(tmp_path, AHEAD, script=[says("fine"), says("fine too")])
    clock.now += ALMOST_MS
    await runtime.submit("go on")
    clock.now += ALMOST_MS
    await runtime.submit("and on")
    assert prepared(runtime) == []


async def test_a_useless_one_is_said_with_its_cost_and_not_tried_again(tmp_path: Path) -> None:
    half = Scripted(says("half a").content, "max_tokens", Usage(10, 5, 120_000))
    runtime, clock = long_session(tmp_path, AHEAD, script=[half, says("fine")])
    async with shown(tmp_path, runtime=runtime) as s:
        await away(s, clock)
        await s.until_shown("No summary was prepared, but cost $0.06", "cut off at the length limit")
        records = len(runtime.session.records)
        await away(s, clock)
        await s.idle()
        assert len(runtime.session.records) == records
