"""A project's file: not opened before its directory is trusted, and never able to loosen anything."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import pytest

from prunecli.config.declared import Key, declared, is_mapping, is_table
from prunecli.config.options import Model
from prunecli.config.project_config import LOOSER_THAN_DEFAULT, STRICTEST_FIRST, project_files, refusal
from prunecli.config.schema import Schema
from prunecli.config.strategies import shipped_strategies
from prunecli.util.by_project import Allowed
from prunecli.util.errors import ConfigError
from tests.configuring import Desk, desk

RISKY = re.compile(
    r"url|endpoint|provider|command|program|function|embedder|writable|price|cost|headers|env|keys"
)


@dataclass(frozen=True)
class Undeclared:
    endpoint: Annotated[str, "Where it goes."] = ""


@pytest.fixture
def here(tmp_path) -> Desk:
    return desk(tmp_path)


def test_an_untrusted_project_has_no_effect_and_is_not_even_opened(here):
    path = here.project("this is no TOML at all")
    os.rename(path, path.with_name("moved"))
    os.mkfifo(path)  # opening this for reading would wait, or fail
    config = here.load()
    assert config.model.name == "sonnet"
    assert len(config.notices) == 1
    assert ".prunecli/config.toml was not read: this directory is not trusted" in config.notices[0]


def test_a_trusted_project_sets_ordinary_keys(here):
    here.project('[ui]\ntheme = "x"\n[pruning]\nstrategy = "pi"\n[pruning.pi]\nprune_protect = 1\n')
    config = here.load(trusted=True)
    assert (config.ui.theme, config.strategy_options("pi").prune_protect) == ("x", 1)
    assert config.notices == ()


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("[model]\nbase_url = 'https://evil.example'", "model.base_url"),
        ("[permissions]\nallow = ['bash']", "permissions.allow"),
        ("[permissions]\nallow = []", "permissions.allow"),
        ("[otel]\nenabled = true", "otel.enabled"),
        ("[otel]\ncontent = true", "otel.content"),
        ("[model]\nallow_http = true", "model.allow_http"),
        ('[model]\ntransport = "sdk"', "model.transport"),
        ("[permissions]\nmode = 'auto'", "permissions.mode"),
        ("[permissions]\nmode = 'edits'", "permissions.mode"),
        ("[sandbox]\nmode = 'off'", "sandbox.mode"),
        ("[sandbox]\nnetwork = true", "sandbox.network"),
        ("[sandbox]\nwritable = ['/']", "sandbox.writable"),
        ("[sandbox]\nreadable = ['/']", "sandbox.readable"),
        ("[sandbox]\nmax_processes = 0", "sandbox.max_processes"),
        ("[sandbox]\nmax_file_mb = 0", "sandbox.max_file_mb"),
        ("[ui.keys]\nsubmit = 'ctrl+s'", "ui.keys.submit"),
        ("[models.sonnet]\nprices.input = 0", "models.sonnet.prices.input"),
        ("[pruning.importance]\nfunction = 'evil:run'", "pruning.importance.function"),
        ("[model]\nname = 'opus'", "model.name"),
        ("[model]\nprovider = 'demo'", "model.provider"),
        ("[model]\neffort = 'max'", "model.effort"),
        ("[models.x]\ncontext_window = 9", "models.x.context_window"),
        ("[tools]\nsnapshots = false", "tools.snapshots"),
        ("[tools.web]\nprivate = ['localhost']", "tools.web.private"),
        ("[mcp.x]\nurl = 'https://x.example'", "mcp.x.url"),
        ("[mcp.x]\ncommand = 'x'\nenv = {A = '1'}", "mcp.x.command"),
        ("[hooks]\nStop = [{hooks = [{type = 'command', command = 'x'}]}]", "hooks.Stop"),
    ],
)
def test_a_trusted_project_can_never_loosen_anything(here, text, key):
    here.project(text)
    with pytest.raises(ConfigError) as failed:
        here.load(trusted=True)
    assert failed.value.message.startswith(f".prunecli/config.toml: {key}: not allowed in a project file")
    here.user(text)
    (here.cwd / ".prunecli/config.toml").unlink()
    here.load()


@pytest.mark.parametrize("text", ["[hooks]\nstart = 'x'", "[env]\nA = '1'", "[model]\napi_key = 'x'"])
def test_what_no_file_can_set_a_project_can_not_set_either(here, text):
    here.project(text)
    with pytest.raises(ConfigError, match=r"^\.prunecli/config\.toml: "):
        here.load(trusted=True)


def test_a_project_can_not_make_the_users_own_strategies_run(here):
    marker = here.root / "imported"
    (here.strategies.folders[1].path / "mine.py").write_text(f"open({str(marker)!r}, 'w').close()\n")
    for text in (
        "[pruning]\nstrategy = 'mine'",
        "[pruning.mine]\nn = 1",
        "[pruning]\nstrategy = ['pi', 'mine']",
    ):
        here.project(text)
        with pytest.raises(ConfigError, match=r"\.prunecli/config\.toml: pruning\.(strategy|mine)"):
            here.load(trusted=True)
        assert not marker.exists()
    here.user("[pruning]\nstrategy = 'mine'")
    here.project("")
    assert here.load(trusted=True).pruning.strategy == "mine"


def test_a_project_makes_things_stricter_but_not_looser_than_the_user_has_them(here):
    here.project("[permissions]\nmode = 'ask'\n[sandbox]\nmode = 'auto'\nnetwork = false")
    here.user("[permissions]\nmode = 'auto'\n[sandbox]\nmode = 'off'\nnetwork = true")
    config = here.load(trusted=True)
    assert (config.permissions.mode, config.sandbox.mode, config.sandbox.network) == ("ask", "auto", False)
    here.user("[permissions]\nmode = 'plan'\n[sandbox]\nmode = 'require'")
    config = here.load(trusted=True)
    assert (config.permissions.mode, config.sandbox.mode) == ("plan", "require")
    assert config.origin("permissions.mode") == "~/.config/prunecli/config.toml:2"
    assert here.load(trusted=True, flags={"--permission-mode": "auto"}).permissions.mode == "auto"


@pytest.mark.parametrize(
    ("user", "project", "result"),
    [
        ("true", "['a.b']", ("a.b",)),
        ("true", "false", False),
        ("['a.b', 'c.d']", "['a.b']", ("a.b",)),
        ("['a.b']", "['c.d']", ("a.b",)),
        ("['a.b']", "false", False),
        ("false", "['a.b']", False),
    ],
)
def test_a_project_can_only_shorten_the_list_of_hosts(here, user, project, result):
    here.user(f"[sandbox]\nnetwork = {user}")
    here.project(f"[sandbox]\nnetwork = {project}")
    assert here.load(trusted=True).sandbox.network == result


@pytest.mark.parametrize("value", ['["*.com"]', '["127.0.0.1"]', '["http://a.b"]', '"pypi.org"', "1", "[1]"])
def test_a_list_of_hosts_that_is_none_is_an_error(here, value):
    with pytest.raises(ConfigError, match="network"):
        here.load(f"sandbox.network={value}")


@pytest.mark.parametrize("path", ["cache", "../x", "/a/../b", "~x"])
def test_a_writable_folder_is_absolute_or_at_home(here, path):
    with pytest.raises(ConfigError, match="writable"):
        here.load(f'sandbox.writable=["{path}"]')


def test_permission_rules_add_up_so_that_no_file_takes_a_deny_rule_away(here):
    here.user("[permissions]\ndeny = ['a', 'b']\nallow = ['r']")
    here.project("[permissions]\ndeny = ['b', 'c']\nask = []")
    config = here.load("permissions.deny=[]", trusted=True)
    assert config.permissions.deny == ("a", "b", "c")
    assert config.permissions.allow == ("r",)
    assert config.origin("permissions.deny") == (
        f"~/.config/prunecli/config.toml:2, {here.cwd}/.prunecli/config.toml:2, flag --set"
    )


def test_files_are_looked_for_up_to_the_repository_and_no_further(here):
    root = here.cwd.parent
    deep = here.cwd / "a" / "b"
    deep.mkdir(parents=True)
    here.project("broken", here.root)
    names = [path.parent.parent for path in project_files(deep)]
    assert names == [root, here.cwd, here.cwd / "a", deep]
    (root / ".git").rmdir()
    assert [path.parent.parent for path in project_files(deep)] == [deep]


def test_a_worktree_whose_git_is_a_file_is_a_repository_of_its_own(here):
    inner = here.cwd / "worktree"
    inner.mkdir()
    (inner / ".git").write_text("gitdir: /somewhere/trusted\n")
    assert [path.parent.parent for path in project_files(inner)] == [inner]


def test_a_linked_directory_is_the_directory_it_leads_to(here):
    link = here.root / "link"
    link.symlink_to(here.cwd)
    assert project_files(link) == project_files(here.cwd)


def test_a_link_that_leads_to_itself_is_named_and_no_traceback(here):
    file = here.cwd / ".prunecli/config.toml"
    file.parent.mkdir()
    file.symlink_to(file.name)
    assert project_files(here.cwd)[-1] == file
    with pytest.raises(ConfigError, match="symbolic links"):
        here.load(trusted=True)


def test_a_wrong_file_of_a_parent_is_named_by_its_way_there(here):
    here.project("[ui]\ntheme = 1", here.cwd.parent)
    with pytest.raises(ConfigError, match=r"^\.\./\.prunecli/config\.toml: ui\.theme: expected a string"):
        here.load(trusted=True)


def options(schema: Schema, owner: object = None, above: Key = ()) -> Iterator[Key]:
    """Each key that a file can set; `x` stands for a free name."""
    for name in ("x",) if is_mapping(owner) else schema.names(owner):
        item, key = schema.member(owner, name), (*above, name)
        assert item is not None
        if is_table(item.type) or is_mapping(item.type):
            yield from options(schema, item.type, key)
        else:
            yield key


def test_each_option_declares_whether_a_project_may_set_it():
    schema = Schema(shipped_strategies())
    keys = list(options(schema))
    assert len(keys) > 100
    assert [key for key in keys if schema.by_project(key) is None] == []
    allowed = [key for key in keys if isinstance(schema.by_project(key), Allowed)]
    assert [".".join(key) for key in allowed if RISKY.search(key[-1])] == []


def test_what_a_project_may_set_is_written_down_here():
    """Before you add a line: may somebody else decide this about the user's machine, money and confirmations?"""
    schema = Schema(shipped_strategies())
    allowed = {".".join(key) for key in options(schema) if isinstance(schema.by_project(key), Allowed)}
    assert {key for key in allowed if not key.startswith(("pruning.", "compaction."))} == {
        *("tools.enabled", "tools.bash_timeout", "permissions.mode", "permissions.ask", "permissions.deny"),
        *("sandbox.mode", "sandbox.network", "ui.theme", "ui.mouse", "ui.show_thinking"),
        "output_style.name",  # a trusted project gives instructions anyway
    }


def test_an_option_that_declares_nothing_is_refused(here):
    assert refusal(("ui", "new"), 1, None) == "not allowed in a project file: this option is only the user's"
    assert declared(Undeclared)["endpoint"].by_project is None


def test_a_project_can_only_take_tools_away(here):
    here.user("[tools]\nenabled = ['read', 'grep', 'bash']")
    for given, result in (
        ("['read_file']", ("read_file",)),
        ("['read', 'web_fetch']", ("read", "grep", "bash")),
    ):
        here.project(f"[tools]\nenabled = {given}")
        assert here.load(trusted=True).tools.enabled == result


def test_every_rule_names_a_key_that_exists(here):
    config = here.load()
    for key in (*STRICTEST_FIRST, *LOOSER_THAN_DEFAULT):
        assert config.origin(".".join(key)) == "default"
    for key, loose in LOOSER_THAN_DEFAULT.items():
        default = STRICTEST_FIRST[key].index(config.value(".".join(key)))
        assert loose == STRICTEST_FIRST[key][default + 1 :]


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8080",
        "http://127.9.9.9",
        "http://[::1]:1",
        "http://localhost/x",
        "https://x.example",
    ],
)
def test_an_address_on_this_machine_needs_no_tls(url: str) -> None:
    assert Model(base_url=url).base_url == url


@pytest.mark.parametrize(
    "url",
    [
        *("http://api.example.com", "http://192.168.1.5:8080", "http://10.0.0.1", "http://localhost.example"),
        *("http://0.0.0.0", "http://127.0.0.1.example", "http://[fe80::1]", "http://2130706433"),
    ],
)
def test_plain_http_to_another_machine_is_refused_unless_it_is_allowed(url: str) -> None:
    with pytest.raises(ValueError, match=r"unencrypted .* model\.allow_http = true"):
        Model(base_url=url)
    assert Model(base_url=url, allow_http=True).base_url == url
