"""`# text` on the strict endpoint with bound thinking, and typed in a real terminal."""

from pathlib import Path

import pytest

from tests.e2e.bound import environment, project
from tests.e2e.terminal import HAS_TMUX, Terminal
from tests.endpoint import Call, Reply, serve


@pytest.mark.terminal
@pytest.mark.skipif(not HAS_TMUX, reason="tmux is not installed")
def test_in_a_terminal_by_keys_with_a_to_do_list(tmp_path: Path) -> None:
    cwd = project(tmp_path / "project")
    todos = [{"content": "Look at it", "status": "completed"}, {"content": "Fix it", "status": "in_progress"}]
    with serve([Reply([Call("todo", {"todos": todos})]), "Noted."]) as endpoint:
        with Terminal(["--trust"], cwd, environment(tmp_path, endpoint)) as terminal:
            terminal.wait_for("Ask, or / for commands")
            terminal.say("go on please")
            terminal.wait_for("1/2 · now: Fix it  Alt+T to unfold")
            terminal.press("M-t")
            terminal.wait_for("☑ Look at it")
            terminal.press("M-t")
            terminal.wait_until(lambda screen: "☑ Look at it" not in screen, "the list to fold")
            terminal.say("# Use tabs in all files")
            terminal.answer("Add this line to which file?", "Enter")
            terminal.wait_for("Added to AGENTS.md: - Use tabs in all files")
            assert (cwd / "AGENTS.md").read_text() == "- Use tabs in all files\n"
            terminal.say("/memory")
            terminal.wait_for("tokens")
        assert endpoint.rejected == []
