"""Asking before a call runs."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from textual import events
from textual.widgets import Static

from prunecli.context.render import NOT_RUN
from prunecli.front.presentation.entries import ToolCall, ToolState
from prunecli.model.messages import ToolUse
from prunecli.tools.processes.sandboxing import Blocked
from prunecli.tui.widgets.permission import PermissionPanel
from prunecli.tui.widgets.prompt import PLACEHOLDER, PLACEHOLDERS
from prunecli.tui.widgets.question import AWAITED_REASON, NOT_YET, SOON, WRITE_REASON, WRITTEN
from tests.scripted import Scripted, calls, says
from tests.tui.proposing import ask, proposal
from tests.tui.showing_app import Shown, shown

COMMAND = ToolUse("t1", "bash", {"command": "make install"})


def script(use: ToolUse = COMMAND) -> list[Scripted]:
    return [calls(use), says("all right")]


@asynccontextmanager
async def asking(folder: Path, use: ToolUse = COMMAND, **more: Any) -> AsyncIterator[Shown]:
    """The interface while it asks about this call. What has not been answered at the end is interrupted."""
    async with shown(folder, script(use), **more) as s:
        await asked(s)
        yield s
        s.runtime.interrupt()
        await s.idle()


async def asked(running: Shown, *, armed: bool = True) -> PermissionPanel:
    """The panel, when it takes answers."""
    await running.type("go", "enter")
    await running.until(lambda: running.frame.query(PermissionPanel))
    panel = running.frame.query_one(PermissionPanel)
    if armed:
        await running.until(lambda: panel.answering.is_ready(monotonic()))
    return panel


def state(running: Shown) -> ToolState:
    return next(entry.state for entry in running.entries if isinstance(entry, ToolCall))


def results(running: Shown) -> list[str]:
    return [
        entry.text for entry in running.runtime.session.context.entries.values() if entry.kind == "result"
    ]


@pytest.mark.parametrize("key", ["y", "1", "enter"])
async def test_yes_runs_it_once(tmp_path: Path, key: str) -> None:
    async with shown(tmp_path, script()) as s:
        await asked(s)
        await s.until_shown("Run this command?", "make install", "❯ 1 Yes", "3 No, and tell the model why")
        await s.pilot.press(key)
        await s.idle()
        assert state(s) is ToolState.ERROR  # it did run: there is nothing to make
        assert s.runtime.gatekeeper.rules.allow == ()
        assert s.frame.focused is s.frame.prompt
        assert s.frame.prompt.text == ""


@pytest.mark.parametrize("keys", [["a"], ["2"], ["down", "enter"], ["up", "up", "up", "enter"]])
async def test_always_allows_by_the_rule_that_was_shown(tmp_path: Path, keys: list[str]) -> None:
    async with shown(tmp_path, script()) as s:
        panel = await asked(s)
        rule = panel._sheet.rule
        await s.until_shown(f"2 Yes, and don't ask again for {rule} until you quit")
        await s.pilot.press(*keys)
        await s.idle()
        assert s.runtime.gatekeeper.rules.allow == (f"bash({rule})",)
        assert s.runtime.project_rules.of(s.runtime.setup.cwd) == ()


@pytest.mark.parametrize("keys", [["p"], ["down", "down", "enter"]])
async def test_a_rule_can_be_kept_for_the_project(tmp_path: Path, keys: list[str]) -> None:
    async with shown(tmp_path, script()) as s:
        panel = await asked(s)
        await s.until_shown("p Yes, always in this project")
        await s.pilot.press(*keys)
        await s.idle()
        assert s.runtime.project_rules.of(s.runtime.setup.cwd) == (f"bash({panel._sheet.rule})",)


@pytest.mark.parametrize("text", ["why do you need that?", "yes but use ninja", "1. say what it does"])
async def test_any_text_is_the_reason_for_no(tmp_path: Path, text: str) -> None:
    async with shown(tmp_path, script()) as s:
        await asked(s)
        s.press_at_once(text)
        await s.until_shown("❯ 3 No", f"❯ {text}")
        await s.pilot.press("enter")
        await s.idle()
        assert state(s) is ToolState.DENIED
        assert results(s) == [f"The user did not allow this. They said: {text}"]
        assert s.frame.prompt.text == ""


@pytest.mark.parametrize("keys", [["escape"], ["up", "enter", "enter"], ["n", "escape"], ["ctrl+c"]])
async def test_denying_needs_no_reason(tmp_path: Path, keys: list[str]) -> None:
    async with shown(tmp_path, script()) as s:
        await asked(s)
        await s.pilot.press(*keys)
        await s.idle()
        assert results(s) == ["The user did not allow this."]


@pytest.mark.parametrize("key", ["n", "3"])
async def test_no_and_why_waits_for_the_reason(tmp_path: Path, key: str) -> None:
    async with shown(tmp_path, script()) as s:
        await asked(s)
        await s.pilot.press(key)
        await s.until_shown("❯ 3 No", WRITE_REASON[0], f"❯ {AWAITED_REASON[0]}")
        await s.pilot.press("escape")
        await s.until_shown("❯ 1 Yes", f"❯ {PLACEHOLDER}")
        await s.pilot.press("up", "enter")
        await s.type("1 is enough")
        await s.until_shown("❯ 3 No", WRITTEN[0])
        assert state(s) is ToolState.WAITING
        await s.pilot.press("enter")
        await s.idle()
        assert results(s) == ["The user did not allow this. They said: 1 is enough"]
        await s.until_shown(f"❯ {PLACEHOLDER}")


async def test_keys_typed_before_it_stood_there_are_no_answer_and_are_not_lost(tmp_path: Path) -> None:
    """They go on into the prompt, Enter too, and each of them makes it wait again."""
    async with shown(tmp_path, script()) as s:
        panel = await asked(s)
        panel.appear()
        s.press_at_once([*"yes1", "backspace", "enter", "enter"], before=-0.2)
        await s.until(lambda: s.conversation.runs.waiting()[0] == ["yes"])
        await s.until_shown(SOON)
        assert state(s) is ToolState.WAITING
        await s.until(lambda: panel.answering.is_ready(monotonic()))
        await s.pilot.press("escape")
        await s.idle()
        assert state(s) is ToolState.DENIED


async def test_it_says_when_keys_do_not_answer_yet_and_stops_saying_so_when_they_do(tmp_path: Path) -> None:
    async with asking(tmp_path) as s:
        panel = s.frame.query_one(PermissionPanel)
        await s.until(lambda: NOT_YET not in s.screen_text())
        assert not panel.has_class("-early")
        panel.appear()
        assert panel.has_class("-early")
        assert str(panel.query_one("#note", Static).content) == NOT_YET
        await s.until(lambda: NOT_YET not in s.screen_text())


async def test_a_paste_is_no_answer_and_is_kept(tmp_path: Path) -> None:
    async with shown(tmp_path, script()) as s:
        await asked(s)
        s.app.post_message(events.Paste("y"))
        await s.until(lambda: s.frame.prompt.text == "y")
        await s.until_shown("❯ 3 No")
        s.app.post_message(events.Paste("es\n"))
        await s.until(lambda: s.frame.prompt.text == "yes\n")
        assert state(s) is ToolState.WAITING
        s.runtime.interrupt()
        await s.idle()
        assert s.frame.prompt.text == "yes\n"


@pytest.mark.parametrize("key", ["space", "Y", "a", "3", "tab", "left"])
async def test_no_other_key_allows_anything(tmp_path: Path, key: str) -> None:
    """`a` too does nothing where no rule was offered."""
    use = ToolUse("t1", "bash", {"command": "a=1; b"})
    async with asking(tmp_path, use) as s:
        panel = s.frame.query_one(PermissionPanel)
        assert panel._sheet.rule == ""
        await s.pilot.press(key)
        await s.pilot.pause()
        assert state(s) is ToolState.WAITING
        assert not panel.answering.is_pending


async def test_a_command_runs_while_it_asks(tmp_path: Path) -> None:
    async with asking(tmp_path) as s:
        await s.type("/help", "enter")
        await s.until(lambda: s.app.screen is not s.frame)
        await s.pilot.press("escape")
        await s.until(lambda: s.app.screen is s.frame)
        assert state(s) is ToolState.WAITING


async def test_in_a_small_terminal_all_of_it_can_be_used(tmp_path: Path) -> None:
    lines = "\n".join(f"echo {n}" for n in range(30)) + "\nmake"
    use = ToolUse("t1", "bash", {"command": lines})
    for given, row in ((use, "3 No"), (COMMAND, "3 No")):
        async with shown(tmp_path / given.input["command"][:4], script(given), size=(50, 15)) as s:
            await asked(s)
            await s.until_shown("Run this command?", "❯ 1 Yes", row, "ctx")
            rows = s.screen_text().split("\n")
            assert any(line.startswith(" ❯") for line in rows), "the prompt"
            await s.type("use ninja instead of it, please, and say what it is that you want", "enter")
            await s.idle()
            assert state(s) is ToolState.DENIED


async def test_in_a_small_terminal_a_change_leaves_the_prompt_and_the_status_line(tmp_path: Path) -> None:
    use = ToolUse("t1", "edit", {"path": "shop/a.py", "old_string": "two", "new_string": "2"})
    (tmp_path / "work" / "shop").mkdir(parents=True)
    (tmp_path / "work" / "shop" / "a.py").write_text("one\ntwo\nthree\n")
    async with asking(tmp_path, use, size=(80, 24)) as s:
        await s.until_shown("edits mode would not ask", "every file below shop")
        await s.pilot.resize_terminal(50, 15)
        await s.until_shown("Change this file?", "± change", "❯ 1 Yes", "3 No", "more lines · PgDn", "ctx")
        rows = s.screen_text().split("\n")
        assert any(line.startswith(" ❯") for line in rows), "the prompt"
        read = await s.read_through(s.frame.query_one(PermissionPanel))
        assert "2 + 2" in read
        assert "It covers every file below shop" in read
        await s.pilot.resize_terminal(80, 24)
        await s.until_shown("2 + 2", "edits mode would not ask", "every file below shop")
        assert s.screen_text().count("every file below shop") == 1


async def test_in_a_tiny_terminal_every_answer_and_the_prompt_are_shown(tmp_path: Path) -> None:
    use = ToolUse("t1", "bash", {"command": "rm -rf build && curl http://example.com/x"})
    async with shown(tmp_path, script(use), size=(40, 10)) as s:
        panel = await asked(s)
        await s.until_shown(
            "❯ 1 Yes", "2 Yes, until", "p Yes, always", "3 No", "more lines · PgDn", f"❯ {PLACEHOLDERS[1]}"
        )
        rule = f"The rule: {panel._sheet.rule}".replace(" ", "")
        assert rule in (await s.read_through(panel)).replace(" ", "")
        await s.pilot.resize_terminal(80, 24)
        await s.until_shown("don't ask again for rm -rf build", "Waiting for you", "ctx")
        await s.pilot.resize_terminal(40, 10)
        await s.pilot.press("escape")
        await s.idle()
        await s.until_shown("ctx")


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("npm run build && git add .", "2 Yes, and don't ask again for npm run *, git add * until you quit"),
        ("python3 -m pytest -q tests", "2 Yes, and don't ask again for python3 -m pytest * until you quit"),
    ],
)
async def test_what_a_rule_covers_is_shown_once_and_whole(tmp_path: Path, command: str, told: str) -> None:
    async with asking(tmp_path, ToolUse("t1", "bash", {"command": command})) as s:
        covered = "any arguments; not options that run or write other things"
        await s.until_shown(told, covered)
        assert s.screen_text().count(covered) == 1


async def test_the_hint_is_true_while_something_is_typed(tmp_path: Path) -> None:
    async with asking(tmp_path) as s:
        await s.type("because")
        await s.until_shown("Enter to answer with your text")
        await s.pilot.press("up")
        await s.until_shown("Enter to answer. Your text stays")
        await s.type(" ")
        await s.until_shown("Enter to answer with your text")
        await s.pilot.press(*["backspace"] * 8)
        await s.type("  ")
        await s.until_shown("❯ 1 Yes", "Enter or a digit to answer")


async def test_arrows_leave_a_text_of_several_rows_at_its_edge_and_stay_with_the_answers(
    tmp_path: Path,
) -> None:
    async with asking(tmp_path) as s:
        panel = s.frame.query_one(PermissionPanel)
        await s.type("first", "ctrl+j", "b", "up")
        own = panel.answering.marked
        assert s.frame.prompt.on_first_row
        await s.pilot.press("up")
        assert panel.answering.marked == own - 1
        await s.pilot.press("down")
        assert (panel.answering.marked, s.frame.prompt.on_first_row) == (own, True)


async def test_a_change_is_shown_as_a_diff_of_the_file(tmp_path: Path) -> None:
    use = ToolUse("t1", "edit", {"path": "a.py", "old_string": "two", "new_string": "2"})
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.py").write_text("one\ntwo\nthree\n")
    async with shown(tmp_path, script(use), size=(100, 40)) as s:
        await asked(s)
        await s.until_shown("Change this file?", "a.py", "+1 −1", "2 - two", "2 + 2")
        await s.pilot.press("enter")
        await s.idle()
        assert (tmp_path / "work" / "a.py").read_text() == "one\n2\nthree\n"


async def test_the_lines_of_a_long_answer_stand_below_its_first(tmp_path: Path) -> None:
    command = "make run_everything VERBOSE=1 UNTIL=the-line-is-broken REPEAT=twice OPTION=" + "x" * 30
    async with asking(tmp_path, ToolUse("t1", "bash", {"command": command})) as s:
        await s.until_shown("2 Yes, and don't ask again")
        rows = [line for line in s.screen_text().split("\n") if line.startswith("█")]
        first = next(number for number, line in enumerate(rows) if "2 Yes" in line)
        last = next(number for number, line in enumerate(rows) if "p Yes" in line)
        assert last - first > 1
        at = rows[first].index("Yes")
        assert all(line[1:at].isspace() and not line[at].isspace() for line in rows[first + 1 : last])


async def test_how_much_of_a_change_is_left_to_read_is_told_after_each_page(tmp_path: Path) -> None:
    use = ToolUse("t1", "write", {"path": "a.txt", "content": "line\n" * 60})
    async with asking(tmp_path, use) as s:

        def left() -> int:
            found = re.search(r"↓ (\d+) more lines", s.screen_text())
            return int(found[1]) if found else 0

        await s.until(left)
        before = left()
        await s.pilot.press("pagedown")
        await s.until(lambda: 0 < left() < before)
        for _ in range(9):
            await s.pilot.press("pagedown")
        await s.until_shown("PgUp to read it again")


async def test_a_long_command_can_be_read_to_its_end(tmp_path: Path) -> None:
    use = ToolUse("t1", "bash", {"command": "\n".join(f"echo {n}" for n in range(60)) + "\nmv x y"})
    async with asking(tmp_path, use) as s:
        await s.until_shown("│ echo 0", "more lines · PgDn")
        assert "mv x y" not in s.screen_text().replace("`mv x y`", "")
        for _ in range(8):
            await s.pilot.press("pagedown")
        await s.until_shown("│ mv x y")


LONG = "/".join(f"folder-{number:02}-of-a-deep-tree" for number in range(12)) + "/the-last-name.py"


@pytest.mark.parametrize("size", [(80, 24), (50, 15)])
@pytest.mark.parametrize("tool", ["write", "read"])
async def test_a_long_path_can_be_read_to_its_end(tmp_path: Path, size: tuple[int, int], tool: str) -> None:
    given, why = {"path": f"/etc/{LONG}"}, f"Reads/etc/{LONG},outsidetheworkspace"
    if tool == "write":
        given, why = (
            {"path": f".github/workflows/{LONG}", "content": "x"},
            f"Changes.github/workflows/{LONG},",
        )
    async with asking(tmp_path, ToolUse("t1", tool, given), size=size) as s:
        panel = s.frame.query_one(PermissionPanel)
        text = (await s.read_through(panel)).replace(" ", "")
        assert given["path"] in text
        assert f"Why:{why}" in text
        rows = s.screen_text().split("\n")
        assert any("Yes" in row for row in rows)
        assert any("tell the model why" in row for row in rows)


async def test_interrupting_takes_the_question_away(tmp_path: Path) -> None:
    async with shown(tmp_path, script()) as s:
        await asked(s)
        s.runtime.interrupt()
        await s.idle()
        await s.until(lambda: not s.frame.query(PermissionPanel))
        assert s.frame.focused is s.frame.prompt
        assert state(s) is ToolState.INTERRUPTED


async def test_esc_before_the_question_takes_answers_stops_the_run_and_says_that_nothing_ran(
    tmp_path: Path,
) -> None:
    async with shown(tmp_path, script()) as s:
        panel = await asked(s, armed=False)
        panel.answering.appeared(monotonic() + 60)
        await s.pilot.press("escape")
        await s.idle()
        call = next(entry for entry in s.entries if isinstance(entry, ToolCall))
        assert (call.state, call.outcome) == (ToolState.INTERRUPTED, "not run")
        assert results(s) == [NOT_RUN]
        await s.until_shown("not run")


async def test_the_first_frame_with_a_question_shows_the_change(tmp_path: Path) -> None:
    new = ToolUse("t1", "write", {"path": "new.py", "content": "first\n" + "more\n" * 30})
    frames: list[str] = []
    async with shown(tmp_path, script(new), size=(100, 30)) as s:

        def laid_out(_: object) -> None:
            if "Create this file?" in (text := s.screen_text()):
                frames.append(text)

        s.frame.screen_layout_refresh_signal.subscribe(s.frame, laid_out, immediate=True)
        await asked(s, armed=False)
        await s.until(lambda: bool(frames))
    assert "+ first" in frames[0]
    assert "Changes files of the workspace" in frames[0]


# Commands that already ran -----------------------------------------------------------------------------------


@asynccontextmanager
async def asked_afterwards(folder: Path, *commands: str, **more: Any) -> AsyncIterator[tuple[Shown, Any]]:
    async with shown(folder, []) as s:
        answer = ask(s, *commands, **more)
        await s.until(lambda: s.frame.query(PermissionPanel))
        panel = s.frame.query_one(PermissionPanel)
        await s.until(lambda: panel.answering.is_ready(monotonic()))
        yield s, answer
        if not answer.done():
            await s.pilot.press("escape")
        await answer


async def test_the_question_about_changes_lists_them_and_ctrl_o_shows_the_diffs(tmp_path: Path) -> None:
    async with asked_afterwards(tmp_path, "pytest -q", proposal=proposal()) as (s, answer):
        await s.until_shown("`pytest -q` changed 3 files and the repository. Keep it?", "1 commit on main")
        await s.until_shown(
            "package.json", "controls other programs", "src/gen.py", "+3 −2", "Ctrl+O for the diffs"
        )
        assert "value_9 = 99" not in s.screen_text()
        await s.pilot.press("ctrl+o")
        await s.until_shown('{"scripts": {"test": "pytest"}}')
        await s.pilot.press("ctrl+o", "1")
        assert (await answer).kind == "once"


async def test_dropping_the_changes_takes_a_reason_for_the_model(tmp_path: Path) -> None:
    async with asked_afterwards(tmp_path, "pytest -q", proposal=proposal()) as (s, answer):
        await s.until_shown("1 Yes, keep it", "No, drop it and tell the model why")
        await s.type("use the other file", "enter")
        assert (await answer).word == "use the other file"


async def test_a_wall_is_named_with_what_the_second_run_gets(tmp_path: Path) -> None:
    wall = Blocked(harm="needs network: pypi.org", network=True)
    async with asked_afterwards(tmp_path, "pip install six", again=True, blocked=wall) as (s, _):
        await s.until_shown("Run `pip install six` again with network?", "1 Yes, run it again")
        await s.until_shown("Runs in bubblewrap, network on, and may change the workspace")
