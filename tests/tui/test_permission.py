"""Asking before a call runs."""

from pathlib import Path
from time import monotonic

import pytest
from textual import events
from textual.widgets import Input

from prunecli.model.messages import ToolUse
from prunecli.providers.scripted import Scripted, calls, says
from prunecli.tui.transcript.entries import ToolCall, ToolState
from prunecli.tui.widgets.permission import MORE, PermissionPanel
from prunecli.tui.widgets.question import TOO_SOON
from tests.tui.showing_app import Shown, shown

COMMAND = ToolUse("t1", "bash", {"command": "make install"})


def script(use: ToolUse = COMMAND) -> list[Scripted]:
    return [calls(use), says("all right")]


async def asked(running: Shown, *, armed: bool = True) -> PermissionPanel:
    """The panel, when it takes answers."""
    await running.type("go", "enter")
    await running.until(lambda: running.frame.query(PermissionPanel))
    panel = running.frame.query_one(PermissionPanel)
    await running.until(lambda: running.frame.focused is panel)
    if armed:
        await running.until(lambda: panel._armed_at < monotonic())
    return panel


def state(running: Shown) -> ToolState:
    return next(entry.state for entry in running.entries if isinstance(entry, ToolCall))


@pytest.mark.parametrize("key", ["y", "1"])
async def test_yes_runs_it_once(tmp_path: Path, key: str) -> None:
    async with shown(tmp_path, script()) as s:
        await asked(s)
        await s.until_shown("bash wants to run a command", "make install", "Asked because", "allow once")
        await s.pilot.press(key)
        await s.idle()
        assert state(s) is ToolState.ERROR  # it did run: there is nothing to make
        assert s.runtime.gatekeeper.rules.allow == ()
        assert s.frame.focused is s.frame.prompt


async def test_always_allows_by_the_rule_that_was_shown(tmp_path: Path) -> None:
    async with shown(tmp_path, script()) as s:
        panel = await asked(s)
        rule = panel._sheet.rule
        await s.until_shown(f"allow for this session: {rule}")
        await s.pilot.press("a")
        await s.idle()
        assert s.runtime.gatekeeper.rules.allow == (rule,)


async def test_no_takes_a_word_for_the_model(tmp_path: Path) -> None:
    async with shown(tmp_path, script()) as s:
        await asked(s)
        await s.pilot.press("n")
        await s.until(lambda: isinstance(s.frame.focused, Input))
        await s.type("use ninja", "enter")
        await s.idle()
        assert state(s) is ToolState.DENIED
        results = [
            entry.text for entry in s.runtime.session.context.entries.values() if entry.kind == "result"
        ]
        assert results == ["The user did not allow this. They said: use ninja"]


@pytest.mark.parametrize("keys", [["escape"], ["n", "escape"], ["3", "enter"]])
async def test_denying_needs_no_word(tmp_path: Path, keys: list[str]) -> None:
    async with shown(tmp_path, script()) as s:
        await asked(s)
        for key in keys:
            await s.pilot.press(key)
            await s.pilot.pause()
        await s.idle()
        assert state(s) is ToolState.DENIED


async def test_keys_typed_before_it_stood_there_are_no_answer_and_are_not_lost(tmp_path: Path) -> None:
    """SEC-16: they go on into the prompt, and each of them makes it wait again."""
    async with shown(tmp_path, script()) as s:
        panel = await asked(s, armed=False)
        panel.wait_for_quiet()
        for key in ("y", "e", "s", "enter", "1"):
            panel.post_message(events.Key(key, "\r" if key == "enter" else key))
        await s.until(lambda: s.frame.prompt.text == "yes1")
        assert state(s) is ToolState.WAITING
        assert s.conversation.runs.busy
        await s.until(lambda: panel._armed_at < monotonic())
        await s.pilot.press("escape")
        await s.idle()
        assert state(s) is ToolState.DENIED


async def test_it_says_when_keys_do_not_answer_yet_and_stops_saying_so_when_they_do(tmp_path: Path) -> None:
    async with shown(tmp_path, script()) as s:
        panel = await asked(s)
        await s.until(lambda: TOO_SOON not in s.screen_text())
        assert not panel.has_class("-early")
        panel.wait_for_quiet()
        await s.until_shown(TOO_SOON, "y  allow once")
        assert panel.has_class("-early")
        s.runtime.interrupt()
        await s.idle()


async def test_a_key_made_before_the_panel_was_ready_is_no_answer_even_if_it_comes_late(
    tmp_path: Path,
) -> None:
    """SEC-16: what counts is when a key was pressed, not when it was dealt with."""
    async with shown(tmp_path, script()) as s:
        early = events.Key("y", "y")
        panel = await asked(s)
        panel.post_message(early)
        await s.until(lambda: s.frame.prompt.text == "y")
        assert state(s) is ToolState.WAITING
        s.runtime.interrupt()
        await s.idle()


async def test_a_paste_is_no_answer(tmp_path: Path) -> None:
    """TUI-08, SEC-16."""
    async with shown(tmp_path, script()) as s:
        panel = await asked(s)
        panel.post_message(events.Paste("y\n"))
        await s.pilot.pause()
        assert state(s) is ToolState.WAITING
        s.runtime.interrupt()
        await s.idle()


@pytest.mark.parametrize("key", ["enter", "space", "Y", "a", "2", "tab"])
async def test_no_other_key_allows_anything(tmp_path: Path, key: str) -> None:
    """TUI-14. `a` too does nothing where no rule was offered."""
    use = ToolUse("t1", "bash", {"command": "a\nb"})
    async with shown(tmp_path, script(use)) as s:
        panel = await asked(s)
        assert panel._sheet.rule == ""
        await s.pilot.press(key)
        await s.pilot.pause()
        assert state(s) is ToolState.WAITING
        s.runtime.interrupt()
        await s.idle()


async def test_a_change_is_shown_as_a_diff_of_the_file(tmp_path: Path) -> None:
    use = ToolUse("t1", "edit", {"path": "a.py", "old_string": "two", "new_string": "2"})
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.py").write_text("one\ntwo\nthree\n")
    async with shown(tmp_path, script(use), size=(100, 40)) as s:
        await asked(s)
        await s.until_shown("edit wants to change a file", "a.py", "+1 −1", "2 - two", "2 + 2")
        await s.pilot.press("y")
        await s.idle()
        assert (tmp_path / "work" / "a.py").read_text() == "one\n2\nthree\n"


async def test_a_long_change_says_how_it_is_read_and_a_short_one_does_not(tmp_path: Path) -> None:
    for lines, says_so in ((60, True), (2, False)):
        use = ToolUse("t1", "write", {"path": "a.txt", "content": "line\n" * lines})
        async with shown(tmp_path, script(use)) as s:
            await asked(s)
            await s.until(lambda: TOO_SOON not in s.screen_text())
            await s.pilot.pause()
            assert (MORE in s.screen_text()) is says_so
            s.runtime.interrupt()
            await s.idle()


async def test_a_long_command_can_be_read_to_its_end(tmp_path: Path) -> None:
    """SEC-15."""
    use = ToolUse("t1", "bash", {"command": "\n".join(f"echo {n}" for n in range(60)) + "\nrm -rf x"})
    async with shown(tmp_path, script(use)) as s:
        await asked(s)
        await s.until_shown(" 1 echo 0", MORE)
        assert "rm -rf x" not in s.screen_text()
        for _ in range(8):
            await s.pilot.press("pagedown")
        await s.until_shown("61 rm -rf x")
        s.runtime.interrupt()
        await s.idle()


async def test_interrupting_takes_the_question_away(tmp_path: Path) -> None:
    async with shown(tmp_path, script()) as s:
        await asked(s)
        s.runtime.interrupt()
        await s.idle()
        await s.until(lambda: not s.frame.query(PermissionPanel))
        assert s.frame.focused is s.frame.prompt
        assert state(s) is ToolState.INTERRUPTED


async def test_one_can_go_on_typing_in_the_prompt_while_it_asks(tmp_path: Path) -> None:
    async with shown(tmp_path, script()) as s:
        panel = await asked(s)
        s.frame.prompt.focus()
        await s.type("y no")
        assert s.frame.prompt.typed == "y no"
        assert state(s) is ToolState.WAITING
        panel.focus()
        await s.until(lambda: panel.has_focus and panel._armed_at < monotonic())
        await s.pilot.press("escape")
        await s.idle()
        assert s.frame.prompt.typed == "y no"
