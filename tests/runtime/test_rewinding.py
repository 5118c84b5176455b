"""Going back with the files: real tools in a real repository, and the session that records it."""

import asyncio
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.features.rewind.file_snapshots import FileSaver
from prunecli.features.rewind.rewinding import outlook_of, points_of, rewind
from prunecli.features.rewind.snapshots import EMPTY
from prunecli.model.events import FilesSaved, Rewound
from prunecli.model.messages import ToolUse
from prunecli.model.signals import Notice
from prunecli.providers.models import ModelTable
from prunecli.runtime import Runtime
from prunecli.session.log import read_log
from prunecli.session.session import Session
from prunecli.session.verify import verify_session
from prunecli.util.errors import SnapshotFailed
from tests.scripted import Scripted, ScriptedProvider, calls, says
from tests.session.snapshotting import files, of_git, repository
from tests.starting import closed, start
from tests.waiting import DEADLINE, until

AUTO = ("permissions.mode=auto",)


def bash(number: int, command: str) -> ToolUse:
    return ToolUse(f"b{number}", "bash", {"command": command})


def saves(runtime: Runtime) -> list[tuple[str, str]]:
    return [
        (record.event.moment, record.event.reason)
        for record in runtime.session.records
        if isinstance(record.event, FilesSaved)
    ]


def begun(tmp_path: Path, script: list[Scripted], **more: Any) -> Runtime:
    repository(tmp_path / "work")
    return start(tmp_path, script, sets=AUTO, **more)


STORY = [
    calls(bash(1, "echo one > by-bash; rm b.txt; chmod +x a.txt")),
    says("Done."),
    calls(
        ToolUse("r", "read", {"path": "a.txt"}),
        ToolUse("e", "edit", {"path": "a.txt", "old_string": "changed", "new_string": "edited"}),
        bash(2, "mkdir -p made && echo two > made/file && ln -s ../a.txt made/link"),
    ),
    says("Done again."),
    says("Hello."),
    calls(bash(3, "echo else > other.txt")),
    says("Done otherwise."),
]


async def after_two(tmp_path: Path) -> tuple[Runtime, list[dict[str, object]]]:
    """A session after two prompts that changed files, and the files before each and now."""
    runtime = begun(tmp_path, STORY)
    seen = [files(runtime.setup.cwd)]
    for words in ("first", "second"):
        await runtime.submit(words)
        seen.append(files(runtime.setup.cwd))
    return runtime, seen


async def test_files_that_tools_and_bash_changed_go_back_prompt_by_prompt(tmp_path: Path) -> None:
    runtime, seen = await after_two(tmp_path)
    git = of_git(runtime.setup.cwd)
    assert len({str(one) for one in seen}) == 3
    second, first = points_of(runtime)
    assert (second.text, first.text) == ("second", "first")
    await rewind(runtime, second.seq, conversation=True, files=True)
    assert files(runtime.setup.cwd) == seen[1]
    assert [point.text for point in points_of(runtime)] == ["second", "first"]
    assert [point.forward for point in points_of(runtime)] == [True, False]
    await rewind(runtime, first.seq, conversation=True, files=True)
    assert files(runtime.setup.cwd) == seen[0]
    assert runtime.session.context.items == []
    assert {name: one for name, one in of_git(runtime.setup.cwd).items() if " " not in name} == {
        name: one for name, one in git.items() if " " not in name
    }


async def test_the_undo_can_be_undone_after_any_number_of_steps(tmp_path: Path) -> None:
    runtime, seen = await after_two(tmp_path)
    shown = runtime.session.context.messages()
    for point in points_of(runtime):
        await rewind(runtime, point.seq, conversation=True, files=True)
    assert files(runtime.setup.cwd) == seen[0]
    forward = points_of(runtime)
    assert [(point.text, point.forward, point.prompts) for point in forward] == [
        ("second", True, 2),
        ("first", True, 1),
    ]
    await rewind(runtime, forward[0].seq, conversation=True, files=True)
    assert files(runtime.setup.cwd) == seen[2]
    assert runtime.session.context.messages() == shown
    assert [point.forward for point in points_of(runtime)] == [False, False]


async def test_another_way_can_be_gone_and_left_again(tmp_path: Path) -> None:
    runtime, seen = await after_two(tmp_path)
    second = points_of(runtime)[0]
    await rewind(runtime, second.seq, conversation=True, files=True)
    await runtime.submit("third")
    await runtime.submit("fourth")
    otherwise = files(runtime.setup.cwd)
    assert "other.txt" in otherwise
    left = next(point for point in points_of(runtime) if point.forward)
    assert left.text == "second"
    await rewind(runtime, left.seq, conversation=True, files=True)
    assert files(runtime.setup.cwd) == seen[2]
    back = next(point for point in points_of(runtime) if point.forward)
    assert (back.text, back.prompts) == ("fourth", 2)
    await rewind(runtime, back.seq, conversation=True, files=True)
    assert files(runtime.setup.cwd) == otherwise


async def test_every_request_can_be_proved_after_rewinds_forks_and_a_restart(tmp_path: Path) -> None:
    runtime, _ = await after_two(tmp_path)
    await rewind(runtime, points_of(runtime)[0].seq, conversation=True, files=False)
    await runtime.submit("third")
    path = runtime.session.path
    assert path
    report = verify_session(path, read_log(path))
    assert report.clean, report.lines
    for record in runtime.session.records:
        source = Session.load(path, Context(Chars4()), writable=False)
        copy = source.forked(Context(Chars4()), runtime.store, runtime.setup.cwd, at=record.seq)
        copy.close()
        assert copy.path
        again = verify_session(copy.path, read_log(copy.path))
        assert again.clean, (record.seq, again.lines)
    shown = runtime.session.context.messages()
    await runtime.close()
    assert Session.load(path, Context(Chars4()), writable=False).context.messages() == shown


async def test_only_the_files_or_only_the_conversation(tmp_path: Path) -> None:
    runtime, seen = await after_two(tmp_path)
    shown = runtime.session.context.messages()
    first = points_of(runtime)[1]
    await rewind(runtime, first.seq, conversation=False, files=True)
    assert files(runtime.setup.cwd) == seen[0]
    assert runtime.session.context.messages() == shown
    assert not any(isinstance(record.event, Rewound) for record in runtime.session.records)
    runtime, seen = await after_two(tmp_path / "again")
    await rewind(runtime, points_of(runtime)[1].seq, conversation=True, files=False)
    assert files(runtime.setup.cwd) == seen[2]
    assert runtime.session.context.items == []


async def test_what_the_user_changed_by_hand_stays(tmp_path: Path) -> None:
    """Only what lay in the agent's work goes back; a file that both changed is named."""
    runtime = begun(tmp_path, STORY)
    work = runtime.setup.cwd
    await runtime.submit("first")
    (work / "notes.md").write_text("by hand, between two prompts")
    (work / "by-bash").write_text("by hand too")
    await runtime.submit("second")
    (work / "new.txt").write_text("by hand, after the second")
    (work / "made" / "file").write_text("by hand, over the agent's")
    first = points_of(runtime)[-1]
    (outlook,) = await asyncio.to_thread(outlook_of, runtime, [first.seq])
    assert outlook.foreign == ("made/file",)
    await rewind(runtime, first.seq, conversation=True, files=True)
    now = files(work)
    assert now["notes.md"] == (b"by hand, between two prompts", 0o644)
    assert now["new.txt"] == (b"by hand, after the second", 0o644)
    assert "made/file" not in now
    assert now["b.txt"] == (b"two\n", 0o644)


async def test_nothing_is_saved_for_what_only_reads_and_once_for_each_prompt(tmp_path: Path) -> None:
    runtime = begun(
        tmp_path,
        [
            calls(ToolUse("l", "ls", {"path": "."}), bash(1, "git status && cat a.txt | head -3")),
            says("Read."),
            calls(bash(2, "touch x"), bash(3, "touch y")),
            calls(bash(4, "touch z")),
            says("Done."),
        ],
    )
    await runtime.submit("look")
    assert saves(runtime) == []
    await runtime.submit("change")
    assert saves(runtime) == [("before", "tools"), ("after", "tools")]


async def test_a_run_that_is_interrupted_is_over_all_the_same(tmp_path: Path) -> None:
    runtime = begun(tmp_path, [calls(bash(1, "echo 1 > made; sleep 60"))])
    work = runtime.setup.cwd
    before = files(work)
    run = asyncio.ensure_future(runtime.submit("go"))
    await until((work / "made").exists)
    runtime.interrupt()
    async with asyncio.timeout(DEADLINE):
        assert (await run).reason == "interrupted"
    assert saves(runtime) == [("before", "tools"), ("after", "tools")]
    (work / "later").write_text("by hand")
    await rewind(runtime, points_of(runtime)[0].seq, conversation=True, files=True)
    assert files(work) == {**before, "later": (b"by hand", 0o644)}


async def test_a_session_that_died_in_its_work_goes_back_too(tmp_path: Path) -> None:
    runtime = begun(tmp_path, [calls(bash(1, "echo 1 > made")), says("Done.")])
    work = runtime.setup.cwd
    before = files(work)
    await runtime.submit("go")
    path = await closed(runtime)
    lines = path.read_bytes().splitlines(keepends=True)
    cut = next(n for n, line in enumerate(lines) if b'"type":"ToolResult"' in line)
    path.write_bytes(b"".join(lines[:cut]))
    again = start(tmp_path, sets=AUTO)
    again.open_session(path)
    await rewind(again, points_of(again)[0].seq, conversation=True, files=True)
    assert files(work) == before


async def test_a_copy_goes_back_in_the_files_as_its_original_would(tmp_path: Path) -> None:
    runtime, seen = await after_two(tmp_path)
    path = runtime.session.path
    assert path
    runtime.open_session(path, fork=True)
    await rewind(runtime, points_of(runtime)[1].seq, conversation=True, files=True)
    assert files(runtime.setup.cwd) == seen[0]


async def test_in_another_directory_the_files_are_not_touched(tmp_path: Path) -> None:
    runtime, _ = await after_two(tmp_path)
    path = await closed(runtime)
    elsewhere = start(
        tmp_path / "elsewhere" if (tmp_path / "elsewhere").mkdir() is None else tmp_path, sets=AUTO
    )
    elsewhere.open_session(path)
    (outlook,) = outlook_of(elsewhere, [points_of(elsewhere)[1].seq])
    assert outlook.changes == ()


@pytest.mark.parametrize("why", ["off", "no session"])
async def test_without_snapshots_the_work_goes_on_and_the_files_stay(tmp_path: Path, why: str) -> None:
    repository(tmp_path / "work")
    sets = ("tools.snapshots=false", *AUTO) if why == "off" else AUTO
    runtime = start(tmp_path, STORY, sets=sets, keep_log=why != "no session")
    await runtime.submit("first")
    assert saves(runtime) == []
    assert (runtime.setup.cwd / "by-bash").exists()
    seen = files(runtime.setup.cwd)
    point = points_of(runtime)[0]
    with pytest.raises(SnapshotFailed):
        await rewind(runtime, point.seq, conversation=True, files=True)
    assert files(runtime.setup.cwd) == seen
    await rewind(runtime, point.seq, conversation=True, files=False)
    assert runtime.session.context.items == []


def with_git(tmp_path: Path, script: list[Scripted], program: str, **more: Any) -> tuple[Runtime, list[str]]:
    """A runtime whose git is this shell program, and what it says."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "git").write_text(f"#!/bin/sh\n{program}\n")
    (programs / "git").chmod(0o755)
    runtime = begun(tmp_path, script)
    environ = {**runtime.setup.child_env, "PATH": f"{programs}:{runtime.setup.child_env['PATH']}"}
    setup = replace(runtime.setup, child_env=environ)
    runtime.parts["rewind"].saver = FileSaver(setup, lambda: runtime.config, lambda: runtime.session, **more)
    said: list[str] = []
    runtime.session.subscribe(lambda told: said.append(told.text) if isinstance(told, Notice) else None)
    return runtime, said


async def test_a_directory_that_takes_long_holds_nobody_up_and_is_saved_behind_the_work(
    tmp_path: Path,
) -> None:
    gate = tmp_path / "gate"
    slow = f'while [ ! -e {gate} ]; do sleep 0.02; done\nexec {shutil.which("git")} "$@"'
    runtime, said = with_git(tmp_path, STORY, slow, patience=0.0, first_seconds=600.0)
    await runtime.submit("first")
    await runtime.submit("second")
    assert (runtime.setup.cwd / "made" / "file").exists(), "both changed files while nothing was saved"
    assert saves(runtime) == []
    assert said == ["Still saving this directory's files. /rewind can restore files once it is done."]
    assert runtime.parts["rewind"].saver.off == "files are still being saved"
    gate.touch()
    await until(lambda: not runtime.parts["rewind"].saver.off)
    runtime.parts["rewind"].saver = FileSaver(runtime.setup, lambda: runtime.config, lambda: runtime.session)
    await runtime.submit("third")
    await runtime.submit("fourth")
    assert saves(runtime) == [("before", "tools"), ("after", "tools")]
    await runtime.close()


async def test_a_failure_is_said_once_and_not_tried_again_in_the_session(tmp_path: Path) -> None:
    runtime, said = with_git(tmp_path, STORY, f"echo >> {tmp_path}/tries\necho broken >&2\nexit 1")
    await runtime.submit("first")
    tries = (tmp_path / "tries").read_text()
    await runtime.submit("second")
    assert (tmp_path / "tries").read_text() == tries
    assert said == ["File rewind is off for this session: git ls-files: broken"]
    assert runtime.parts["rewind"].saver.off == "git ls-files: broken"


async def test_a_directory_that_takes_too_long_says_that_the_next_session_goes_on_with_it(
    tmp_path: Path,
) -> None:
    runtime, said = with_git(tmp_path, STORY, "exec sleep 600", first_seconds=0.0)
    await runtime.submit("first")
    assert said == [
        "File rewind is off for this session: saving the files takes longer than 0s; the next session continues"
    ]


async def test_closing_ends_what_is_being_saved(tmp_path: Path) -> None:
    runtime, _ = with_git(tmp_path, STORY, "exec sleep 600", patience=0.0, first_seconds=600.0)
    await runtime.submit("first")
    assert runtime.parts["rewind"].saver.off
    async with asyncio.timeout(DEADLINE):
        await runtime.close()


def without_git(tmp_path: Path, script: list[Scripted]) -> Runtime:
    """A runtime whose PATH leads to a shell and to no git."""
    programs = tmp_path / "bin"
    programs.mkdir(exist_ok=True)
    for name in ("bash", "sh", "rm", "sleep"):
        if not (programs / name).exists():
            (programs / name).symlink_to(f"/bin/{name}")
    made = start(tmp_path, sets=AUTO)
    environ = {**made.setup.child_env, "PATH": str(programs)}
    setup = replace(made.setup, child_env=environ, approved_env=environ)
    provider = ScriptedProvider(script)
    table = ModelTable.load(setup.places.shipped_data, setup.config.models)
    return Runtime(setup, lambda _: provider, table.info)


NO_GIT = [
    calls(
        ToolUse("r", "read", {"path": "a.txt"}),
        ToolUse("e", "edit", {"path": "a.txt", "old_string": "one", "new_string": "1"}),
        ToolUse("w", "write", {"path": "deep/made.txt", "content": "made\n"}),
        bash(1, "echo by bash > other.txt"),
    ),
    says("Done."),
    calls(ToolUse("e2", "edit", {"path": "a.txt", "old_string": "1", "new_string": "uno"})),
    says("Done again."),
]


async def test_without_git_what_is_edited_goes_back_and_forth_and_the_rest_is_said_to_stay(
    tmp_path: Path,
) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.txt").write_text("one\n")
    runtime = without_git(tmp_path, NO_GIT)
    told: list[object] = []
    runtime.session.subscribe(told.append)
    work, seen = runtime.setup.cwd, []
    for words in ("first", "second"):
        seen.append(files(work))
        await runtime.submit(words)
    seen.append(files(work))
    assert sum("Without git" in getattr(one, "text", "") for one in told) == 1
    path = await closed(runtime)
    runtime = without_git(tmp_path, [])
    runtime.open_session(path)
    first = points_of(runtime)[1]
    (outlook,) = outlook_of(runtime, [first.seq])
    assert {(one.path, one.added, one.removed) for one in outlook.changes} == {
        ("a.txt", 1, 1),
        ("deep/made.txt", 0, 1),
    }
    await rewind(runtime, first.seq, conversation=True, files=True)
    assert files(work) == {**seen[0], "other.txt": (b"by bash\n", 0o644)}
    forward = points_of(runtime)[0]
    assert forward.forward
    await rewind(runtime, forward.seq, conversation=True, files=True)
    assert files(work) == seen[2]
    await rewind(runtime, points_of(runtime)[0].seq, conversation=True, files=True)
    assert files(work) == seen[1]


async def test_a_lost_copy_is_said(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.txt").write_text("one\n")
    runtime = without_git(tmp_path, NO_GIT)
    await runtime.submit("first")
    shutil.rmtree(tmp_path / "home" / ".local" / "share" / "prunecli" / "snapshots")
    with pytest.raises(SnapshotFailed, match="missing from the snapshots"):
        await rewind(runtime, points_of(runtime)[0].seq, conversation=True, files=True)
    assert (tmp_path / "work" / "a.txt").read_text() == "1\n"


async def test_lost_snapshots_leave_everything_as_it_is_and_new_ones_are_made(tmp_path: Path) -> None:
    runtime, seen = await after_two(tmp_path)
    shown = runtime.session.context.messages()
    (place,) = (tmp_path / "home" / ".local" / "share" / "prunecli" / "snapshots").iterdir()
    shutil.rmtree(place / "objects")
    with pytest.raises(SnapshotFailed):
        await rewind(runtime, points_of(runtime)[1].seq, conversation=True, files=True)
    assert files(runtime.setup.cwd) == seen[2]
    assert runtime.session.context.messages() == shown
    saved = runtime.parts["rewind"].saver.snapshots.save()
    assert runtime.parts["rewind"].saver.snapshots.changes([(saved.tree, EMPTY)])[0]


async def test_what_was_read_before_a_rewind_is_read_again_before_it_is_written(tmp_path: Path) -> None:
    runtime = begun(
        tmp_path,
        [
            calls(ToolUse("r", "read", {"path": "b.txt"})),
            says("Read."),
            calls(ToolUse("w", "write", {"path": "b.txt", "content": "over"})),
            says("No."),
        ],
    )
    await runtime.submit("read it")
    await rewind(runtime, points_of(runtime)[0].seq, conversation=True, files=True)
    await runtime.submit("write it")
    assert (runtime.setup.cwd / "b.txt").read_text() == "two\n"


async def test_a_rewind_leaves_what_another_session_in_the_same_folder_edited_meanwhile(
    tmp_path: Path,
) -> None:
    repository(work := tmp_path / "work")
    gate, times = asyncio.Event(), iter(range(1_700_000_000_000, 1_800_000_000_000, 1_000))

    def edit(name: str, old: str, new: str) -> ToolUse:
        return ToolUse(f"e{name}", "edit", {"path": name, "old_string": old, "new_string": new})

    first = start(
        tmp_path,
        [
            calls(edit("a.txt", "changed", "first"), bash(1, "echo made > by-bash")),
            replace(calls(bash(2, "echo x >> b.txt")), until=gate),
            says("Done."),
        ],
        sets=AUTO,
        clock=lambda: next(times),
    )
    script = [calls(edit("new.txt", "new", "second")), says("Done.")]
    second = start(tmp_path, script, sets=AUTO, clock=lambda: next(times))
    running = asyncio.ensure_future(first.submit("one"))
    await until(lambda: (work / "by-bash").exists() and "first" in (work / "a.txt").read_text())
    await second.submit("two")
    gate.set()
    await running
    (point,) = points_of(first)
    done = await rewind(first, point.seq, conversation=False, files=True)
    assert sorted((*done.paths, *done.deleted)) == ["a.txt", "b.txt", "by-bash"]
    assert (work / "new.txt").read_text() == "second\n"
    (point,) = points_of(second)
    await rewind(second, point.seq, conversation=False, files=True)
    assert (work / "new.txt").read_text() == "new\n"
    assert (work / "a.txt").read_text() == "changed\n"
    await closed(first)
    await closed(second)
