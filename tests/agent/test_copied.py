"""A placeholder that stands in the context is never written to a file that does not hold it."""

from pathlib import Path
from typing import Any

import pytest

from prunecli.agent.execute import Executor
from prunecli.agent.gatekeeper import SessionGatekeeper
from prunecli.context.inputs import marks_in
from prunecli.context.manual_edits import plan_inputs
from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.context.view import View
from prunecli.model.edits import Edit as Prune
from prunecli.model.events import AssistantMessage, PrunApplied, SessionStarted, ToolResult, UserMessage
from prunecli.model.messages import Text, ToolUse
from prunecli.safety.permissions.verdict import Rules
from prunecli.session.session import Session
from prunecli.tools.bash import Bash
from prunecli.tools.edit import Edit
from prunecli.tools.tool import FilesSeen, ToolContext
from prunecli.tools.write import Write

CLEARED = '[output pruned — ~2,000 tokens | read path="b.py" | recall 3]'


def worked(folder: Path) -> tuple[Executor, str]:
    """An executor whose session has a cut input and a cleared result, and the text that stands for the input."""
    session = Session(SessionStarted("s", str(folder), "m"), Context(Chars4()), path=None)
    session.emit(UserMessage((Text("go on"),)))
    session.emit(
        AssistantMessage(
            (ToolUse("t", "write", {"path": "a.py", "content": "x = 1\n" * 99}),), "m", "tool_use"
        )
    )
    session.emit(ToolResult("t", "write", (Text("done"),)))
    session.emit(AssistantMessage((Text("done"),), "m", "end_turn"))
    for event in plan_inputs(_view(session), [2]).events:
        session.emit(event)
    session.emit(PrunApplied("user", (Prune("clear", 3, "t", CLEARED),)))
    (mark,) = marks_in(session.context.edits_of(2)[0][1].text or "")
    context = ToolContext(folder, folder, {"PATH": "/usr/bin:/bin"}, FilesSeen())

    async def refuse(_: object) -> Any:
        raise AssertionError("nobody is asked")

    keeper = SessionGatekeeper(Rules(), "auto", True, folder, asker=refuse)
    tools: Any = {tool.name: tool for tool in (Write(), Edit(), Bash())}
    return Executor(session, tools, lambda **_: context, keeper), mark


def _view(session: Session) -> Any:

    return View(session.context, 200_000, recall=True)


async def outcome(executor: Executor, name: str, **given: Any) -> str:
    output, _ = await executor.outcome(ToolUse("new", name, given))
    return "\n".join(block.text for block in output.content if isinstance(block, Text))


@pytest.mark.parametrize("name", ["write", "edit", "bash"])
async def test_a_call_that_would_write_a_placeholder_is_refused_and_says_how_to_get_the_text(
    tmp_path: Path, name: str
) -> None:
    executor, mark = worked(tmp_path)
    (tmp_path / "old.py").write_text("y = 2\n")
    said = await outcome(
        executor,
        name,
        **{
            "write": {"path": "new.py", "content": f"y = 1\n{mark}\n"},
            "edit": {"path": "old.py", "old_string": "y = 2", "new_string": mark},
            "bash": {"command": f"cat > new.py <<'EOF'\n{mark}\nEOF"},
        }[name],
    )
    assert said.startswith(f"Nothing was written: the new text contains {mark}")
    assert "get it with recall 2 input first" in said
    assert not (tmp_path / "new.py").exists()
    assert (tmp_path / "old.py").read_text() == "y = 2\n"


async def test_the_placeholder_of_a_result_is_refused_too(tmp_path: Path) -> None:
    executor, _ = worked(tmp_path)
    assert "get it with recall 3 first" in await outcome(executor, "write", path="new.py", content=CLEARED)


async def test_what_the_file_holds_or_the_context_does_not_is_written(tmp_path: Path) -> None:
    executor, mark = worked(tmp_path)
    (tmp_path / "doc.md").write_text(f"say {mark}\n")
    said = await outcome(executor, "edit", path="doc.md", old_string="say", new_string=f"tell {mark}")
    assert said.startswith("Edited doc.md")
    other = mark.replace("recall 2", "recall 99")
    assert (await outcome(executor, "write", path="b.py", content=other)).startswith("Created b.py")
    looks = await outcome(executor, "bash", command=f"grep -c '{mark}' doc.md")
    assert looks.startswith("1")
