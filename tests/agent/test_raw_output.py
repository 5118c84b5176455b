"""Bytes that a text can't hold are kept beside the log, exactly."""

from hashlib import sha256
from pathlib import Path

from prunecli.model.events import ToolResult
from prunecli.model.messages import ToolUse
from tests.scripted import calls, says
from tests.starting import start


async def results(folder: Path, *wanted: ToolUse, keep_log: bool = True) -> list[ToolResult]:
    runtime = start(folder, [calls(*wanted), says("ok")], sets=("permissions.mode=auto",), keep_log=keep_log)
    await runtime.submit("go")
    found = [r.event for r in runtime.session.records if isinstance(r.event, ToolResult)]
    await runtime.close()
    return found


async def test_bytes_that_are_no_text_are_kept_as_a_blob(tmp_path: Path) -> None:
    (result,) = await results(tmp_path, ToolUse("t", "bash", {"command": r"printf '\377\000'"}))
    name = result.details["raw"]["sha256"]
    assert name == sha256(b"\xff\0").hexdigest()
    (blob,) = (tmp_path / "home").rglob(f"blobs/{name}")
    assert blob.read_bytes() == b"\xff\0"


async def test_text_leaves_no_blob(tmp_path: Path) -> None:
    (result,) = await results(tmp_path, ToolUse("t", "bash", {"command": "echo plain"}))
    assert "raw" not in result.details
    assert not list((tmp_path / "home").rglob("blobs"))


async def test_without_a_log_there_is_nothing_to_keep_them_in(tmp_path: Path) -> None:
    (result,) = await results(
        tmp_path, ToolUse("t", "bash", {"command": r"printf '\377\000'"}), keep_log=False
    )
    assert "raw" not in result.details
