"""Esc on a running command: what it had printed stays on the screen, and the model gets it."""

from pathlib import Path

import pytest

from prunecli.context.render import INTERRUPTED
from prunecli.front.presentation.entries import Output, ToolCall, ToolState
from prunecli.model.messages import ToolUse
from tests.scripted import calls, says
from tests.tui.showing_app import Shown, shown

COMMAND = "echo printed-$((40 + 2)); sleep 1000"
AUTO = ("permissions.mode=auto",)


def last_call(s: Shown) -> ToolCall:
    return [entry for entry in s.entries if isinstance(entry, ToolCall)][-1]


async def test_the_output_of_a_call_that_is_stopped_stays(tmp_path: Path) -> None:
    script = [calls(ToolUse("t", "bash", {"command": COMMAND})), says("I saw it.")]
    async with shown(tmp_path, script, sets=AUTO) as s:
        await s.type("go", "enter")
        await s.until_shown("printed-42")
        await s.pilot.press("escape")
        await s.idle()
        call = last_call(s)
        assert call.state is ToolState.INTERRUPTED
        assert call.body == Output(f"printed-42\n{INTERRUPTED}")
        await s.type("what did it print?", "enter")
        await s.until_shown("I saw it.")
        results = [
            entry.text for entry in s.runtime.session.context.entries.values() if entry.kind == "result"
        ]
        assert results == [f"printed-42\n{INTERRUPTED}"]


@pytest.mark.parametrize(("mark", "printed"), [("!", f"printed-42\n{INTERRUPTED}"), ("!!", "printed-42")])
async def test_the_output_of_a_command_of_the_users_that_is_stopped_stays(
    tmp_path: Path, mark: str, printed: str
) -> None:
    async with shown(tmp_path, []) as s:
        await s.type(f"{mark}{COMMAND}", "enter")
        await s.until_shown("printed-42")
        await s.pilot.press("escape")
        await s.idle()
        call = last_call(s)
        assert call.state is ToolState.INTERRUPTED
        assert call.body == Output(printed)
        await s.until_shown("printed-42", "Interrupted.")
        sent = [entry.text for entry in s.runtime.session.context.entries.values()]
        assert sent == ([printed] if mark == "!" else [])
