"""Plugins are found, installed and switched off; one that is broken is named and off, and everything goes on."""

import json
import os
import sys
from pathlib import Path

import pytest

from prunecli.config.plugins import approve, examined, waiting
from prunecli.config.sources import load
from prunecli.plugins.discovery import Found, entries, of_user
from prunecli.plugins.installing import install
from prunecli.util.errors import ConfigError
from prunecli.util.paths import Places
from tests.plugins.written import OPTIONS, TOOL, began, configure, plugin, write
from tests.starting import start


def places_of(folder: Path) -> Places:
    return Places.of({"HOME": str(folder / "home")})


def test_a_start_without_plugins_has_the_features_and_says_nothing(tmp_path: Path) -> None:
    config = start(tmp_path).config
    assert all(plugin.is_ours and not plugin.off for plugin in config.installed.plugins)
    assert config.notices == ()


@pytest.mark.parametrize(
    ("body", "kind", "name"),
    [
        ("app.tool(Shout())", "tool", "shout"),
        ("app.tool(Shout)", "tool", "shout"),
        ('app.command("hello", lambda now, words: words)', "command", "hello"),
        ('app.options("hello", Options)', "options", "hello"),
        ('app.strategy("old", lambda view, options: None)', "strategy", "old"),
        ('app.on("prompt", print)', "moment", "mine-1"),
        ("app.notices(print)", "notices", "mine-1"),
        ("app.status(print)", "status", "mine-1"),
        ("app.check(print)", "check", "mine-1"),
        ('app.provider("own", "own_module")', "provider", "own"),
        ('app.importer("own", print, print)', "importer", "own"),
        ('app.subcommand("own", "own_module:app", "Does it.")', "subcommand", "own"),
    ],
)
def test_a_file_of_the_user_brings_what_each_verb_files(
    tmp_path: Path, body: str, kind: str, name: str
) -> None:
    plugin(tmp_path, "mine", body, TOOL + OPTIONS)
    config = start(tmp_path).config
    assert config.installed.of(kind)[name].owner == "mine"
    assert config.notices == ()
    assert [one.source for one in config.installed.plugins if not one.is_ours] == [
        "~/.config/prunecli/plugins/mine.py"
    ]


def test_a_tool_of_the_user_is_a_file_with_a_class(tmp_path: Path) -> None:
    write(tmp_path, "loud", TOOL, "home/.config/prunecli/tools")
    runtime = start(tmp_path)
    assert "shout" in runtime.tools
    assert "shout" in runtime.config.tools.enabled


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero (mine.py, line"),
        ("raise SystemExit(3)", "SystemExit: 3 (mine.py, line"),
        ('app.command("help", print)', "the command 'help' is one of prunecli's"),
        ('app.command("mcp", print)', "the command 'mcp' is taken by mcp"),
        ('app.subcommand("login", "x:y", "")', "the subcommand 'login' is one of prunecli's"),
        ("app.tool(Shout(), 'bash')", "the tool 'bash' is one of prunecli's"),
        ("app.tool(Shout(), 'search')", "the tool 'search' is one of prunecli's"),
        ('app.tool("no_such_module:Tool", "own")', "ModuleNotFoundError: No module named 'no_such_module'"),
        ("app.tool(object())", "AttributeError: 'object' object has no attribute 'name'"),
        ("app.tool(Shout(), 'loud')", "the tool 'loud' is named 'shout'"),
        ('app.options("ui", Options)', "the options 'ui' is one of prunecli's"),
        ('app.options("mcp", Options)', "the options 'mcp' is taken by mcp"),
        ('app.options("hello", 3)', "the options 'hello' are not a class of options"),
        ('app.strategy("auto", print)', "the strategy 'auto' is one of prunecli's"),
        ('app.strategy("old", 3)', "the strategy 'old' has no function propose"),
        ('app.provider("own", object())', "the provider 'own' has no KEYS"),
        ('app.command("no\\nname", print)', "needs a name of letters, digits, - and _"),
        ('app.on("breakfast", print)', "no moment named 'breakfast'; choose from session, prompt,"),
        ('app.part("own", print)', "app.part is for features of prunecli"),
        ('app.widget("own", print, print)', "app.widget is for features of prunecli"),
        ("app.status(3)", "the status 'mine-2' is no function"),
    ],
)
def test_a_broken_plugin_is_named_in_one_line_and_brings_nothing(tmp_path: Path, body: str, why: str) -> None:
    plugin(tmp_path, "mine", f"app.status(print)\n    {body}", TOOL + OPTIONS)
    plugin(tmp_path, "other", 'app.command("fine", print)')
    config = start(tmp_path).config
    (line,) = config.notices
    assert line.startswith("Plugin mine: ")
    assert line.endswith(". It is off.")
    assert why in line
    assert not list(config.installed.by("mine"))
    assert "fine" in config.installed.of("command")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("def instal(app): pass", "it defines no install(app)"),
        ("def install(:", "SyntaxError"),
        ("import no_such_module", "No module named 'no_such_module'"),
    ],
)
def test_a_file_that_is_no_plugin_is_named(tmp_path: Path, text: str, why: str) -> None:
    write(tmp_path, "mine", text)
    (line,) = start(tmp_path).config.notices
    assert why in line


def test_a_plugin_that_hangs_is_off_and_what_it_brings_later_is_refused(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "slow",
        """
        from threading import Event
        go, done, refused = Event(), Event(), []

        def install(app):
            go.wait()
            try:
                app.status(print)
            except Exception as error:
                refused.append(str(error))
            done.set()
        """,
    )
    found = (Found("slow", "file", "slow.py", str(path)),)
    installed = install(found, frozenset(), frozenset(), examined, 0.05)
    assert installed.problems == ["Plugin slow: took longer than 0.05 s. It is off."]
    module = next(one for name, one in sys.modules.items() if name.startswith("prunecli_user_slow_"))
    module.go.set()
    module.done.wait()
    assert "came after the installation" in module.refused[0]
    assert not installed.of("status")


def test_a_name_belongs_to_the_first(tmp_path: Path) -> None:
    plugin(tmp_path, "a", 'app.command("hello", print)')
    plugin(tmp_path, "b", 'app.command("hello", print)\n    app.status(print)')
    installed = start(tmp_path).config.installed
    assert installed.problems == ["Plugin b: the command 'hello' is taken by a. It is off."]
    assert not installed.of("status")


# Switched off ------------------------------------------------------------------------------------------------


def test_a_feature_that_is_switched_off_leaves_its_options_and_no_other_trace(tmp_path: Path) -> None:
    configure(
        tmp_path,
        """
        [plugins]
        disabled = ["mcp"]
        [tools]
        enabled = ["read", "mcp"]
        [mcp.files]
        command = "files"
        """,
    )
    runtime = start(tmp_path)
    assert list(runtime.tools) == ["read"]
    assert "mcp" not in runtime.parts
    assert not {"mcp"} & {*runtime.config.installed.of("command"), *runtime.config.installed.of("part")}
    assert not [item.key for item in runtime.config.items() if item.key.startswith("mcp.")]
    assert runtime.config.notices == ()
    assert "mcp" not in start(tmp_path / "2", sets=['plugins.disabled=["mcp"]']).config.tools.enabled


def test_a_plugin_that_is_switched_off_does_not_run(tmp_path: Path) -> None:
    plugin(tmp_path, "mine", "raise SystemExit", 'raise RuntimeError("it ran")')
    configure(
        tmp_path, '[plugins]\ndisabled = ["mine"]\n[mine]\nword = "ho"\n[tools]\nenabled = ["read", "x"]'
    )
    runtime = start(tmp_path)
    assert runtime.config.notices == ()
    assert list(runtime.tools) == ["read"]
    assert [one.off for one in runtime.config.installed.plugins if not one.is_ours] == ["disabled"]


def test_an_unknown_name_to_switch_off_is_named(tmp_path: Path) -> None:
    config = start(tmp_path, sets=['plugins.disabled=["mpc"]']).config
    assert config.notices == ("plugins.disabled: there is no plugin named 'mpc'.",)


def test_sections_of_a_plugin_that_fails_are_named_and_not_used(tmp_path: Path) -> None:
    plugin(tmp_path, "mine", "1 / 0")
    configure(tmp_path, '[hello]\nword = "ho"')
    assert start(tmp_path).config.notices[1:] == (
        "config.toml: [hello] is not used; it may belong to a plugin that is off (mine).",
    )
    (tmp_path / "home/.config/prunecli/plugins/mine.py").unlink()
    with pytest.raises(ConfigError, match="hello: unknown key"):
        start(tmp_path)


def test_options_of_a_plugin_are_checked_and_shown(tmp_path: Path) -> None:
    plugin(tmp_path, "mine", 'app.options("hello", Options)', OPTIONS)
    configure(tmp_path, '[hello]\nword = "ho"')
    config = start(tmp_path).config
    assert config.section("hello").word == "ho"
    assert ("hello.word", "ho") in [(item.key, item.value) for item in config.items()]
    configure(tmp_path, "[hello]\nword = 3")
    with pytest.raises(ConfigError, match=r"hello\.word: expected a string, got 3"):
        start(tmp_path)


def test_what_is_installed_stays_when_the_configuration_is_read_again(tmp_path: Path) -> None:
    runtime, _ = began(tmp_path)
    again = load(
        places_of(tmp_path), tmp_path / "work", {}, sets=['plugins.disabled=["mcp"]'],
        installed=runtime.config.installed,
    )  # fmt: skip
    assert again.installed is runtime.config.installed


# Packages ----------------------------------------------------------------------------------------------------


def package(site: Path, name: str, text: str) -> None:
    folder = site / f"{name}-1.2.dist-info"
    folder.mkdir(parents=True)
    (folder / "entry_points.txt").write_text(text)


ENTRIES = "[console_scripts]\nx = y:z\n[prunecli.plugins]\nmine = mine_module:install\n[other]\na = b\n"


def test_entry_points_are_read_again_only_if_the_folder_changed(tmp_path: Path) -> None:
    site, places = tmp_path / "site", places_of(tmp_path)
    places.data.mkdir(parents=True)
    package(site, "mine", ENTRIES)
    expected = [Found("mine", "package", "mine 1.2", "mine_module:install")]
    assert list(of_user(places, [str(site)])) == expected
    time = os.stat(site).st_mtime_ns
    (site / "mine-1.2.dist-info" / "entry_points.txt").write_text("")
    assert list(of_user(places, [str(site)])) == expected, "from the cache"
    package(site, "more", ENTRIES.replace("mine", "more"))
    os.utime(site, ns=(time + 1, time + 1))
    assert [one.name for one in of_user(places, [str(site)])] == ["more"]
    assert oct(places.plugins_file.stat().st_mode)[-3:] == "600"


@pytest.mark.parametrize("damage", ["", "[", "[]", '{"%s": 3}', '{"%s": [%d, [["a"]]]}'])
def test_a_damaged_cache_is_read_anew(tmp_path: Path, damage: str) -> None:
    site, places = tmp_path / "site", places_of(tmp_path)
    places.data.mkdir(parents=True)
    package(site, "mine", ENTRIES)
    time = os.stat(site).st_mtime_ns
    text = damage.replace("%s", str(site)).replace("%d", str(time))
    places.plugins_file.write_text(text)
    assert [one.name for one in of_user(places, [str(site)])] == ["mine"]
    assert json.loads(places.plugins_file.read_text())


def test_without_a_data_folder_nothing_is_written(tmp_path: Path) -> None:
    package(tmp_path / "site", "mine", ENTRIES)
    places = places_of(tmp_path)
    assert list(of_user(places, [str(tmp_path / "site"), str(tmp_path / "none"), ""]))
    assert not places.data.exists()


def test_the_working_directory_is_no_folder_of_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package(tmp_path, "mine", ENTRIES)
    monkeypatch.chdir(tmp_path)
    assert not list(of_user(places_of(tmp_path / "other"), ["", ".", str(tmp_path)]))


def test_the_entry_points_of_other_groups_and_extras_are_left() -> None:
    text = "[prunecli.plugins]\n# a = b\nmine = m:f [extra]\n  two=m2\n[other]\nc = d\n"
    assert list(entries(text)) == [("mine", "m:f"), ("two", "m2")]


# Projects ----------------------------------------------------------------------------------------------------

WITHIN = "work/.prunecli/plugins"
STATUS = "def install(app):\n    app.status(lambda now: 'hi')\n"


def test_a_plugin_of_a_project_runs_once_its_exact_content_is_approved(tmp_path: Path) -> None:
    path, places, work = write(tmp_path, "mine", STATUS, WITHIN), places_of(tmp_path), tmp_path / "work"
    assert not start(tmp_path).config.installed.of("status")
    (found,) = waiting(places, work, ())
    assert found.source == ".prunecli/plugins/mine.py"
    approve(places, found)
    assert start(tmp_path).config.installed.of("status")
    assert not start(tmp_path, trusted=False).config.installed.plugins[-1].source.startswith(".prunecli")
    path.write_text(STATUS + "# changed\n")
    assert not start(tmp_path).config.installed.of("status")
    assert [one.source for one in waiting(places, work, ())] == [found.source]
    assert not waiting(places, work, ("mine",))


def test_a_link_out_of_the_project_is_no_plugin(tmp_path: Path) -> None:
    outside = write(tmp_path, "outside", STATUS, "elsewhere")
    folder = tmp_path / WITHIN
    folder.mkdir(parents=True)
    (folder / "mine.py").symlink_to(outside)
    assert not waiting(places_of(tmp_path), tmp_path / "work", ())
    assert all(one.is_ours for one in start(tmp_path).config.installed.plugins)
