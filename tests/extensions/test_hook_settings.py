"""Hook settings: Claude Code's form, matchers, names, and what is wrong in one line each."""

import json
from pathlib import Path
from typing import Any

import pytest

from prunecli.features.hooks.names import (
    input_for_hooks,
    input_from_hooks,
    response_for_hooks,
    tool_name,
    tool_names,
)
from prunecli.features.hooks.runs import chosen
from prunecli.features.hooks.settings import DEFAULT_TIMEOUT, EVENTS, Hook, parse
from prunecli.features.hooks.sources import MAX_BYTES, read_source

CWD = Path("/project")


def one(**hook: Any) -> dict[str, Any]:
    return {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "x", **hook}]}]}


def test_the_documented_form_is_read() -> None:
    table = {
        "PreToolUse": [
            {"matcher": "Bash", "hooks": [{"type": "command", "command": "a", "timeout": 5}]},
            {"hooks": [{"type": "command", "command": "b", "async": True}]},
        ],
        "Stop": [{"hooks": [{"command": "c"}]}],
    }
    assert parse(table) == (
        (
            Hook("PreToolUse", "a", "Bash", 5.0),
            Hook("PreToolUse", "b", background=True),
            Hook("Stop", "c", timeout=DEFAULT_TIMEOUT),
        ),
        (),
    )


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ([], "hooks: expected a table of events, got a list"),
        ({"PreTool": []}, "hooks.PreTool: unknown event (did you mean PreToolUse?)"),
        (
            {"PermissionRequest": []},
            "hooks.PermissionRequest: prunecli has no such event, so these hooks never run",
        ),
        ({"Stop": {}}, "hooks.Stop: expected a list of tables, got a table"),
        ({"Stop": "x"}, "hooks.Stop: expected a list of tables, got a string"),
        ({"Stop": [3]}, "hooks.Stop[0]: expected a table with matcher and hooks, got a number"),
        ({"Stop": [{"hooks": None}]}, "hooks.Stop[0].hooks: expected a list of tables, got nothing"),
        ({"Stop": [{"matcher": 1, "hooks": []}]}, "hooks.Stop[0].matcher: expected a string, got a number"),
        ({"Stop": [{"hooks": [True]}]}, "hooks.Stop[0].hooks[0]: expected a table, got true or false"),
        (
            one(type="prompt"),
            "hooks.PreToolUse[0].hooks[0].type: hooks of type 'prompt' never run in prunecli, "
            "only those of type command and http",
        ),
        (one(command=" "), "hooks.PreToolUse[0].hooks[0].command: expected a command, got a string"),
        (one(command=None), "hooks.PreToolUse[0].hooks[0].command: expected a command, got nothing"),
        *(
            (
                one(command=unfit),
                "hooks.PreToolUse[0].hooks[0].command: contains a character that cannot be passed to a program",
            )
            for unfit in ("a\0b", "echo \ud800")
        ),
        *(
            (
                one(timeout=wrong),
                "hooks.PreToolUse[0].hooks[0].timeout: expected seconds, more than 0 and at most 3600",
            )
            for wrong in (0, -1, True, "5", 1e9, float("nan"))
        ),
        (
            one(**{"if": "Bash(rm *)"}),
            "hooks.PreToolUse[0].hooks[0].if: prunecli does not know this key, so the hook is left out",
        ),
    ],
)
def test_a_malformed_part_is_left_out_and_named(table: Any, problem: str) -> None:
    assert parse(table) == ((), (problem,))


@pytest.mark.parametrize("kind", ["prompt", "agent", "mcp_tool", "", None, 5, ["command"]])
def test_a_type_that_never_runs_is_named_with_file_and_event_and_spares_the_others(
    tmp_path: Path, kind: Any
) -> None:
    other = {"type": kind, "prompt": "Is it done? $ARGUMENTS", "command": "touch never"}
    path = tmp_path / "settings.json"
    path.write_text(
        json.dumps({"hooks": {"Stop": [{"hooks": [other, {"type": "command", "command": "b"}]}]}})
    )
    source = read_source(path, ".claude/settings.json", tmp_path, tmp_path)
    assert source is not None
    assert [hook.command for hook in source.hooks] == ["b"]
    assert source.problems == (
        f".claude/settings.json: hooks.Stop[0].hooks[0].type: hooks of type {kind!r} never run in prunecli, "
        "only those of type command and http",
    )


def test_the_shell_that_runs_commands_anyway_may_be_named() -> None:
    hooks, problems = parse(one(shell="bash"))
    assert (len(hooks), problems) == (1, ())


def test_a_background_hook_that_would_wake_the_agent_is_left_out() -> None:
    hooks, (problem,) = parse(one(asyncRewake=True))
    assert not hooks
    assert "asyncRewake" in problem
    assert parse(one(asyncRewake=False)).hooks


def test_a_matcher_that_is_no_regular_expression_spares_the_others() -> None:
    table = {
        "PreToolUse": [
            {"matcher": "Edit(", "hooks": [{"type": "command", "command": "a"}]},
            {"matcher": "Write", "hooks": [{"type": "command", "command": "b"}]},
        ]
    }
    hooks, problems = parse(table)
    assert [hook.command for hook in hooks] == ["b"]
    (problem,) = problems
    assert problem.startswith("hooks.PreToolUse[0].matcher: not a regular expression: ")


@pytest.mark.parametrize(
    ("matcher", "names", "matches"),
    [
        ("", ("Bash", "bash"), True),
        ("*", ("Bash", "bash"), True),
        ("Bash", ("Bash", "bash"), True),
        ("bash", ("Bash", "bash"), True),
        ("Bas", ("Bash", "bash"), False),
        ("Edit|Write", ("Write", "write"), True),
        ("Edit, Write", ("Write", "write"), True),
        ("Edit|Write", ("Read", "read"), False),
        ("edit|Read", ("Edit", "edit"), True),
        ("Notebook.*", ("NotebookEdit",), True),
        ("mcp__github__.*", ("mcp__github__create_issue", "mcp_call"), True),
        ("mcp__.*__write.*", ("mcp__files__write_file", "mcp_call"), True),
        ("mcp__memory", ("mcp__memory__read", "mcp_call"), False),
        ("^(?!Bash).*", ("Read", "read"), True),
        ("anything", (), True),
    ],
)
def test_matchers(matcher: str, names: tuple[str, ...], matches: bool) -> None:
    assert Hook("PreToolUse", "x", matcher).matches(*names) is matches


def test_a_command_that_is_listed_twice_runs_once() -> None:
    hooks = [Hook("Stop", "a"), Hook("Stop", "b"), Hook("Stop", "a"), Hook("PreCompact", "a")]
    assert [hook.command for hook in chosen(hooks, "Stop")] == ["a", "b"]


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ('"$CLAUDE_PROJECT_DIR"/.claude/hooks/protect-files.sh', "protect-files.sh"),
        ("python3 /path/to/bash_command_validator_example.py", "bash_command_validator_example.py"),
        ("/usr/bin/python3 hooks/x.py --flag", "x.py"),
        ("jq -r '.tool_input.file_path' | xargs npx prettier --write", "jq"),
        ("./check", "check"),
        ("''", "hook"),
    ],
)
def test_a_hook_has_a_short_name(command: str, name: str) -> None:
    assert Hook("Stop", command).name == name


@pytest.mark.parametrize(
    ("tool", "given", "shown"),
    [
        ("read", {"path": "a.py", "offset": 3}, {"file_path": "/project/a.py", "offset": 3}),
        ("write", {"path": "/b", "content": "x"}, {"file_path": "/b", "content": "x"}),
        ("edit", {"path": "sub/../a", "old_string": "x"}, {"file_path": "/project/a", "old_string": "x"}),
        ("bash", {"command": "ls", "timeout": 1.5}, {"command": "ls", "timeout": 1500}),
        ("bash", {"command": "x", "background": True}, {"command": "x", "run_in_background": True}),
        ("grep", {"pattern": "x", "ignore_case": True}, {"pattern": "x", "-i": True}),
        ("find", {"pattern": "*.py", "path": "src"}, {"pattern": "*.py", "path": "/project/src"}),
        ("mcp_call", {"server": "s", "tool": "t", "arguments": {"path": "a"}}, {"path": "a"}),
        ("mcp_call", {"server": "s", "tool": "t", "arguments": 3}, {}),
        ("own", {"path": "a"}, {"path": "a"}),
    ],
)
def test_inputs_have_claude_codes_keys_and_come_back_with_ours(
    tool: str, given: dict[str, Any], shown: dict[str, Any]
) -> None:
    seen = input_for_hooks(tool, given, CWD)
    assert seen == shown
    back = input_from_hooks(tool, given, seen)
    assert set(back) == set(given)
    if tool == "bash":
        assert back == given


def test_a_changed_input_keeps_what_the_hook_leaves_out() -> None:
    given = {"path": "a", "content": "x"}
    assert input_from_hooks("write", given, {"file_path": "/b"}) == {"path": "/b", "content": "x"}
    assert input_from_hooks("write", given, {"path": "/b"}) == {"path": "/b", "content": "x"}
    call = {"server": "s", "tool": "t", "arguments": {"a": 1, "b": 2}}
    assert input_from_hooks("mcp_call", call, {"b": 3})["arguments"] == {"a": 1, "b": 3}


def test_tools_have_both_names() -> None:
    assert tool_names("find", {}) == ("Glob", "find")
    assert tool_name("mcp_call", {"server": "github", "tool": "create_issue"}) == "mcp__github__create_issue"
    assert tool_names("prun", {}) == ("prun",)
    assert tool_names("task", {}) == ("Task", "Agent", "task")


def test_results_have_claude_codes_form() -> None:
    assert response_for_hooks("bash", {"command": "x"}, "out", CWD)["stdout"] == "out"
    assert response_for_hooks("edit", {"path": "a"}, "ok", CWD)["filePath"] == "/project/a"
    assert response_for_hooks("read", {"path": "a"}, "text", CWD)["file"] == {
        "filePath": "/project/a",
        "content": "text",
    }
    assert response_for_hooks("prun", {}, "done", CWD) == {"content": "done"}


def settings(folder: Path, value: object) -> Path:
    path = folder / "settings.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("{", "settings.json: not valid JSON"),
        ("[]", "settings.json: expected an object"),
        ("[" * 100_000, "settings.json: not valid JSON"),
        (" " * (MAX_BYTES + 1), f"settings.json: larger than {MAX_BYTES:,} bytes"),
        ({"hooks": {"Stop": 3}}, "settings.json: hooks.Stop: expected a list of tables"),
    ],
)
def test_a_malformed_file_is_one_line(tmp_path: Path, value: object, problem: str) -> None:
    source = read_source(settings(tmp_path, value), "settings.json", tmp_path, tmp_path)
    assert source is not None
    (line,) = source.problems
    assert line.startswith(problem)
    assert not source.hooks


@pytest.mark.parametrize("value", [{}, {"model": "opus"}, {"hooks": {"Stop": []}, "disableAllHooks": True}])
def test_a_file_without_hooks_is_no_source(tmp_path: Path, value: object) -> None:
    assert read_source(settings(tmp_path, value), "settings.json", tmp_path, tmp_path) is None
    assert read_source(tmp_path / "none.json", "none.json", tmp_path, tmp_path) is None


@pytest.mark.parametrize(
    "command",
    [
        '"$CLAUDE_PROJECT_DIR"/hooks/a.sh',
        "${CLAUDE_PROJECT_DIR}/hooks/a.sh",
        "bash hooks/a.sh --now",
        "PRUNE=1 hooks/a.sh;",
        "'hooks/a.sh' 'unclosed",
    ],
)
def test_a_definition_covers_the_scripts_of_the_project_that_it_runs(tmp_path: Path, command: str) -> None:
    (tmp_path / "hooks").mkdir()
    script = tmp_path / "hooks" / "a.sh"
    script.write_text("exit 0")
    value = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}}
    if "unclosed" in command:
        value["hooks"]["Stop"][0]["hooks"][0]["command"] = "hooks/a.sh 'unclosed"
    path = settings(tmp_path, value)
    source = read_source(path, "settings.json", tmp_path, tmp_path)
    assert source is not None
    assert not source.changed()
    script.write_text("exit 2")
    assert source.changed()
    again = read_source(path, "settings.json", tmp_path, tmp_path)
    assert again is not None
    assert again.definition != source.definition


def test_a_file_that_a_hook_writes_is_no_part_of_its_definition(tmp_path: Path) -> None:
    value = {"hooks": {"Stop": [{"hooks": [{"command": "date >> log.txt; touch ran; bash plain"}]}]}}
    path = settings(tmp_path, value)
    (tmp_path / "plain").write_text("exit 0")
    source = read_source(path, "settings.json", tmp_path, tmp_path)
    assert source is not None
    for name in ("log.txt", "ran"):
        (tmp_path / name).write_text("new")
    assert not source.changed()
    (tmp_path / "plain").write_text("exit 2")
    assert source.changed(), "what bash runs is a script, whatever its name"


def test_every_event_has_a_default_place_in_the_configuration() -> None:
    from dataclasses import fields

    from prunecli.features.hooks.options import Hooks

    assert {one.name for one in fields(Hooks)} == set(EVENTS)
