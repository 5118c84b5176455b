"""From the session to the screen."""

from collections.abc import Callable
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from prunecli.tui.bridge import PACE_SECONDS, Bridge
from tests.starting import start


class Loop:
    """A clock and what is to be called later."""

    def __init__(self) -> None:
        self.now = 0.0
        self.wakes: list[float] = []
        self.later: list[tuple[float, Callable[[], None]]] = []

    def bridge(self) -> Bridge:
        return Bridge(
            self.wake, lambda wait, call: self.later.append((self.now + wait, call)), lambda: self.now
        )

    def wake(self) -> None:
        self.wakes.append(self.now)

    def go_to(self, now: float) -> None:
        due = [call for at, call in self.later if at <= now]
        self.later = [(at, call) for at, call in self.later if at > now]
        self.now = now
        for call in due:
            call()


def test_the_screen_is_woken_once_for_all_that_is_told_before_it_looks(tmp_path: Path) -> None:
    runtime, loop = start(tmp_path), Loop()
    bridge = loop.bridge()
    bridge.follow(runtime.session)
    for number in range(100):
        runtime.session.tell(number)
    assert loop.wakes == [0.0]
    assert bridge.batch() == list(range(100))
    assert bridge.batch() == []


def test_a_flood_wakes_the_screen_sixty_times_a_second_and_loses_nothing(tmp_path: Path) -> None:
    """2,000 deltas a second, the text identical."""
    runtime, loop = start(tmp_path), Loop()
    bridge = loop.bridge()
    bridge.follow(runtime.session)
    got: list[object] = []
    for number in range(2_000):
        loop.go_to(number / 2_000)
        runtime.session.tell(number)
        if loop.wakes and loop.wakes[-1] == loop.now:
            got += bridge.batch()
    loop.go_to(2.0)
    got += bridge.batch()
    assert got == list(range(2_000))
    assert len(loop.wakes) <= 1 / PACE_SECONDS + 2


@given(st.lists(st.sampled_from(["tell", "wait", "take"]), max_size=60))
def test_whatever_happens_when_everything_told_is_taken_once_and_in_order(steps: list[str]) -> None:
    loop = Loop()
    bridge = loop.bridge()
    told, got, number = bridge._take, list[object](), 0
    for step in steps:
        if step == "tell":
            told(number)
            number += 1
        elif step == "wait":
            loop.go_to(loop.now + 0.01)
        else:
            got += bridge.batch()
    loop.go_to(loop.now + 1)
    got += bridge.batch()
    assert got == list(range(number))
    assert len(loop.wakes) >= min(1, number)


def test_a_session_that_was_left_is_not_heard_any_more(tmp_path: Path) -> None:
    runtime, loop = start(tmp_path), Loop()
    bridge = loop.bridge()
    bridge.follow(runtime.session)
    old = runtime.session
    old.tell("forgotten")
    bridge.follow(runtime.new_session())
    old.tell("unheard")
    runtime.session.tell("heard")
    assert bridge.batch() == ["heard"]


def test_the_next_session_wakes_the_screen_even_if_the_last_one_was_left_before_it_looked(
    tmp_path: Path,
) -> None:
    runtime, loop = start(tmp_path), Loop()
    bridge = loop.bridge()
    bridge.follow(runtime.session)
    runtime.session.tell("never taken")
    bridge.follow(runtime.new_session())
    loop.go_to(1.0)
    runtime.session.tell("taken")
    assert loop.wakes
    assert bridge.batch() == ["taken"]
