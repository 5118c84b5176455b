"""Commands in the background and questions of the model, on the strict endpoint with bound thinking: as a run, by
keys in a terminal, and in a sandbox."""

import os
import shutil
import signal
from pathlib import Path

import pytest

from tests.e2e.bound import OPUS, dropped, environment, session
from tests.e2e.terminal import HAS_TMUX, Terminal
from tests.endpoint import Call, Endpoint, Thinking, serve
from tests.endpoint import Reply as Said
from tests.starting import results
from tests.tools.calling import processes_with
from tests.waiting import wait_until

OPTIONS = [{"label": "SQLite", "description": "one file"}, {"label": "PostgreSQL"}]
PROMPT = "Ask, or / for commands"


def call(name: str, **given: object) -> Said:
    return Said([Thinking(f"I need {name}."), f"Now {name}.", Call(name, dict(given))])


def done(text: str = "Done.") -> Said:
    return Said([Thinking("That is all."), text])


def server(word: str) -> Said:
    """A server that runs until the file `go` is there."""
    command = f"echo serving; until [ -e go ]; do sleep 0.05; done; echo bye; : {word}"
    return call("bash", command=command, background=True)


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
async def test_a_job_runs_in_the_sandbox_which_goes_with_it(tmp_path: Path) -> None:
    mark = f"mark{os.urandom(6).hex()}"
    command = f"touch inside; echo x > .git/hooks/x; setsid sh -c 'sleep 1000; : {mark}' & sleep 1; : {mark}; exit 4"
    script = [call("bash", command=command, background=True), call("jobs", job=1, wait=60), done()]
    async with (
        Endpoint(script) as endpoint,
        session(tmp_path, endpoint, "permissions.mode=auto", "sandbox.mode=auto") as runtime,
    ):
        if runtime.sandbox.walls is None or runtime.sandbox.walls.chosen().kind != "bubblewrap":
            pytest.skip("bubblewrap does not work here")
        runtime.parts["jobs"].first_seconds = 0.2
        (runtime.setup.cwd / ".git" / "hooks").mkdir(parents=True)
        await runtime.submit("go")
        assert (runtime.setup.cwd / "inside").exists()
        assert list((runtime.setup.cwd / ".git" / "hooks").iterdir()) == []
        said = "".join(results(runtime))
        assert "Read-only file system" in said
        assert "[blocked by the sandbox" in said.lower()
        assert "job 1: exit code 4 after " in said
        assert "bwrap" not in said
        assert processes_with(mark) == []
        assert runtime.parts["jobs"].count == 0


@pytest.mark.parametrize("word", ["SIGHUP", "SIGKILL"])
@pytest.mark.terminal
@pytest.mark.skipif(not HAS_TMUX, reason="tmux is not installed")
def test_no_job_outlives_the_program_however_it_ends(tmp_path: Path, word: str) -> None:
    mark = f"mark{os.urandom(6).hex()}"
    folder = tmp_path / "project"
    folder.mkdir()
    with serve([server(mark), done("It runs.")]) as endpoint:
        words = ["--trust", "--permission-mode", "auto", "--model", OPUS]
        environ = environment(tmp_path, endpoint)
        with Terminal(words, folder, environ) as terminal:
            terminal.wait_for(PROMPT)
            terminal.say("start it")
            terminal.wait_for("It runs.")
            terminal.wait_for("1 job")
            assert processes_with(mark)
            os.kill(terminal.pid, getattr(signal, word))
            wait_until(lambda: not processes_with(mark))
            wait_until(lambda: terminal.exit_code is not None)
        assert endpoint.rejected == []


@pytest.mark.terminal
@pytest.mark.skipif(not HAS_TMUX, reason="tmux is not installed")
def test_jobs_and_questions_by_keys(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    script = [
        server("a"),
        done("It runs."),
        call("ask", question="Which database?", options=OPTIONS),
        done("Good."),
        call("bash", command="echo long; sleep 1000"),
        done("It goes on there."),
    ]
    with serve(script) as endpoint:
        words = ["--trust", "--permission-mode", "auto", "--model", OPUS]
        with Terminal(words, folder, environment(tmp_path, endpoint)) as terminal:
            terminal.wait_for(PROMPT)
            terminal.say("start it")
            terminal.wait_for("It runs.")
            terminal.wait_for("1 job")
            terminal.say("/jobs 1")
            terminal.wait_for("1 serving")
            terminal.press("Escape")
            terminal.wait_for(PROMPT)
            (folder / "go").touch()
            terminal.wait_for("Job 1 ended: exit code 0")
            terminal.wait_until(lambda screen: "1 job" not in screen, "the count to go")
            terminal.say("next")
            terminal.answer("Which database?", "2")
            terminal.wait_for("Good.")
            assert "Which database? PostgreSQL" in " ".join(terminal.screen().split())
            terminal.say("and that")
            terminal.wait_for("│ long")
            terminal.press("C-b")
            terminal.wait_for("It goes on there.")
            terminal.wait_for("1 job")
            terminal.say("/jobs stop 2")
            terminal.wait_for("Job 2 ended: stopped after")
            terminal.say("/quit")
            wait_until(lambda: terminal.exit_code == 0)
        assert endpoint.rejected == []
        assert sum(dropped(endpoint)) == 0
