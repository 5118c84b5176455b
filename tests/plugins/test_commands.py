"""What plugins add at the side: commands, subcommands, checks, strategies, providers and importers."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from prunecli.cli.app import app
from prunecli.commands.command import Effect, InThread, Say, arguments, offered, run_line
from prunecli.config.references import chosen
from prunecli.context.strategy import Proposal
from prunecli.runtime import Runtime
from prunecli.util.errors import ConfigError
from tests.features.doctor.test_checkup import examined
from tests.plugins.written import began, plugin, write


def done(runtime: Runtime, line: str) -> Sequence[Effect]:
    """Run a command line, and its slow work."""
    found = list[Effect]()
    for effect in run_line(runtime, line):
        found += effect.work() if isinstance(effect, InThread) else [effect]
    return found


def test_a_command_is_a_function_of_the_session_and_its_arguments(tmp_path: Path) -> None:
    before = 'def hello(now, arguments):\n    "Greet."\n    return f"{arguments} in {now.cwd.name}"\n'
    plugin(tmp_path, "mine", 'app.command("hello", hello)', before)
    runtime, _ = began(tmp_path)
    assert done(runtime, "/hello you") == [Say("you in work")]
    assert ("hello", "Greet.", ()) in offered(runtime)
    assert arguments(runtime, "hello y") == []


@pytest.mark.parametrize(
    ("answer", "effects"),
    [
        ("None", []),
        ('""', []),
        ('Say("a")', [Say("a")]),
        ('(Say("a"), Say("b"))', [Say("a"), Say("b")]),
    ],
)
def test_a_command_may_answer_effects(tmp_path: Path, answer: str, effects: list[Effect]) -> None:
    before = f"from prunecli.commands.command import Say\ndef hello(now, arguments):\n    return {answer}\n"
    plugin(tmp_path, "mine", 'app.command("hello", hello)', before)
    assert done(began(tmp_path)[0], "/hello") == effects


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("lambda now, words: 1 / 0", "ZeroDivisionError: division by zero (mine.py, line 3)"),
        ("lambda now, words: 3", "answered int, neither a text nor effects"),
        ('"no_such:run"', "ModuleNotFoundError: No module named 'no_such'"),
    ],
)
def test_a_broken_command_is_named_when_it_is_called(tmp_path: Path, target: str, why: str) -> None:
    plugin(tmp_path, "mine", f'app.command("hello", {target})')
    assert done(began(tmp_path)[0], "/hello") == [Say(f"Plugin mine, /hello: {why}.", "error")]


def test_a_command_that_hangs_can_be_stopped(tmp_path: Path) -> None:
    plugin(tmp_path, "mine", 'app.command("hello", lambda *_: Event().wait())', "from threading import Event")
    (effect,) = run_line(began(tmp_path)[0], "/hello")
    assert isinstance(effect, InThread)
    effect.stop()
    assert list(effect.work()) == [Say("Plugin mine, /hello: stopped.", "error")]


def test_a_subcommand_is_a_typer_application(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(
        tmp_path,
        "own_greeting",
        "import typer\napp = typer.Typer()\n@app.command()\ndef run():\n    print('hi')\n",
        ".",
    )
    plugin(tmp_path, "mine", 'app.subcommand("greet", "own_greeting:app", "Greet.")')
    plugin(tmp_path, "bad", 'app.subcommand("gone", "no_such:app", "Fail.")')
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.syspath_prepend(str(tmp_path))
    run = CliRunner().invoke
    assert run(app, ["greet"]).output == "hi\n"
    assert "Greet." in run(app, ["--help"]).output
    failed = run(app, ["gone"])
    assert "prunecli gone of plugin bad: ModuleNotFoundError: No module named 'no_such'" in failed.output


@pytest.mark.parametrize(
    ("answer", "state", "said"),
    [
        ("None", "ok", "ok"),
        ('"no printer"', "problem", "no printer"),
        ("3", "problem", "its check answered int"),
        ("1 / 0", "problem", "its check failed: ZeroDivisionError: division by zero (mine.py, line 3)"),
        ('[Finding("printer", "ok", "A4")]', "ok", "A4"),
    ],
)
def test_a_check_of_doctor_answers_a_problem_or_findings(
    tmp_path: Path, answer: str, state: str, said: str
) -> None:
    before = "from prunecli.providers.registry import Finding"
    plugin(tmp_path, "mine", f"app.check(lambda config: {answer})", before)
    found = examined(tmp_path, given={"HOME": str(tmp_path / "home")})
    finding = found.get("plugin mine") or found["printer"]
    assert (finding.state, finding.said.replace("line 4", "line 3")) == (state, said)


def test_a_strategy_is_a_function_or_a_class_with_options(tmp_path: Path) -> None:
    before = """
from dataclasses import dataclass
from prunecli.context.strategy import Proposal

def propose(view, options):
    return Proposal()

class Careful:
    @dataclass(frozen=True)
    class Options:
        share: float = 0.5
    propose = staticmethod(propose)
"""
    plugin(tmp_path, "mine", 'app.strategy("old", propose)\n    app.strategy("careful", Careful)', before)
    runtime, _ = began(tmp_path, sets=["pruning.strategy=careful", "careful.share=0.25"])
    strategy = chosen(runtime.config, "careful")
    assert strategy.options.share == 0.25
    assert strategy.foreign
    assert (
        strategy.strategy.propose(runtime.policy.view(runtime.session.context), strategy.options)
        == Proposal()
    )
    assert chosen(runtime.config, "old").name == "old"
    with pytest.raises(ConfigError, match="no strategy named 'cereful'"):
        began(tmp_path, sets=["pruning.strategy=cereful"])


def test_a_provider_is_chosen_by_its_name(tmp_path: Path) -> None:
    before = """
from types import SimpleNamespace
own = SimpleNamespace(KEYS=None, needs_key=lambda url: False, make=lambda connection: "made", check=print)
"""
    plugin(tmp_path, "mine", 'app.provider("own", own)', before)
    config = began(tmp_path, sets=["model.provider=own"])[0].config
    assert config.providers.definition(config.model.provider).make(None) == "made"  # type: ignore[arg-type]


def test_an_importer_reads_files_that_nothing_else_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = """
def read(path):
    text = path.read_text().removeprefix("CHAT ")
    return [{"role": "user", "content": text}, {"role": "assistant", "content": [{"type": "text", "text": "Yes."}]}]
"""
    body = 'app.importer("chat", lambda path: path.read_text().startswith("CHAT"), read)'
    plugin(tmp_path, "mine", body, before)
    (tmp_path / "work").mkdir()
    chat, other = tmp_path / "a.chat", tmp_path / "b.chat"
    chat.write_text("CHAT hello")
    other.write_bytes(b"\xff")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "work")
    run = CliRunner().invoke
    (row,) = json.loads(run(app, ["sessions", "import", "--json", str(chat)]).output)
    assert row["kept"]["prompts"] == row["kept"]["responses"] == 1
    assert "plugin mine: UnicodeDecodeError" in run(app, ["sessions", "import", str(other)]).output
