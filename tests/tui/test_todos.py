"""The to-do list above the prompt."""

from pathlib import Path
from typing import Any

import pytest

from prunecli.features.todo_and_ask.todo_line import TodoLine
from prunecli.front.presentation.entries import ToolCall
from prunecli.model.messages import ToolUse
from tests.scripted import Scripted, calls, says
from tests.tui.showing_app import Shown, shown


def listed(*items: tuple[str, str], call: str = "t1") -> Scripted:
    todos: list[dict[str, Any]] = [{"content": content, "status": status} for content, status in items]
    return calls(ToolUse(call, "todo", {"todos": todos}))


FIVE = [
    ("Read the parser", "completed"),
    ("Write a test", "completed"),
    ("Fix the parser", "in_progress"),
    ("Run the tests", "pending"),
    ("Update the docs", "pending"),
]


def line(s: Shown) -> TodoLine:
    return s.frame.query_one(TodoLine)


@pytest.mark.parametrize("size", [(80, 24), (160, 48), (30, 12)])
async def test_the_list_is_one_line_that_a_key_unfolds(tmp_path: Path, size: tuple[int, int]) -> None:
    async with shown(tmp_path, [listed(*FIVE), says("Done.")], size=size) as s:
        assert not s.frame.query(TodoLine)
        await s.pilot.press("alt+t")
        await s.until_shown("no to-do list")
        await s.type("go", "enter")
        await s.until_shown("2/5 · now: Fix")
        await s.idle()
        assert line(s).size.height == 1
        await s.pilot.press("alt+t")
        await s.until_shown("☑ Write a test", "▸ Fix the parser", "☐ Run the tests")
        assert line(s).size.height <= 6
        assert "now: Fix the parser" not in str(line(s).render()), "the item below says it"
        if size[1] < 20:
            await s.until_shown("2 more: /todo")
        await s.pilot.press("alt+t")
        await s.until(lambda: line(s).size.height == 1)


async def test_a_click_unfolds_it_and_typing_goes_on(tmp_path: Path) -> None:
    async with shown(tmp_path, [listed(*FIVE), says("Done.")]) as s:
        await s.type("go", "enter")
        await s.idle()
        await s.pilot.click(TodoLine)
        await s.until_shown("☐ Update the docs")
        await s.type("more")
        assert s.frame.prompt.typed == "more"


async def test_a_finished_list_goes_with_the_next_prompt_and_a_command_still_lists_it(tmp_path: Path) -> None:
    done = [(content, "completed") for content, _ in FIVE]
    script = [listed(*FIVE), listed(*done, call="t2"), says("Done."), says("Yes.")]
    async with shown(tmp_path, script) as s:
        await s.type("go", "enter")
        await s.idle()
        await s.until_shown("5/5 · all done")
        await s.type("next", "enter")
        await s.idle()
        await s.until(lambda: not line(s).display)
        await s.type("/todo", "enter")
        await s.until_shown("To-do 5/5", "☑ Update the docs")


async def test_the_line_of_the_call_says_the_same(tmp_path: Path) -> None:
    async with shown(tmp_path, [listed(*FIVE), says("Done.")]) as s:
        await s.type("go", "enter")
        await s.idle()
        call = next(one for one in s.entries if isinstance(one, ToolCall))
        assert (call.name, call.argument) == ("todo", "2/5 · now: Fix the parser")
        assert call.outcome == "", "the counts are said once"


async def test_hostile_items_are_drawn_as_symbols(tmp_path: Path) -> None:
    async with shown(tmp_path, [listed(("[bold]x[/] \x1b[31m\nY", "in_progress")), says("Done.")]) as s:
        await s.type("go", "enter")
        await s.until_shown("now: [bold]x[/] ␛[31m Y")


async def test_a_list_of_a_hundred_items_leaves_room_for_the_prompt(tmp_path: Path) -> None:
    many = [(f"item {at}", "completed" if at < 40 else "pending") for at in range(100)]
    async with shown(tmp_path, [listed(*many), says("Done.")]) as s:
        await s.type("go", "enter")
        await s.idle()
        await s.pilot.press("alt+t")
        await s.until_shown("☐ item 40", "93 more: /todo lists all")
        assert line(s).size.height == 9


async def test_another_session_has_another_list(tmp_path: Path) -> None:
    async with shown(tmp_path, [listed(*FIVE), says("Done.")]) as s:
        await s.type("go", "enter")
        await s.until_shown("2/5 · now")
        await s.idle()
        await s.type("/new", "enter")
        await s.until(lambda: not line(s).display)
        await s.type("/todo", "enter")
        await s.until_shown("No to-do list.")
