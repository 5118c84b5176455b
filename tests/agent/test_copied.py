"""A placeholder that stands in the context is never written to a file that does not hold it."""

import json
from collections.abc import Callable
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
from prunecli.features.openai.apply_patch import ApplyPatch
from prunecli.model.edits import Edit as Prune
from prunecli.model.events import (
    AssistantMessage,
    PrunApplied,
    SessionStarted,
    Spilled,
    ToolResult,
    UserMessage,
)
from prunecli.model.messages import Text, ToolUse
from prunecli.safety.permissions.verdict import Rules
from prunecli.session.session import Session
from prunecli.tools.bash import Bash
from prunecli.tools.edit import Edit
from prunecli.tools.tool import FilesSeen, ToolContext
from prunecli.tools.write import Write

CLEARED = '[output pruned — ~2,000 tokens | read path="b.py" | recall 3]'


HELD = "[899 of 900 lines held back | continue with offset=2]"


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
    (mark,) = marks_in(json.loads(session.context.edits_of(2)[0][1].text or ""))
    session.emit(UserMessage((Text("and then"),)))
    session.emit(AssistantMessage((ToolUse("u", "read", {"path": "c.py"}),), "m", "tool_use"))
    read = ToolResult("u", "read", (Text("z = 3\n" * 900),), spilled=Spilled(800, f"z = 3\n{HELD}"))
    session.emit(read)
    session.emit(AssistantMessage((Text("read"),), "m", "end_turn"))
    context = ToolContext(folder, folder, {"PATH": "/usr/bin:/bin"}, FilesSeen())

    async def refuse(_: object) -> Any:
        raise AssertionError("nobody is asked")

    keeper = SessionGatekeeper(Rules(), "auto", True, folder, asker=refuse)
    tools: Any = {tool.name: tool for tool in (Write(), Edit(), Bash(), ApplyPatch())}
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


PATCH, END = "*** Begin Patch\n***", "\n*** End Patch"
Given = Callable[[str], dict[str, Any]]
NOTEBOOK = {
    "cells": [{"cell_type": "code", "metadata": {}, "source": ["y = 2\n"], "outputs": []}],
    "metadata": {},
}
WRITES: dict[str, tuple[str, Given]] = {
    "write": ("write", lambda mark: {"path": "new", "content": f"a\n{mark}\n"}),
    "edit": ("edit", lambda mark: {"path": "old.py", "old_string": "y = 2", "new_string": mark}),
    "notebook": ("edit", lambda mark: {"path": "n.ipynb", "old_string": "y = 2", "new_string": mark}),
    "patch": (
        "apply_patch",
        lambda mark: {"input": f"{PATCH} Update File: old.py\n@@\n-y = 2\n+{mark}{END}"},
    ),
    "new by patch": ("apply_patch", lambda mark: {"input": f"{PATCH} Add File: new\n+a\n+{mark}{END}"}),
    "cat": ("bash", lambda mark: {"command": f"cat > new <<'EOF'\n{mark}\nEOF"}),
    "word like a name": (
        "bash",
        lambda mark: {"command": f"cat <<END-OF.TEXT >new\n{mark}\nEOF\nEND-OF.TEXT"},
    ),
    "end that is none": ("bash", lambda mark: {"command": f"cat >new <<EOF\nx\n EOF\n{mark}\nEOF"}),
    "tabs": ("bash", lambda mark: {"command": f"cat > new <<-'EOF'\n\t\t{mark}\n\tEOF"}),
    "tee": ("bash", lambda mark: {"command": f'tee new <<"EOF"\n{mark}\nEOF'}),
    "second": ("bash", lambda mark: {"command": f"cat <<A >new\nx\nA\ncat <<B >>new\n{mark}\nB"}),
}
PASSES: dict[str, tuple[str, Given]] = {
    "search": ("bash", lambda mark: {"command": f"grep -rc '{mark}' . || true"}),
    "here-string": ("bash", lambda mark: {"command": f"wc -c <<< '{mark}'\nEOF=1"}),
    "after the text": ("bash", lambda mark: {"command": f"cat > new <<EOF\nx\nEOF\necho '{mark}'"}),
    "removed": ("edit", lambda mark: {"path": "held.md", "old_string": mark, "new_string": "gone"}),
    "held": ("edit", lambda mark: {"path": "held.md", "old_string": "say", "new_string": f"tell {mark}"}),
    "held in UTF-16": ("write", lambda mark: {"path": "wide.md", "content": f"{mark}\n"}),
    "held in a notebook": ("edit", lambda mark: {"path": "h.ipynb", "old_string": "say", "new_string": f"so {mark}"}),
    "held by a patch": (
        "apply_patch", lambda mark: {"input": f"{PATCH} Update File: held.md\n@@\n-say {mark}\n+tell {mark}{END}"}
    ),
    "held by a command": ("bash", lambda mark: {"command": f"cat > held.md <<'EOF'\n{mark}\nEOF"}),
    "held by tee": ("bash", lambda mark: {"command": f"tee -a 'held.md' <<'EOF'\n{mark}\nEOF"}),
    "of another session": ("write", lambda mark: {"path": "new", "content": mark.replace("2", "7")}),
    "only talked about": ("write", lambda mark: {"path": "new", "content": mark[:-1]}),
}  # fmt: skip


def held(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def files(folder: Path, mark: str) -> None:
    """Files that hold a placeholder in several forms, and some that do not."""
    (folder / "old.py").write_text("y = 2\n")
    (folder / "n.ipynb").write_text(json.dumps(NOTEBOOK | {"nbformat": 4, "nbformat_minor": 5}))
    (folder / "held.md").write_text(f"say {mark}\n")
    (folder / "wide.md").write_bytes(f"say {mark}\n".encode("utf-16"))
    cell = NOTEBOOK["cells"][0] | {"source": [f"say {mark}"]}
    (folder / "h.ipynb").write_text(
        json.dumps(NOTEBOOK | {"cells": [cell], "nbformat": 4, "nbformat_minor": 5})
    )


@pytest.mark.parametrize("kind", ["input", "result", "rest"])
@pytest.mark.parametrize("name", list(WRITES))
async def test_a_placeholder_is_written_in_no_way(tmp_path: Path, name: str, kind: str) -> None:
    executor, mark = worked(tmp_path)
    mark = {"input": mark, "result": CLEARED, "rest": HELD}[kind]
    files(tmp_path, "nothing")
    before = held(tmp_path)
    tool, given = WRITES[name]
    said = await outcome(executor, tool, **given(mark))
    assert said.startswith(f"Nothing was written: the new text contains {mark}")
    assert held(tmp_path) == before


@pytest.mark.parametrize("kind", ["input", "result", "rest"])
@pytest.mark.parametrize("name", list(PASSES))
async def test_what_is_held_or_not_written_passes(tmp_path: Path, name: str, kind: str) -> None:
    executor, mark = worked(tmp_path)
    mark = {"input": mark, "result": CLEARED, "rest": HELD}[kind]
    files(tmp_path, mark)
    tool, given = PASSES[name]
    assert "Nothing was written" not in await outcome(executor, tool, **given(mark))


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
