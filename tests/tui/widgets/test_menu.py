"""The rows of offers: what is cut, and where it can be read in full."""

from pathlib import Path

import pytest

from prunecli.commands.command import Choice, Choose, all_commands
from prunecli.tui.screens.choose import ChooseScreen, _labeled
from prunecli.tui.widgets.menu import OfferList, shortened
from tests.scripted import says
from tests.tui.showing_app import Shown, shown


@pytest.mark.parametrize(
    ("text", "width", "short"),
    [
        ("Leave.", 6, "Leave."),
        ("Show options; --save keeps it.", 20, "Show options …"),
        ("Copy it, or a block: /copy code, or 17.", 30, "Copy it, or a block …"),
        ("A, and then a long rest without any end", 20, "A, and then a long …"),
        ("x" * 9, 4, "xxx…"),
        ("x" * 9, 0, ""),
    ],
)
def test_a_text_without_room_ends_with_a_clause_where_one_is_long_enough(
    text: str, width: int, short: str
) -> None:
    assert shortened(text, width) == short


def test_choices_with_the_same_words_are_all_there() -> None:
    found = _labeled([Choice(value, "go on") for value in "123"])
    assert [choice.value for choice in found.values()] == ["1", "2", "3"]


def words_of(running: Shown) -> str:
    """What stands on the screen, as one text."""
    return " ".join(running.screen_text().split())


async def read_through(running: Shown, offers: OfferList, opened: str) -> None:
    """Every command's help can be read in full when it is marked, and nothing moves while one looks."""
    help_of = {f"/{one.name}": one.help for one in all_commands()}
    await running.until_shown(opened)
    top, height = offers.region.y, offers.region.height
    for _ in help_of:
        chosen = offers.chosen
        assert chosen
        await running.until(lambda one=chosen: help_of[one.value.strip()] in words_of(running))  # type: ignore[misc]
        assert (offers.region.y, offers.region.height) == (top, height)
        await running.pilot.press("down")


async def test_the_menu_shows_the_whole_help_of_the_marked_command(tmp_path: Path) -> None:
    async with shown(tmp_path) as s:
        await s.type("/")
        await read_through(s, s.frame.menu, "/compact")


async def test_the_palette_shows_the_whole_help_of_the_marked_command(tmp_path: Path) -> None:
    async with shown(tmp_path) as s:
        await s.pilot.press("ctrl+p")
        await s.until(lambda: s.app.screen.query(OfferList))
        await read_through(s, s.app.screen.query_one(OfferList), "Commands")


async def test_where_nothing_is_cut_no_row_is_kept_free(tmp_path: Path) -> None:
    async with shown(tmp_path, size=(160, 48)) as s:
        await s.type("/")
        await s.until_shown("/compact")
        assert s.frame.menu.rows == 9
        await s.pilot.resize_terminal(80, 24)
        await s.until(lambda: s.frame.menu.region.height == 11)


async def test_a_name_without_room_is_read_in_full_below_the_list(tmp_path: Path) -> None:
    folder = tmp_path / "work" / ("long-" * 12) / ("name-" * 12)
    folder.mkdir(parents=True)
    (folder / "the_end.py").write_text("")
    async with shown(tmp_path) as s:
        await s.type("@the_end")
        await s.until(lambda: "the_end.py" in s.screen_text().replace("@the_end", ""))


async def test_the_marked_offer_is_on_the_screen_however_low_the_terminal_is(tmp_path: Path) -> None:
    async with shown(tmp_path, size=(80, 11)) as s:
        await s.type("/")
        await s.until_shown("/compact", "1 of")
        for _ in range(9):
            await s.pilot.press("down")
        await s.until_shown("10 of")
        chosen = s.frame.menu.chosen
        assert chosen
        await s.until_shown(chosen.value)
        await s.pilot.resize_terminal(80, 9)
        await s.until_shown(chosen.value, "10 of")


async def test_the_whole_of_a_cut_label_has_no_lines_of_its_tree(tmp_path: Path) -> None:
    prompt = "fix the total of the cart, which forgets the number of each item"
    async with shown(tmp_path, [says("Done.")], size=(60, 24)) as s:
        await s.type(prompt, "enter")
        await s.idle()
        await s.type(f"/rename {prompt}", "enter")
        await s.type("/fork", "escape", "enter")
        await s.until_shown("Forked.")
        await s.type("/tree", "escape", "enter")
        await s.until_shown("fork at", prompt)
        assert s.screen_text().count("└") == 1


async def test_the_last_line_of_a_table_names_only_keys_that_do_something_and_is_whole(
    tmp_path: Path,
) -> None:
    async with shown(tmp_path, [says("Done.")], size=(80, 24)) as s:
        await s.type("/agents", "escape", "enter")
        await s.until_shown("Subagents", "Esc to close")
        assert "to scroll" not in s.screen_text()
        await s.pilot.resize_terminal(40, 10)
        await s.until_shown("Up/Down to scroll")
        await s.pilot.press("escape")
        await s.pilot.resize_terminal(50, 15)
        await s.type("go", "enter")
        await s.idle()
        await s.type("/cost", "escape", "enter")
        await s.until_shown(" Enter to unfold · Esc to close")


async def test_in_six_rows_the_menu_shows_the_marked_command_and_nothing_is_pushed_off_the_screen(
    tmp_path: Path,
) -> None:
    async with shown(tmp_path, size=(80, 6)) as s:
        await s.type("/")
        await s.until_shown("/add-dir", "1 of ")
        assert not s.frame.show_vertical_scrollbar
        await s.pilot.press("down")
        await s.until_shown("/agents", "2 of ")


async def test_in_ten_rows_a_list_to_choose_from_shows_its_keys(tmp_path: Path) -> None:
    async with shown(tmp_path, size=(40, 10)) as s:
        await s.pilot.press("ctrl+p")
        await s.until_shown("Commands", "/agents", "1 of", "Enter to select · Esc to cancel")
        await s.pilot.resize_terminal(20, 6)
        await s.until_shown("Commands", "/add-dir")


async def test_names_that_differ_at_their_end_differ_on_a_narrow_screen(tmp_path: Path) -> None:
    dated = Choice("a", "claude-opus-4-5-20251001", "200K tokens · $1/$5 per M")
    longer = Choice("b", "anthropic/claude-opus-4-5-thinking", "1.0M tokens · $4/$20 per M")
    async with shown(tmp_path, size=(40, 12)) as s:
        s.app.push_screen(ChooseScreen(Choose("Model", "", (dated, longer))))
        await s.until_shown(dated.label, dated.detail)
        await s.pilot.press("down")
        await s.until_shown(f"{longer.label} · {longer.detail}")
