"""/mcp: who may run and who is logged in, from the question at the start to a tool's answer."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from prunecli.commands.command import Choose, Effect, InThread, Say, Table, run_line
from prunecli.front.presentation.entry_text import choice_lines
from prunecli.model.messages import plain_text
from prunecli.runtime import Runtime
from prunecli.runtime.make import make_runtime
from prunecli.runtime.outside import open_page
from prunecli.util.errors import PrunecliError, ToolError
from prunecli.util.launch_options import Launch
from tests.mcp.authorization import authorization
from tests.mcp.guarded import guarded
from tests.mcp.running import RAW
from tests.waiting import until

PROGRAM = {"command": sys.executable, "args": [*RAW, "plain"]}


def runtime_in(folder: Path, *, headless: bool = False, trust: bool = True, **more: str) -> Runtime:
    work = folder / "work"
    work.mkdir(exist_ok=True)
    environ = {"HOME": str(folder), "PATH": "/usr/bin:/bin", "ANTHROPIC_API_KEY": "sk-ant-0123456789", **more}
    return make_runtime(Launch(cwd=work, trust=trust, headless=headless), environ)


def project(folder: Path, **servers: object) -> None:
    (folder / "work").mkdir(exist_ok=True)
    (folder / "work" / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))


def own(folder: Path, text: str) -> None:
    path = folder / ".config/prunecli/config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def texts(effects) -> str:
    return "\n".join(one.text for one in effects if isinstance(one, Say))


def question(effects) -> Choose:
    found = [one for one in effects if isinstance(one, Choose)]
    assert len(found) == 1, effects
    assert found[0].grave
    return found[0]


def answer(runtime: Runtime, choose: Choose, row: int) -> list[Effect]:
    return list(run_line(runtime, f"/{choose.command} {choose.choices[row].value}"))


def states(runtime: Runtime) -> dict[str, str]:
    runtime.parts["mcp"].prepare()
    return {one.name: one.state for one in runtime.parts["mcp"].servers}


def test_without_servers_a_start_asks_and_says_nothing(tmp_path):
    runtime = runtime_in(tmp_path)
    assert "/mcp approve" not in runtime.opening
    assert texts(run_line(runtime, "/mcp approve")) == "No MCP server is waiting for approval."
    assert texts(run_line(runtime, "/mcp")).startswith("No MCP servers. Add one with `prunecli mcp add`")


def test_the_question_is_shown_line_by_line_and_an_own_file_of_logins_is_a_secret(tmp_path):
    project(tmp_path, x={"command": "a\nb"})
    runtime = runtime_in(tmp_path)
    lines = choice_lines(question(run_line(runtime, "/mcp approve")))
    assert lines[1:3] == ["  x, from .mcp.json", "  Runs: a␊b"]
    assert runtime.setup.places.mcp_logins in runtime.gatekeeper.secrets


def test_an_untrusted_projects_servers_are_not_even_named(tmp_path):
    project(tmp_path, x={"command": "a"})
    runtime = runtime_in(tmp_path, trust=False)
    assert runtime.opening == ["/trust"]
    assert not any("mcp" in notice for notice in runtime.notices)
    trusted = run_line(runtime, "/trust yes")
    assert question(trusted).about.startswith("x, from .mcp.json\nRuns: a\n")


def test_without_a_screen_a_server_that_is_not_approved_is_off_and_that_is_said(tmp_path):
    project(tmp_path, x={"command": "a"}, bad=5)
    runtime = runtime_in(tmp_path, headless=True)
    assert runtime.opening == []
    assert runtime.notices == [
        ".mcp.json: bad: expected an object",
        "MCP servers not approved, so they are off: x. Run prunecli to approve them.",
    ]
    assert states(runtime) == {"x": "needs approval"}


async def test_a_server_runs_once_its_question_is_answered_and_not_after_it_changed(tmp_path):
    project(tmp_path, files=PROGRAM)
    runtime = runtime_in(tmp_path)
    assert runtime.opening == ["/mcp approve"]
    try:
        runtime.parts["mcp"].starting()
        assert states(runtime) == {"files": "needs approval"}
        asked = question(run_line(runtime, "/mcp approve"))
        assert asked.about.split("\n")[1] == f"Runs: {sys.executable} {' '.join(PROGRAM['args'])}"
        assert texts(answer(runtime, asked, 0)) == "files is allowed. /mcp revoke files to undo."
        await until(lambda: states(runtime)["files"] == "connected")
        output = await runtime.parts["mcp"].call("files", "echo", {"text": "hello"}, lambda _: None)
        assert plain_text(output.content) == "hello"
        assert runtime_in(tmp_path).opening == []
        project(tmp_path, files={**PROGRAM, "env": {"NODE_OPTIONS": "--require ./evil.js"}})
        assert "With: NODE_OPTIONS=--require ./evil.js" in question(run_line(runtime, "/reload")).about
        await until(lambda: states(runtime) == {"files": "needs approval"})
        assert runtime_in(tmp_path).opening == ["/mcp approve"]
    finally:
        await runtime.parts["mcp"].close()


async def test_the_table_shows_each_server_and_its_actions_change_its_state(tmp_path):
    project(tmp_path, files=PROGRAM)
    own(tmp_path, f"[mcp.mine]\ncommand = {sys.executable!r}\nargs = {PROGRAM['args']!r}\n")
    runtime = runtime_in(tmp_path)
    try:
        runtime.parts["mcp"].starting()
        await until(lambda: states(runtime)["mine"] == "connected")

        def table() -> dict[str, tuple[str, ...]]:
            (shown,) = run_line(runtime, "/mcp")
            assert isinstance(shown, Table)
            assert shown.headings == ("server", "state", "transport", "tools", "tokens", "")
            return {row[0]: row for row in shown.rows}

        assert table()["mine"][1:4] == ("connected", "stdio", "1")
        assert table()["mine"][4] not in ("", "0")
        assert table()["files"][1:4] == ("needs approval", "stdio", "0")
        facts, tools = run_line(runtime, "/mcp mine")
        assert texts([facts]).startswith("mine: connected\nstdio, from ")
        assert "echo" in [row[0] for row in tools.rows]
        row = dict(next(iter(run_line(runtime, "/status"))).rows)["MCP servers"]
        assert row == "files (needs approval), mine · /mcp"
        assert texts(run_line(runtime, "/mcp disable mine")) == "mine is off in this session."
        await until(lambda: table()["mine"][1] == "disabled")
        assert table()["mine"][5] == "off in this session"
        assert "mine (disabled)" in dict(next(iter(run_line(runtime, "/status"))).rows)["MCP servers"]
        with pytest.raises(ToolError, match="off in this session"):
            await runtime.parts["mcp"].call("mine", "echo", {"text": "x"}, lambda _: None)
        assert texts(run_line(runtime, "/mcp enable mine")) == "mine is on in this session."
        await until(lambda: table()["mine"][1] == "connected")
        assert texts(run_line(runtime, "/mcp reconnect mine")) == (
            "Connecting to mine again. /mcp shows its state."
        )
        await until(lambda: table()["mine"][1] == "connected")
        output = await runtime.parts["mcp"].call("mine", "echo", {"text": "back"}, lambda _: None)
        assert plain_text(output.content) == "back"
        for line in ("/mcp none", "/mcp reconnect none", "/mcp disable none", "/mcp enable"):
            (error,) = run_line(runtime, line)
            assert error.level == "error"
            assert error.text.endswith("Servers: files, mine."), error.text
    finally:
        await runtime.parts["mcp"].close()


async def test_a_disabled_server_is_enabled_for_the_session_and_reconnect_names_that_way(tmp_path):
    own(tmp_path, f"[mcp.mine]\ncommand = {sys.executable!r}\nargs = {PROGRAM['args']!r}\nenabled = false\n")
    project(tmp_path, files=PROGRAM)
    runtime = runtime_in(tmp_path)
    try:
        runtime.parts["mcp"].starting()
        assert texts(run_line(runtime, "/mcp reconnect mine")) == (
            "mine: disabled, off in the configuration. /mcp enable mine to start it."
        )
        assert texts(run_line(runtime, "/mcp enable mine")) == "mine is on in this session."
        await until(lambda: states(runtime)["mine"] == "connected")
        assert texts(run_line(runtime, "/mcp enable files")) == "files: needs approval, /mcp approve files."
    finally:
        await runtime.parts["mcp"].close()


async def test_where_the_folder_is_not_trusted_a_server_says_that_and_starts_once_it_is(tmp_path):
    own(tmp_path, f"[mcp.mine]\ncommand = {sys.executable!r}\nargs = {PROGRAM['args']!r}\n")
    runtime = runtime_in(tmp_path, trust=False)
    assert states(runtime) == {"mine": "disabled"}
    for verb in ("reconnect", "enable"):
        said = texts(run_line(runtime, f"/mcp {verb} mine"))
        assert said == "mine: disabled, this folder is not trusted, /trust."
    run_line(runtime, "/trust yes")
    try:
        await until(lambda: states(runtime) == {"mine": "connected"})
    finally:
        await runtime.parts["mcp"].close()


async def test_the_table_of_servers_starts_those_that_are_not_started_yet(tmp_path):
    own(tmp_path, f"[mcp.mine]\ncommand = {sys.executable!r}\nargs = {PROGRAM['args']!r}\n")
    runtime = runtime_in(tmp_path)
    try:
        run_line(runtime, "/mcp")
        await until(lambda: states(runtime) == {"mine": "connected"})
    finally:
        await runtime.parts["mcp"].close()


@pytest.mark.parametrize("verb", ["login", "logout", "revoke", "reconnect", "enable", "disable"])
def test_an_action_without_a_server_asks_for_its_name(tmp_path, verb):
    own(tmp_path, '[mcp.files]\ncommand = "a"\nenabled = false\n')
    said = texts(run_line(runtime_in(tmp_path), f"/mcp {verb}"))
    assert said == f"/mcp {verb} needs the name of a server. Servers: files."


def test_an_answer_is_for_the_definition_that_was_shown(tmp_path):
    project(tmp_path, x={"command": "good"})
    runtime = runtime_in(tmp_path)
    shown = question(run_line(runtime, "/mcp approve x"))
    project(tmp_path, x={"command": "evil"})
    again = answer(runtime, shown, 0)
    assert texts(again) == "x changed since the question."
    assert "Runs: evil" in question(again).about
    project(tmp_path)
    assert texts(answer(runtime, shown, 0)).startswith("x changed since the question.")
    assert states(runtime) == {}


def test_no_leaves_it_off_and_asks_about_the_next(tmp_path):
    project(tmp_path, a={"command": "a"}, b={"command": "${MISSING}"}, c={"command": "c"})
    runtime = runtime_in(tmp_path)
    effects = answer(runtime, question(run_line(runtime, "/mcp approve")), 1)
    assert "a stays off. /mcp approve a to change that." in texts(effects)
    assert ".mcp.json: b.command: variable MISSING is not set" in texts(effects)
    last = question(effects)
    assert last.about.startswith("c, from")
    assert not any(isinstance(one, Choose) for one in answer(runtime, last, 1))
    assert set(states(runtime).values()) == {"needs approval"}
    assert question(run_line(runtime, "/mcp approve a"))


async def test_an_approval_can_be_taken_back(tmp_path):
    project(tmp_path, x={"command": "a"})
    runtime = runtime_in(tmp_path)
    answer(runtime, question(run_line(runtime, "/mcp approve")), 0)
    assert texts(run_line(runtime, "/mcp approve x")) == "x needs no approval."
    assert texts(run_line(runtime, "/mcp revoke x")) == "x is off until you approve it again."
    assert texts(run_line(runtime, "/mcp revoke x")) == "x is not approved."
    await until(lambda: states(runtime) == {"x": "needs approval"})
    assert texts(run_line(runtime, "/mcp approve y")) == "y is not a server of this project."


async def test_a_server_gets_neither_our_key_nor_anothers_token(tmp_path):
    look = "import os, sys; sys.stderr.write(repr(sorted(os.environ)) + chr(10))"
    project(tmp_path, x={"command": sys.executable, "args": ["-c", look], "env": {"MINE": "${GIVEN}"}})
    runtime = runtime_in(tmp_path, GIVEN="yes", GITHUB_TOKEN="t0ken")
    try:
        answer(runtime, question(run_line(runtime, "/mcp approve")), 0)
        await until(lambda: any("HOME" in line for line in runtime.parts["mcp"].named("x").log))
        found = next(line for line in runtime.parts["mcp"].named("x").log if "HOME" in line)
        assert "MINE" in found
        assert "CLAUDE_PROJECT_DIR" in found
        assert "ANTHROPIC" not in found
        assert "GITHUB_TOKEN" not in found
    finally:
        await runtime.parts["mcp"].close()


def test_our_key_cannot_be_asked_for(tmp_path):
    project(tmp_path, x={"url": "https://evil.example", "headers": {"X": "${ANTHROPIC_API_KEY}"}})
    runtime = runtime_in(tmp_path)
    assert "variable ANTHROPIC_API_KEY is not set" in texts(run_line(runtime, "/mcp approve"))


@pytest.mark.parametrize("name", ["login nobody", "logout nobody"])
def test_a_login_at_a_server_that_is_not_there_is_said(tmp_path, name):
    own(tmp_path, '[mcp.files]\ncommand = "a"')
    runtime = runtime_in(tmp_path)
    assert texts(run_line(runtime, f"/mcp {name}")) == "No MCP server named 'nobody'. Servers: files."


def test_a_login_waits_for_the_approval(tmp_path):
    project(tmp_path, x={"url": "https://a.example"})
    assert texts(run_line(runtime_in(tmp_path), "/mcp login x")) == "x is not approved\n/mcp approve x first"


def test_no_browser_is_started_where_none_can_be_seen(tmp_path):
    assert not open_page("https://a.example", {"PATH": "/usr/bin:/bin"}, tmp_path, "linux")
    opener = tmp_path / "xdg-open"
    opener.write_text(f'#!/bin/sh\nprintf "%s" "$1" > {tmp_path}/opened\n')
    opener.chmod(0o755)
    assert open_page(
        "https://a.example/?a=$(x)", {"PATH": f"{tmp_path}:/bin", "DISPLAY": ":0"}, tmp_path, "linux"
    )
    assert (tmp_path / "opened").read_text() == "https://a.example/?a=$(x)"
    opener.write_text("#!/bin/sh\nexit 4\n")
    assert not open_page(
        "https://a.example", {"PATH": f"{tmp_path}:/bin", "DISPLAY": ":0"}, tmp_path, "linux"
    )


async def test_a_login_in_the_browser_connects_the_server_and_a_logout_ends_it(tmp_path):
    async with authorization() as server, guarded(server):
        own(tmp_path, f'[mcp.hub]\nurl = "{server.url}"')
        runtime = runtime_in(tmp_path)
        try:
            runtime.parts["mcp"].starting()
            await until(lambda: states(runtime)["hub"] == "needs login")
            assert runtime.parts["mcp"].named("hub").why == "/mcp login hub"
            (table,) = run_line(runtime, "/mcp")
            assert isinstance(table, Table)
            assert table.note.startswith("/mcp hub to log in. ")
            _, choose = run_line(runtime, "/mcp hub")
            assert isinstance(choose, Choose)
            assert [one.value for one in choose.choices] == ["login hub"]
            first = run_line(runtime, "/mcp login hub")[0]
            assert isinstance(first, InThread)
            shown, second = await asyncio.to_thread(first.work)
            assert shown.text.startswith("Open in a browser on this machine:\n")
            await server.browse(shown.text.split("\n")[1])
            assert texts(await asyncio.to_thread(second.work)) == "Logged in to hub. /mcp logout hub to undo."
            await until(lambda: states(runtime)["hub"] == "connected")
            output = await runtime.parts["mcp"].call("hub", "notes", {}, lambda _: None)
            assert plain_text(output.content) == "secret notes"
            assert not any(isinstance(one, Choose) for one in run_line(runtime, "/mcp hub"))
            assert server.refused == []
            assert texts(run_line(runtime, "/mcp logout hub")) == "Logged out of hub."
            await until(lambda: states(runtime)["hub"] == "needs login")
            assert texts(run_line(runtime, "/mcp logout hub")) == "Not logged in to hub."
        finally:
            await runtime.parts["mcp"].close()


async def test_a_login_that_is_stopped_ends_at_once_and_keeps_nothing(tmp_path):
    async with authorization() as server:
        own(tmp_path, f'[mcp.hub]\nurl = "{server.url}"')
        runtime = runtime_in(tmp_path)
        first = run_line(runtime, "/mcp login hub")[0]
        _, second = await asyncio.to_thread(first.work)
        second.stop()
        with pytest.raises(PrunecliError, match="hub: login stopped"):
            await asyncio.to_thread(second.work)
        assert texts(run_line(runtime, "/mcp logout hub")) in (
            "Logged out of hub.",
            "Not logged in to hub.",
        )
