"""The tour, walked by a person who presses Enter and answers questions."""

import time
from pathlib import Path

import pytest

from tests.e2e.terminal import HAS_TMUX, Terminal

pytestmark = [pytest.mark.terminal, pytest.mark.skipif(not HAS_TMUX, reason="tmux is not installed")]


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), pytest.param(160, 48, marks=pytest.mark.long)])
def test_the_tour_is_walked_to_its_end_with_five_enters_and_ends_on_dollars(
    tmp_path: Path, columns: int, rows: int
) -> None:
    environ = {"HOME": str(tmp_path), "PATH": "/usr/local/bin:/usr/bin:/bin", "TMPDIR": str(tmp_path)}
    with Terminal(["demo"], tmp_path, environ, columns, rows) as terminal:
        onwards(terminal, "tour, step by step")
        terminal.wait_for("I'll run the test and fix the bug.")
        onwards(terminal, "go on with the tour")
        terminal.wait_until(lambda screen: "33 passed" in screen or "Run this command?" in screen, "the test")
        if "33 passed" not in terminal.screen():
            answer(terminal, "Run this command?", "a")
        terminal.wait_for("33 passed, 0 failed")
        onwards(terminal, "/context")
        terminal.wait_for("cost so far")
        terminal.press("Escape")
        onwards(terminal, "go on with the tour")
        terminal.wait_for("I now see only the memo")
        onwards(terminal, "/cost")
        terminal.wait_for("Pruning saved $")
        terminal.press("Escape")
        terminal.wait_for("Ask, or / for commands")
        terminal.say("/quit")
        terminal.wait_until(lambda _: terminal.exit_code is not None, "the program to end")
        assert terminal.exit_code == 0
    (scratch,) = tmp_path.glob("prunecli-demo-*")
    assert "total += int(digits)" in (scratch / "prunecli-demo" / "parser.py").read_text()


def onwards(terminal: Terminal, line: str) -> None:
    """The prompt proposes this line, and Enter says it."""
    terminal.wait_for(f"Enter: {line}")
    terminal.press("Enter")


def answer(terminal: Terminal, question: str, key: str) -> None:
    """Answers a question when it has stood there for a moment: what comes sooner is no answer."""
    terminal.wait_for(question)
    seen = time.monotonic()
    terminal.wait_until(lambda _: time.monotonic() - seen > 1.0, "the question to take keys")
    terminal.press(key)
    terminal.wait_until(lambda screen: question not in screen, f"{question} to be answered")
