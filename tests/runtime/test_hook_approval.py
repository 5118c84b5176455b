"""Which hooks run: the user's own at once, those of a project or of another program after a question."""

import json
from pathlib import Path
from typing import Any

import pytest

from prunecli.commands.command import Choose, Effect, Say, Table, run_line
from prunecli.model.messages import ToolUse
from prunecli.runtime import Runtime
from prunecli.runtime.make import make_runtime
from prunecli.util.errors import ConfigError, PromptBlocked
from prunecli.util.launch_options import Launch
from tests.extensions.test_hook_requests import listening
from tests.runtime.hooked import group, hooked
from tests.scripted import calls, says
from tests.starting import start
from tests.tools.web.site import answer as answers

MARK = {"hooks": {"UserPromptSubmit": [group("touch ran")]}}


def ran(folder: Path) -> bool:
    return (folder / "work" / "ran").exists()


def question(effects: Any) -> Choose:
    (one,) = (effect for effect in effects if isinstance(effect, Choose))
    return one


def say(runtime: Runtime, line: str) -> list[Effect]:
    return list(run_line(runtime, line))


def answer(runtime: Runtime, asked: Choose, row: int) -> list[Effect]:
    return say(runtime, f"/{asked.command} {asked.choices[row].value}")


async def test_a_projects_hooks_run_after_one_question(tmp_path: Path) -> None:
    at = hooked(tmp_path, [says("Hello.")] * 3, project=MARK)
    await at.runtime.submit("go")
    assert not ran(tmp_path)
    asked = question(say(at.runtime, "/hooks approve"))
    assert asked.grave
    assert asked.title == "Run the hooks in .claude/settings.json?"
    assert asked.about == "UserPromptSubmit: touch ran"
    answer(at.runtime, asked, 0)
    await at.runtime.submit("go")
    assert ran(tmp_path)
    again = start(tmp_path, [says("Hello.")])
    assert again.parts["hooks"].pending is None, "the approval is remembered"


async def test_no_is_asked_again_only_on_request(tmp_path: Path) -> None:
    at = hooked(tmp_path, [says("Hello.")], project=MARK)
    answer(at.runtime, question(say(at.runtime, "/hooks approve")), 1)
    assert at.runtime.parts["hooks"].pending is None
    await at.runtime.submit("go")
    assert not ran(tmp_path)
    assert start(tmp_path).parts["hooks"].pending is not None


def test_an_answer_holds_only_for_what_was_shown(tmp_path: Path) -> None:
    at = hooked(tmp_path, project=MARK)
    asked = question(say(at.runtime, "/hooks approve"))
    settings = tmp_path / "work" / ".claude" / "settings.json"
    settings.write_text(json.dumps({"hooks": {"Stop": [group("rm -rf .")]}}))
    at.runtime.parts["hooks"].configured()
    shown = question(answer(at.runtime, asked, 0))
    assert shown.about == "Stop: rm -rf ."
    assert at.runtime.parts["hooks"].pending is not None


async def test_changed_content_is_asked_about_again(tmp_path: Path) -> None:
    at = hooked(tmp_path, project=MARK)
    answer(at.runtime, question(say(at.runtime, "/hooks approve")), 0)
    hooked(tmp_path, project={"hooks": {"UserPromptSubmit": [group("touch ran ran2")]}})
    assert start(tmp_path).parts["hooks"].pending is not None
    hooked(tmp_path, project={"other": 1, **MARK})
    assert start(tmp_path).parts["hooks"].pending is None, "other keys of the file do not count"


async def test_a_changed_script_is_off_at_once(tmp_path: Path) -> None:
    script = tmp_path / "work" / "check.sh"
    settings = {"hooks": {"UserPromptSubmit": [group("sh ./check.sh")]}}
    at = hooked(tmp_path, [says("Hello.")] * 2, project=settings)
    script.write_text("touch ran")
    answer(at.runtime, question(say(at.runtime, "/hooks approve")), 0)
    script.write_text("touch ran; touch worse")
    await at.runtime.submit("go")
    assert not ran(tmp_path)
    assert at.said == [
        "The hooks in .claude/settings.json are off: check.sh, which their commands name, changed. "
        "/hooks approve to run them again"
    ]
    at.runtime.parts["hooks"].configured()
    answer(at.runtime, question(say(at.runtime, "/hooks approve")), 0)
    await at.runtime.submit("go")
    assert ran(tmp_path)


async def test_nothing_runs_in_a_directory_that_is_not_trusted(tmp_path: Path) -> None:
    own = {"UserPromptSubmit": [group("touch ran")]}
    at = hooked(tmp_path, [says("Hello.")] * 2, own, project=MARK, trusted=False)
    await at.runtime.submit("go")
    assert not ran(tmp_path)
    assert "trusted" in str(say(at.runtime, "/hooks"))
    effects = say(at.runtime, "/trust yes")
    assert question(effects).command == "hooks", "the question follows that of trust"
    await at.runtime.submit("go")
    assert ran(tmp_path), "the user's own hooks need no question"


async def test_hooks_that_the_user_wrote_for_another_program_are_asked_about(tmp_path: Path) -> None:
    settings = tmp_path / "home" / ".claude" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps(MARK))
    at = hooked(tmp_path, [says("Hello.")])
    asked = question(say(at.runtime, "/hooks approve"))
    assert asked.title == "Run the hooks in ~/.claude/settings.json?"
    answer(at.runtime, asked, 0)
    await at.runtime.submit("go")
    assert ran(tmp_path)
    assert start(tmp_path, work="elsewhere").parts["hooks"].pending is None, (
        "it holds in every trusted directory"
    )


def test_each_file_is_asked_about_in_turn(tmp_path: Path) -> None:
    at = hooked(tmp_path, project=MARK)
    (tmp_path / "work" / ".prunecli").mkdir()
    (tmp_path / "work" / ".prunecli" / "hooks.json").write_text(json.dumps(MARK))
    first = question(say(at.runtime, "/hooks approve"))
    second = question(answer(at.runtime, first, 0))
    assert [first.title, second.title] == [
        "Run the hooks in .prunecli/hooks.json?",
        "Run the hooks in .claude/settings.json?",
    ]
    assert not any(isinstance(one, Choose) for one in answer(at.runtime, second, 0))
    assert say(at.runtime, "/hooks revoke") == [
        Say("Hooks off: .prunecli/hooks.json, .claude/settings.json.")
    ]
    assert start(tmp_path).parts["hooks"].pending is not None


async def test_the_hooks_of_a_parent_folder_know_that_folder(tmp_path: Path) -> None:
    (tmp_path / "work" / ".git").mkdir(parents=True)
    settings = {"hooks": {"UserPromptSubmit": [group('sh "$CLAUDE_PROJECT_DIR"/check.sh')]}}
    hooked(tmp_path, project=settings)
    (tmp_path / "work" / "check.sh").write_text('touch "$CLAUDE_PROJECT_DIR/ran"')
    runtime = start(tmp_path, [says("Hello.")], work="work/sub")
    answer(runtime, question(say(runtime, "/hooks approve")), 0)
    await runtime.submit("go")
    assert ran(tmp_path)


def test_a_link_that_leads_out_of_the_project_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "elsewhere.json").write_text(json.dumps(MARK))
    (tmp_path / "work" / ".claude").mkdir(parents=True)
    (tmp_path / "work" / ".claude" / "settings.json").symlink_to(tmp_path / "elsewhere.json")
    assert start(tmp_path).parts["hooks"].sources == ()


async def test_the_list_shows_hooks_their_state_and_their_last_run(tmp_path: Path) -> None:
    own = {"UserPromptSubmit": [group("echo \x1b[31mred; exit 3"), group("sleep 60", timeout=0.2)]}
    at = hooked(tmp_path, [says("Hello.")], own, project=MARK)
    await at.runtime.submit("go")
    (table,) = say(at.runtime, "/hooks")
    assert isinstance(table, Table)
    assert [(row[5], row[2]) for row in table.rows] == [
        ("config.toml", "on"),
        ("config.toml", "on"),
        (".claude/settings.json", "not approved"),
    ]
    assert table.rows[0][4] == "exit 3: exit code 3"
    assert table.rows[1][4] == "stopped: no answer within 0.2 s, so it was stopped"
    assert int(table.rows[1][3]) >= 200
    assert table.note == "/hooks approve to let the others run"


def test_without_hooks_the_list_says_where_to_put_them(tmp_path: Path) -> None:
    (said,) = say(start(tmp_path), "/hooks")
    assert isinstance(said, Say)
    assert "[[hooks.EVENT]]" in said.text


async def test_control_characters_of_a_hook_reach_no_line(tmp_path: Path) -> None:
    at = hooked(
        tmp_path,
        [says("Hello.")],
        {
            "SessionStart": [
                group("printf '\\033]0;x\\007\\033[2J' >&2; exit 2"),
                group("printf '\\033' >&2; exit 1"),
            ]
        },
    )
    await at.runtime.submit("go")
    assert len(at.said) == 2
    assert not {char for line in at.said for char in line} & {"\x1b", "\x07"}


@pytest.mark.parametrize("headless", [True, False])
def test_a_start_says_or_asks(tmp_path: Path, headless: bool) -> None:
    work = tmp_path / "work"
    (work / ".claude").mkdir(parents=True)
    wrong = {"Stpo": [], **MARK["hooks"]}
    (work / ".claude" / "settings.json").write_text(json.dumps({"hooks": wrong}))
    asked = Launch(headless=headless, trust=True, cwd=work, flags={"--model": "demo"})
    runtime = make_runtime(asked, {"HOME": str(tmp_path / "home")})
    problem = ".claude/settings.json: hooks.Stpo: unknown event (did you mean Stop?)"
    unapproved = (
        "The hooks in .claude/settings.json do not run until you approve them: "
        "start prunecli here and type /hooks approve."
    )
    assert runtime.notices == ([problem, unapproved] if headless else [problem])
    assert ("/hooks approve" in runtime.opening) is True


def test_a_project_config_can_never_set_hooks_and_a_malformed_one_is_an_error(tmp_path: Path) -> None:
    text = '[[hooks.Stop]]\nhooks = [{type = "command", command = "true"}]\n'
    for place in (tmp_path / "work" / ".prunecli", tmp_path / "home" / ".config" / "prunecli"):
        place.mkdir(parents=True)
    (tmp_path / "work" / ".prunecli" / "config.toml").write_text(text)
    with pytest.raises(ConfigError, match=r"hooks\.Stop: not allowed in a project file: they run commands"):
        start(tmp_path)
    (tmp_path / "work" / ".prunecli" / "config.toml").unlink()
    own = tmp_path / "home" / ".config" / "prunecli" / "config.toml"
    own.write_text(text)
    assert start(tmp_path).parts["hooks"].sources[0].hooks[0].command == "true"
    own.write_text(text.replace("command = ", "comand = "))
    with pytest.raises(ConfigError, match=r"hooks\.Stop: \[0\]\.hooks\[0\]\.command: expected a command"):
        start(tmp_path)
    own.write_text("[hooks]\nStop = 3\n")
    with pytest.raises(ConfigError, match=r"hooks\.Stop: expected a list of tables, got 3"):
        start(tmp_path)


async def test_a_projects_address_is_shown_with_what_it_gets_and_asked_once_approved(tmp_path: Path) -> None:
    denied = answers('{"decision": "block", "reason": "not this one"}')
    async with listening({"/check": denied}) as at:
        one = {"type": "http", "url": at.url("/check"), "allowedEnvVars": ["TOKEN"]}
        project = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [one]}]}}
        call = ToolUse("b1", "bash", {"command": "touch x"})
        under = hooked(tmp_path, [calls(call), says("Ok.")] * 2, project=project)
        await under.runtime.submit("go")
        assert (tmp_path / "work" / "x").exists()
        assert at.bodies == []
        asked = question(say(under.runtime, "/hooks approve"))
        assert asked.about == f"PreToolUse (Bash): POST {at.url('/check')} (sends $TOKEN)"
        answer(under.runtime, asked, 0)
        await under.runtime.submit("go")
        assert [(one["hook_event_name"], one["tool_input"]["command"]) for one in at.bodies] == [
            ("PreToolUse", "touch x")
        ]
        text, failed = under.results()[-1]
        assert failed
        assert "not this one" in text
        (table,) = say(under.runtime, "/hooks")
        assert isinstance(table, Table)
        assert table.rows[0][4] == "answered: not this one"


async def test_an_address_that_fails_is_said_and_holds_nothing_up(tmp_path: Path) -> None:
    one = {"type": "http", "url": "http://127.0.0.1:9/"}
    at = hooked(tmp_path, [says("Hello.")], {"UserPromptSubmit": [{"hooks": [one]}]})
    await at.runtime.submit("go")
    (said,) = at.said
    assert said.startswith("UserPromptSubmit hook 127.0.0.1:9 failed: ")
    (table,) = say(at.runtime, "/hooks")
    assert isinstance(table, Table)
    assert table.rows[0][4].startswith("failed: ")


async def test_a_project_changes_no_hook_of_the_user_by_listing_its_command_again(tmp_path: Path) -> None:
    command = "echo no >&2; exit 2"
    again = {"hooks": {"UserPromptSubmit": [group(command, **{"async": True})]}}
    at = hooked(tmp_path, [says("Hello.")], {"UserPromptSubmit": [group(command)]}, project=again)
    answer(at.runtime, question(say(at.runtime, "/hooks approve")), 0)
    with pytest.raises(PromptBlocked):
        await at.runtime.submit("hi")
