"""Tasks that nobody awaits: the product owns its own, and a test that leaves one behind fails."""

import asyncio
from pathlib import Path

import pytest

from prunecli.runtime.background import Background

pytest_plugins = ("pytester",)


async def test_a_failure_in_the_background_is_told_in_one_line() -> None:
    told: list[str] = []
    background = Background(told.append)

    async def fail() -> None:
        raise ValueError("two\nlines")

    background.start(fail())
    waiting = background.start(asyncio.sleep(3_600))
    await asyncio.sleep(0)
    await background.close()
    (line,) = told
    assert line.startswith("work in the background failed: ValueError: two")
    assert "\n" not in line
    assert waiting.cancelled()


@pytest.mark.slow
def test_a_test_that_leaves_a_failed_task_fails(pytester: pytest.Pytester) -> None:
    pytester.makeconftest((Path(__file__).parent / "conftest.py").read_text("utf-8"))
    pytester.makeini("[pytest]\nasyncio_mode = auto\n")
    pytester.makepyfile("""
        import asyncio

        async def fail():
            raise ValueError("lost")

        async def test_lost():
            asyncio.ensure_future(fail())
            await asyncio.sleep(0)

        async def test_awaited():
            await asyncio.gather(asyncio.ensure_future(fail()), return_exceptions=True)
    """)
    pytester.runpytest_subprocess("-p", "no:xdist", "-p", "no:cacheprovider").assert_outcomes(
        passed=2, errors=1
    )
