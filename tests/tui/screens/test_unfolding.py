"""A table whose rows unfold, by keys and by clicks."""

from pathlib import Path
from typing import Any

import pytest
from textual.screen import Screen

from prunecli.commands.command import Choice, Choose, Table
from prunecli.tui.screens.choose import ChooseScreen
from prunecli.tui.screens.reading import ReadingScreen
from prunecli.tui.screens.table import UnfoldingRows, UnfoldingScreen
from prunecli.tui.transcript.transcript_view import Transcript
from tests.tui.showing_app import Shown, shown

ROWS = (("all", "9"), ("", ""), ("2 go on", "4"), ("1 fix it", "5"))
BELOW = ((), (), (("10:00", "4"),), (("09:01", "3"), ("09:00", "2")))
TABLE = Table("Cost", ("", "cost"), ROWS, (1,), "a note", below=BELOW)


def lines(s: Shown) -> list[str]:
    return [line.strip() for line in s.screen_text().splitlines()]


@pytest.mark.parametrize("size", [(80, 24), (160, 48), (40, 16)])
async def test_enter_unfolds_the_marked_row(tmp_path: Path, size: tuple[int, int]) -> None:
    async with shown(tmp_path, size=size) as s:
        s.app.push_screen(UnfoldingScreen(TABLE))
        await s.until_shown("▸ 2 go on", "▸ 1 fix it")
        await s.pilot.press("enter")
        await s.until_shown("▾ 2 go on", "10:00")
        await s.pilot.press("down", "enter")
        await s.until_shown("▾ 1 fix it", "09:00")
        await s.pilot.press("up", "left")
        await s.until(lambda: "10:00" not in s.screen_text())
        await s.pilot.press("left", "right", "right")
        await s.until_shown("10:00")
        await s.pilot.press("escape")
        await s.until(lambda: s.app.screen is s.frame)


class Page(ReadingScreen):
    """An empty page."""

    keys = "Up Down PgUp PgDn to scroll · Esc to close"
    heading = "a page"

    def fill(self, transcript: Transcript) -> None:
        """Leave it empty."""


CHOICE = Choose("Which?", "x", (Choice("a", "a"),))


@pytest.mark.parametrize("screen", [UnfoldingScreen(TABLE), ChooseScreen(CHOICE), Page()])
async def test_on_a_narrow_screen_the_last_key_is_shown(tmp_path: Path, screen: Screen[Any]) -> None:
    async with shown(tmp_path, size=(28, 12)) as s:
        s.app.push_screen(screen)
        await s.until_shown("Esc to c")
        assert s.screen_text().rstrip().endswith(("Esc to close", "Esc to cancel"))


async def test_a_click_unfolds_a_row(tmp_path: Path) -> None:
    async with shown(tmp_path) as s:
        s.app.push_screen(UnfoldingScreen(TABLE))
        await s.until_shown("▸ 1 fix it")
        await s.pilot.click(UnfoldingRows, offset=(4, 4))
        await s.until_shown("▾ 1 fix it", "09:00")
        await s.pilot.click(UnfoldingRows, offset=(4, 1))
        await s.until_shown("09:00")


async def test_the_mark_stays_on_the_screen_in_a_long_table(tmp_path: Path) -> None:
    rows = tuple((f"{at} prompt", "1") for at in range(60))
    table = Table("Cost", ("", "cost"), rows, (1,), below=tuple(((f"at {at}", "1"),) for at in range(60)))
    async with shown(tmp_path) as s:
        s.app.push_screen(UnfoldingScreen(table))
        await s.until_shown("▸ 0 prompt")
        for _ in range(40):
            await s.pilot.press("down")
        await s.pilot.press("enter")
        await s.until_shown("▾ 40 prompt")


async def test_what_a_row_unfolds_at_the_lower_edge_comes_into_view(tmp_path: Path) -> None:
    rows = tuple((f"{at} prompt", "1") for at in range(60))
    below = tuple(tuple((f"{at} at {part}", "1") for part in range(4)) for at in range(60))
    async with shown(tmp_path) as s:
        s.app.push_screen(UnfoldingScreen(Table("Cost", ("", "cost"), rows, (1,), below=below)))
        await s.until_shown("▸ 0 prompt")
        for _ in range(40):
            await s.pilot.press("down")
        await s.pilot.press("enter")
        await s.until_shown("▾ 40 prompt", "40 at 0", "40 at 3")
