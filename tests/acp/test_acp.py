"""An editor drives the program over its standard streams, on the strict endpoint with bound thinking."""

from pathlib import Path

from tests.acp.editor import editing, say
from tests.e2e.bound import step
from tests.endpoint import Endpoint, Reply, Thinking


async def test_a_turn_streams_thinking_text_and_calls(tmp_path: Path) -> None:
    script = [step(0), Reply([Thinking("That is all."), "Done."])]
    async with Endpoint(script) as endpoint, editing(tmp_path, endpoint.base_url) as (editor, agent, work):
        session = await agent.new_session(cwd=str(work))
        assert [mode.id for mode in session.modes.available_modes] == ["ask", "edits", "plan", "auto"]
        done = await agent.prompt(session_id=session.session_id, prompt=say("look"))
        assert done.stop_reason == "end_turn"
        assert editor.text() == "Step 0.Done."
        (call,) = editor.calls().values()
        assert (call["title"], call["kind"], call["status"]) == ("read 0.txt", "read", "completed")
        assert call["locations"][0]["path"] == str(work / "0.txt")
        assert "line of file 0" in call["content"][0]["content"]["text"]
        figures = editor.of("usage_update")[-1]
        assert 0 < figures.used < figures.size
        assert figures.cost.amount > 0
        assert editor.of("session_info_update")[-1].title == "look"
        assert {"prune", "compact", "undo", "cost"} <= {
            one.name for one in editor.of("available_commands_update")[0].available_commands
        }
        assert endpoint.rejected == []
