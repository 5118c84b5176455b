"""Long work in slices."""

import asyncio
from collections.abc import Iterator

from textual.app import App

from prunecli.tui.slices import finish, go_on, once
from tests.waiting import until


def counting(taken: list[int], upto: int) -> Iterator[None]:
    for number in range(upto):
        taken.append(number)
        yield


def test_at_least_one_step_is_taken_and_the_rest_another_time() -> None:
    taken: list[int] = []
    steps = counting(taken, 3)
    assert not go_on(steps, 0)
    assert taken == [0]
    assert go_on(steps, 60)
    assert taken == [0, 1, 2]


async def test_others_take_their_turn_until_it_is_finished() -> None:
    taken: list[int] = []
    seen: list[int] = []

    async def look() -> None:
        while len(taken) < 200_000:
            seen.append(len(taken))
            await asyncio.sleep(0)

    looking = asyncio.create_task(look())
    await finish(counting(taken, 200_000))
    await looking
    assert len(taken) == 200_000
    assert any(0 < count < 200_000 for count in seen)


async def test_a_timer_fires_even_if_its_time_was_over_before_it_began() -> None:
    """A program that is held up at its start would otherwise never go on."""
    fired: list[int] = []
    app: App[None] = App()
    async with app.run_test():
        for number in range(50):
            once(app, 1e-9, lambda number=number: fired.append(number))
        await until(lambda: len(fired) == 50)
    assert sorted(fired) == list(range(50))
