"""/prune with the numbers of entries."""

from pathlib import Path

import pytest

from prunecli.commands.command import Say, run_line
from prunecli.model.events import AssistantMessage, PrunApplied, ToolResult, UserMessage
from prunecli.model.messages import Text, ToolUse
from prunecli.runtime import Runtime
from tests.starting import start


def worked(folder: Path) -> tuple[Runtime, list[int]]:
    """Three reads and an answer."""
    runtime = start(folder, sets=("ui.confirm=never",))
    runtime.emit(UserMessage((Text("hello"),)))
    found = []
    for number in range(3):
        call = ToolUse(f"t{number}", "read", {"path": f"{number}.py"})
        found.append(runtime.emit(AssistantMessage((call,), "m", "tool_use")).seq)
        runtime.emit(ToolResult(call.id, "read", (Text("word " * 300),)))
    runtime.emit(AssistantMessage((Text("done"),), "m", "end_turn"))
    return runtime, found


def pruned(runtime: Runtime, line: str) -> list[str]:
    (effect,) = run_line(runtime, line)
    assert isinstance(effect, Say)
    event = runtime.session.records[-1].event
    assert isinstance(event, PrunApplied)
    return [edit.kind for edit in event.edits]


def test_a_range_is_one_prune_by_hand_and_undo_restores_it(tmp_path: Path) -> None:
    runtime, found = worked(tmp_path)
    assert pruned(runtime, f"/prune {found[0]}-{found[2]}") == ["drop", "drop", "drop"]
    run_line(runtime, "/undo")
    assert not any(runtime.session.context.dropped(one) for one in runtime.session.context.exchanges)


def test_a_memo_stands_in_the_place_of_a_range(tmp_path: Path) -> None:
    runtime, found = worked(tmp_path)
    assert pruned(runtime, f"/prune {found[0]}, {found[1]} memo what I learned") == ["memo", "drop", "drop"]
    assert any(b"what I learned" in message.canonical for message in runtime.session.context.messages())


@pytest.mark.parametrize("arguments", ["everything", "9999", "0", "1-2 memo", "1 x memo y"])
def test_what_names_nothing_prunable_says_so(tmp_path: Path, arguments: str) -> None:
    runtime, _ = worked(tmp_path)
    (effect,) = run_line(runtime, f"/prune {arguments}")
    assert isinstance(effect, Say)
    assert not effect.text.startswith("Pruned")
    assert not isinstance(runtime.session.records[-1].event, PrunApplied)
