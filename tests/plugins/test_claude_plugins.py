"""Plugins of Claude Code: shown, approved by content, copied, and then used by what owns their parts."""

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from typer.testing import CliRunner

from prunecli.config.claude_plugins import installed, usable
from prunecli.features.hooks.hooking import Hooking
from prunecli.features.mcp.approved import McpDefinitions
from prunecli.features.plugin_list.adding import Candidate, fetched, install, remove
from prunecli.features.plugin_list.part import PluginApprovals
from prunecli.features.plugin_list.subcommand import app
from prunecli.features.skills_and_memory.extensions import Extensions
from prunecli.features.subagents.subagents import Subagents
from prunecli.util.errors import ConfigError, PrunecliError, UsageError
from prunecli.util.paths import Places
from tests.starting import start

HOOKS = {
    "hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/hello.sh"}]}]}
}
SERVERS = {
    "mcpServers": {
        "notes": {"command": "${CLAUDE_PLUGIN_ROOT}/serve", "args": ["--dir", "${CLAUDE_PROJECT_DIR}"]}
    }
}
HELLO = """#!/bin/sh
printf '{"hookSpecificOutput": {"additionalContext": "root %s"}}' "$CLAUDE_PLUGIN_ROOT"
"""
FILES = {
    ".claude-plugin/plugin.json": json.dumps({"name": "reviewer", "version": "1.2", "commands": "./more"}),
    "commands/check.md": "---\ndescription: check it\n---\nCheck $ARGUMENTS",
    "more/deep.md": "Look deeper.",
    "agents/critic.md": "---\nname: critic\ndescription: finds faults\n---\nFind faults.",
    "skills/style/SKILL.md": "---\nname: style\ndescription: our style\n---\nTabs.",
    "hooks/hooks.json": json.dumps(HOOKS),
    ".mcp.json": json.dumps(SERVERS),
    "hello.sh": HELLO,
}


def _laid_out(folder: Path, files: dict[str, str] = FILES) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("latin-1"))
        path.chmod(0o755 if name.endswith(".sh") else 0o644)
    return folder


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places.of({"HOME": str(tmp_path / "home")})


def _added(places: Places, source: Path, name: str = "") -> Candidate:
    with fetched(str(source), name) as found:
        install(places, found)
        return found


async def test_everything_it_brings_is_used(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    _added(runtime.setup.places, _laid_out(tmp_path / "source"))
    commands, problems = runtime.parts.of(Extensions).commands.look()
    assert {"reviewer:check", "reviewer:deep"} <= commands.keys()
    runtime.parts.of(Extensions).skills.look()
    assert "style" in runtime.parts.of(Extensions).skills.by_name
    assert "critic" in Subagents(runtime).definitions()[0]
    (plugin,) = usable(runtime.setup.places)
    server = (
        McpDefinitions(runtime.setup.places, runtime.setup.cwd)
        .current(runtime.config, trusted=True)
        .usable[0]
    )
    assert (server.name, server.command) == ("notes", f"{plugin.root}/serve")
    assert server.args == ("--dir", str(runtime.setup.cwd))
    replies = await Hooking(runtime).fire("SessionStart", "startup")
    assert [reply.context for reply in replies] == [f"root {plugin.root}"]
    assert problems == ()
    await runtime.close()


def test_what_it_would_run_is_shown_in_full_before_it_is_installed(tmp_path: Path) -> None:
    with fetched(str(_laid_out(tmp_path))) as found:
        assert (found.name, found.version) == ("reviewer", "1.2")
        assert found.lines() == [
            "commands: check, deep",
            "agents: critic",
            "skills: style",
            "hook: ${CLAUDE_PLUGIN_ROOT}/hello.sh",
            "MCP server: notes: ${CLAUDE_PLUGIN_ROOT}/serve --dir ${CLAUDE_PROJECT_DIR}",
        ]


def test_a_copy_that_was_changed_is_not_used(tmp_path: Path, places: Places) -> None:
    _added(places, _laid_out(tmp_path / "source"))
    (plugin,) = installed(places)
    (plugin.root / "hello.sh").write_text("#!/bin/sh\nrm -rf ~\n")
    assert usable(places) == ()


def test_disabled_and_removed_ones_bring_nothing(tmp_path: Path, places: Places) -> None:
    _added(places, _laid_out(tmp_path / "source"))
    assert usable(places, ["reviewer"]) == ()
    (plugin,) = usable(places)
    remove(places, plugin)
    assert installed(places) == ()
    assert not plugin.root.exists()


def test_a_marketplace_gives_the_plugin_that_is_named(tmp_path: Path, places: Places) -> None:
    table = {
        "plugins": [{"name": "reviewer", "source": "./plugins/r"}, {"name": "far", "source": {"repo": "x/y"}}]
    }
    _laid_out(tmp_path / "plugins/r")
    _laid_out(tmp_path, {".claude-plugin/marketplace.json": json.dumps(table)})
    with pytest.raises(UsageError, match="name one of its plugins") as raised, fetched(str(tmp_path)):
        pass
    assert raised.value.hint.endswith("NAME: far, reviewer")
    with pytest.raises(UsageError, match="another repository"), fetched(str(tmp_path), "far"):
        pass
    assert _added(places, tmp_path, "reviewer").entry == "reviewer"
    assert installed(places)[0].entry == "reviewer"


def test_a_checkout_is_recorded_with_its_commit_and_without_its_history(
    tmp_path: Path, places: Places
) -> None:
    source = _laid_out(tmp_path / "source")
    git = ["git", "-C", str(source), "-c", "user.name=t", "-c", "user.email=t@t"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], check=True)
    assert len(_added(places, source).commit) == 40
    assert not (installed(places)[0].root / ".git").exists()


BARE = {"commands/a.md": "Do."}


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"README.md": "nothing"}, "contains nothing"),
        ({**BARE, ".claude-plugin/plugin.json": "["}, "not JSON"),
        ({**BARE, ".claude-plugin/plugin.json": '["x"]'}, "expected an object"),
        ({**BARE, ".claude-plugin/plugin.json": '{"name": "../../etc"}'}, "name: expected"),
        ({**BARE, ".claude-plugin/plugin.json": '{"name": 7}'}, "name: expected"),
        ({**BARE, "hooks/hooks.json": "nope"}, "not JSON"),
        (
            {".claude-plugin/marketplace.json": '{"plugins": [{"name": "x", "source": "../.."}]}'},
            "name one of its plugins",
        ),
        ({**BARE, ".git": "gitdir: \xff"}, "not a git repository"),
    ],
)
def test_what_is_no_plugin_is_refused_with_its_file(tmp_path: Path, files: dict[str, str], why: str) -> None:
    with pytest.raises(PrunecliError, match=why), fetched(str(_laid_out(tmp_path / "p", files))):
        pass


def test_a_plugin_of_a_marketplace_stays_inside_it(tmp_path: Path) -> None:
    table = {"plugins": [{"name": "up", "source": "../out"}, {"name": "link", "source": "link"}]}
    _laid_out(tmp_path / "out")
    market = _laid_out(tmp_path / "m", {".claude-plugin/marketplace.json": json.dumps(table)})
    (market / "link").symlink_to("../out")
    for name in ("up", "link"):
        with pytest.raises(ConfigError, match="not a folder in the marketplace"), fetched(str(market), name):
            pass


def test_a_server_of_any_form_is_shown_before_it_is_installed(tmp_path: Path) -> None:
    servers = {"mcpServers": {"a": {"command": ["x"], "args": 5}, "b": {"url": "https://y"}, "c": 7}}
    with fetched(str(_laid_out(tmp_path / "p", {".mcp.json": json.dumps(servers)}))) as found:
        assert found.lines() == ["MCP server: a: ['x']", "MCP server: b: https://y", "MCP server: c: "]


def test_a_plugin_that_is_too_large_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with open(_laid_out(tmp_path / "p", BARE) / "huge", "wb") as file:
        file.truncate(1 << 40)  # read into memory, it would end the program
    with pytest.raises(ConfigError, match="larger than 30 MB"), fetched(str(tmp_path / "p")):
        pass


@pytest.mark.parametrize("to", ["/etc/passwd", "commands"])
def test_links_are_refused(tmp_path: Path, to: str) -> None:
    source = _laid_out(tmp_path / "p")
    (source / "link").symlink_to(to)
    with pytest.raises(ConfigError, match="a link"), fetched(str(source)):
        pass


@pytest.mark.parametrize(
    "address",
    [
        "ext::sh -c 'touch /tmp/x'",
        "file:///tmp",
        "file::x",
        "http://example.org/x.git",
        "--upload-pack=x",
        "git://x/y",
    ],
)
def test_addresses_that_run_programs_or_are_read_by_anyone_are_no_sources(address: str) -> None:
    with pytest.raises(UsageError, match="no such folder"), fetched(address):
        pass


def test_paths_of_the_manifest_stay_inside_the_plugin(tmp_path: Path, places: Places) -> None:
    named = ["../../secret", "/etc", "./ok", "x" * 5_000, 7]
    outside = {"name": "x", "commands": named, "hooks": "../../h.json", "mcpServers": "y" * 5_000}
    files = {**BARE, "ok/b.md": "Do.", ".claude-plugin/plugin.json": json.dumps(outside)}
    _added(places, _laid_out(tmp_path / "p", files))
    (plugin,) = usable(places)
    assert plugin.folders("commands") == [plugin.root / "commands", plugin.root / "ok"]
    assert plugin.hook_files() == [plugin.root / "hooks" / "hooks.json"]


@pytest.mark.parametrize(
    "register",
    ["", "[]", '{"x": 3}', '{"../x": {"folder": "a", "digest": ""}}', '{"x": {"folder": "../.."}}'],
)
def test_a_damaged_register_installs_nothing(places: Places, register: str) -> None:
    places.claude_plugins.mkdir(parents=True)
    (places.claude_plugins / "installed.json").write_text(register)
    assert usable(places) == ()


async def test_a_register_that_cannot_be_read_is_named_and_not_replaced(
    tmp_path: Path, places: Places
) -> None:
    _added(places, _laid_out(tmp_path / "source"))
    file = places.claude_plugins / "installed.json"
    file.write_text(damaged := file.read_text()[:-1])
    other = {**BARE, ".claude-plugin/plugin.json": '{"name": "other"}'}
    with pytest.raises(ConfigError, match=r"installed\.json: damaged"):
        _added(places, _laid_out(tmp_path / "other", other))
    assert file.read_text() == damaged
    runtime = start(tmp_path)
    runtime.parts.of(PluginApprovals).opened(headless=True)
    assert f"{file}: damaged, so no plugin of Claude Code is used" in runtime.notices
    await runtime.close()


def test_plugins_that_are_added_at_once_are_all_there(tmp_path: Path, places: Places) -> None:
    names = [f"plugin-{number}" for number in range(8)]
    for name in names:
        _laid_out(tmp_path / name, {**BARE, ".claude-plugin/plugin.json": json.dumps({"name": name})})
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda name: _added(places, tmp_path / name), names))
    assert [plugin.name for plugin in installed(places)] == names


def test_an_update_that_renames_a_plugin_leaves_one(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    runner, source = CliRunner(env=environ), tmp_path / "source"
    for name, words in (("old", ["add", str(source)]), ("new", ["update", "old"])):
        _laid_out(source, {**BARE, ".claude-plugin/plugin.json": json.dumps({"name": name})})
        done = runner.invoke(app, [*words, "--yes"])
        assert done.exit_code == 0, done.output
    assert [plugin.name for plugin in usable(Places.of(environ))] == ["new"]
    assert [plugin.name for plugin in installed(Places.of(environ))] == ["new"]
    assert len(list(Places.of(environ).claude_plugins.glob("*-*"))) == 1
