"""Completion: what is offered, and that bash, zsh and fish take it after --install-completion."""

import fcntl
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from typer.testing import CliRunner

from prunecli.cli.app import app
from prunecli.model.events import Record, SettingChanged
from prunecli.model.record_codec import encode_record
from tests.cli.running import kept_session
from tests.waiting import DEADLINE


def offered(environ: Mapping[str, str], line: str) -> list[str]:
    """What bash is offered where the line ends."""
    words = line.split(" ")
    asked = {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1), "_PRUNECLI_COMPLETE": "complete_bash"}
    return CliRunner(env={**environ, **asked}).invoke(app, [], prog_name="prunecli").output.split()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("prunecli ses", ["sessions"]),
        ("prunecli --perm", ["--permission-mode"]),
        ("prunecli --add", ["--add-dir"]),
        ("prunecli --append", ["--append-system-prompt", "--append-system-prompt-file"]),
        ("prunecli --session-", ["--session-id"]),
        ("prunecli --na", ["--name"]),
        ("prunecli --json", ["--json-schema"]),
        ("prunecli --incl", ["--include-partial-messages"]),
        ("prunecli --session-id x --name y --add-dir z --perm", ["--permission-mode"]),
        ("prunecli --permission-mode ", ["ask", "edits", "plan", "auto"]),
        ("prunecli --output-format s", ["stream-json"]),
        ("prunecli --theme prune-d", ["prune-dark"]),
        ("prunecli --model ha", ["haiku"]),
        ("prunecli --model opus --theme prune-d", ["prune-dark"]),
        ("prunecli --resume mi", ["mine"]),
        ("prunecli -c -r mi", ["mine"]),
        ("prunecli sessions sh", ["show"]),
        ("prunecli sessions show mi", ["mine"]),
        ("prunecli sessions verify mi", ["mine"]),
        ("prunecli sessions export mi", ["mine"]),
        ("prunecli sessions rm mi", ["mine"]),
        ("prunecli context mi", ["mine"]),
        ("prunecli context --strategy keep", ["keep_last_n_steps"]),
        (
            "prunecli context mine --strategy superseded,p",
            ["superseded,pi", "superseded,prune_old_observations"],
        ),
        ("prunecli config ch", ["check"]),
        ("prunecli --set x=1 login --h", ["--help"]),
    ],
)
def test_what_is_offered(environ: dict[str, str], line: str, expected: list[str]) -> None:
    kept_session(environ)
    found = offered(environ, line)
    assert found[: len(expected)] == expected


def test_a_session_with_a_name_is_offered_by_its_name_and_its_id(environ: dict[str, str]) -> None:
    path = kept_session(environ)
    named = Record(3, 4, SettingChanged("session.name", "fix-login"))
    path.write_bytes(path.read_bytes() + encode_record(named))
    for words in ("prunecli -r ", "prunecli sessions show "):
        assert offered(environ, words) == ["fix-login", "mine"]


def test_nothing_that_a_shell_would_evaluate_is_offered(environ: dict[str, str]) -> None:
    kept_session(environ, "mine", said="\\$(touch gone) `touch gone`'\";|&")
    kept_session(environ, "$(touch gone)")
    asked = {"_TYPER_COMPLETE_ARGS": "prunecli -r ", "_PRUNECLI_COMPLETE": "complete_zsh"}
    shown = CliRunner(env={**environ, **asked}).invoke(app, [], prog_name="prunecli").output
    assert shown.strip() == """_arguments '*: :(("mine":"touch gone   touch gone"))'"""


@pytest.fixture
def home(environ: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """The environment of a shell that finds the program, with a session."""
    kept_session(environ)
    folder = tmp_path / "bin"
    folder.mkdir()
    Path(environ["HOME"]).mkdir()
    program = folder / "prunecli"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m prunecli "$@"\n')
    program.chmod(0o755)
    return {**environ, "PATH": f"{folder}:{environ['PATH']}", "TERM": "xterm", "PS1": "$ "}


def install(home: Mapping[str, str], name: str) -> None:
    """Installs completion as a user of that shell does."""
    words = [name, "-c", "prunecli --install-completion; true"]
    done = subprocess.run(words, env=dict(home), capture_output=True, text=True, timeout=60, check=False)
    assert f"{name} completion installed" in done.stdout, done.stderr


def completed(home: Mapping[str, str], shell: list[str], typed: str, expected: str) -> None:
    """Types a line with a Tab into an interactive shell until the line is completed."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(home["HOME"])
        os.execvpe(shell[0], shell, dict(home))
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    seen, end = b"", time.monotonic() + 3 * DEADLINE
    try:
        for text, wanted in (("echo rea''dy\n", "ready"), (typed, expected)):
            os.write(terminal, text.encode())
            seen = b""
            while wanted.encode() not in seen:
                assert time.monotonic() < end, seen[-2000:]
                if select.select([terminal], [], [], 0.2)[0]:
                    seen += os.read(terminal, 65536)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(terminal)


LINES = [
    ("prunecli sess\t", "prunecli sessions"),
    ("prunecli --permi\t", "prunecli --permission-mode"),
    ("prunecli sessions show mi\t", "prunecli sessions show mine"),
    ("prunecli --theme prune-da\t", "prunecli --theme prune-dark"),
]


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash here")
def test_bash_completes_after_the_installation(home: dict[str, str]) -> None:
    install(home, "bash")
    for typed, expected in LINES:
        completed(home, ["bash", "-i"], typed, expected)


@pytest.mark.skipif(not shutil.which("zsh"), reason="no zsh here")
def test_zsh_completes_after_the_installation(home: dict[str, str]) -> None:
    install(home, "zsh")
    for typed, expected in LINES:
        completed(home, ["zsh", "-i"], typed, expected.removeprefix(typed[:-1]))


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("fish"), reason="no fish here")
def test_fish_completes_after_the_installation(home: dict[str, str]) -> None:
    install(home, "fish")
    asked = ["fish", "-c", "; echo; ".join(f"complete -C '{typed[:-1]}'" for typed, _ in LINES)]
    done = subprocess.run(asked, env=home, capture_output=True, text=True, timeout=60, check=False)
    found = [one.split()[0] for one in done.stdout.split("\n\n")]
    assert found == [expected.split()[-1] for _, expected in LINES], done.stderr
