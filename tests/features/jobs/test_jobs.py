"""Commands in the background: started, read, waited for, stopped, told of, and ended with the program."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from prunecli.commands.command import Say, Table, run_line
from prunecli.context.spill import kind_of
from prunecli.context.view import View
from prunecli.features.jobs.command import words
from prunecli.features.rewind.rewinding import points_of, rewind
from prunecli.front.headless.run import run_headless
from prunecli.model.events import ToolResult, UserMessage
from prunecli.model.messages import ToolUse, plain_text
from prunecli.model.notes import notice_parts
from prunecli.model.signals import Notice, SessionEvent, ToolProgress
from prunecli.model.touches import Touches
from prunecli.runtime import Runtime
from prunecli.session.log import read_log
from prunecli.session.verify import verify_session
from prunecli.tools.processes.background import CAP
from tests.scripted import Scripted, ScriptedProvider, calls, says
from tests.starting import closed, results, start
from tests.tools.calling import parent_of, processes_with
from tests.waiting import until, wait_until

ROOT = Path(__file__).parents[3]
AGENT = """
import asyncio, sys
from pathlib import Path
from prunecli.model.messages import ToolUse
from tests.scripted import calls, says
from tests.starting import closed, start

async def main():
    given = {{"command": {command!r}, "background": True}}
    script = [calls(ToolUse("b1", "bash", given)), says("Ok.")]
    runtime = start(Path(sys.argv[1]), script, sets=("permissions.mode=auto",))
    runtime.parts["jobs"].first_seconds = 0.05
    await runtime.submit("go")
    Path(sys.argv[1], "ready").touch()
    await asyncio.sleep(1000)

asyncio.run(main())
"""
AUTO = ("permissions.mode=auto",)


def begin(command: str, call_id: str = "b1", **more: Any) -> Scripted:
    return calls(ToolUse(call_id, "bash", {"command": command, "background": True, **more}))


def jobs(call_id: str = "j1", **given: Any) -> Scripted:
    return calls(ToolUse(call_id, "jobs", given))


def notices(runtime: Runtime) -> list[tuple[str, str]]:
    events = [one.event for one in runtime.session.records if isinstance(one.event, UserMessage)]
    found = [notice_parts(event) for event in events]
    return [one for one in found if one and one[0].startswith("job ")]


def soon(runtime: Runtime) -> Runtime:
    """The same with jobs that go to the background at once."""
    runtime.parts["jobs"].first_seconds = 0.05
    return runtime


def moved_when(runtime: Runtime, printed: str) -> None:
    """Move the running command to the background as soon as it has printed this."""

    def look(event: SessionEvent) -> None:
        if isinstance(event, ToolProgress) and printed in event.text:
            runtime.parts["jobs"].to_background()

    runtime.session.subscribe(look)


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
    runtime = start(tmp_path, script, sets=AUTO)
    runtime.parts["jobs"].first_seconds = 3600.0
    moved_when(runtime, "one")
    await runtime.submit("start it")
    assert results(runtime) == ["one\n[runs in the background as job 1.]"]
    assert runtime.status().more == ("1 job",)
    (runtime.setup.cwd / "go").touch()
    await until(lambda: runtime.parts["jobs"].job(1).output.last_line() == "two")
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
    assert runtime.status().more == ()
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
    assert said[0].startswith("Job 1 ended: exit code 7 after ")
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
        jobs(job=1, wait=60),
        jobs("j2", job=1, wait=0.05),
        jobs("j3", job=2),
        jobs("j4", job=1, wait=-1),
        says("Ok."),
    ]
    runtime = soon(start(tmp_path, script, sets=AUTO))

    def finish(event: SessionEvent) -> None:
        if isinstance(event, ToolProgress) and event.tool_use_id == "j1":
            (runtime.setup.cwd / "go").touch()

    runtime.session.subscribe(finish)
    await runtime.submit("go")
    _, ended, again, unknown, wrong = results(runtime)
    assert ended.startswith("done\n[job 1: exit code 0 after ")
    assert again.startswith("[job 1: exit code 0 after ")
    assert again.endswith(" | no new output]")
    assert unknown == "There is no job 2. Jobs: 1."
    assert wrong == "wait is in seconds, at most 600."
    assert notices(runtime) == []
    await runtime.close()


async def test_jobs_end_with_the_program_and_with_everything_that_they_started(tmp_path: Path) -> None:
    word = mark()
    command = f"setsid sh -c 'sleep 1000; : {word}' & trap '' TERM; sleep 1000; : {word}"
    runtime = soon(start(tmp_path, [begin(command), says("Ok.")], sets=AUTO))
    await runtime.submit("go")
    await until(lambda: len(processes_with(word)) >= 2)
    stopped = await runtime.parts["jobs"].finish()
    assert len(stopped) == 1
    assert stopped[0].startswith("Stopped job 1: setsid sh")
    assert processes_with(word) == []
    await runtime.close()


async def test_a_command_without_the_tool_jobs_has_no_background(tmp_path: Path) -> None:
    runtime = start(tmp_path, sets=(*AUTO, 'tools.enabled=["bash"]'))
    assert "background" not in runtime.tools["bash"].Input.__dataclass_fields__
    assert "jobs" not in runtime.tool_context().parts
    await runtime.close()


async def test_the_user_moves_a_running_command_to_the_background(tmp_path: Path) -> None:
    script = [
        calls(ToolUse("b1", "bash", {"command": "echo one; until [ -e go ]; do sleep 0.01; done; echo two"})),
        says("Fine."),
    ]
    runtime = start(tmp_path, script, sets=AUTO)
    moved_when(runtime, "one")
    await runtime.submit("go")
    assert results(runtime) == ["one\n[runs in the background as job 1.]"]
    assert not runtime.parts["jobs"].to_background(), "no command is running now"
    (runtime.setup.cwd / "go").touch()
    await until(lambda: runtime.parts["jobs"].job(1).over)
    assert runtime.parts["jobs"].job(1).newest_lines() == (1, ["one", "two"])
    await runtime.close()


async def test_jobs_has_a_table_the_output_stop_and_detach(tmp_path: Path) -> None:
    script = [begin("echo one; printf '\\033[31mtwo'; sleep 1000"), says("Ok.")]
    runtime = soon(start(tmp_path, script, sets=AUTO))
    assert [type(one) for one in run_line(runtime, "/jobs")] == [Say]
    await runtime.submit("go")
    await until(lambda: runtime.parts["jobs"].job(1).output.last_line().endswith("two"))
    (table,) = run_line(runtime, "/jobs")
    assert isinstance(table, Table)
    assert [row[0] for row in table.rows] == ["1"]
    assert table.rows[0][1].startswith("running ")
    (output,) = run_line(runtime, "/jobs 1")
    assert isinstance(output, Table)
    assert output.rows == (("1", "one"), ("2", "\x1b[31mtwo"))
    for wrong in ("/jobs 2", "/jobs stop 2", "/jobs end 1", "/jobs stop", "/jobs 1 2", "/jobs stop 9" * 40):
        (said,) = run_line(runtime, wrong)
        assert isinstance(said, Say)
        assert said.level == "error"
    assert [word for word, _ in words(runtime, "")] == ["1", "stop", "detach"]
    assert [word for word, _ in words(runtime, "stop")] == ["1"]
    assert run_line(runtime, "/jobs stop 1") == [Say("Stopping job 1 …")]
    await until(lambda: runtime.parts["jobs"].job(1).over)
    assert run_line(runtime, "/jobs stop 1") == [Say("Job 1 has already ended.")]
    await runtime.close()


async def test_a_detached_job_outlives_the_program_and_is_found_again(tmp_path: Path) -> None:
    word = mark()
    command = f"echo one; until [ -e go ]; do sleep 0.01; done; echo two; sleep 1000; : {word}"
    runtime = soon(start(tmp_path, [begin(command), says("Ok.")], sets=AUTO))
    await runtime.submit("go")
    path = runtime.session.path
    assert path
    (said,) = run_line(runtime, "/jobs detach 1")
    assert isinstance(said, Say)
    assert said.text.startswith("Job 1 will continue when prunecli exits. To stop it then: kill ")
    assert await runtime.parts["jobs"].finish() == []
    await runtime.close()
    assert processes_with(word)
    script = [jobs(job=1), says("It runs."), jobs("j2", job=1, stop=True), says("Stopped."), says("Ok.")]
    again = start(tmp_path, script, sets=AUTO)
    again.open_session(path)
    assert [job.state.partition(" ")[0] for job in again.parts["jobs"].visible()] == ["detached"]
    (again.setup.cwd / "go").touch()
    await until(lambda: again.parts["jobs"].job(1).output.last_line() == "two")
    await again.submit("look")
    assert notices(again) == []
    assert results(again)[-1].startswith("one\ntwo\n[job 1: detached ")
    await again.submit("stop it")
    assert processes_with(word) == []
    assert [job.state for job in again.parts["jobs"].visible()] == ["stopped"]
    await again.submit("and?")
    assert notices(again) == [], "the result said that it ended"
    await again.close()


async def test_a_job_can_be_detached_before_its_supervisor_has_taken_over(tmp_path: Path) -> None:
    word = mark()
    script = [begin(f"kill -STOP $PPID; echo one; sleep 1000; : {word}"), says("Ok.")]
    runtime = start(tmp_path, script, sets=(*AUTO, "sandbox.mode=off"))
    runtime.parts["jobs"].first_seconds = 3600.0
    moved_when(runtime, "one")
    await runtime.submit("go")
    path = runtime.session.path
    assert path
    try:
        (said,) = run_line(runtime, "/jobs detach 1")
        assert isinstance(said, Say)
        pid = int(said.text.partition("To stop it then: kill ")[2].partition(".")[0])
        closing = asyncio.create_task(runtime.parts["jobs"].finish())
        assert await asyncio.wait({closing}, timeout=0.1) == (set(), {closing}), "nobody would find it yet"
    finally:
        for stopped in {parent_of(pid) for pid in processes_with(word)}:
            os.kill(stopped, signal.SIGCONT)
    assert await closing == []
    await runtime.close()
    again = start(tmp_path, [], sets=AUTO)
    again.open_session(path)
    assert [job.state.partition(" ")[0] for job in again.parts["jobs"].visible()] == ["detached"]
    os.kill(pid, signal.SIGTERM)
    await until(lambda: not processes_with(word))
    await again.close()


async def test_a_job_that_ended_well_did_so_in_a_resumed_session_too(tmp_path: Path) -> None:
    """Its folder alone does not tell: a server that is ended with the program may exit with 0 as well."""
    command = "echo one\nuntil [ -e go ]; do sleep 0.01; done"
    runtime = soon(start(tmp_path, [begin(command), says("Ok."), says("Good.")], sets=AUTO))
    await runtime.submit("go")
    (runtime.setup.cwd / "go").touch()
    await until(lambda: runtime.parts["jobs"].job(1).over)
    await runtime.submit("and?")
    state = runtime.parts["jobs"].job(1).state
    path = await closed(runtime)
    again = start(tmp_path, [], sets=AUTO)
    again.open_session(path)
    assert again.parts["jobs"].job(1).state == state
    assert state.startswith("exit code 0 after ")
    await again.close()


def test_jobs_of_a_killed_program_are_told_as_ended(tmp_path: Path) -> None:
    word = mark()
    agent = AGENT.format(command=f"echo hi; setsid sh -c 'sleep 1000; : {word}' & sleep 1000; : {word}")
    process = subprocess.Popen([sys.executable, "-c", agent, str(tmp_path)], cwd=ROOT, start_new_session=True)
    try:
        wait_until(lambda: (tmp_path / "ready").exists())
        assert processes_with(word)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    wait_until(lambda: not processes_with(word))
    (path,) = tmp_path.rglob("*.jsonl")
    asyncio.run(gone_on(start(tmp_path, [says("I see."), says("Yes.")]), path))
    assert verify_session(path, read_log(path)).clean


async def gone_on(runtime: Runtime, path: Path) -> None:
    """Resume a session whose job ended with the program."""
    runtime.open_session(path)
    await runtime.submit("go on")
    await runtime.submit("and?")
    ((title, text),) = notices(runtime)
    assert title == "job 1 ended"
    assert "[ended with the program]\nhi" in text
    await runtime.close()


async def test_a_flood_and_binary_output_stay_bounded(tmp_path: Path) -> None:
    script = [
        begin("yes flood | head -c 60000000; head -c 3000 /dev/urandom; echo; echo end"),
        jobs(job=1, wait=60),
        jobs("j2", job=1, lines="1-3"),
        says("Ok."),
    ]
    runtime = start(tmp_path, script, sets=(*AUTO, "pruning.spill.enabled=false"))
    runtime.parts["jobs"].first_seconds = 0.0
    await runtime.submit("go")
    if not results(runtime)[0].endswith("as job 1.]"):
        return  # this machine was so slow that it ended before it could move
    _, flood, early = results(runtime)
    assert len(flood.encode()) < 101_000
    assert flood.startswith("[… ")
    assert " are no longer kept …]" in flood
    assert "end\n\n[OUTPUT TRUNCATED]\n[job 1: exit code 0 after " in flood
    assert early.startswith("lines ")
    assert early.endswith(" are kept, not '1-3'.")
    folder = runtime.parts["jobs"].job(1).output.folder
    assert sum(file.stat().st_size for file in folder.iterdir()) <= CAP + 70_000
    assert folder.stat().st_mode & 0o777 == 0o700
    await runtime.close()


async def test_jobs_of_a_task_end_with_it(tmp_path: Path) -> None:
    word = mark()
    given = {"prompt": "look", "description": "look"}
    script = [
        calls(ToolUse("t1", "task", given)),
        begin(f"sleep 1000; : {word}"),
        says("Done."),
        says("Fine."),
    ]
    runtime = start(tmp_path, script, sets=AUTO)
    runtime.on_task.append(lambda child: setattr(child.host.parts["jobs"], "first_seconds", 0.05))
    await runtime.submit("go")
    assert processes_with(word) == []
    child = runtime.parts["subagents"].subagents.children[0].session
    told = [plain_text(one.event.content) for one in child.records if isinstance(one.event, ToolResult)]
    assert told == ["[runs in the background as job 1. It ends with this task.]"]
    await runtime.close()


async def test_jobs_stay_with_the_program_when_the_session_changes(tmp_path: Path) -> None:
    script = [
        begin("until [ -e go ]; do sleep 0.01; done"),
        says("Ok."),
        jobs(),
        says("None."),
        says("Back."),
    ]
    runtime = soon(start(tmp_path, script, sets=AUTO))
    await runtime.submit("go")
    first = runtime.session.path
    assert first
    runtime.new_session()
    await runtime.submit("which?")
    assert results(runtime) == ["No jobs"], "this session has none"
    assert [job.number for job in runtime.parts["jobs"].visible()] == [1], "the user sees all that run"
    (runtime.setup.cwd / "go").touch()
    await until(lambda: runtime.parts["jobs"].all[0].over)
    runtime.open_session(first)
    await runtime.submit("back")
    assert [title for title, _ in notices(runtime)] == ["job 1 ended"]
    await runtime.close()


async def test_a_rewound_start_is_told_no_more_and_numbers_are_not_used_again(tmp_path: Path) -> None:
    script = [
        begin("until [ -e go ]; do sleep 0.01; done"),
        says("Ok."),
        begin("sleep 1000", "b2"),
        says("Ok."),
        says("x"),
    ]
    runtime = soon(start(tmp_path, script, sets=AUTO))
    await runtime.submit("go")
    await rewind(runtime, points_of(runtime)[0].seq, conversation=True, files=False)
    await runtime.submit("again")
    assert results(runtime)[-1] == "[runs in the background as job 2.]"
    assert [job.number for job in runtime.parts["jobs"].of_session()] == [2]
    assert [job.number for job in runtime.parts["jobs"].visible()] == [2, 1]
    (runtime.setup.cwd / "go").touch()
    await until(lambda: runtime.parts["jobs"].all[0].over)
    await runtime.submit("and?")
    assert notices(runtime) == []
    await runtime.close()


async def test_a_headless_run_says_which_jobs_it_stopped(tmp_path: Path) -> None:
    word = mark()
    runtime = soon(start(tmp_path, [begin(f"sleep 1000; : {word}"), says("Ok.")], sets=AUTO))
    out: list[str] = []
    err: list[str] = []
    await run_headless(runtime, ["go"], form="stream-json", out=out.append, err=err.append)
    assert f"prunecli: Stopped job 1: sleep 1000; : {word}" in err
    assert '"type": "result"' in out[-1]
    assert "Stopped job 1" in out[-2]
    assert processes_with(word) == []
    await runtime.close()


async def test_a_time_limit_holds_in_the_background_too(tmp_path: Path) -> None:
    script = [begin("sleep 1000", timeout=0.5), jobs(job=1, wait=60), says("Ok.")]
    runtime = soon(start(tmp_path, script, sets=AUTO))
    await runtime.submit("go")
    assert results(runtime)[1].startswith("[job 1: timed out after ")
    await runtime.close()


async def test_output_that_cannot_be_kept_is_an_error_and_an_unused_folder_goes(tmp_path: Path) -> None:
    runtime = start(tmp_path, [begin("echo hi"), says("Ok."), begin("echo hi", "b2"), says("Ok.")], sets=AUTO)
    folder = runtime.setup.places.jobs
    await runtime.submit("go")
    assert list(folder.iterdir()) == []
    folder.rmdir()
    folder.write_text("in the way")
    await runtime.submit("again")
    assert results(runtime)[0] == "hi\n"
    assert results(runtime)[1].endswith("jobs can't be stored there.")
    await runtime.close()


async def test_what_a_job_printed_is_held_back_and_recalled_like_the_output_of_a_command(
    tmp_path: Path,
) -> None:
    script = [
        begin("until [ -e go ]; do sleep 0.01; done; seq 100000; sleep 1000"),
        says("Ok."),
        jobs(job=1),
        calls(ToolUse("r1", "recall", {"entry": 0, "lines": "50000-50001"})),
        says("Seen."),
    ]
    runtime = soon(start(tmp_path, script, sets=AUTO))
    await runtime.submit("go")
    (runtime.setup.cwd / "go").touch()
    await until(lambda: runtime.parts["jobs"].job(1).output.last_line() == "100000")
    await runtime.submit("look")
    events = [one.event for one in runtime.session.records if isinstance(one.event, ToolResult)]
    assert events[1].spilled is not None
    assert kind_of(ToolUse("j", "jobs", {"job": 1}), Touches()) == "bash"
    assert kind_of(ToolUse("r", "recall", {"entry": 1}), Touches()) is None
    view = View(runtime.session.context, 1_000_000)
    assert [view.locked(entry) for entry in view.results] == ["", "", ""], "nothing keeps a strategy away"
    await runtime.close()
