"""A service's socket with a relative path can't be reached from inside."""

import asyncio
import sys
from pathlib import Path

from tests.sandbox.confining import boxed, needs_bubblewrap

SERVE = """
import os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.bind("agent.sock")
server.listen()
os.chdir("/")
print("ready", flush=True)
sys.stdin.read()
"""
KNOCK = 'python3 -c \'import socket; socket.socket(1).connect("{}"); print("reached")\''


async def test_a_socket_in_the_home_folder_cannot_be_reached_by_its_relative_path(tmp_path: Path) -> None:
    with boxed(tmp_path, needs_bubblewrap()) as box:
        folder = box.home / ".agent"
        folder.mkdir()
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", SERVE, cwd=folder, stdin=pipe, stdout=pipe
        )
        assert process.stdout is not None
        assert await process.stdout.readline() == b"ready\n"
        text, code = await box.run(KNOCK.format(folder / "agent.sock"))
        await process.communicate(b"")
    assert "reached" not in text
    assert code != 0
