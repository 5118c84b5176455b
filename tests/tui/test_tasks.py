"""Tasks on the screen: their line, the question that says who asks, and their transcript."""

import asyncio
from pathlib import Path

from textual.widgets import Static

from prunecli.features.subagents.screen import TaskScreen
from prunecli.front.presentation.entries import ToolCall, ToolState
from prunecli.model.messages import ToolUse
from prunecli.tui.widgets.permission import PermissionPanel
from tests.scripted import Scripted, calls, says
from tests.tui.showing_app import Shown, shown

TASK = ToolUse("t1", "task", {"prompt": "look", "description": "look around", "agent": "explore"})
READ = ToolUse("r1", "read", {"path": "a.txt"})


def held(gate: asyncio.Event) -> Scripted:
    """An answer that waits for the gate."""
    return Scripted(says("It is in a.txt.").content, until=gate)


def line(running: Shown) -> ToolCall:
    return next(one for one in running.entries if isinstance(one, ToolCall) and one.name == "task")


async def test_the_line_of_a_task_says_what_it_does_and_unfolds_and_enter_opens_it(tmp_path: Path) -> None:
    gate = asyncio.Event()
    script = [calls(TASK), calls(READ, text="I look at a.txt."), held(gate), says("Thanks.")]
    async with shown(tmp_path, script) as s:
        (s.runtime.setup.cwd / "a.txt").write_text("alpha\n")
        await s.type("go", "enter")
        await s.until(lambda: s.runtime.parts["subagents"].subagents.children and "1 call" in line(s).outcome)
        await s.until_shown("explore · look around", "1 call")
        assert line(s).state is ToolState.RUNNING
        await s.pilot.press("ctrl+t", "up")
        await s.until(lambda: s.frame.transcript.cursor is not None)
        await s.pilot.press("space")
        await s.until_shown("I look at a.txt.", "→ read a.txt")
        await s.pilot.press("enter")
        await s.until(lambda: isinstance(s.app.screen, TaskScreen))
        await s.until_shown("task 1", "read-only", "a.txt   1 line")
        gate.set()
        await s.until_shown("It is in a.txt.")
        await s.pilot.press("escape")
        await s.idle()
        await s.until_shown("Thanks.")
        assert line(s).outcome.startswith("1 call · ")
        await s.pilot.press("escape")
        await s.type("/agents open 1", "enter")
        await s.until(lambda: isinstance(s.app.screen, TaskScreen))
        await s.until_shown("It is in a.txt.")
        await s.pilot.press("q")
        await s.until(lambda: s.app.screen is s.frame)


async def test_enter_opens_the_newest_task_before_a_line_is_marked_and_the_hint_fits(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with shown(tmp_path, [calls(TASK), held(gate), says("Thanks.")]) as s:
        await s.type("go", "enter")
        await s.until(lambda: s.runtime.parts["subagents"].subagents.children)
        await s.until_shown("explore · look around")
        await s.pilot.press("ctrl+t")
        await s.until_shown("Running task", "Up/Down to move · Enter to fold or open")
        await s.pilot.press("enter")
        await s.until(lambda: isinstance(s.app.screen, TaskScreen))
        gate.set()
        await s.pilot.press("escape")
        await s.idle()
        s.frame.prompt.focus()
        await s.pilot.press("ctrl+t")
        await s.until_shown("Up/Down to move · Enter to fold or open · Esc to go back · r to restore")


async def test_the_question_of_a_task_says_who_asks_and_esc_stops_it_with_its_session(tmp_path: Path) -> None:
    use = ToolUse("b1", "bash", {"command": "make install"})
    plain = ToolUse("t1", "task", {"prompt": "do", "description": "do it"})
    async with shown(tmp_path, [calls(plain), calls(use, text="I install it."), says("Never.")]) as s:
        await s.type("go", "enter")
        await s.until(lambda: s.frame.query(PermissionPanel))
        await s.until_shown("task 1: Run this command?", "make install")
        s.conversation.runs.interrupt()
        await s.idle()
        assert line(s).state is ToolState.INTERRUPTED
        assert not s.frame.query(PermissionPanel)
        await s.type("/agents", "enter")
        await s.until_shown("explore", "interrupted, 1 request,")
        assert s.app.screen.query(Static)


async def test_a_task_that_fails_is_shown_as_failed_while_an_earlier_one_runs(tmp_path: Path) -> None:
    gate = asyncio.Event()
    unknown = ToolUse("t2", "task", {"prompt": "look", "description": "look", "agent": "nobody"})
    async with shown(tmp_path, [calls(TASK, unknown), held(gate), says("Thanks.")]) as s:
        await s.type("go", "enter")
        await s.until_shown("✗ task", "There is no agent 'nobody'")
        assert line(s).state is ToolState.RUNNING
        gate.set()
        await s.idle()
