"""A public hook configuration in the program: headless, by keys, and on a model that binds its thinking."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from prunecli.commands.command import Choose, run_line
from prunecli.model.events import ToolResult
from prunecli.model.messages import plain_text
from prunecli.model.signals import Notice
from prunecli.session.log import read_log
from prunecli.session.verify import verify_session
from tests import preloaded
from tests.e2e import public_hooks
from tests.e2e.bound import dropped, project, session, step
from tests.e2e.tasking import cast, is_task, last, task
from tests.e2e.terminal import HAS_TMUX, Terminal
from tests.e2e.test_twenty_turns import DEADLINE, environment
from tests.endpoint import Call, Endpoint, Recorded, Reply, Thinking, serve

PROMPT = "Ask, or / for commands"


def script() -> list[Reply]:
    """A run that meets every hook: a denied command, a protected file, a formatted one, and a stop too early."""
    return [
        Reply([Thinking("Search."), Call("bash", {"command": "grep -r x ."})]),
        Reply([Thinking("Edit."), Call("write", {"path": ".env", "content": "KEY=1\n"})]),
        Reply([Thinking("Write."), Call("write", {"path": "new.py", "content": "x = 1\n"})]),
        Reply([Thinking("Done, I think."), "Done."]),
        Reply([Thinking("Test."), "Tested, too."]),
    ]


def results(request: Recorded) -> list[tuple[str, bool]]:
    """The results in a request, with whether they are errors."""
    body: Any = json.loads(request.body)
    blocks = [
        block for message in body["messages"] for block in message["content"] if isinstance(block, dict)
    ]
    return [
        (json.dumps(block["content"]), bool(block.get("is_error")))
        for block in blocks
        if block["type"] == "tool_result"
    ]


def check(folder: Path, last: Recorded) -> None:
    """Everything that the hooks did is in the last request and in the folder."""
    (grep, grep_failed), (env, env_failed), (new, new_failed) = results(last)
    assert (grep_failed, env_failed, new_failed) == (True, True, False)
    assert "Use 'rg' (ripgrep) instead of 'grep'" in grep
    assert "Not allowed by a hook" in env
    assert new
    body = last.body.decode()
    assert body.count("Current sprint: parser") == 1
    assert body.count("[notice] stop hook keep_going.py") == 1
    assert "Run the tests before you stop" in body
    assert not (folder / ".env").exists()
    assert (folder / "new.py").read_text() == "x = 1\n# formatted\n"


def verified(tmp_path: Path) -> None:
    (log,) = (tmp_path / "data" / "sessions").rglob("*.jsonl")
    report = verify_session(log, read_log(log))
    assert report.clean, report.lines


def headless(tmp_path: Path, base_url: str, *words: str) -> "subprocess.CompletedProcess[str]":
    return preloaded.run(
        ["-p", "go", "--trust", "--permission-mode", "auto", *words],
        cwd=tmp_path / "project",
        env=environment(tmp_path, base_url),
        timeout=DEADLINE,
    )


def test_headless_hooks_of_the_users_own_configuration_run(tmp_path: Path) -> None:
    project(tmp_path / "project")
    config = tmp_path / "home" / ".config" / "prunecli"
    config.mkdir(parents=True)
    (config / "config.toml").write_text(
        '[[hooks.PreToolUse]]\nmatcher = "Bash"\n'
        'hooks = [{type = "command", command = "echo no shell today >&2; exit 2", timeout = 5}]\n'
        '[[hooks.UserPromptSubmit]]\nhooks = [{type = "command", command = "exit 9"}]\n'
    )
    with serve([Reply([Call("bash", {"command": "ls"})]), Reply("I see.")]) as endpoint:
        done = headless(tmp_path, endpoint.base_url)
        assert endpoint.rejected == []
        assert "no shell today" in results(endpoint.requests[-1])[0][0]
    assert (done.returncode, done.stdout) == (0, "I see.\n")
    assert "UserPromptSubmit hook exit failed: exit code 9" in done.stderr
    verified(tmp_path)


def test_a_blocked_prompt_ends_a_headless_run_with_its_reason(tmp_path: Path) -> None:
    project(tmp_path / "project")
    blocks = 'hooks.UserPromptSubmit=[{"hooks":[{"type":"command","command":"echo not today >&2; exit 2"}]}]'
    with serve() as endpoint:
        done = headless(tmp_path, endpoint.base_url, "--set", blocks)
        assert endpoint.requests == []
    assert done.returncode == 1
    assert "blocked by a hook: echo: not today" in done.stderr


async def test_bound_thinking_survives_hooks_and_a_resumed_session_goes_on(tmp_path: Path) -> None:
    public_hooks.write(project(tmp_path / "project"))
    again = [Reply([Thinking("Again."), "Hello."]), Reply([Thinking("More."), "Hello again."])]
    async with Endpoint([*script(), *again]) as endpoint:
        sets = ("permissions.mode=auto",)
        async with session(tmp_path, endpoint, *sets) as runtime:
            (asked,) = run_line(runtime, "/hooks approve")
            assert isinstance(asked, Choose)
            run_line(runtime, f"/hooks {asked.choices[0].value}")
            assert (await runtime.submit("go")).reason == "finished"
            check(tmp_path / "project", endpoint.requests[-1])
        async with session(tmp_path, endpoint, *sets, continue_last=True) as runtime:
            assert runtime.parts["hooks"].pending is None
            await runtime.submit("again")
        assert endpoint.rejected == []
        assert set(dropped(endpoint)) == {0}


async def test_a_hook_keeps_a_task_working_until_it_is_content(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    command = (
        f"cat >> {seen}; echo >> {seen}; [ $(grep -c . {seen}) -gt 1 ] || "
        "{ echo 'Name the line.' >&2; exit 2; }"
    )
    commands = [{"type": "command", "command": one} for one in (command, "exit 3")]
    stop = {"matcher": "explore", "hooks": commands}
    main = [Reply([Thinking("Somebody should look."), task("alpha")]), last("Thanks.")]
    tasks = {"alpha": [step(0), last("It is in 0.txt."), last("It is in 0.txt:3.")]}
    async with Endpoint(cast(main, tasks)) as endpoint:
        sets = f"hooks.SubagentStop={json.dumps([stop])}"
        async with session(tmp_path, endpoint, sets, model="claude-sonnet-5-5") as runtime:
            heard: list[str] = []
            runtime.session.subscribe(lambda e: heard.append(e.text) if isinstance(e, Notice) else None)
            await runtime.submit("go")
            assert heard.count("explore 1: SubagentStop hook exit failed: exit code 3") == 2
            ends = [one.event for one in runtime.session.records if isinstance(one.event, ToolResult)]
            assert plain_text(ends[0].content).startswith("It is in 0.txt:3.")
        assert endpoint.rejected == []
        assert set(dropped(endpoint)) == {0}
        asked = [request.body.decode() for request in endpoint.requests if is_task(request.json)]
        assert "[notice] stop hook" in asked[-1]
        assert "Name the line." in asked[-1]
    given = [json.loads(line) for line in seen.read_text().splitlines()]
    assert [(one["hook_event_name"], one["agent_type"]) for one in given] == [("SubagentStop", "explore")] * 2
    assert [one["stop_hook_active"] for one in given] == [False, True]
    assert given[0]["agent_id"].endswith("-t1")
    assert given[0]["agent_transcript_path"].endswith("-t1.jsonl")


@pytest.mark.terminal
@pytest.mark.skipif(not HAS_TMUX, reason="tmux is not installed")
@pytest.mark.parametrize(("columns", "rows"), [(80, 24), pytest.param(160, 48, marks=pytest.mark.long)])
def test_hooks_by_keys(tmp_path: Path, columns: int, rows: int) -> None:
    folder = project(tmp_path / "project")
    public_hooks.write(folder)
    with serve(script()) as endpoint:
        environ = environment(tmp_path, endpoint.base_url)
        words = ["--trust", "--permission-mode", "auto"]
        with Terminal(words, folder, environ, columns, rows) as terminal:
            terminal.answer("Run the hooks in .claude/settings.json?", "1")
            terminal.wait_for("The hooks in .claude/settings.json run from now on.")
            terminal.wait_for(PROMPT)
            terminal.say("go")
            terminal.wait_for("Tested, too.")
            terminal.say("/hooks")
            screen = terminal.wait_for("PreToolUse")
            assert "settings.json" in screen or columns < 100
            terminal.press("Escape")
            terminal.wait_for(PROMPT)
            terminal.say("/quit")
            terminal.wait_until(lambda _: terminal.exit_code is not None, "the program to end")
        assert endpoint.rejected == []
        check(folder, endpoint.requests[-1])
    verified(tmp_path)
