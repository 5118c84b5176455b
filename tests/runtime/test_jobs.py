"""Commands in the background: started, read, waited for, stopped, told of, and ended with the program."""

import os
from pathlib import Path
from typing import Any

from prunecli.model.events import ToolResult, UserMessage
from prunecli.model.messages import ToolUse, plain_text
from prunecli.model.notes import notice_parts
from prunecli.model.signals import Notice
from prunecli.providers.scripted import Scripted, ScriptedProvider, calls, says
from prunecli.runtime import Runtime
from prunecli.session.log import read_log
from prunecli.session.verify import verify_session
from tests.starting import start
from tests.tools.calling import processes_with
from tests.waiting import until

AUTO = ("permissions.mode=auto",)


def begin(command: str, call_id: str = "b1", **more: Any) -> Scripted:
    return calls(ToolUse(call_id, "bash", {"command": command, "background": True, **more}))


def jobs(call_id: str = "j1", **given: Any) -> Scripted:
    return calls(ToolUse(call_id, "jobs", given))


def results(runtime: Runtime) -> list[str]:
    events = [one.event for one in runtime.session.records]
    return [plain_text(event.content) for event in events if isinstance(event, ToolResult)]


def notices(runtime: Runtime) -> list[tuple[str, str]]:
    events = [one.event for one in runtime.session.records if isinstance(one.event, UserMessage)]
    found = [notice_parts(event) for event in events]
    return [one for one in found if one and one[0].startswith("job ")]


def soon(runtime: Runtime) -> Runtime:
    """The same with jobs that go to the background at once."""
    runtime.jobs.first_seconds = 0.05
    return runtime


def mark() -> str:
    """A word that no other process's command line has."""
    return f"mark{os.urandom(6).hex()}"


async def test_a_command_goes_on_in_the_background_and_the_model_reads_what_is_new(tmp_path: Path) -> None:
    word = mark()
    script = [
        begin(f"echo one; until [ -e go ]; do sleep 0.01; done; echo two; sleep 1000 # {word}"),
        says("Started."),
        jobs(job=1),
        says("Read."),
        jobs("j2"),
        jobs("j3", job=1, lines="1"),
        jobs("j4", job=1, stop=True),
        says("Stopped."),
    ]
    runtime = soon(start(tmp_path, script, sets=AUTO))
    await runtime.submit("start it")
    assert results(runtime) == ["one\n[runs in the background as job 1.]"]
    assert runtime.status().jobs == 1
    (runtime.setup.cwd / "go").touch()
    await until(lambda: runtime.jobs.job(1).output.last_line() == "two")
    await runtime.submit("look")
    assert results(runtime)[1].startswith("two\n[job 1: running ")
    assert results(runtime)[1].endswith(" | lines 2-2]")
    await runtime.submit("more")
    listed, first, stopped = results(runtime)[2:]
    assert listed.startswith("1  running ")
    assert listed.endswith("  | two")
    assert first.startswith("one\n[job 1: running ")
    assert first.endswith(" | lines 1-1]")
    assert "[job 1: stopped after " in stopped
    assert stopped.endswith(" | no new output]")
    assert processes_with(word) == []
    assert notices(runtime) == [], "the result said so"
    assert runtime.status().jobs == 0
    await runtime.close()
    assert list(runtime.setup.places.jobs.iterdir()) == []


async def test_a_command_that_ends_at_once_is_no_job(tmp_path: Path) -> None:
    script = [begin("echo hi; exit 3"), begin("nosuchcommand", "b2"), jobs(), says("Ok.")]
    runtime = start(tmp_path, script, sets=AUTO)
    await runtime.submit("go")
    failed, missing, listed = results(runtime)
    assert failed == "hi\n[exit code 3]"
    assert "command not found]" in missing
    assert listed == "No jobs"
    assert notices(runtime) == []
    await runtime.close()


async def test_the_end_is_told_once_with_the_last_lines_and_to_the_user_at_once(tmp_path: Path) -> None:
    script = [
        begin("until [ -e go ]; do sleep 0.01; done; seq 30; exit 7"),
        *(says(str(number)) for number in range(3)),
    ]
    provider = ScriptedProvider(script)
    runtime = soon(start(tmp_path, provider=provider, sets=AUTO))
    await runtime.submit("start it")
    said: list[str] = []
    runtime.session.subscribe(lambda event: said.append(event.text) if isinstance(event, Notice) else None)
    (runtime.setup.cwd / "go").touch()
    await until(lambda: said)
    assert said[0].startswith("Job 1 ended (exit code 7 after ")
    assert not runtime.running, "it starts no run"
    assert notices(runtime) == []
    await runtime.submit("and?")
    await runtime.submit("and now?")
    ((title, text),) = notices(runtime)
    assert title == "job 1 ended"
    assert "[exit code 7 after " in text
    assert text.endswith("\n".join(map(str, range(21, 31))))
    assert b"[notice] job 1 ended" in provider.requests[2].body()
    await runtime.close()
    assert runtime.session.path
    assert verify_session(runtime.session.path, read_log(runtime.session.path)).clean


async def test_the_tool_waits_for_the_end(tmp_path: Path) -> None:
    script = [
        begin("until [ -e go ]; do sleep 0.01; done; echo done"),
        calls(ToolUse("t", "bash", {"command": "touch go"})),
        jobs(job=1, wait=60),
        jobs("j2", job=1, wait=0.05),
        jobs("j3", job=2),
        jobs("j4", job=1, wait=-1),
        says("Ok."),
    ]
    runtime = soon(start(tmp_path, script, sets=AUTO))
    await runtime.submit("go")
    _, _, ended, again, unknown, wrong = results(runtime)
    assert ended.startswith("done\n[job 1: exit code 0 after ")
    assert again.startswith("[job 1: exit code 0 after ")
    assert again.endswith(" | no new output]")
    assert unknown == "There is no job 2; there are 1."
    assert wrong == "wait is in seconds, at most 600."
    assert notices(runtime) == []
    await runtime.close()


async def test_jobs_end_with_the_program_and_with_everything_that_they_started(tmp_path: Path) -> None:
    word = mark()
    command = f"setsid sh -c 'sleep 1000; : {word}' & trap '' TERM; sleep 1000; : {word}"
    runtime = soon(start(tmp_path, [begin(command), says("Ok.")], sets=AUTO))
    await runtime.submit("go")
    await until(lambda: len(processes_with(word)) >= 2)
    stopped = await runtime.jobs.close()
    assert len(stopped) == 1
    assert stopped[0].startswith("Stopped job 1: setsid sh")
    assert processes_with(word) == []
    await runtime.close()


async def test_a_command_without_the_tool_jobs_has_no_background(tmp_path: Path) -> None:
    runtime = start(tmp_path, sets=(*AUTO, 'tools.enabled=["bash"]'))
    assert "background" not in runtime.tools["bash"].Input.__dataclass_fields__
    assert runtime.tool_context().jobs is None
    await runtime.close()
