"""A project's MCP servers in a real terminal: trust, the question, the servers, by keys alone; and headless."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.terminal import HAS_TMUX, ROOT, Terminal
from tests.mcp.running import RAW

PROMPT = "Ask, or / for commands"
SERVERS = {
    "files": {
        "command": sys.executable,
        "args": [*RAW, "plain"],
        "env": {"API_TOKEN": "s3cret"},
    },
    "other": {"type": "http", "url": "${NOWHERE:-https://mcp.example}/mcp"},
}


def place(folder: Path) -> tuple[Path, dict[str, str]]:
    work = folder / "work"
    work.mkdir()
    (work / ".mcp.json").write_text(json.dumps({"mcpServers": SERVERS}))
    return work, {"HOME": str(folder), "PATH": "/usr/bin:/bin"}


def answer(terminal: Terminal, question: str, key: str) -> str:
    """Answers a question once it takes keys."""
    ready = "Enter or a digit to answer"
    screen = terminal.wait_until(lambda screen: question in screen and ready in screen, question)
    terminal.press(key)
    return screen


@pytest.mark.terminal
@pytest.mark.skipif(not HAS_TMUX, reason="tmux is not installed")
@pytest.mark.parametrize(("columns", "rows"), [(80, 24), pytest.param(160, 48, marks=pytest.mark.long)])
def test_a_projects_servers_start_after_their_questions(tmp_path: Path, columns: int, rows: int) -> None:
    work, environ = place(tmp_path)
    with Terminal(["--model", "demo"], work, environ, columns, rows) as terminal:
        answer(terminal, "Do you trust this folder?", "1")
        screen = answer(terminal, "files, from .mcp.json", "1")
        assert "Allow this MCP server of the project?" in screen
        assert "s3cret" not in screen
        assert "Connects to: https://mcp.example/mcp" in answer(terminal, "other, from .mcp.json", "2")
        terminal.wait_for("other stays off")
        terminal.say("/mcp revoke files")
        terminal.wait_for("files is off until you approve it again.")
        terminal.say("/mcp approve files")
        answer(terminal, "files, from .mcp.json", "1")
        terminal.wait_until(lambda screen: screen.count("files is allowed.") == 2, "the second approval")
    with Terminal(["--model", "demo"], work, environ, columns, rows) as terminal:
        screen = terminal.wait_for("other, from .mcp.json")
        assert "files, from" not in screen, "an approved server is not asked about again"
        assert "trust this folder" not in screen


def test_headless_a_server_that_is_not_approved_is_off_and_said(tmp_path: Path) -> None:
    work, environ = place(tmp_path)
    words = [sys.executable, "-m", "prunecli", "--model", "demo", "--trust", "-p", "tour"]
    done = subprocess.run(
        words, cwd=work, env={**environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert (
        "MCP servers not approved, so they are off: files, other. Run prunecli to approve them."
        in done.stderr
    )
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 3)
