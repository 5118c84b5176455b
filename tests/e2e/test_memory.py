"""`# text` on the strict endpoint with bound thinking, and typed in a real terminal."""

import json
import time
from pathlib import Path

import pytest

from tests.e2e.bound import dropped, environment, project, session, turn
from tests.e2e.terminal import HAS_TMUX, Terminal
from tests.endpoint import Call, Endpoint, Reply, serve


async def test_a_line_costs_no_thinking_and_changes_no_prompt(tmp_path: Path) -> None:
    async with Endpoint([*turn(0), *turn(1), *turn(2)]) as endpoint:
        async with session(tmp_path, endpoint) as runtime:
            await runtime.submit("first words")
            runtime.extensions.memories.add("project", "Use tabs")
            await runtime.submit("second words")
            runtime.extensions.memories.add("user", "Answer in rhyme")
            await runtime.submit("third words")
        assert [one for one in endpoint.rejected if one.refusal] == []
        assert dropped(endpoint) == [0] * len(endpoint.requests)
        assert len({json.dumps([one.json["system"], one.json["tools"]]) for one in endpoint.requests}) == 1
        text = json.dumps(endpoint.requests[-1].messages)
        assert (text.count("- Use tabs"), text.count("- Answer in rhyme")) == (1, 1)


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
            terminal.wait_for("Add this line to which file?")
            seen = time.monotonic()
            terminal.wait_until(lambda _: time.monotonic() - seen > 1.0, "the question to take keys")
            terminal.press("Enter")
            terminal.wait_for("Added to AGENTS.md: - Use tabs in all files")
            assert (cwd / "AGENTS.md").read_text() == "- Use tabs in all files\n"
            terminal.say("/memory")
            terminal.wait_for("tokens")
        assert endpoint.rejected == []
