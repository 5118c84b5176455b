"""What the screen says and does when the session's file can't be written, is lost, or is somebody else's."""

import threading
from pathlib import Path

import pytest

from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.front.presentation.entries import ToolCall, ToolState
from prunecli.model.edits import Edit
from prunecli.model.events import PrunApplied
from prunecli.model.messages import ToolUse
from prunecli.runtime import Runtime
from prunecli.runtime.make import _open
from prunecli.session.session import Session
from prunecli.session.writer import LogWriter
from prunecli.tui.runs import UNSAVED
from prunecli.tui.screens.choose import ChooseScreen
from prunecli.tui.widgets.prompt import PLACEHOLDER
from prunecli.util.launch_options import Launch
from tests.faults.disks import Disk
from tests.scripted import Scripted, ScriptedProvider, calls, says
from tests.starting import closed, start
from tests.tui.showing_app import Shown, joined, shown

LIST = ToolUse("t1", "ls", {"path": "."})
TWICE = [calls(LIST), calls(ToolUse("t2", "ls", {})), says("All of it is saved.")]


def on_disk(folder: Path, script: list[Scripted], disk: Disk) -> Runtime:
    """A runtime whose session lies on this disk."""
    runtime = start(folder, script)
    old = runtime.session
    session = Session(
        old.started, Context(Chars4()), path=old.path, clock=runtime.setup.clock, open_log=disk.open_log
    )
    runtime.switch(session)
    return runtime


def requests(s: Shown) -> int:
    provider = s.runtime.provider
    assert isinstance(provider, ScriptedProvider)
    return len(provider.requests)


@pytest.mark.parametrize("number", [4, 6, 7, 9])
async def test_a_full_disk_is_a_banner_and_the_work_goes_on_by_itself_after(
    tmp_path: Path, number: int
) -> None:
    """The n-th record does not fit."""
    disk = Disk(write=number)
    async with shown(tmp_path, runtime=on_disk(tmp_path, TWICE, disk)) as s:
        await s.type("go", "enter")
        await s.until_shown("No space left on device", "Paused:")
        before = requests(s), len(s.runtime.session.records)
        await s.pilot.press("enter")
        await s.idle()
        await s.until_shown("No space left on device")
        assert (requests(s), len(s.runtime.session.records)) == before
        disk.repaired()
        await s.until_shown("All of it is saved.")
        await s.idle()
        await s.until(lambda: "No space left" not in s.screen_text())
        assert requests(s) == 3


async def worked(s: Shown) -> PrunApplied:
    """Lets the agent do its work and come to rest; a prune of its first exchange."""
    await s.type("go", "enter")
    await s.until_shown("All of it is saved.")
    await s.idle()
    return PrunApplied("user", (Edit("drop", s.runtime.session.context.exchanges[0].seq),))


async def test_what_is_pruned_while_nothing_runs_is_durable_at_once(tmp_path: Path) -> None:
    disk = Disk()
    async with shown(tmp_path, runtime=on_disk(tmp_path, list(TWICE), disk)) as s:
        prune = await worked(s)
        synced, records = disk.counts["sync"], len(s.runtime.session.records)
        s.runtime.emit(prune)
        await s.until(lambda: disk.counts["sync"] > synced)
        assert len(s.runtime.session.records) == records + 1


async def test_a_prune_that_cannot_be_kept_is_said(tmp_path: Path) -> None:
    disk = Disk()
    async with shown(tmp_path, runtime=on_disk(tmp_path, list(TWICE), disk)) as s:
        prune = await worked(s)
        disk.fails_at["sync"] = disk.counts["sync"] + 1
        s.runtime.emit(prune)
        await s.until_shown("cannot sync", "Free some space")


@pytest.mark.parametrize("number", [2, 4])
async def test_a_failed_sync_is_a_banner_and_nothing_runs_until_it_is_mended(
    tmp_path: Path, number: int
) -> None:
    disk = Disk(sync=number, code=5)
    async with shown(tmp_path, runtime=on_disk(tmp_path, TWICE, disk), size=(120, 30)) as s:
        await s.type("go", "enter")
        await s.until_shown("cannot sync: Input/output error", "Paused:")
        before = requests(s)
        failures = disk.failures
        await s.until(lambda: disk.failures > failures)  # it was looked at again
        assert requests(s) == before
        disk.repaired()
        await s.until_shown("All of it is saved.")
        await s.until(lambda: "Input/output error" not in s.screen_text())


async def test_what_could_not_be_recorded_stands_in_the_prompt_again(tmp_path: Path) -> None:
    disk = Disk(write=1)
    async with shown(tmp_path, runtime=on_disk(tmp_path, [says("heard")], disk)) as s:
        await s.type("mind the gap", "enter")
        await s.until_shown("No space left on device", "Enter to send again")
        await s.until(lambda: s.frame.prompt.typed == "mind the gap")
        assert requests(s) == 0
        disk.repaired()
        await s.pilot.press("enter")
        await s.until_shown("heard")
        await s.until(lambda: "No space left" not in s.screen_text())


def outputs(s: Shown) -> list[tuple[str, ToolState]]:
    """The output entries of the user's commands: what each says beside its name, and its state."""
    return [
        (entry.argument, entry.state)
        for entry in s.entries
        if isinstance(entry, ToolCall) and entry.name == "output"
    ]


async def test_a_command_that_could_not_be_recorded_before_it_ran_stands_in_the_prompt_again(
    tmp_path: Path,
) -> None:
    disk = Disk(write=1)
    async with shown(tmp_path, runtime=on_disk(tmp_path, [], disk)) as s:
        await s.type("!true", "enter")
        await s.until_shown("No space left on device", "Enter to send again")
        await s.until(lambda: s.frame.prompt.typed == "!true")
        assert outputs(s) == []
        disk.repaired()
        await s.pilot.press("enter")
        await s.until(lambda: outputs(s) == [("", ToolState.OK)])
        await s.until(lambda: "No space left" not in s.screen_text())


async def test_output_that_could_not_be_recorded_is_shown_and_reaches_the_model_later(tmp_path: Path) -> None:
    disk = Disk()
    async with shown(tmp_path, runtime=on_disk(tmp_path, [*TWICE, says("heard")], disk)) as s:
        await worked(s)
        disk.fails_at["write"] = disk.counts["write"] + 1
        await s.type("!echo precious", "enter")
        await s.until_shown("No space left on device", "Paused:", "precious", UNSAVED)
        await s.idle()
        assert outputs(s) == [(UNSAVED, ToolState.OK)]
        assert "send again" not in joined(s.screen_text())
        disk.repaired()
        await s.type("what was it", "enter")
        await s.until_shown("heard")
        provider = s.runtime.provider
        assert isinstance(provider, ScriptedProvider)
        assert any(b"precious\\n" in one.canonical for one in provider.requests[-1].messages)
        assert outputs(s) == [("", ToolState.OK)]


async def test_output_whose_sync_failed_is_shown_once(tmp_path: Path) -> None:
    disk = Disk()
    async with shown(tmp_path, runtime=on_disk(tmp_path, list(TWICE), disk)) as s:
        await worked(s)
        disk.fails_at["sync"] = disk.counts["sync"] + 1
        await s.type("!echo precious", "enter")
        await s.until_shown("cannot sync", "Paused:")
        await s.idle()
        assert outputs(s) == [("", ToolState.OK)]


async def test_esc_leaves_a_run_that_waits_for_space_as_it_is(tmp_path: Path) -> None:
    disk = Disk(write=6)
    async with shown(tmp_path, runtime=on_disk(tmp_path, TWICE, disk)) as s:
        await s.type("go", "enter")
        await s.until_shown("No space left on device", "Esc to stop waiting")
        await s.pilot.press("escape")
        disk.repaired()
        for _ in range(3):
            s.conversation.tick()
            await s.pilot.pause()
        assert not s.conversation.runs.busy
        await s.pilot.press("enter")
        await s.until_shown("All of it is saved.")


async def test_a_folder_that_can_not_be_written_is_said_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "home" / ".local" / "share" / "prunecli").mkdir(parents=True)
    (tmp_path / "home" / ".local" / "share" / "prunecli" / "sessions").write_text("in the way")
    async with shown(tmp_path, [says("x")], size=(120, 30)) as s:
        await s.type("go", "enter")
        await s.until_shown("Not a directory", "--no-session")
        assert requests(s) == 0


async def test_a_log_that_is_deleted_while_it_is_open_is_said_and_written_anew(tmp_path: Path) -> None:
    async with shown(tmp_path, [says("first"), says("second")], size=(120, 30)) as s:
        await s.type("one", "enter")
        await s.until_shown("first")
        await s.idle()
        path = s.runtime.session.path
        assert path is not None
        path.unlink()
        await s.type("two", "enter")
        await s.until_shown("second", "was deleted while it was open")
        await s.idle()
        assert len(path.read_bytes().splitlines()) == len(s.runtime.session.records)


async def test_keys_are_echoed_while_a_sync_takes_its_time(tmp_path: Path) -> None:
    """Every sync waits until the test lets it go."""
    release = threading.Event()
    disk = Disk()
    sync = disk.sync
    slow = Disk()
    slow.sync = lambda descriptor: (release.wait(30), sync(descriptor))[1]  # type: ignore[method-assign]
    async with shown(tmp_path, runtime=on_disk(tmp_path, [says("done at last")], slow)) as s:
        await s.type("go", "enter")
        await s.until(lambda: s.conversation.runs.busy)
        await s.type("typed meanwhile")
        await s.until_shown("typed meanwhile")
        assert "done at last" not in s.screen_text()
        release.set()
        await s.until_shown("done at last")
        await s.idle()


async def locked_session(tmp_path: Path) -> tuple[Path, LogWriter]:
    """A session that somebody else writes to."""
    runtime = start(tmp_path, [says("the first answer")])
    await runtime.submit("the first words")
    path = await closed(runtime)
    return path, LogWriter(path)


@pytest.mark.parametrize("way", ["flag", "command"])
async def test_a_session_in_use_can_be_looked_at_read_only(tmp_path: Path, way: str) -> None:
    """By --resume ID and by /resume ID."""
    path, log = await locked_session(tmp_path)
    before = path.read_bytes()
    runtime = start(tmp_path, [says("never")])
    if way == "flag":
        _open(runtime, Launch(resume=path.stem))
    async with shown(tmp_path, runtime=runtime, size=(120, 30)) as s:
        if way == "command":
            s.conversation.command(f"/resume {path.stem}")
        await s.until(lambda: isinstance(s.app.screen, ChooseScreen))
        await s.until_shown("is in use by process", "Open a copy", "View it")
        await s.pilot.press("down", "enter")
        await s.until_shown("the first answer", "Read-only")
        assert s.frame.prompt.placeholder != PLACEHOLDER
        await s.type("may I", "enter")
        await s.idle()
        await s.until_shown("Read-only session" if s.frame.prompt.is_empty else "may I", "--fork")
        assert path.read_bytes() == before
        s.conversation.command("/new")
        assert s.frame.prompt.placeholder == PLACEHOLDER
    log.close()


async def test_a_session_in_use_can_be_gone_on_with_as_a_copy(tmp_path: Path) -> None:
    path, log = await locked_session(tmp_path)
    before = path.read_bytes()
    runtime = start(tmp_path, [says("from the copy")])
    _open(runtime, Launch(resume=path.stem))
    async with shown(tmp_path, runtime=runtime, size=(120, 30)) as s:
        await s.until_shown("Open a copy")
        await s.pilot.press("enter")
        await s.until_shown("the first answer")
        await s.type("more", "enter")
        await s.until_shown("from the copy")
        assert path.read_bytes() == before
        assert s.runtime.session.path != path
    log.close()
