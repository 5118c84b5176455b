"""The picker for sessions of another agent: it lists them, changes none, and goes on with the chosen one."""

from pathlib import Path

from prunecli.runtime import Runtime
from prunecli.runtime.make import make_runtime
from prunecli.tui.screens.sessions import SessionsScreen
from prunecli.util.launch_options import Launch
from tests.session.importers import stores
from tests.tui.showing_app import shown


def runtime_of(tmp_path: Path, *names: str, **asked: str) -> tuple[Runtime, Path]:
    """A runtime in the directory of these sessions, on the demo model."""
    environ, cwd = stores.environment(tmp_path, *names)
    environ |= {"PRUNECLI_HOME": str(tmp_path / "data"), "PRUNECLI_SANDBOX": "off"}
    launch = Launch(trust=True, cwd=cwd, flags={"--model": "demo"}, **asked)
    return make_runtime(launch, environ), cwd


async def test_the_command_line_opens_the_list_and_enter_continues_the_marked_session(tmp_path: Path) -> None:
    names = ("claude-code.jsonl", "claude-code-commands.jsonl", "claude-code-slash.jsonl")
    runtime, _ = runtime_of(tmp_path, *names, resume="@claude")
    async with shown(tmp_path, runtime=runtime, prompt="and now?") as s:
        await s.until(lambda: isinstance(s.app.screen, SessionsScreen))
        await s.until_shown(
            "Claude Code sessions in this directory", "3 of 3", "colour of notes", "4 prompts"
        )
        await s.until_shown("Enter to continue it here", "claude-sonnet-4-5")
        assert "remove" not in s.screen_text()
        await s.type("", "ctrl+x", "ctrl+n", "@")
        await s.until_shown("0 of 3")  # the last key went into the filter
        assert "Enter" not in s.screen_text(), "there is nothing to continue"
        await s.type("", "backspace", "down", "enter")
        await s.until(lambda: s.runtime.session.name == "" and bool(s.runtime.session.records))
        await s.until_shown("From Claude Code: 4 prompts, 10 responses, 3 results", "Left out: 1 subagent")
        await s.until_shown("and now?")  # what was typed waits in the prompt


async def test_tab_lists_those_of_all_directories(tmp_path: Path) -> None:
    runtime, _ = runtime_of(tmp_path, "pi.jsonl")
    other = tmp_path / "home/.pi/agent/sessions/x/2.jsonl"
    rows = (tmp_path / "home/.pi/agent/sessions/--home-me-demo--/pi.jsonl").read_text()
    stores.put(other, rows.replace(str(tmp_path / "work" / "demo"), "/elsewhere").encode())
    async with shown(tmp_path, runtime=runtime) as s:
        await s.type("/resume @pi", "enter")
        await s.until_shown("pi sessions in this directory", "1 of 1")
        await s.type("", "tab")
        await s.until_shown("pi sessions in all directories", "2 of 2", "elsewhere")
        await s.type("", "escape")
        await s.until(lambda: not isinstance(s.app.screen, SessionsScreen))


async def test_the_words_of_all_messages_are_searched(tmp_path: Path) -> None:
    runtime, _ = runtime_of(tmp_path, "opencode.json", "claude-code.jsonl")
    async with shown(tmp_path, runtime=runtime) as s:
        for agent, tool in (("@claude", "read"), ("@opencode", "read")):
            await s.type(f"/resume {agent}", "enter")
            await s.until_shown("1 of 1", "Ctrl+F words")
            await s.type("", "ctrl+f")
            await s.until_shown("type to search")
            await s.type("COLOUR notes")
            await s.until_shown("1 found", f"{tool} ")
            await s.type("", "escape")
            await s.until(lambda: not isinstance(s.app.screen, SessionsScreen))


async def test_a_damaged_file_is_named_in_the_list_and_a_wrong_id_on_the_screen(tmp_path: Path) -> None:
    runtime, _ = runtime_of(tmp_path, "pi.jsonl")
    stores.put(tmp_path / "home/.pi/agent/sessions/x/odd.jsonl", b"not json\n")
    async with shown(tmp_path, runtime=runtime, size=(160, 48)) as s:
        await s.type("/resume @pi", "enter")
        await s.until_shown("1 of 1", "cannot read odd.jsonl: no JSON in its first lines")
        await s.type("", "escape")
        await s.until(lambda: not isinstance(s.app.screen, SessionsScreen))
        await s.type("/resume @pi:zzz", "enter")
        await s.until_shown("no session of pi with id or name 'zzz'")
