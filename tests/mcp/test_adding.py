"""`prunecli mcp`: Claude Code's forms, the two files that they write, and what they refuse."""

import json
import os
import stat
import tomllib
from pathlib import Path

import pytest

from prunecli.config.sources import load
from prunecli.features.mcp.approved import McpDefinitions
from prunecli.features.mcp.definition import Definition, OAuth
from prunecli.features.mcp.login import login_of
from prunecli.safety.trust import TrustStore
from prunecli.util.paths import Places
from tests import preloaded


class Shell:
    """A user's home, a repository, and prunecli in it."""

    def __init__(self, folder: Path) -> None:
        self.work = self.cwd = folder / "work"
        (self.work / ".git").mkdir(parents=True)
        self.environ = {"HOME": str(folder / "home"), "PATH": os.environ["PATH"], "PRUNECLI_SANDBOX": "off"}
        self.places = Places.of(self.environ)
        self.config, self.settings = self.places.config_file, self.places.settings_file
        self.project = self.work / ".mcp.json"

    def run(self, *words: str, code: int = 0, before: tuple[str, ...] = ()) -> str:
        done = preloaded.run([*before, "mcp", *words], cwd=self.cwd, env=self.environ)
        assert done.returncode == code, (done.stdout, done.stderr)
        return done.stdout + done.stderr

    def servers(self) -> list[Definition]:
        """The servers as a session reads them, once the directory is trusted."""
        config = load(self.places, self.work, self.environ, trusted=True)
        found = McpDefinitions(self.places, self.work).current(config, trusted=True)
        assert found.problems == ()
        return [*found.usable, *found.waiting]


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


FORMS = [
    (["a", "--", "npx", "-y", "s"], {"command": "npx", "args": ("-y", "s")}),
    (["a", "-e", "K=V=1", "--env", "L=", "--", "run"], {"command": "run", "env": {"K": "V=1", "L": ""}}),
    (["-t", "stdio", "a", "run", "x"], {"command": "run", "args": ("x",)}),
    (
        ["--transport", "http", "a", "https://a.example/m"],
        {"transport": "http", "url": "https://a.example/m"},
    ),
    (["a", "https://a.example"], {"transport": "http", "url": "https://a.example"}),
    (
        ["-t", "sse", "a", "https://a.example", "-H", "X-Key: ${K}", "--header", "B:c:d"],
        {"transport": "sse", "url": "https://a.example", "headers": {"X-Key": "${K}", "B": "c:d"}},
    ),
]
LOGIN = {"clientId": "me", "callbackPort": 8080, "scopes": "read write"}
JSON = [
    ({"command": "x", "args": ["é"], "cwd": "/tmp"}, {"command": "x", "args": ("é",), "cwd": "/tmp"}),
    ({"url": "https://a.example", "timeout": 500, "oauth": False}, {"timeout": 0.5, "oauth": False}),
    ({"url": "https://a.example", "oauth": LOGIN}, {"oauth": OAuth("me", 8080, ("read", "write"))}),
    (
        {"type": "sse", "url": "https://a.example", "headers": {"A": "b"}},
        {"transport": "sse", "headers": {"A": "b"}},
    ),
]


def facts(one: Definition, names: dict[str, object]) -> dict[str, object]:
    found = {name: getattr(one, name) for name in names}
    if "env" in found:  # `.mcp.json` adds the project's folder
        found["env"] = {key: value for key, value in one.env.items() if key != "CLAUDE_PROJECT_DIR"}
    return found


@pytest.mark.parametrize("scope", ["user", "project"])
@pytest.mark.parametrize(("words", "expected"), FORMS)
def test_what_is_added_is_read_the_same_and_is_gone_once_removed(shell, scope, words, expected):
    shell.run("add", "--scope", scope, *words)
    assert [(one.name, facts(one, expected)) for one in shell.servers()] == [("a", expected)]
    assert (shell.settings.exists(), shell.project.exists()) == (scope == "user", scope == "project")
    shell.run("remove", "a")
    assert shell.servers() == []
    assert "no MCP servers" in shell.run("list")


@pytest.mark.parametrize("scope", ["user", "project"])
@pytest.mark.parametrize(("entry", "expected"), JSON)
def test_a_server_is_added_from_the_json_of_its_documentation(shell, scope, entry, expected):
    said = shell.run("add-json", "a", json.dumps(entry | {"disabled": True}), "-s", scope)
    assert [facts(one, expected) for one in shell.servers()] == [expected]
    assert "not used here: disabled" in said


def test_the_user_s_own_file_is_never_changed_and_other_settings_stay(shell):
    mine = '# mine\n[mcp.old]\ncommand = "x"\n'
    shell.config.parent.mkdir(parents=True)
    shell.config.write_text(mine)
    shell.settings.write_text('[model]\nname = "opus"\n')
    shell.run("add", "new", "--", "run")
    assert tomllib.loads(shell.settings.read_text()) == {
        "model": {"name": "opus"},
        "mcp": {"new": {"command": "run"}},
    }
    assert "config.toml:3 has a server of this name" in shell.run("add", "old", "--", "y", code=2)
    said = shell.run("remove", "old", code=2)
    assert "old is in ~/.config/prunecli/config.toml:3" in said
    assert "never changes config.toml" in said
    assert shell.config.read_text() == mine


def test_the_project_s_file_keeps_what_else_it_has_and_its_mode(shell):
    before = {"more": "\ud800", "mcpServers": {"b": {"command": "é", "description": "x"}}}
    shell.project.write_text(json.dumps(before))
    shell.project.chmod(0o664)
    shell.run("add", "-s", "project", "a", "--", "run")
    after = json.loads(shell.project.read_text())
    assert after["mcpServers"].pop("a") == {"type": "stdio", "command": "run", "args": []}
    assert after == before
    assert stat.S_IMODE(shell.project.stat().st_mode) == 0o664
    assert "é" in shell.project.read_text()


def test_the_file_of_a_project_is_the_nearest_one_or_that_of_the_repository(shell):
    shell.cwd = shell.work / "packages" / "one"
    shell.cwd.mkdir(parents=True)
    assert "added a to ../../.mcp.json" in shell.run("add", "-s", "project", "a", "--", "run")
    (shell.cwd / ".mcp.json").write_text("{}")
    assert "added b to .mcp.json" in shell.run("add", "-s", "project", "b", "--", "run")
    assert "removed a from ../../.mcp.json" in shell.run("remove", "a")


def test_the_list_says_where_each_server_is_and_why_it_does_not_run(shell):
    shell.run("add", "mine", "--", "run", "it")
    shell.run("add", "-s", "project", "ours", "https://a.example/m?key=secret")
    assert [line.split() for line in shell.run("list").splitlines()] == [
        ["mine", "on", "run", "it", "(~/.config/prunecli/settings.toml:2)"],
        ["ours", "needs", "trust", "https://a.example/m?***", "(.mcp.json)"],
    ]
    said = shell.run("get", "ours", before=("--trust",))
    assert "ours: needs approval: start prunecli here, from .mcp.json" in said


def test_a_trusted_directory_stays_trusted_unless_others_changed_it_as_well(shell):
    trust = TrustStore(shell.places.trust_store)
    trust.trust(shell.work)
    assert "a: needs approval" in shell.run("add", "-s", "project", "a", "--", "run")
    shell.run("add", "-s", "project", "b", "--", "run")
    shell.run("remove", "b")
    assert trust.may_act(shell.work)
    (shell.work / "AGENTS.md").write_text("theirs")
    assert "c: needs trust" in shell.run("add", "-s", "project", "c", "--", "run")


def test_a_secret_that_is_written_out_is_pointed_at_but_never_shown(shell):
    said = shell.run("add", "a", "-e", "API_KEY=sk-123", "-e", "MODE=fast", "--", "run")
    assert "Written out in the file: API_KEY." in said
    assert "'${VARIABLE}'" in said
    assert "sk-123" not in said + shell.run("get", "a") + shell.run("list")
    assert stat.S_IMODE(shell.settings.stat().st_mode) == 0o600
    said = shell.run("add", "b", "-e", "API_KEY=${OTHER_KEY}", "--", "run")
    assert "Written out" not in said
    assert "variable OTHER_KEY is not set" in said


def test_a_removed_server_leaves_neither_its_login_nor_its_approval(shell):
    shell.run("add", "-s", "project", "a", "https://a.example", "-H", "X: ${UNSET}")
    login = login_of(shell.places, shell.servers()[0])
    login.save({"tokens": {}})
    definitions = McpDefinitions(shell.places, shell.work)
    definitions.approve(shell.servers()[0])
    shell.run("remove", "a")
    assert login.load() == {}
    assert not definitions.revoke("a")


REFUSED = [
    (["add", "a/b", "--", "x"], "settings.toml: invalid server name: 'a/b'"),
    (["add", "a", "http://far.example"], "settings.toml: a.url: http:// to another machine"),
    (["add", "-t", "ws", "a", "wss://a.example"], "settings.toml: a.type: expected stdio, http or sse"),
    (["add", "a", "https://a.example", "more"], "expected one URL, got 2 words"),
    (["add", "a", "https://a.example", "-e", "K=V"], "--env: a server at a URL has no environment"),
    (["add", "a", "-H", "K: V", "--", "run"], "--header: a server that is run gets no headers"),
    (["add", "-e", "K", "a", "--", "run"], "--env: expected KEY=VALUE"),
    (["add", "-e", "1K=V", "a", "--", "run"], "a.env: invalid variable name: '1K'"),
    (["add", "a", "npx", "-y"], "No such option: -y"),
    (["add", "-s", "local", "a", "x"], "is not one of 'user', 'project'"),
    (["add-json", "a", "{"], "JSON: line 1: not JSON"),
    (["add-json", "a", "[]"], "JSON: expected an object"),
    (["add-json", "a", '{"command": 1}'], "a.command: expected a string"),
    (["get", "a"], "no MCP server named 'a' here"),
    (["remove", "a"], "no MCP server named 'a' here"),
    (["remove", "a", "-s", "project"], "no MCP server named 'a' of scope project"),
]


@pytest.mark.parametrize(("words", "message"), REFUSED)
def test_what_cannot_be_is_refused_and_writes_nothing(shell, words, message):
    assert message in shell.run(*words, code=2)
    assert not shell.settings.exists()
    assert not shell.project.exists()


def test_a_name_is_taken_once_in_each_file_and_removed_from_the_one_that_is_named(shell):
    for scope in ("user", "project"):
        shell.run("add", "-s", scope, "a", "--", "run")
        assert "has a server of this name" in shell.run("add", "-s", scope, "a", "--", "other", code=2)
    assert "say --scope user or --scope project" in shell.run("remove", "a", code=2)
    shell.run("remove", "a", "--scope", "project")
    assert "say --scope user" in shell.run("remove", "a", "--scope", "project", code=2)
    assert [one.command for one in shell.servers()] == ["run"]


@pytest.mark.parametrize(
    "text", ['{"mcpServers": []}', "{", "[]", '{"mcpServers": {}, "deep": ' + "[" * 100_000]
)
def test_a_damaged_file_of_a_project_is_named_and_stays_as_it_is(shell, text):
    shell.project.write_text(text)
    assert ".mcp.json: " in shell.run("add", "-s", "project", "a", "--", "run", code=2)
    assert shell.project.read_text() == text


def test_a_file_of_a_project_that_links_elsewhere_is_not_written(shell, tmp_path):
    (tmp_path / "victim").write_text("{}")
    shell.project.symlink_to(tmp_path / "victim")
    assert "outside the project" in shell.run("add", "-s", "project", "a", "--", "run", code=2)
    assert (tmp_path / "victim").read_text() == "{}"


def test_names_and_commands_of_others_cannot_steer_the_terminal(shell):
    entries = {"a": {"command": "x\x1b[31m"}, "b\x1b": {"command": "x"}}
    shell.project.write_text(json.dumps({"mcpServers": entries}))
    assert "\x1b" not in shell.run("list") + shell.run("get", "a") + shell.run("get", "c", code=2)
