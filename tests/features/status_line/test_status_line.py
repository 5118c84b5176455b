"""The status line: what its command is given, what is shown, and when it may run."""

import json
from pathlib import Path

import pytest

from prunecli.commands.command import Choose, Say
from prunecli.features.status_line.command import run
from prunecli.features.status_line.facts import display_name
from prunecli.features.status_line.part import StatusLine, digest, shown
from prunecli.features.status_line.row import styled
from prunecli.model.messages import ToolUse
from prunecli.model.signals import Notice
from prunecli.runtime import Runtime
from tests.scripted import calls, says
from tests.starting import start
from tests.waiting import until


def ignored(_: str, __: str) -> None:
    pass


async def run_once(runtime: Runtime) -> StatusLine:
    """Have the command of a runtime run until it has nothing more to do."""
    part = runtime.parts.of(StatusLine)
    part.opened(headless=False)
    await part.shown(ignored)
    await until(lambda: not part._running)
    return part


async def test_the_command_gets_claude_codes_fields_and_its_first_rows_are_shown(tmp_path: Path) -> None:
    write = ToolUse("one", "write", {"path": "a.txt", "content": "one\ntwo\n"})
    runtime = start(
        tmp_path,
        [calls(write), says("Done.")],
        sets=[
            "ui.status_command=cat > given; echo; echo 'one line'; seq 9",
            'permissions.allow=["write(**)"]',
        ],
    )
    await runtime.submit("go")
    runtime.parts.vim_mode = lambda: "VISUAL LINE"
    await run_once(runtime)
    await runtime.close()
    given = json.loads((tmp_path / "work/given").read_text())
    assert shown(runtime) == "one line\n1\n2"
    assert (given["vim"], given["thinking"]) == ({"mode": "VISUAL LINE"}, {"enabled": True})
    assert given["model"] == {"id": "claude-sonnet-5-5", "display_name": "Sonnet 5.5"}
    assert given["workspace"]["current_dir"] == given["cwd"] == str(tmp_path / "work")
    assert given["session_id"] == runtime.session.id
    assert given["transcript_path"] == str(runtime.session.path)
    assert (given["cost"]["total_lines_added"], given["cost"]["total_lines_removed"]) == (2, 0)
    assert given["cost"]["total_cost_usd"] == runtime.bill.cost > 0
    window = given["context_window"]
    assert window["context_window_size"] == runtime.policy.ledger(runtime.session.context).window
    assert window["used_percentage"] + window["remaining_percentage"] == 100
    assert (window["total_input_tokens"], window["current_usage"]["input_tokens"]) == (200, 100)
    assert given["output_style"] == {"name": "default"}


async def test_it_runs_again_only_when_what_it_is_given_has_changed(tmp_path: Path) -> None:
    runtime = start(tmp_path, [says("Done.")], sets=["ui.status_command=echo >> runs; wc -l < runs"])
    part = await run_once(runtime)
    part.extra_status()
    assert (part._running, part.line) == (False, "1")
    await runtime.submit("go")
    part.extra_status()
    await until(lambda: not part._running)
    assert part.line == "2"
    await runtime.close()


async def test_refresh_interval_runs_it_again_although_nothing_has_changed(tmp_path: Path) -> None:
    (tmp_path / "home/.claude").mkdir(parents=True)
    line = {"type": "command", "command": "echo >> runs; wc -l < runs", "refreshInterval": 5}
    (tmp_path / "home/.claude/settings.json").write_text(json.dumps({"statusLine": line}))
    now = [0]
    runtime = start(tmp_path, clock=lambda: now[0])
    part = await run_once(runtime)
    assert part.source is not None
    part.decide(part.source, "yes")
    for now[0], printed in ((10_000, "1"), (14_999, "1"), (15_000, "2")):
        shown(runtime)
        await until(lambda: not part._running)
        assert part.line == printed
    await runtime.close()


@pytest.mark.parametrize(
    ("command", "why"),
    [("echo no >&2; exit 3", "exit code 3: no"), ("kill -9 $$", "exit code -9")],
)
async def test_a_command_that_fails_shows_nothing_and_is_named_once(
    tmp_path: Path, command: str, why: str
) -> None:
    runtime = start(tmp_path, [says("Done.")], sets=[f"ui.status_command={command}"])
    lines = list[str]()
    runtime.session.subscribe(lambda event: lines.append(event.text) if isinstance(event, Notice) else None)
    part = await run_once(runtime)
    await runtime.submit("go")
    part.extra_status()
    await until(lambda: not part._running)
    await runtime.close()
    assert (part.line, lines) == ("", [f"The command of the status line failed: {why}"])


async def test_a_command_that_works_again_is_not_said_to_have_failed(tmp_path: Path) -> None:
    runtime = start(
        tmp_path,
        [says("Done.")],
        sets=["ui.status_command=test -e there && echo fine || { echo no >&2; exit 3; }"],
    )
    part = await run_once(runtime)
    assert Say("It failed: exit code 3: no", "warning") in run(runtime, "")
    (tmp_path / "work/there").touch()
    await runtime.submit("go")
    part.extra_status()
    await until(lambda: not part._running)
    await runtime.close()
    assert (part.line, len(run(runtime, ""))) == ("fine", 1)


@pytest.mark.parametrize("place", ["work", "home"])
async def test_claude_codes_setting_runs_once_its_exact_definition_is_approved(
    tmp_path: Path, place: str
) -> None:
    folder = tmp_path / place / ".claude"
    folder.mkdir(parents=True)
    script = folder / "line.sh"
    script.write_text("echo first")
    setting = {"statusLine": {"type": "command", "command": f"sh {script}"}}
    (folder / "settings.json").write_text(json.dumps(setting))
    runtime = start(tmp_path)
    part = await run_once(runtime)
    assert (part.line, runtime.opening) == ("", ["/statusline approve"])
    (question,) = run(runtime, "approve")
    assert isinstance(question, Choose)
    assert question.about == f"sh {script}"
    assert part.source is not None
    run(runtime, f"approve yes {digest(part.source)}")
    part.extra_status()
    await until(lambda: not part._running)
    assert part.line == "first"
    script.write_text("echo second")
    again = start(tmp_path)
    part = await run_once(again)
    if place == "home":  # the user's own scripts may change
        assert (part.line, again.opening) == ("second", [])
    else:
        assert (part.line, again.opening) == ("", ["/statusline approve"])
    run(again, f"approve no {digest(part.source)}")
    never = start(tmp_path)
    part = await run_once(never)
    assert (part.line, never.opening) == ("", [])
    for one in (runtime, again, never):
        await one.close()


async def test_nothing_runs_in_a_directory_that_is_not_trusted(tmp_path: Path) -> None:
    runtime = start(tmp_path, trusted=False, sets=["ui.status_command=touch ran"])
    part = await run_once(runtime)
    assert (part.line, (tmp_path / "work/ran").exists()) == ("", False)
    assert run(runtime, "") == [Say("It runs only in a trusted directory: /trust.")]
    await runtime.close()


@pytest.mark.parametrize("given", ["echo \ud800", "a\0b", 7, ["sh"]])
async def test_a_projects_command_that_cannot_run_is_none(tmp_path: Path, given: object) -> None:
    (tmp_path / "work/.claude").mkdir(parents=True)
    setting = {"statusLine": {"type": "command", "command": given}}
    (tmp_path / "work/.claude/settings.json").write_text(json.dumps(setting))
    runtime = start(tmp_path)
    part = await run_once(runtime)
    assert (part.source, runtime.opening) == (None, [])
    await runtime.close()


def test_a_line_keeps_its_colors_and_nothing_else_that_a_terminal_obeys() -> None:
    line = "\x1b[31mred\x1b[0m \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ \x1b[2J\x1b]0;title\x07end\x9b2J\r"
    content = styled(line)
    assert content.plain.replace(" ", "").startswith("redlinkend")
    assert not any(ord(char) < 32 or 127 <= ord(char) < 160 for char in content.plain)
    assert content.spans


@pytest.mark.parametrize(
    ("model", "name"),
    [
        *(("claude-opus-4-8", "Opus 4.8"), ("claude-sonnet-5", "Sonnet 5"), ("gpt-5.5", "gpt-5.5")),
        ("claude-haiku-5-20260101", "Haiku 5"),
    ],
)
def test_models_have_the_names_that_people_say(model: str, name: str) -> None:
    assert display_name(model) == name
