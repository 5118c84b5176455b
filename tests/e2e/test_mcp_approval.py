"""A project's MCP servers in a real terminal: trust, the question, the servers, by keys alone; and headless."""

import json
import sys
from pathlib import Path

import pytest

from tests.e2e.terminal import HAS_TMUX, Terminal
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


@pytest.mark.terminal
@pytest.mark.skipif(not HAS_TMUX, reason="tmux is not installed")
@pytest.mark.parametrize(("columns", "rows"), [(80, 24), pytest.param(160, 48, marks=pytest.mark.long)])
def test_a_projects_servers_start_after_their_questions(tmp_path: Path, columns: int, rows: int) -> None:
    work, environ = place(tmp_path)
    with Terminal(["--model", "demo"], work, environ, columns, rows) as terminal:
        terminal.answer("Do you trust this folder?", "1")
        screen = terminal.answer("files, from .mcp.json", "1")
        assert "Allow this MCP server of the project?" in screen
        assert "s3cret" not in screen
        assert "Connects to: https://mcp.example/mcp" in terminal.answer("other, from .mcp.json", "2")
        terminal.wait_for("other stays off")
        terminal.say("/mcp revoke files")
        terminal.wait_for("files is off until you approve it again.")
        terminal.say("/mcp approve files")
        terminal.answer("files, from .mcp.json", "1")
        terminal.wait_until(lambda screen: screen.count("files is allowed.") == 2, "the second approval")
    with Terminal(["--model", "demo"], work, environ, columns, rows) as terminal:
        screen = terminal.wait_for("other, from .mcp.json")
        assert "files, from" not in screen, "an approved server is not asked about again"
        assert "trust this folder" not in screen
