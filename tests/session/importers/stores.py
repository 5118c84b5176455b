"""A home folder with the stores of other agents, filled with recorded sessions."""

import gzip
import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

IMPORTS = Path(__file__).parents[2] / "imports"
RESUMED = IMPORTS / "resumed"
HANDOFF = IMPORTS / "handoff"
RECORDED_IN = "/home/me/demo"
"""The directory that the recorded sessions name."""
_FOLDERS = {
    "claude": ".claude/projects/-home-me-demo",
    "codex": ".codex/sessions/2026/11/22",
    "pi": ".pi/agent/sessions/--home-me-demo--",
    "gemini": ".gemini/tmp/demo/chats",
}


def put(path: Path, data: bytes, at: int = 1_790_000_000) -> Path:
    """Write a file with a time of last change."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.utime(path, (at, at))
    return path


def environment(tmp_path: Path, *names: str, recorded: Path = RESUMED) -> tuple[dict[str, str], Path]:
    """The environment of a user who has run these recorded sessions, the last one last, and their directory."""
    home, cwd = tmp_path / "home", tmp_path / "work" / "demo"
    cwd.mkdir(parents=True)
    for number, name in enumerate(names, 1):
        agent = name.partition("-")[0].partition(".")[0]
        text = gzip.decompress((recorded / f"{name}.gz").read_bytes())
        if agent == "opencode":
            _store_of(json.loads(text.replace(RECORDED_IN.encode(), str(cwd).encode())), home)
            continue
        path = home / _FOLDERS[agent] / name
        put(path, text.replace(RECORDED_IN.encode(), str(cwd).encode()), 1_790_000_000 + number)
        beside = RESUMED / name.removesuffix(".jsonl") / "subagents"
        for file in sorted(beside.glob("*.gz")):
            put(
                path.with_suffix("") / "subagents" / file.name.removesuffix(".gz"),
                gzip.decompress(file.read_bytes()),
            )
        if agent == "gemini":
            put(home / ".gemini/tmp/demo/.project_root", str(cwd).encode())
    return {"HOME": str(home), "PATH": os.environ["PATH"]}, cwd


_TABLES = """
    CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, title TEXT,
                          time_created INTEGER, time_updated INTEGER);
    CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);
    CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT);
"""


def _store_of(exported: dict[str, Any], home: Path) -> None:
    """OpenCode's database with one exported session."""
    path = home / ".local/share/opencode/opencode.db"
    path.parent.mkdir(parents=True)
    info = exported["info"]
    with closing(sqlite3.connect(path)) as store:
        store.executescript(_TABLES)
        created = info["time"]["created"]
        row = (info["id"], None, info["directory"], info["title"], created, created)
        store.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?)", row)
        for number, message in enumerate(exported["messages"]):
            own = message["info"]
            values = (own["id"], info["id"], number, json.dumps(own))
            store.execute("INSERT INTO message VALUES (?, ?, ?, ?)", values)
            for part in message["parts"]:
                values = (part["id"], own["id"], info["id"], json.dumps(part))
                store.execute("INSERT INTO part VALUES (?, ?, ?, ?)", values)
        store.commit()


def opencode_store(home: Path, cwd: Path) -> Path:
    """OpenCode's database with one session of this directory, one of another and one of a subagent."""
    path = home / ".local/share/opencode/opencode.db"
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as store:
        store.executescript(_TABLES)
        for name, parent, folder in (("ses_1", None, cwd), ("ses_2", None, "/else"), ("ses_3", "ses_1", cwd)):
            row = (name, parent, str(folder), "A title", 1_790_000_000_000, 1_790_000_001_000)
            store.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?)", row)
            answered = {
                "role": "assistant",
                "modelID": "m",
                "tokens": {"input": 10, "cache": {"read": 3, "write": 2}},
            }
            for role, data in (("user", {"role": "user"}), ("assistant", answered)):
                message = (f"{name}-{role}", name, 1 + (role != "user"), json.dumps(data))
                store.execute("INSERT INTO message VALUES (?, ?, ?, ?)", message)
            parts = (
                ("p1", "user", {"type": "text", "text": "list it"}),
                ("p2", "user", {"type": "text", "text": "<file>", "synthetic": True}),
                ("p3", "assistant", {"type": "text", "text": "two files"}),
            )
            for part, role, data in parts:
                values = (f"{name}-{part}", f"{name}-{role}", name, json.dumps(data))
                store.execute("INSERT INTO part VALUES (?, ?, ?, ?)", values)
        store.execute("INSERT INTO part VALUES ('odd', 'ses_1-user', 'ses_1', 'damaged')")
        store.commit()
    return path
