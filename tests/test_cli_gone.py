"""Commands that are started in a directory which no longer exists."""

from contextlib import chdir
from pathlib import Path

import pytest
from typer.testing import CliRunner

from prunecli.cli.app import app


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "PRUNECLI_HOME": str(tmp_path / "p"), "ANTHROPIC_API_KEY": ""}


@pytest.mark.parametrize(
    "words",
    [
        "-p hello --model demo",
        "-c -p hello --model demo",
        "sessions list --here",
        "sessions search word --here",
        "config show",
        "config check",
        "doctor",
        "trust",
    ],
)
def test_what_needs_the_directory_says_in_two_lines_that_it_is_gone(
    tmp_path: Path, environ: dict[str, str], words: str
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    with chdir(gone):
        gone.rmdir()
        found = CliRunner(env=environ).invoke(app, words.split())
    assert found.exit_code == 2
    assert found.output == (
        "prunecli: the current directory no longer exists\nchange to another one, for example with cd ~\n"
    )


def test_what_does_not_need_it_works(tmp_path: Path, environ: dict[str, str]) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    with chdir(gone):
        gone.rmdir()
        found = CliRunner(env=environ).invoke(app, ["sessions", "list"])
    assert (found.exit_code, found.output) == (0, "no sessions yet\n")
