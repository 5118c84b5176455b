"""Forms that other agents began to write this year: OpenCode 2, Codex 0.155, Gemini CLI 0.58, Claude Code 2.1.278."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from prunecli.model.events import AssistantMessage, CompactionApplied, ToolResult, UserMessage
from prunecli.model.messages import Thinking, plain_text
from prunecli.session.importers.finding import listed, sessions_of
from prunecli.session.importers.source import Source, read_source
from prunecli.util.errors import SessionCorrupt

T = 1_789_900_000_000
TABLES = """
CREATE TABLE session_v2 (id text PRIMARY KEY, project_id text, parent_id text, directory text, title text,
    revert text, model text, time_created integer, time_updated integer);
CREATE TABLE session_message (id text PRIMARY KEY, session_id text, type text, seq integer, time_created integer,
    time_updated integer, data text);
"""
OLD_TABLES = """
CREATE TABLE session (id text PRIMARY KEY, parent_id text, directory text, title text, time_created integer,
    time_updated integer);
CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, data text);
CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, data text);
"""


def prompts(source: Source) -> list[str]:
    return [
        plain_text(one.event.content)
        for one in source.records
        if isinstance(one.event, UserMessage) and one.event.origin == "import"
    ]


def commands(source: Source) -> list[str]:
    return [
        plain_text(one.event.content)
        for one in source.records
        if isinstance(one.event, UserMessage) and one.event.origin == "command"
    ]


def results(source: Source) -> list[tuple[str, bool]]:
    found = [one.event for one in source.records if isinstance(one.event, ToolResult)]
    return [(plain_text(one.content), one.is_error) for one in found]


def answers(source: Source) -> list[AssistantMessage]:
    return [one.event for one in source.records if isinstance(one.event, AssistantMessage)]


# OpenCode 2 --------------------------------------------------------------------------------------------------


def opencode(home: Path, cwd: Path, rows: list[tuple[str, dict[str, Any]]], *, old: bool = False) -> Path:
    path = home / ".local/share/opencode/opencode.db"
    path.parent.mkdir(parents=True)
    model = json.dumps({"id": "claude-sonnet-5-5", "providerID": "anthropic"})
    with closing(sqlite3.connect(path)) as store:
        store.executescript(TABLES)
        for name, parent, later in (("ses_new", None, 9_000), ("ses_child", "ses_new", 0), ("../x", None, 0)):
            values = (name, "p1", parent, str(cwd), "New work", None, model, T, T + later)
            store.execute("INSERT INTO session_v2 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
        for seq, (kind, data) in enumerate(rows):
            told = (
                f"msg_{seq}",
                "ses_new",
                kind,
                seq,
                T + seq,
                T + seq,
                json.dumps({"time": {"created": T}} | data),
            )
            store.execute("INSERT INTO session_message VALUES (?, ?, ?, ?, ?, ?, ?)", told)
        if old:
            store.executescript(OLD_TABLES)
            for name in ("ses_old", "ses_new"):  # the upgrade leaves the tables of 1.x as they were
                row = (name, None, str(cwd), "Old work", T - 10**9, T - 10**9)
                store.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?)", row)
                message = (f"m-{name}", name, T - 10**9, json.dumps({"role": "user"}))
                store.execute("INSERT INTO message VALUES (?, ?, ?, ?)", message)
                part = (f"p-{name}", f"m-{name}", name, json.dumps({"type": "text", "text": "OLD-PROMPT"}))
                store.execute("INSERT INTO part VALUES (?, ?, ?, ?)", part)
        store.commit()
    return path


def tool(number: int, state: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "type": "tool",
        "id": f"call_{number}",
        "name": "bash",
        "state": {"input": {"command": "x"}, **state},
        **more,
    }


TURN = [
    ("agent-switched", {"agent": "build"}),
    ("user", {"text": "NEW-PROMPT", "files": [{"uri": "data:image/png;base64,eA==", "mime": "image/png"}]}),
    ("synthetic", {"text": "<file>injected</file>"}),
    ("shell", {"command": "ls", "output": "a b"}),
    (
        "assistant",
        {
            "model": {"id": "claude-sonnet-5-5"},
            "content": [
                {"type": "reasoning", "text": "look first"},
                {"type": "text", "text": "I will read."},
                tool(1, {"status": "completed", "output": "one"}),
                tool(2, {"status": "completed", "content": [{"type": "text", "text": "two"}]}),
                tool(
                    3,
                    {
                        "status": "error",
                        "content": [],
                        "error": {"type": "unknown", "message": "no such file"},
                    },
                ),
                tool(4, {"status": "completed", "output": "three"}, time={"created": T, "pruned": T + 1}),
                tool(5, {"status": "pending", "input": "{"}),
            ],
            "tokens": {"input": 1_000, "output": 50, "reasoning": 10, "cache": {"read": 7, "write": 5}},
        },
    ),
    ("compaction", {"reason": "auto", "summary": "So far: read."}),
    ("assistant", {"model": {"id": "m"}, "content": [{"type": "text", "text": "NEW-ANSWER"}]}),
]


@pytest.mark.parametrize("old", [False, True])
def test_sessions_of_opencode_2_are_found_before_those_of_an_earlier_version(
    tmp_path: Path, old: bool
) -> None:
    store = opencode(tmp_path, tmp_path / "w", TURN, old=old)
    environ = {"HOME": str(tmp_path)}
    assert sessions_of("@opencode", environ) == [store / "ses_new", *([store / "ses_old"] if old else [])]
    first = next(iter(listed("@opencode", environ, tmp_path / "w", [])))
    assert (first.id, first.digest.first, first.digest.prompts) == ("ses_new", "NEW-PROMPT", 1)
    assert "claude-sonnet-5-5" in first.digest.spent or "m" in first.digest.spent
    if old:
        assert prompts(read_source(store / "ses_old")) == ["OLD-PROMPT"]


def test_a_session_of_opencode_2_is_read_with_calls_commands_and_summaries(tmp_path: Path) -> None:
    source = read_source(opencode(tmp_path, tmp_path, TURN) / "ses_new")
    assert [text.partition("[")[0].strip() for text in prompts(source)] == ["NEW-PROMPT"]
    assert commands(source) == ["[OpenCode]\n<file>injected</file>", "!ls\na b"]
    first, last = answers(source)
    assert isinstance(first.content[0], Thinking)
    assert (first.model, first.usage.input_tokens, first.usage.output_tokens) == (
        "claude-sonnet-5-5",
        1_000,
        60,
    )
    assert plain_text(last.content) == "NEW-ANSWER"
    assert results(source) == [("one", False), ("two", False), ("no such file", True), ("three", False)]
    assert any(isinstance(one.event, CompactionApplied) for one in source.records)
    assert source.imported.left_out["messages of role agent-switched"] == 1
    assert source.imported.origin.name == "New work"


def test_a_database_with_tables_that_nobody_knows_is_named(tmp_path: Path) -> None:
    path = tmp_path / ".local/share/opencode/opencode.db"
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as store:
        store.execute("CREATE TABLE session_v3 (id text)")
    problems: list[str] = []
    assert list(listed("@opencode", {"HOME": str(tmp_path)}, None, problems)) == []
    assert problems == [
        f"{path}: not an OpenCode database: no table of sessions that this version of prunecli knows"
    ]
    with pytest.raises(SessionCorrupt, match="no table of sessions"):
        read_source(path / "ses_1")


# Codex -------------------------------------------------------------------------------------------------------


def row(kind: str, payload: dict[str, Any]) -> str:
    return json.dumps({"timestamp": "2026-09-20T10:00:00.000Z", "type": kind, "payload": payload})


def message(role: str, *texts: str, kinds: list[str] | None = None) -> str:
    kind = "output_text" if role == "assistant" else "input_text"
    more = (
        {} if kinds is None else {"internal_chat_message_metadata_passthrough": {"content_item_kinds": kinds}}
    )
    content = [{"type": kind, "text": text} for text in texts]
    return row("response_item", {"type": "message", "role": role, "content": content, **more})


def ended(**item: Any) -> str:
    return row("event_msg", {"type": "item_completed", "item": item})


CALL = row(
    "response_item", {"type": "custom_tool_call", "call_id": "call_1", "name": "exec", "input": "run()"}
)
OUTPUT = row(
    "response_item",
    {
        "type": "custom_tool_call_output",
        "call_id": "call_1",
        "output": [{"type": "input_text", "text": "Script completed\n"}],
    },
)
USED = row(
    "token_usage_record",
    {"usage": {"input_tokens": 12_000, "cached_input_tokens": 8_000, "output_tokens": 300}},
)
META = row("session_meta", {"id": "x", "cwd": "/w", "cli_version": "0.155.0"})
USER = ended(type="UserMessage", id="u1", content=[{"type": "text", "text": "PROMPT-1"}])
AGENT = ended(type="AgentMessage", id="m1", content=[{"type": "Text", "text": "I will look."}])


def codex(tmp_path: Path, *lines: str) -> Source:
    path = tmp_path / "rollout.jsonl"
    path.write_text("\n".join([META, *lines]) + "\n")
    return read_source(path)


@pytest.mark.parametrize(
    ("kind", "typed"),
    [
        *(("user.text", True), ("user.image_label", True), ("plugins.recommended", False)),
        *(("hooks.additional_context", False), ("skills.selected_skill_instructions", False)),
    ],
)
def test_the_kind_of_each_piece_says_who_wrote_it(tmp_path: Path, kind: str, typed: bool) -> None:
    source = codex(
        tmp_path, message("user", "some words", "PROMPT-1", kinds=[kind, "user.text"]), CALL, OUTPUT
    )
    assert prompts(source) == (["some words\nPROMPT-1"] if typed else ["PROMPT-1"])
    assert commands(source) == ([] if typed else ["[notice]\nsome words"])


def test_the_record_of_a_files_usage_belongs_to_the_answer_before_it(tmp_path: Path) -> None:
    source = codex(tmp_path, message("user", "PROMPT-1"), CALL, USED, OUTPUT, message("assistant", "Done."))
    assert [one.usage.input_tokens for one in answers(source)] == [4_000, 0]


@pytest.mark.parametrize(
    ("item", "failed"),
    [
        ({"type": "CommandExecution", "id": "e1", "status": "failed", "exit_code": 2}, True),
        ({"type": "FileChange", "id": "e1", "status": "declined"}, True),
        ({"type": "CommandExecution", "id": "e1", "status": "completed", "exit_code": 0}, False),
    ],
)
def test_a_command_that_fails_inside_a_script_fails_its_call(tmp_path: Path, item: Any, failed: bool) -> None:
    again = CALL.replace("call_1", "call_2"), OUTPUT.replace("call_1", "call_2")
    source = codex(tmp_path, message("user", "PROMPT-1"), CALL, ended(**item), OUTPUT, *again)
    assert results(source) == [("Script completed\n", failed), ("Script completed\n", False)]


def test_a_file_without_messages_is_read_from_its_events(tmp_path: Path) -> None:
    done = row("event_msg", {"type": "task_complete", "last_agent_message": "ANSWER-1"})
    source = codex(tmp_path, USER, AGENT, CALL, OUTPUT, done)
    assert prompts(source) == ["PROMPT-1"]
    assert [plain_text(one.content) for one in answers(source)] == ["I will look.", "ANSWER-1"]
    whole = codex(
        tmp_path, message("user", "PROMPT-1"), USER, AGENT, message("assistant", "I will look."), done
    )
    assert prompts(whole) == ["PROMPT-1"]
    assert [plain_text(one.content) for one in answers(whole)] == ["I will look."]


def test_a_message_of_another_agent_is_a_notice(tmp_path: Path) -> None:
    given = {
        "type": "inter_agent_message",
        "from": "/root/judge",
        "content": [{"type": "input_text", "text": "fine"}],
    }
    source = codex(tmp_path, message("user", "PROMPT-1"), row("response_item", given))
    assert commands(source) == ["[message from /root/judge]\nfine"]


# Gemini CLI and Claude Code ----------------------------------------------------------------------------------


def test_a_message_of_gemini_that_grew_keeps_its_thoughts(tmp_path: Path) -> None:
    begun = {
        "id": "g1",
        "type": "gemini",
        "content": "",
        "thoughts": [{"subject": "x", "description": "look"}],
    }
    lines = [
        {"sessionId": "s", "projectHash": "h", "startTime": "2026-09-20T10:00:00.000Z", "kind": "main"},
        {"$set": {"messages": [{"id": "u1", "type": "user", "content": [{"text": "PROMPT-1"}]}]}},
        {
            **begun,
            "toolCalls": [{"id": "c1", "name": "run_shell_command", "args": {}, "status": "executing"}],
        },
        {"id": "g1", "type": "gemini", "content": [{"text": "I ran it."}], "toolCalls": []},
        {"id": "i1", "type": "info", "content": "Update available"},
        {"$set": {"summary": "Listing files"}},
    ]
    path = tmp_path / "session.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    source = read_source(path)
    (answer,) = answers(source)
    assert [type(block).__name__ for block in answer.content] == ["Thinking", "Text"]
    assert (prompts(source), source.imported.origin.name) == (["PROMPT-1"], "Listing files")
    assert source.imported.left_out == {"info messages": 1}


def test_control_records_of_claude_code_are_counted_and_a_queued_prompt_is_a_prompt(tmp_path: Path) -> None:
    link = {"sessionId": "s", "cwd": "/w", "isSidechain": False}
    queued = {"type": "queued_command", "prompt": "QUEUED", "commandMode": "prompt"}
    lines = [
        {"type": "queue-operation", "operation": "enqueue", "content": "PROMPT \u2028 A", "sessionId": "s"},
        {"type": "atis-latch", "sessionId": "s"},
        {**link, "uuid": "u1", "parentUuid": None, "type": "user", "message": {"content": "PROMPT \u2028 A"}},
        {**link, "uuid": "u2", "parentUuid": "u1", "type": "attachment", "attachment": queued},
        {"type": "cost-state", "sessionId": "s", "totalCostUsd": 1.5},
    ]
    path = tmp_path / "s.jsonl"
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")
    source = read_source(path)
    assert prompts(source) == ["PROMPT \u2028 A", "QUEUED"]
    assert source.imported.left_out == {"queue-operation": 1, "atis-latch": 1, "cost-state": 1}
