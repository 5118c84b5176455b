"""The sessions that other agents keep on this machine, and those in OpenCode's database."""

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from prunecli.model.events import AssistantMessage, SessionStarted, ToolResult
from prunecli.session.importers.finding import files_below, listed, session_files, sessions_of
from prunecli.session.importers.source import read_source
from prunecli.util.errors import SessionCorrupt, UsageError
from tests.session.importers.packing import compress

META = {"id": "one", "cwd": "/work", "timestamp": "2026-11-01T10:00:00Z"}
SAID = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]}
ROLLOUT = "".join(
    json.dumps({"timestamp": "2026-11-01T10:00:00Z", "type": kind, "payload": payload}) + "\n"
    for kind, payload in (("session_meta", META), ("response_item", SAID))
)


def put(path: Path, text: str = "{}\n", at: int = 1) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (at, at))
    return path


def test_each_agent_is_looked_for_where_it_keeps_its_sessions_newest_first(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    old = put(tmp_path / ".claude/projects/-work/a.jsonl", at=1)
    new = put(tmp_path / ".claude/projects/-work/b.jsonl", at=2)
    put(tmp_path / ".claude/projects/-work/b/subagents/c.jsonl")
    put(tmp_path / ".claude/projects/-work/agent-a1b2.jsonl")  # where earlier versions keep those
    put(tmp_path / ".claude/projects/-work/notes.txt")
    codex = put(tmp_path / ".codex/sessions/2026/11/22/rollout-1.jsonl")
    pi = put(tmp_path / ".pi/agent/sessions/--work--/1.jsonl")
    gemini = put(tmp_path / ".gemini/tmp/work/chats/session-1.jsonl")
    put(tmp_path / ".gemini/tmp/work/logs.json")
    assert sessions_of("@claude", environ) == [new, old]
    assert sessions_of("@codex", environ) == [codex]
    assert sessions_of("@pi", environ) == [pi]
    assert sessions_of("@gemini", environ) == [gemini]
    assert sessions_of("@opencode", environ) == []


def test_a_variable_moves_the_folder(tmp_path: Path) -> None:
    moved = put(tmp_path / "elsewhere/sessions/1.jsonl")
    environ = {"HOME": str(tmp_path), "CODEX_HOME": str(tmp_path / "elsewhere")}
    assert sessions_of("codex", environ) == [moved]


def test_archived_and_packed_sessions_of_codex_are_found_and_a_plain_one_stands_for_its_copy(
    tmp_path: Path,
) -> None:
    environ = {"HOME": str(tmp_path)}
    archived = put(tmp_path / ".codex/archived_sessions/rollout-1.jsonl", at=4)
    packed = put(tmp_path / ".codex/archived_sessions/rollout-2.jsonl.zst", at=3)
    plain = put(tmp_path / ".codex/sessions/2026/11/22/rollout-3.jsonl", at=2)
    put(plain.with_name("rollout-3.jsonl.zst"), at=2)
    old = put(tmp_path / ".codex/sessions/2026/11/01/rollout-4.jsonl.zst", at=1)
    put(old.with_name("rollout-4.jsonl.zst.compress.1.0.tmp"))
    assert sessions_of("@codex", environ) == [archived, packed, plain, old]
    assert session_files(plain.parent) == [plain]


def test_a_packed_session_is_listed_with_its_facts_and_a_damaged_one_is_named(tmp_path: Path) -> None:
    codex = tmp_path / ".codex/sessions"
    put(codex / "rollout-1.jsonl", ROLLOUT)
    (codex / "rollout-2.jsonl.zst").write_bytes(compress(ROLLOUT.encode()))
    (codex / "rollout-3.jsonl.zst").write_bytes(compress(ROLLOUT.encode())[:-9])
    problems: list[str] = []
    plain, packed = listed("@codex", {"HOME": str(tmp_path)}, Path("/work"), problems)
    assert {plain.path.name, packed.path.name} == {"rollout-1.jsonl", "rollout-2.jsonl.zst"}
    assert packed.digest == plain.digest
    assert (packed.id, packed.digest.first) == ("one", "hello")
    [problem] = problems
    assert "rollout-3.jsonl.zst: damaged zstd file: truncated" in problem


def test_folders_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    looped = tmp_path / "loop"
    looped.symlink_to(looped)
    problems: list[str] = []
    environ = {"HOME": str(tmp_path), "CODEX_HOME": str(looped)}
    assert sessions_of("@codex", environ, problems) == []
    folders = "sessions", "archived_sessions"
    assert problems == [f"{looped}/{name}: Too many levels of symbolic links" for name in folders]
    assert sessions_of("@claude", environ, problems) == []
    assert len(problems) == 2, "a folder that does not exist is no problem"


def test_an_unknown_agent_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(UsageError) as refused:
        sessions_of("@nobody", {"HOME": "/"})
    assert "@claude" in (refused.value.hint or "")


def test_a_search_is_bounded_and_follows_no_links(tmp_path: Path) -> None:
    for number in range(5):
        put(tmp_path / f"{number}.jsonl")
    (tmp_path / "loop").symlink_to(tmp_path)
    put(tmp_path.joinpath(*"abcdefghij") / "deep.jsonl")
    problems: list[str] = []
    assert len(list(files_below(tmp_path, 3, problems))) == 3
    assert problems == [f"all of {tmp_path}: more than 3 files"]
    assert [path.name for path in session_files(tmp_path)] == [f"{number}.jsonl" for number in range(5)]


def database(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as store:
        store.executescript(
            """
            CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, title TEXT,
                                  time_created INTEGER, time_updated INTEGER);
            CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);
            CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT);
            """
        )
        for number, parent in ((1, None), (2, None), (3, "ses_1")):
            row = (f"ses_{number}", parent, f"/work/{number}", "A title", 1_700_000_000_000, number)
            store.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?)", row)
        said = {"role": "user", "time": {"created": 1_700_000_000_000}}
        done = {
            "role": "assistant",
            "modelID": "m",
            "time": {"created": 1_700_000_001_000, "completed": 1_700_000_002_000},
            "tokens": {"input": 10, "output": 5, "reasoning": 0, "cache": {"read": 3, "write": 2}},
        }
        state = {"status": "completed", "input": {"command": "ls"}, "output": "a\nb"}
        parts = (
            ("p1", "m1", {"type": "text", "text": "list it"}),
            ("p2", "m2", {"type": "tool", "tool": "bash", "callID": "c", "state": state}),
            ("p3", "m2", {"type": "text", "text": "two files"}),
            ("p4", "m2", "damaged"),
            ("p5", "m2", '{"a":' * 100_000),
        )
        for name, at, data in (("m1", 1, said), ("m2", 2, done)):
            store.execute("INSERT INTO message VALUES (?, 'ses_1', ?, ?)", (name, at, json.dumps(data)))
        for name, message, part in parts:
            text = part if isinstance(part, str) else json.dumps(part)
            store.execute("INSERT INTO part VALUES (?, ?, 'ses_1', ?)", (name, message, text))
        store.commit()
    return path


def test_sessions_in_opencodes_database_are_found_and_read(tmp_path: Path) -> None:
    store = database(tmp_path / ".local/share/opencode/opencode.db")
    environ = {"HOME": str(tmp_path)}
    assert sessions_of("@opencode", environ) == [store / "ses_2", store / "ses_1"]
    assert [one.id for one in listed("@opencode", environ, Path("/work/1"), [])] == ["ses_1"]
    source = read_source(store / "ses_1")
    assert source.kind == "opencode"
    assert source.imported.origin.name == "A title"
    events = [record.event for record in source.records]
    assert [event.usage.prompt_tokens for event in events if isinstance(event, AssistantMessage)][-1] == 15
    assert [event.tool_name for event in events if isinstance(event, ToolResult)] == ["bash"]


def test_the_model_and_undone_messages_are_read_from_a_newer_database_of_opencode(tmp_path: Path) -> None:
    store = database(tmp_path / "opencode.db")
    with closing(sqlite3.connect(store)) as changed:
        for column, value in (("model", {"id": "opus"}), ("revert", {"messageID": "m2"})):
            changed.execute(f"ALTER TABLE session ADD {column} TEXT")
            changed.execute(f"UPDATE session SET {column} = ?", (json.dumps(value),))
        changed.commit()
    source = read_source(store / "ses_1")
    assert source.imported.origin.model == "opus"
    assert not any(isinstance(record.event, AssistantMessage) for record in source.records)
    assert source.imported.left_out == {"undone messages": 1}


def test_a_session_of_gemini_belongs_to_the_directory_that_its_folder_names(tmp_path: Path) -> None:
    head = {"sessionId": "g", "projectHash": "h", "startTime": "2026-11-01T10:00:00Z"}
    said = {"id": "1", "type": "user", "content": [{"text": "go"}]}
    path = put(tmp_path / "chats/session-1.jsonl", f"{json.dumps(head)}\n{json.dumps(said)}\n")
    assert read_source(path).imported.origin.cwd == ""
    put(tmp_path / ".project_root", "/work/here\n")
    source = read_source(path)
    assert source.imported.origin.cwd == "/work/here"
    [started, _] = [record.event for record in source.records]
    assert isinstance(started, SessionStarted)
    assert started.cwd == "/work/here"


def test_what_is_no_database_or_no_session_in_it_is_said(tmp_path: Path) -> None:
    store = database(tmp_path / "opencode.db")
    with pytest.raises(SessionCorrupt, match="no such session in this database"):
        read_source(store / "ses_9")
    broken = put(tmp_path / "other.db", "not a database at all, but a text that is long enough to look at")
    with pytest.raises(SessionCorrupt, match="not an OpenCode database"):
        read_source(broken / "ses_1")
    with pytest.raises(SessionCorrupt, match="no messages"):
        read_source(store / "ses_2")
    damaged = put(tmp_path / ".local/share/opencode/opencode.db", "broken")
    problems: list[str] = []
    assert sessions_of("@opencode", {"HOME": str(tmp_path)}, problems) == []
    assert problems == [f"{damaged}: not an OpenCode database: file is not a database"]
