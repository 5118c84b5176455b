"""What a killed edit left is gone when its session is taken up again; what somebody else works on is left alone."""

import asyncio
from pathlib import Path

import pytest

from prunecli.model.events import AssistantMessage, ToolStarted, UserMessage
from prunecli.model.messages import Text, ToolUse
from prunecli.model.touches import Touches
from prunecli.runtime import Runtime
from prunecli.tools.files import read_journal as journal
from prunecli.tools.files.read_journal import leftover_name
from prunecli.tools.files.workspace import Place, opened_place
from tests.starting import start

OLD, NEW = b"old " * 500, b"new and longer " * 300


def killed_in_an_edit(
    tmp_path: Path, tool: str = "edit", touches: Touches | None = None
) -> tuple[Path, Path, Path]:
    """A session whose process died in an edit: its file, and the two leftovers."""
    runtime = start(tmp_path)
    given = {"file" if touches else "path": "f"}
    work = runtime.setup.cwd
    runtime.session.emit(UserMessage((Text("go"),)))
    runtime.session.emit(AssistantMessage((ToolUse("t1", tool, given),), stop_reason="tool_use"))
    runtime.session.emit(ToolStarted("t1", tool, given, touches))
    path = runtime.session.path
    assert path is not None
    assert runtime.session._log is not None
    runtime.session._log.close()
    (work / "f").write_bytes(OLD)
    with opened_place("f", work, work) as place:
        journal._keep(place, leftover_name(place, "journal"), OLD, NEW)
    (work / "f").write_bytes(NEW[:700] + OLD[700:])
    place = Place(-1, "f", "")
    temporary = work / leftover_name(place, "tmp")
    temporary.write_bytes(b"half of it")
    return path, temporary, work / leftover_name(place, "journal")


def taken_up(tmp_path: Path, path: Path, **how: bool) -> Runtime:
    runtime = start(tmp_path)
    runtime.open_session(path, **how)
    return runtime


@pytest.mark.parametrize(
    ("tool", "touches"), [("edit", None), ("write", None), ("put", Touches(changes=("f",)))]
)
def test_leftovers_of_a_killed_edit_are_cleared_at_resume(
    tmp_path: Path, tool: str, touches: Touches | None
) -> None:
    path, temporary, kept = killed_in_an_edit(tmp_path, tool, touches)
    runtime = taken_up(tmp_path, path)
    assert (tmp_path / "work" / "f").read_bytes() == OLD
    assert not temporary.exists()
    assert not kept.exists()
    asyncio.run(runtime.close())


@pytest.mark.parametrize("how", [{"writable": False}, {"fork": True}])
def test_a_copy_or_a_view_touches_no_file(tmp_path: Path, how: dict[str, bool]) -> None:
    """The session may be at work in another process."""
    path, temporary, kept = killed_in_an_edit(tmp_path)
    runtime = taken_up(tmp_path, path, **how)
    assert temporary.exists()
    assert kept.exists()
    asyncio.run(runtime.close())


def test_a_file_that_leads_out_of_the_workspace_is_said_and_left_alone(tmp_path: Path) -> None:
    path, _, _ = killed_in_an_edit(tmp_path)
    (tmp_path / "work" / "f").unlink()
    (tmp_path / "outside").write_bytes(b"precious")
    (tmp_path / "work" / "f").symlink_to(tmp_path / "outside")
    runtime = taken_up(tmp_path, path)
    assert (tmp_path / "outside").read_bytes() == b"precious"
    assert any("f" in notice for notice in runtime.session.notices)
    asyncio.run(runtime.close())
