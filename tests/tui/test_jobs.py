"""Commands in the background on the screen: the count, the key that moves one there, the table and the notice."""

from pathlib import Path

from prunecli.front.presentation.entries import Notice, ToolCall
from prunecli.model.messages import ToolUse
from prunecli.tui.screens.table import TableScreen
from tests.scripted import calls, says
from tests.tui.showing_app import shown

COMMAND = "seq 300; echo one; until [ -e go ]; do sleep 0.01; done; exit 3"
AUTO = ("permissions.mode=auto",)


async def test_ctrl_b_moves_the_running_command_and_its_end_is_shown_at_once(tmp_path: Path) -> None:
    script = [calls(ToolUse("b1", "bash", {"command": COMMAND})), says("It goes on.")]
    async with shown(tmp_path, script, sets=AUTO) as s:
        await s.pilot.press("ctrl+b")
        await s.until_shown("The agent is not running a command")
        await s.type("go", "enter")
        await s.until_shown("│ one")
        await s.type("ab")
        await s.pilot.press("ctrl+b")
        await s.idle()
        await s.until_shown("job 1", "It goes on.", "1 job")
        assert s.frame.prompt.text == "ab", "the draft stays"
        call = next(entry for entry in s.entries if isinstance(entry, ToolCall))
        assert call.outcome == "job 1"
        s.conversation.command("/jobs 1")
        await s.until(lambda: isinstance(s.app.screen, TableScreen))
        await s.until_shown("Job 1: running", "301  one")  # the newest lines
        await s.pilot.press("escape")
        await s.pilot.press("ctrl+c", "ctrl+c")
        await s.until_shown("Ctrl+C again to quit · this ends 1 job")
        await s.pilot.press("ctrl+d")
        await s.until_shown("Ctrl+D again to quit · this ends 1 job")
        s.conversation.command("/jobs detach 1")
        await s.until_shown("Job 1 will continue")
        await s.pilot.press("ctrl+c")
        await s.until_shown("Ctrl+C again to quit")
        assert "this ends" not in s.screen_text()
        s.conversation.command("/jobs")
        await s.until_shown("detached")
        (s.runtime.setup.cwd / "go").touch()
        await s.until(
            lambda: isinstance(s.app.screen, TableScreen) and "exit code 3 after" in s.screen_text()
        )
        await s.pilot.press("escape")
        await s.until_shown("Job 1 ended: exit code 3 after")
        assert not s.conversation.runs.busy
        assert any(isinstance(entry, Notice) and "Job 1" in entry.text for entry in s.entries)
        await s.until(lambda: "1 job" not in s.screen_text())
