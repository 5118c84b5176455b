"""`prunecli config`: what it finds wrong, and the flags that count before it."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from prunecli.cli.app import app


@pytest.fixture
def runner(environ: dict[str, str]) -> CliRunner:
    return CliRunner(env=environ)


def written(environ: dict[str, str], text: str) -> Path:
    """The user's config.toml with this text on its third line."""
    path = Path(environ["HOME"]) / ".config" / "prunecli" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(f"# mine\n\n{text}\n")
    return path


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('tools.enabled = ["read", "nope"]', "tools.enabled: no tool named 'nope'"),
        ('permissions.allow = ["bash(("]', "permissions.allow: permission rule 'bash(('"),
        ('permissions.deny = ["bash"' + ', "read()"]', "permissions.deny: permission rule 'read()'"),
        ('ui.theme = "none"', "ui.theme: no theme named 'none'"),
        ('model.provider = "other"', "model.provider: expected one of anthropic, demo"),
        (
            "pruning.pi.prune_protect = -5",
            "pruning.pi.prune_protect: expected an integer of at least 0, got -5",
        ),
    ],
)
def test_a_check_names_what_is_wrong_with_its_file_and_line(
    runner: CliRunner, environ: dict[str, str], text: str, problem: str
) -> None:
    written(environ, text)
    done = runner.invoke(app, ["config", "check"])
    assert done.exit_code == 2
    assert problem in done.output
    assert "config.toml" in done.output
    assert "line 3" in done.output or "config.toml:3" in done.output


def test_a_check_finds_damaged_numbers_behind_pruning(runner: CliRunner, environ: dict[str, str]) -> None:
    written(environ, "").with_name("expectations.json").write_text("{}")
    done = runner.invoke(app, ["config", "check"])
    assert done.exit_code == 2
    assert "expectations.json: not a table of expectations: no 'quoted'" in done.output


def test_flags_before_it_count(runner: CliRunner, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text("[tools]\nbash_timeout = 7\n")
    words = ["--config", str(other), "--set", "pruning.gate=always", "--model", "opus", "config"]
    shown = runner.invoke(app, [*words, "show"]).output
    for line in ("tools.bash_timeout = 7.0", 'pruning.gate = "always"', 'model.name = "opus"'):
        assert line in shown
    assert runner.invoke(app, ["--config", str(other), "config", "path"]).output == f"{other}\n"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--config", "BAD", "config", "check"], "BAD: no such file"),
        (["--set", "X=zz", "config", "check"], "--set: X: unknown key"),
        (["--set", "X=zz", "config", "init"], "--set: has no effect on `prunecli config init`"),
        (["--set", "X=zz", "sessions", "list"], "--set: has no effect on `prunecli sessions list`"),
    ],
)
def test_wrong_flags_before_a_subcommand_are_refused(
    runner: CliRunner, words: list[str], problem: str
) -> None:
    done = runner.invoke(app, words)
    assert (done.exit_code, problem in done.output) == (2, True), done.output
