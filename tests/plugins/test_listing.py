"""What is installed is listed, with what is off and why; a project's plugin is approved by its content."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from prunecli.cli.app import app
from prunecli.commands.command import Choose, Effect, Say, Table, run_line
from prunecli.features.plugin_list.listing import findings
from prunecli.features.plugin_list.part import PluginApprovals
from prunecli.runtime import Runtime
from tests.plugins.test_installing import STATUS, WITHIN
from tests.plugins.written import OPTIONS, TOOL, plugin, write
from tests.starting import start


def listed(runtime: Runtime) -> dict[str, tuple[str, ...]]:
    (table,) = run_line(runtime, "/plugins")
    assert isinstance(table, Table)
    return {row[0]: (*row[1:3], *row[4:]) for row in table.rows}


def test_what_each_brings_and_why_it_is_off_is_listed(tmp_path: Path) -> None:
    body = """app.tool(Shout)
    app.options("hello", Options)
    app.status(print)
    app.on("prompt", print)
    """
    plugin(tmp_path, "mine", body, TOOL + OPTIONS)
    plugin(tmp_path, "broken", "1 / 0")
    write(tmp_path, "waits", STATUS, WITHIN)
    runtime = start(tmp_path, sets=['plugins.disabled=["mcp"]'])
    rows = listed(runtime)
    own = "~/.config/prunecli/plugins"
    assert rows["mine"] == ("file", "on", "shout, [hello], status bar, on prompt", f"{own}/mine.py")
    kind, state, brings, source = rows["broken"]
    assert (kind, brings, source) == ("file", "", f"{own}/broken.py")
    assert state.startswith("failed: ZeroDivisionError: division by zero (broken.py, line ")
    assert rows["waits"] == ("project", "waits for your approval", "", ".prunecli/plugins/waits.py")
    assert rows["mcp"][:2] == ("feature", "disabled")
    assert rows["hooks"] == ("feature", "on", "/hooks, sessions, [hooks]", "prunecli")
    assert list(rows)[:3] == ["broken", "mine", "waits"]


def test_the_list_is_printed_in_a_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin(tmp_path, "mine", "app.status(print)")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    run = CliRunner().invoke
    first = run(app, ["plugins", "list"]).output.splitlines()[1]
    assert first.startswith("mine")
    assert first.endswith("status bar  (~/.config/prunecli/plugins/mine.py)")
    row = json.loads(run(app, ["plugins", "list", "--json"]).output)[0]
    assert {**row, "ms": ""} == {
        "name": "mine",
        "kind": "file",
        "state": "on",
        "ms": "",
        "brings": "status bar",
        "from": "~/.config/prunecli/plugins/mine.py",
    }


def test_doctor_tells_of_plugins_that_are_off(tmp_path: Path) -> None:
    assert findings(start(tmp_path / "1").config) == []
    plugin(tmp_path, "mine", "app.status(print)")
    (finding,) = findings(start(tmp_path).config)
    assert (finding.state, finding.said) == ("ok", "mine")
    plugin(tmp_path, "broken", "1 / 0")
    (finding,) = findings(start(tmp_path).config)
    assert finding.state == "problem"
    assert "broken: failed: ZeroDivisionError" in finding.said


def asked(effects: list[Effect]) -> Choose:
    (question,) = (effect for effect in effects if isinstance(effect, Choose))
    return question


def test_a_plugin_of_a_project_is_approved_after_it_was_shown(tmp_path: Path) -> None:
    write(tmp_path, "mine", STATUS + "# bad \x1b[2J\n" + "#\n" * 40, WITHIN)
    runtime = start(tmp_path)
    part = runtime.parts.of(PluginApprovals)
    part.opened(headless=False)
    assert runtime.opening == ["/plugins approve"]
    question = asked(list(run_line(runtime, "/plugins approve")))
    assert question.title == "Run the plugin .prunecli/plugins/mine.py?"
    assert question.about.splitlines()[0] == "def install(app):"
    assert "\x1b" not in question.about
    assert question.about.splitlines()[-1] == "… 13 more lines; read the file before you approve it"
    yes, no = (choice.value for choice in question.choices)
    assert run_line(runtime, f"/plugins {no}")[0] == Say(".prunecli/plugins/mine.py stays off.")
    assert run_line(runtime, "/plugins approve") == [Say("No plugin is waiting for approval.")]
    again = start(tmp_path)
    said = "mine.py is approved. It is loaded when prunecli starts again."
    assert list(run_line(again, f"/plugins {yes}")) == [Say(f".prunecli/plugins/{said}")]
    assert listed(start(tmp_path))["mine"][1] == "on"
    assert run_line(again, "/plugins revoke") == [
        Say("No longer approved, from the next start on: .prunecli/plugins/mine.py.")
    ]
    assert listed(start(tmp_path))["mine"][1] == "waits for your approval"


def test_an_answer_applies_only_to_the_content_that_was_shown(tmp_path: Path) -> None:
    path = write(tmp_path, "mine", STATUS, WITHIN)
    runtime = start(tmp_path)
    yes = asked(list(run_line(runtime, "/plugins approve"))).choices[0].value
    path.write_text(STATUS + "# changed\n")
    assert asked(list(run_line(runtime, f"/plugins {yes}"))).about.endswith("# changed")
    assert listed(start(tmp_path))["mine"][1] == "waits for your approval"


def test_a_headless_run_names_plugins_that_wait(tmp_path: Path) -> None:
    write(tmp_path, "mine", STATUS, WITHIN)
    runtime = start(tmp_path)
    runtime.parts.of(PluginApprovals).opened(headless=True)
    assert runtime.notices == [
        "The plugin .prunecli/plugins/mine.py does not run until you approve it: start prunecli here and type "
        "/plugins approve."
    ]
    assert runtime.opening == []


def test_an_untrusted_directory_brings_no_question(tmp_path: Path) -> None:
    write(tmp_path, "mine", STATUS, WITHIN)
    runtime = start(tmp_path, trusted=False)
    runtime.parts.of(PluginApprovals).opened(headless=False)
    assert runtime.opening == []
    runtime.gatekeeper.trusted = True
    assert asked(list(runtime.parts.of(PluginApprovals).reread()))
