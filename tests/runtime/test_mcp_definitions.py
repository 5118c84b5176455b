"""The MCP servers of a directory: whose they are, which may run, and when a question comes again."""

import json
import os

import pytest

from prunecli.config.effective import Config
from prunecli.config.keys import parse
from prunecli.features.mcp.approved import McpDefinitions, Servers
from prunecli.features.mcp.definition import OAuth
from prunecli.util.errors import ConfigError
from tests.configuring import Desk, desk


@pytest.fixture
def here(tmp_path) -> Desk:
    made = desk(tmp_path)
    (made.cwd / ".git").mkdir()
    return made


def project(here: Desk, folder=None, **servers) -> None:
    (folder or here.cwd).joinpath(".mcp.json").write_text(json.dumps({"mcpServers": servers}))


def current(here: Desk, trusted: bool = True) -> Servers:
    return McpDefinitions(here.places, here.cwd).current(here.load(trusted=trusted), trusted=trusted)


def names(definitions) -> list[str]:
    return [one.name for one in definitions]


def test_the_users_servers_are_usable_at_once_with_their_origin(here):
    here.user(
        '[mcp.files]\ncommand = "npx"\nargs = ["-y", "x"]\nenv.A = "1"\ntimeout = 5\n'
        '[mcp.hub]\nenabled = false\nurl = "https://a.example/mcp"\ntransport = "sse"\nheaders.X-Key = "${K}"\n'
        'oauth = {client_id = "me", callback_port = 9, scopes = ["a"]}\n'
        '[mcp.plain]\nurl = "https://b.example"\noauth.enabled = false\n'
    )
    files, hub, plain = current(here).usable
    assert (files.command, files.args, files.env, files.timeout) == ("npx", ("-y", "x"), {"A": "1"}, 5)
    assert files.origin == "~/.config/prunecli/config.toml:2"
    assert (hub.transport, hub.enabled, hub.oauth) == ("sse", False, OAuth("me", 9, ("a",)))
    assert (plain.transport, plain.oauth) == ("http", False)


def test_in_an_untrusted_directory_the_users_servers_start_at_home_and_the_projects_are_not_read(here):
    here.user('[mcp.files]\ncommand = "npx"\n[mcp.set]\ncommand = "npx"\ncwd = "/srv"')
    project(here, evil={"command": "evil"})
    servers = current(here, trusted=False)
    assert [(one.name, one.cwd) for one in servers.usable] == [
        ("files", str(here.places.home)),
        ("set", "/srv"),
    ]
    assert servers.waiting == ()
    assert current(here).usable[0].cwd == ""


def test_a_projects_server_waits_until_it_is_approved_and_again_once_it_changes(here):
    project(here, x={"command": "a"}, y={"command": "b"})
    assert names(current(here).waiting) == ["x", "y"]
    store = McpDefinitions(here.places, here.cwd)
    store.approve(current(here).waiting[0])
    assert (names(current(here).usable), names(current(here).waiting)) == (["x"], ["y"])
    project(here, x={"command": "a", "env": {"PATH": "/evil"}}, y={"command": "b"})
    assert names(current(here).waiting) == ["x", "y"]
    project(here, x={"command": "a"}, y={"command": "b"})
    assert names(current(here).usable) == ["x"]
    assert store.revoke("x")
    assert names(current(here).waiting) == ["x", "y"]


def test_an_approval_holds_for_one_directory(here):
    project(here, x={"url": "https://a.example"})
    McpDefinitions(here.places, here.cwd).approve(current(here).waiting[0])
    other = here.root / "other"
    other.mkdir()
    project(here, other, x={"url": "https://a.example"})
    assert names(McpDefinitions(here.places, other).current(here.load(), trusted=True).waiting) == ["x"]


def test_a_file_nearer_to_the_directory_wins_and_one_approval_serves_the_whole_repository(here):
    inner = here.cwd / "inner"
    inner.mkdir()
    project(here, x={"command": "outer"}, y={"url": "https://a.example"})
    project(here, inner, x={"command": "inner"})
    below = McpDefinitions(here.places, inner)
    waiting = below.current(here.load(trusted=True), trusted=True).waiting
    assert [(one.name, one.command, one.origin) for one in waiting] == [
        ("x", "inner", ".mcp.json"),
        ("y", "", "../.mcp.json"),
    ]
    below.approve(waiting[1])
    assert names(current(here).usable) == ["y"]


def test_the_users_server_wins_over_a_projects_of_the_same_name(here):
    here.user('[mcp.github]\nurl = "https://mine.example"')
    project(here, github={"url": "https://evil.example"})
    servers = current(here)
    assert (names(servers.usable), servers.waiting) == (["github"], ())
    assert servers.usable[0].url == "https://mine.example"
    assert servers.problems == (".mcp.json: github: ignored, config.toml has a server of this name",)


def test_a_wrong_entry_is_a_line_and_the_others_are_usable(here):
    project(here, bad={"command": 1}, good={"command": "a"})
    servers = current(here)
    assert names(servers.waiting) == ["good"]
    assert servers.problems == (".mcp.json: bad.command: expected a string",)


def test_files_that_are_no_files_are_a_line_and_links_out_of_the_project_are_not_read(here):
    os.mkfifo(here.cwd / ".mcp.json")
    assert current(here).problems == (".mcp.json: not a regular file",)
    (here.cwd / ".mcp.json").unlink()
    outside = here.root / "outside.json"
    outside.write_text(json.dumps({"mcpServers": {"x": {"command": "a"}}}))
    (here.cwd / ".mcp.json").symlink_to(outside)
    assert current(here) == Servers()
    (here.cwd / ".mcp.json").unlink()
    (here.cwd / ".mcp.json" / "inside").mkdir(parents=True)
    assert current(here).problems == (".mcp.json: not a regular file",)


def test_an_empty_folder_that_a_killed_sandbox_left_is_no_problem(here):
    (here.cwd / ".mcp.json").mkdir()
    assert current(here) == Servers()


def test_a_damaged_list_of_approvals_approves_nothing_and_is_said(here):
    project(here, x={"command": "a"})
    McpDefinitions(here.places, here.cwd).approve(current(here).waiting[0])
    here.places.approvals_file.write_text("{")
    servers = current(here)
    assert names(servers.waiting) == ["x"]
    assert str(here.places.approvals_file) in servers.problems[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[mcp.x]\nenabled = true", "mcp.x.command: expected command or url, got neither"),
        ('[mcp.x]\ncommand = "a"\nurl = "https://a.example"', "mcp.x.url: expected command or url, not both"),
        (
            '[mcp.x]\nurl = "http://a.example"',
            "mcp.x.url: http:// to another machine is unencrypted; use https",
        ),
        (
            '[mcp.x]\nurl = "https://u:s3cret@a.example"',
            "mcp.x.url: must not contain a user or password; use headers",
        ),
        ('[mcp."a/b"]\ncommand = "a"', "mcp.\"a/b\": invalid server name: 'a/b'"),
        ('[mcp."a\\u001b"]\ncommand = "a"', "mcp.\"a\\u001b\": invalid server name: 'a\\x1b'"),
        ('[mcp.x]\ncommand = ["a"]', "mcp.x.command: expected a string, got a list"),
        ('[mcp.x]\ncommand = "a"\nargs = "b"', "mcp.x.args: expected a list of strings, got 'b'"),
        ('[mcp.x]\ncommand = "a"\nenv."A B" = "1"', "mcp.x.env: invalid variable name: 'A B'"),
        ('[mcp.x]\ncommand = "a"\nenv = "A=1"', "mcp.x.env: expected a table, got 'A=1'"),
        (
            '[mcp.x]\nurl = "https://a.example"\nheaders.A = "\\n"',
            "mcp.x.headers: A: expected printable ASCII",
        ),
        ('[mcp.x]\ncommand = "a"\ntimeout = 0', "mcp.x.timeout: expected a number from 0.1 to 86400, got 0"),
        ('[mcp.x]\ncommand = "a"\ncomand = "b"', "mcp.x.comand: unknown key (did you mean mcp.x.command?)"),
        ('[mcp.x]\nurl = "https://a.example"\ntoken = "s3cret"', "mcp.x.token: credentials do not belong"),
        (
            '[mcp.x]\ncommand = "a"\noauth.callback_port = 70000',
            "mcp.x.oauth.callback_port: expected an integer",
        ),
        ('[mcp]\nx = "npx"', "mcp.x: expected a table, got 'npx'"),
    ],
)
def test_an_error_in_the_users_file_names_file_key_and_line(here, text, message):
    here.user(text)
    with pytest.raises(ConfigError) as failed:
        here.load()
    assert failed.value.message.startswith(f"config.toml: {message}")
    assert "line " in failed.value.hint
    assert "s3cret" not in failed.value.message + failed.value.hint


def test_a_project_file_can_set_no_server(here):
    for text in ('[mcp.x]\ncommand = "a"', "[mcp.x]\nenabled = false", '[mcp.x.env]\nPATH = "."'):
        here.project(text)
        with pytest.raises(ConfigError, match="not allowed in a project file: it names programs to run"):
            here.load(trusted=True)


def test_the_configuration_is_shown_without_secrets(here):
    here.user(
        '[mcp.x]\nurl = "https://a.example/mcp?key=s3cret"\nheaders.Authorization = "Bearer s3cret"\n'
        'headers.X = "${TOKEN}"\n[mcp.y]\ncommand = "a"\nenv.TOKEN = "s3cret"'
    )
    config = here.load()
    shown = {item.key: item.value for item in config.items()}
    assert "s3cret" not in repr(shown)
    assert shown["mcp.x.url"] == "https://a.example/mcp?***"
    assert shown["mcp.x.headers.X"] == "${TOKEN}"
    assert config.value("mcp.y.env.TOKEN") == "s3cret"
    assert Config().displayed(parse("mcp.y.env.TOKEN"), "s3cret") == "***"
