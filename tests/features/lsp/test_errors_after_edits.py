"""New errors of language servers after an edit: only what is new, in bounded time, whatever a server does."""

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import get_ident

import pytest

from prunecli.features.lsp.options import findings
from prunecli.features.lsp.part import AfterEdits
from prunecli.front.presentation.entries import Diff
from prunecli.front.presentation.outcomes import body_of
from prunecli.model.events import UserMessage
from prunecli.model.messages import ToolUse, plain_text
from prunecli.model.signals import Notice
from prunecli.runtime import Runtime
from tests.scripted import Scripted, calls, says
from tests.starting import result_events, results, start
from tests.waiting import until

pytest.importorskip("pygls")
FAKE = Path(__file__).parent / "fake_server.py"
NEW = "New since this edit, by fake:\n"


def begun(folder: Path, script: Sequence[Scripted] = (), how: str = "good", **options: object) -> Runtime:
    """A runtime with the fake server for *.toy files, which says what it does in `how`."""
    sets = {"command": [sys.executable, str(FAKE), how], "files": ["*.toy"], "wait": 30, **options}
    chosen = [f"lsp.fake.{key}={json.dumps(value)}" for key, value in sets.items()]
    return start(folder, script, sets=[*chosen, 'permissions.allow=["edit(**)", "write(**)"]'])


def edit(old: str, new: str, path: str = "a.toy") -> Scripted:
    return calls(ToolUse(f"{path} {old} {new}", "edit", {"path": path, "old_string": old, "new_string": new}))


def write(text: str, path: str = "a.toy") -> Scripted:
    return calls(ToolUse(f"{path} {text}", "write", {"path": path, "content": text}))


def told(runtime: Runtime) -> list[str]:
    lines = list[str]()
    runtime.session.subscribe(lambda event: lines.append(event.text) if isinstance(event, Notice) else None)
    return lines


@pytest.mark.parametrize("how", ["good", "pull", "noise"])
async def test_an_edit_tells_only_what_is_new_and_nothing_when_clean(tmp_path: Path, how: str) -> None:
    script = [edit("one", "bugone"), edit("two", "2"), edit("bugone", "1"), says("Done.")]
    runtime = begun(tmp_path, script, how)
    (tmp_path / "work/a.toy").write_text("old bug\none\ntwo\n")
    await runtime.submit("go")
    await runtime.close()
    first, second, third = results(runtime)
    assert first.endswith(f"{NEW}a.toy:2: bugone is a bug ␛[2J (E1)")
    assert "New since" not in second + third
    shown = body_of(result_events(runtime)[0])
    assert isinstance(shown, Diff)
    assert shown.text.endswith("\n\\ New since this edit, by fake:\n\\ a.toy:2: bugone is a bug ␛[2J (E1)")


async def test_a_server_that_is_not_installed_is_named_and_doctor_says_so(tmp_path: Path) -> None:
    runtime = start(
        tmp_path,
        [write("bug"), says("Done.")],
        sets=['lsp.toy.command=["none"]', 'lsp.toy.files=["*.toy"]', 'permissions.allow=["write(**)"]'],
    )
    lines, threads = told(runtime), set[int]()
    runtime.session.subscribe(lambda _: threads.add(get_ident()))
    await runtime.submit("go")
    await runtime.close()
    assert (results(runtime), lines) == (["Created a.toy (1 lines)."], ["lsp.toy: none is not installed"])
    assert threads == {get_ident()}  # readers of a session are in the event loop
    (finding,) = findings(runtime.config)
    assert (finding.state, finding.said) == ("problem", "not installed: toy (none)")


async def test_edits_of_two_tasks_at_once_start_one_server(tmp_path: Path) -> None:
    runtime = begun(tmp_path)
    part = runtime.parts.of(AfterEdits)
    first, second = await asyncio.gather(part.server("a.toy"), part.server("b.toy"))
    assert first is second is not None
    await runtime.close()


async def test_a_new_file_and_what_an_edit_breaks_elsewhere_are_told_too(tmp_path: Path) -> None:
    more = "\n".join(f"bug{at}" for at in range(12))
    script = [write("use thing\n"), write("breaks: thing\n", "b.toy"), write(more, "c.toy"), says("Done.")]
    runtime = begun(tmp_path, script)
    await runtime.submit("go")
    await runtime.close()
    first, second, third = results(runtime)
    assert "New since" not in first
    assert second.endswith(f"{NEW}a.toy:1: thing is a bug ␛[2J (E1)")
    assert third.endswith("c.toy:10: bug9 is a bug ␛[2J (E1)\n… 2 more")


async def test_warnings_are_told_where_they_are_wanted(tmp_path: Path) -> None:
    for folder, wanted in (("a", False), ("b", True)):
        runtime = begun(tmp_path / folder, [write("bugwarn"), says("Done.")], warnings=wanted)
        await runtime.submit("go")
        await runtime.close()
        assert ("a.toy:1: warning: bugwarn" in results(runtime)[0]) == wanted


async def test_what_comes_too_late_is_told_before_a_later_request_if_it_still_holds(tmp_path: Path) -> None:
    runtime = begun(tmp_path, [write("bugone bugtwo"), says("Done."), says("Yes.")], wait=0)
    part, path = runtime.parts.of(AfterEdits), str(tmp_path / "work/a.toy")
    await runtime.submit("go")
    await until(lambda: all(check.done() for _, check in part._late))
    (server,) = filter(None, part._servers.values())
    await server.check(path, "one bugtwo", new=False)
    await runtime.submit("on")
    await runtime.close()
    assert not any("New since" in text for text in results(runtime))
    notices = [
        plain_text(record.event.content)
        for record in runtime.session.records
        if isinstance(record.event, UserMessage) and record.event.origin == "command"
    ]
    assert notices == [f"[notice] errors after an edit\n{NEW}a.toy:1: bugtwo is a bug ␛[2J (E1)"]


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("crash", "ended with code 1: out of memory"),
        ("huge", "sent a message of more than 8 MB"),
        ("flood", "sent more than 64 MB for one edit"),
        ("hang", "did not answer within 0.5 s"),
    ],
)
async def test_a_server_that_fails_is_named_once_and_left_alone(tmp_path: Path, how: str, why: str) -> None:
    script = [edit("one", "bugone"), edit("two", "bugtwo"), says("Done.")]
    runtime = begun(tmp_path, script, how)
    (tmp_path / "work/a.toy").write_text("one two")
    lines = told(runtime)
    if how == "hang":
        runtime.parts.of(AfterEdits).limits = (0.5, 0.5)
    await runtime.submit("go")
    assert not any("New since" in text for text in results(runtime))
    assert [line for line in lines if "fake" in line] == [
        f"Language server fake is off: it {why}. /reload to try again"
    ]
    await runtime.close()


async def test_the_end_of_the_program_waits_for_no_answer(tmp_path: Path) -> None:
    runtime = begun(tmp_path, [edit("one", "bugone"), says("Done.")], "hang", wait=0)
    (tmp_path / "work/a.toy").write_text("one")
    await runtime.submit("go")
    part = runtime.parts.of(AfterEdits)
    assert [check.done() for _, check in part._late] == [False]
    await asyncio.wait_for(runtime.close(), part.limits[0] / 2)


@pytest.mark.parametrize("how", ["exit", "lies"])
async def test_a_server_can_neither_end_the_program_nor_name_lines_that_are_not_there(
    tmp_path: Path, how: str
) -> None:
    runtime = begun(tmp_path, [edit("one", "bugone"), says("Done.")], how)
    (tmp_path / "work/a.toy").write_text("one\n")
    await runtime.submit("go")
    await runtime.close()
    place = "a.toy" if how == "lies" else "a.toy:1"
    assert results(runtime)[0].endswith(f"{NEW}{place}: bugone is a bug ␛[2J (E1)")
