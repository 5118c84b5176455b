"""Vim mode in the prompt: its keys beside those of the prompt."""

from pathlib import Path

from prunecli.front.presentation.entries import ToolState
from prunecli.tui.screens.frame import Frame
from tests.scripted import says
from tests.tui.showing_app import Shown, shown
from tests.tui.test_permission import asked, results, script, state


def mode(frame: Frame) -> str:
    return str(frame.prompt.border_title)


async def vim(s: Shown) -> None:
    await s.type("/vim on", "enter")
    await s.until(lambda: mode(s.frame) == "insert")
    await s.until_shown("Esc for normal mode")


async def test_vim_is_switched_on_and_off_and_the_prompt_names_its_mode(tmp_path: Path) -> None:
    async with shown(tmp_path) as s:
        await vim(s)
        assert s.runtime.config.ui.editing == "vim"
        for keys, named in (
            (["escape"], "normal"),
            (["v"], "visual"),
            (["V"], "visual line"),
            (["escape"], "normal"),
        ):
            await s.pilot.press(*keys)
            assert mode(s.frame) == named
        await s.pilot.press("i")
        await s.type("/vim off", "enter")
        await s.until(lambda: mode(s.frame) == "")
        await s.type("dw", "escape", "x")
        assert s.frame.prompt.typed == "dwx"


async def test_normal_mode_edits_and_enter_sends_and_the_next_prompt_is_typed_at_once(tmp_path: Path) -> None:
    async with shown(tmp_path, [says("ok")]) as s:
        await vim(s)
        await s.type("fix the the parser", "escape")
        await s.type("bbdwA today")
        assert s.frame.prompt.typed == "fix the parser today"
        await s.pilot.press("escape", "u")
        assert s.frame.prompt.typed == "fix the parser"
        await s.pilot.press("ctrl+r", "enter")
        await s.idle()
        assert s.runtime.session.context.items[0].texts == ["fix the parser today"]
        await s.type("next")
        assert s.frame.prompt.typed == "next"


async def test_history_menu_and_line_breaks_work_as_without_vim(tmp_path: Path) -> None:
    async with shown(tmp_path) as s:
        s.frame.prompt.past.preload(["older\nprompt", "newest"])
        await vim(s)
        await s.pilot.press("escape", "k")
        assert s.frame.prompt.typed == "/vim on"
        await s.pilot.press("k", "k", "k")
        assert s.frame.prompt.typed == "older\nprompt"  # k moved within it first
        await s.pilot.press("k", "j", "j", "d", "d")
        assert s.frame.prompt.typed == ""
        await s.pilot.press("/")
        await s.type("old")
        await s.until_shown("search prompt history")
        await s.pilot.press("enter")
        assert s.frame.prompt.typed == "older\nprompt"
        await s.pilot.press("escape", "c", "c")
        await s.type("a", "shift+enter")
        await s.type("b\\", "enter")
        assert s.frame.prompt.typed == "older\na\nb\n"
        await s.pilot.press("escape", "escape", "g", "g", "d", "G", "i", "slash")
        await s.until(lambda: s.frame.menu.is_open)
        await s.pilot.press("escape")
        assert (mode(s.frame), s.frame.menu.is_open) == ("normal", False)


async def test_esc_in_normal_mode_does_what_esc_does_without_vim(tmp_path: Path) -> None:
    async with shown(tmp_path) as s:
        await vim(s)
        await s.pilot.press("escape")
        await s.pilot.press("d", "escape")  # ends the command
        assert "again to go back" not in s.screen_text()
        await s.pilot.press("escape")
        await s.until_shown("again to go back to an earlier prompt")


async def test_a_paste_is_one_thing_for_vim(tmp_path: Path) -> None:
    async with shown(tmp_path) as s:
        await vim(s)
        text = "\n".join(map(str, range(40)))
        s.frame.prompt.received(text)
        await s.type(" end", "escape")
        await s.type("0x")
        assert s.frame.prompt.typed == " end"
        await s.type("u")
        assert s.frame.prompt.typed == f"{text} end"


async def test_emoji_are_passed_and_deleted_whole(tmp_path: Path) -> None:
    async with shown(tmp_path) as s:
        await vim(s)
        s.frame.prompt.received("a👨‍👩‍👧b")
        await s.pilot.press("escape", "h", "x")
        assert s.frame.prompt.typed == "ab"


async def test_what_is_selected_looks_selected(tmp_path: Path) -> None:
    async with shown(tmp_path) as s:
        await vim(s)
        await s.type("one two three", "escape")
        await s.type("0wve")
        assert s.frame.prompt.selected_text == "tw"  # and the cursor's cell
        await s.type("V")
        assert s.frame.prompt.selected_text == "one two three"


async def test_a_question_is_answered_by_letters_although_normal_mode_was_on(tmp_path: Path) -> None:
    async with shown(tmp_path, script()) as s:
        await vim(s)
        await asked(s)
        assert mode(s.frame) == "insert"
        await s.type("not now", "escape")
        assert mode(s.frame) == "normal"
        await s.type("0cwnever", "enter")
        await s.idle()
        assert state(s) is ToolState.DENIED
        assert "never now" in results(s)[0]
