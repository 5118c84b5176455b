"""How often a failed request is sent again, and how long is waited before."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prunecli.agent.retry import RetryPolicy
from prunecli.model.messages import ToolUse
from prunecli.model.signals import Notice, RetryScheduled, StreamDiscarded
from prunecli.util.errors import ConnectionLost, Overloaded, RateLimited
from tests.agent.running import Bench
from tests.scripted import ScriptedProvider, calls, fails, says

BUSY = Overloaded("busy")


@pytest.mark.parametrize("count", range(1, 9))
async def test_an_endpoint_that_is_overloaded_up_to_eight_times_answers_in_the_end(count: int) -> None:
    bench = Bench(ScriptedProvider([*[fails(BUSY)] * count, says("Now.")]))
    assert (await bench.talk("go")).reason == "finished"
    assert len(bench.provider.requests) == count + 1
    assert bench.texts() == ["go", "Now."]


async def test_trying_again_ends() -> None:
    bench = Bench(ScriptedProvider([fails(BUSY)] * 30))
    with pytest.raises(Overloaded):
        await bench.talk("go")
    assert len(bench.provider.requests) == RetryPolicy().tries
    assert bench.slept == sorted(bench.slept), "each wait is at least as long as the one before"


async def test_a_stream_that_breaks_four_times_is_said_once_and_its_call_runs_once() -> None:
    """The text and the calls of what broke are gone."""
    broken = fails(BUSY, text="half of it", after=1)
    call = calls(ToolUse("t1", "echo", {"words": "x"}), text="All of it.")
    bench = Bench(ScriptedProvider([*[broken] * 4, call, says("Done.")]))
    assert (await bench.talk("go")).reason == "finished"
    assert bench.echo.ran == ["x"]
    assert bench.texts() == ["go", "All of it.", "x", "Done."]
    assert sum(isinstance(told, StreamDiscarded) for told in bench.told) == 4


async def test_a_stream_that_always_breaks_is_begun_five_times() -> None:
    bench = Bench(ScriptedProvider([fails(BUSY, text="half of it", after=1)] * 30))
    with pytest.raises(Overloaded):
        await bench.talk("go")
    assert len(bench.provider.requests) == 5
    assert bench.texts() == ["go"]


@pytest.mark.parametrize(
    ("asked", "waited"), [(0.0, 0.5), (3.0, 3.0), (60.0, 60.0), (60.1, None), (120.0, None), (86_400.0, None)]
)
def test_up_to_a_minute_is_waited_where_the_endpoint_asks_for_it(asked: float, waited: float | None) -> None:
    for error in (RateLimited("slow", "", asked), Overloaded("busy", "", asked)):
        assert RetryPolicy().wait(error, 1, streamed=False, jitter=0.5) == waited


def test_without_being_asked_the_waits_double_to_half_a_minute() -> None:
    """Also where what was asked for could not be read."""
    error = RateLimited("slow")
    waits = [RetryPolicy().wait(error, attempt, streamed=False, jitter=0.5) for attempt in range(1, 10)]
    assert waits == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]
    assert RetryPolicy().wait(error, 10, streamed=False, jitter=0.5) is None


@given(
    st.lists(st.none() | st.floats() | st.integers(-9, 99).map(float), min_size=9, max_size=9),
    st.floats(0, 1),
    st.sampled_from((RateLimited, Overloaded)),
)
def test_whatever_an_endpoint_asks_for_the_waits_are_at_least_those_of_plain_back_off(
    asked: list[float | None], jitter: float, kind: type[RateLimited] | type[Overloaded]
) -> None:
    policy = RetryPolicy()
    for attempt, seconds in enumerate(asked, 1):
        error = kind("slow", "", seconds)
        plain = policy.wait(kind("slow"), attempt, streamed=False, jitter=jitter)
        waited = policy.wait(error, attempt, streamed=False, jitter=jitter)
        assert plain is not None
        assert waited is None or waited >= plain
        assert waited is not None or policy.hint(error).startswith("try again in")


@pytest.mark.parametrize("jitter", [0.0, 1.0])
def test_waits_differ_by_a_quarter_at_most(jitter: float) -> None:
    waited = RetryPolicy().wait(ConnectionLost("gone"), 3, streamed=False, jitter=jitter)
    assert waited == 2 * (0.75 + jitter / 2)


async def test_the_hint_of_a_lost_connection_is_said_at_the_first_attempt_and_once() -> None:
    lost = ConnectionLost("nobody answers there", "is the server running?")
    bench = Bench(ScriptedProvider([fails(lost), fails(lost), says("Now.")]))
    await bench.talk("go")
    told = [one for one in bench.told if isinstance(one, Notice | RetryScheduled)]
    assert [type(one) for one in told] == [Notice, RetryScheduled, RetryScheduled]
    assert told[0] == Notice("nobody answers there; is the server running?", "warning")


async def test_what_stays_wrong_is_tried_once() -> None:
    bench = Bench(ScriptedProvider([fails(ConnectionLost("unknown host", permanent=True))] * 9))
    with pytest.raises(ConnectionLost):
        await bench.talk("go")
    assert len(bench.provider.requests) == 1
