"""Codex's, OpenCode's and Gemini CLI's files, agent-session/1 and Anthropic messages."""

import json
from pathlib import Path
from typing import Any

import pytest

from prunecli.model.events import AssistantMessage, CompactionApplied, PrunApplied, ToolResult, UserMessage
from prunecli.model.messages import Image, ToolUse, Usage, plain_text, tool_uses
from prunecli.session.importers.source import Source, read_source
from prunecli.util.errors import SessionCorrupt
from tests.laws.exact import png
from tests.session.points import content, sent, valid_points
from tests.sessions import COMPLETE

IMPORTS = Path(__file__).parents[2] / "imports"
PIXEL = "iVBORw0KGgo="


def lines(folder: Path, *rows: dict[str, Any]) -> Source:
    (folder / "file").write_text("\n".join(map(json.dumps, rows)))
    return read_source(folder / "file", compactions=True)


def value(folder: Path, whole: Any) -> Source:
    (folder / "file").write_text(json.dumps(whole, indent=1))
    return read_source(folder / "file")


def shown(source: Source) -> list[str]:
    return [block.get("text", "") for one in sent(source.records) for block in one["content"]]


def responses(source: Source) -> list[AssistantMessage]:
    return [one.event for one in source.records if isinstance(one.event, AssistantMessage)]


# Codex -------------------------------------------------------------------------------------------------------


def item(**payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-01-01T00:00:00Z", "type": "response_item", "payload": payload}


def spoken(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return item(type="message", role=role, content=[{"type": kind, "text": text}])


def event(**payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-01-01T00:00:00Z", "type": "event_msg", "payload": payload}


def test_codex_items_up_to_a_result_are_one_response_with_its_usage(tmp_path: Path) -> None:
    used = {"input_tokens": 100, "cached_input_tokens": 60, "output_tokens": 9}
    found = lines(
        tmp_path,
        spoken("user", "go"),
        item(type="reasoning", summary=[{"type": "summary_text", "text": "hm"}]),
        item(type="function_call", name="exec_command", arguments='{"cmd":"ls"}', call_id="a"),
        item(type="custom_tool_call", name="apply_patch", input="*** Begin", call_id="b"),
        item(type="function_call_output", call_id="a", output="files"),
        item(
            type="custom_tool_call_output", call_id="b", output='{"output":"no","metadata":{"exit_code":1}}'
        ),
        event(type="token_count", info={"last_token_usage": used}),
        spoken("assistant", "Done."),
    )
    first, last = responses(found)
    assert tool_uses(first.content) == (
        ToolUse("a", "bash", {"command": "ls"}),
        ToolUse("b", "edit", {"patch": "*** Begin"}),
    )
    assert first.usage == Usage(40, 9, 60, None)
    assert last.usage == Usage()
    assert [one.event.is_error for one in found.records if isinstance(one.event, ToolResult)] == [False, True]


def test_what_codex_tells_the_model_about_itself_is_counted_and_left_out(tmp_path: Path) -> None:
    found = lines(
        tmp_path,
        spoken("developer", "<permissions>"),
        spoken("user", "<environment_context>\n  <cwd>/w</cwd>"),
        spoken("user", "go"),
        spoken("assistant", "Hi."),
    )
    assert shown(found) == ["go", "Hi."]
    assert sum(found.imported.left_out.values()) == 2


@pytest.mark.parametrize(
    ("output", "before", "failed"),
    [
        ("Chunk ID: a1\nWall time: 0.1 seconds\nProcess exited with code 2\nOutput:\nx", {}, True),
        (
            "Chunk ID: a1\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nExit code: 1\n",
            {},
            False,
        ),
        ("Exit code: 1\nWall time: 0 seconds\nOutput:\n", {}, True),
        ({"content": "x", "success": False}, {}, True),
        ("rejected", {"type": "item_completed", "item": {"id": "c", "status": "declined"}}, True),
        (
            "done",
            {"type": "item_completed", "item": {"id": "c", "status": "completed", "exit_code": 0}},
            False,
        ),
        ("x", {"type": "exec_command_end", "call_id": "c", "exit_code": 1}, True),
        ("x", {"type": "patch_apply_end", "call_id": "c", "success": False}, True),
        ("x", {"type": "mcp_tool_call_end", "call_id": "c", "result": {"Err": "no"}}, True),
        ("x", {"type": "mcp_tool_call_end", "call_id": "c", "result": {"Ok": {}}}, False),
    ],
)
def test_a_call_of_codex_failed_if_its_output_or_an_event_says_so(
    tmp_path: Path, output: Any, before: dict[str, Any], failed: bool
) -> None:
    call = item(type="function_call", call_id="c", name="exec_command", arguments="{}")
    found = lines(
        tmp_path,
        spoken("user", "go"),
        call,
        *([event(**before)] if before else []),
        item(type="function_call_output", call_id="c", output=output),
    )
    assert [one.event.is_error for one in found.records if isinstance(one.event, ToolResult)] == [failed]


def test_turns_that_codex_rolled_back_leave_the_context(tmp_path: Path) -> None:
    found = lines(
        tmp_path,
        spoken("user", "one"),
        spoken("assistant", "1"),
        spoken("user", "two"),
        spoken("assistant", "2"),
        event(type="thread_rolled_back", num_turns=1),
        spoken("user", "three"),
    )
    assert shown(found) == ["one", "1", "three"]


def test_a_compaction_of_codex_is_one_here_unless_its_summary_cannot_be_read(tmp_path: Path) -> None:
    kept = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "the task"}]}
    secret = {"type": "compaction", "encrypted_content": "x"}
    compacted = {"type": "compacted", "payload": {"message": "", "replacement_history": [kept, secret]}}
    found = lines(tmp_path, spoken("user", "old"), compacted, spoken("user", "new"))
    assert "the task" in shown(found)[0]
    assert "old" not in shown(found)
    assert found.imported.left_out == {"encrypted summaries": 1}
    compacted = {"type": "compacted", "payload": {"message": "", "replacement_history": [secret]}}
    found = lines(tmp_path, spoken("user", "old"), compacted, spoken("user", "new"))
    assert shown(found) == ["old", "new"]


# OpenCode ----------------------------------------------------------------------------------------------------


def opencode(*messages: tuple[str, list[dict[str, Any]]], **info: Any) -> dict[str, Any]:
    return {
        "info": {"id": "ses", "directory": "/w", "title": "A title", **info},
        "messages": [
            {
                "info": {"id": f"m{number}", "role": role.removesuffix("!"), "summary": role.endswith("!")},
                "parts": parts,
            }
            for number, (role, parts) in enumerate(messages)
        ],
    }


def tool(call: str, **state: Any) -> dict[str, Any]:
    return {"type": "tool", "tool": "read", "callID": call, "state": {"input": {"filePath": "/a"}, **state}}


def words(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def test_each_step_of_an_opencode_message_is_a_response_and_cleared_results_are_cleared(
    tmp_path: Path,
) -> None:
    tokens = {"input": 5, "output": 3, "reasoning": 2, "cache": {"read": 1, "write": 0}}
    found = value(
        tmp_path,
        opencode(
            ("user", [words("go")]),
            (
                "assistant",
                [
                    {"type": "step-start"},
                    {"type": "reasoning", "text": "hm", "metadata": {"anthropic": {"signature": "s"}}},
                    tool(
                        "a",
                        status="completed",
                        output="long",
                        time={"end": 1_700_000_000_000, "compacted": 5},
                    ),
                    tool("b", status="error", error="no"),
                    tool("c", status="running"),
                    {"type": "step-finish", "reason": "tool-calls", "tokens": tokens},
                    {"type": "step-start"},
                    words("Done."),
                    {"type": "step-finish", "reason": "stop", "tokens": tokens},
                ],
            ),
        ),
    )
    first, last = responses(found)
    assert (first.stop_reason, last.stop_reason) == ("tool_use", "end_turn")
    assert first.usage == Usage(5, 5, 1, 0)
    assert [one.event.strategy for one in found.records if isinstance(one.event, PrunApplied)] == ["opencode"]
    answers = sent(found.records)[2]["content"]
    assert [one.get("is_error", False) for one in answers] == [False, True, True]
    assert "long" not in json.dumps(answers)
    assert found.imported.origin.name == "A title"


def test_what_opencode_wrote_in_the_users_place_is_a_notice(tmp_path: Path) -> None:
    told = {**words("The following tool was executed by the user"), "synthetic": True}
    shell = tool("a", status="completed", output="1", time={"end": 1_700_000_000_000})
    found = value(
        tmp_path, opencode(("user", [told]), ("assistant", [shell]), ("user", [words("so?"), told]))
    )
    origins = [one.event.origin for one in found.records if isinstance(one.event, UserMessage)]
    assert origins == ["command", "import", "command"]


def test_a_summary_of_opencode_stands_for_what_came_before_and_undone_messages_are_left_out(
    tmp_path: Path,
) -> None:
    whole = opencode(
        ("user", [words("old")]),
        ("user", [{"type": "compaction", "auto": True}]),
        ("assistant!", [words("S")]),
        ("user", [words("new")]),
        ("assistant", [words("undone")]),
    )
    whole["info"]["revert"] = {"messageID": "m4"}
    found = value(tmp_path, whole)
    assert "old" not in shown(found)
    assert shown(found)[1:] == ["new"]
    assert found.imported.left_out == {"undone messages": 1}


def test_an_image_is_kept_with_its_bytes_or_named(tmp_path: Path) -> None:
    good = {"type": "file", "mime": "image/png", "url": f"data:image/png;base64,{PIXEL}"}
    bad = {"type": "file", "mime": "image/png", "url": "file:///x.png"}
    sized = {"type": "file", "mime": "image/png", "url": f"data:image/png;base64,{png(640, 480).data}"}
    found = value(tmp_path, opencode(("user", [words("see"), good, bad, sized])))
    assert Image("image/png", PIXEL) in content(found.records[1].event)
    assert png(640, 480) in content(found.records[1].event)
    assert shown(found) == ["see", "", "[image]", ""]
    assert found.imported.left_out == {"unusable images": 1}


# Gemini CLI --------------------------------------------------------------------------------------------------


def test_the_newer_files_of_gemini_are_replayed_change_by_change(tmp_path: Path) -> None:
    head = {"sessionId": "g", "projectHash": "h", "startTime": "2026-01-01T00:00:00Z", "directories": ["/w"]}
    asked = {"id": "1", "type": "user", "content": [{"text": "go"}]}
    begun = {"id": "2", "type": "gemini", "content": "I look."}
    call = {"id": "c", "name": "read_file", "args": {"path": "/a"}, "status": "error"}
    call["result"] = [{"functionResponse": {"response": {"error": "none"}}}]
    grown = {**begun, "toolCalls": [call], "model": "gemini-x"}
    later = {"id": "3", "type": "user", "content": "wrong"}
    found = lines(tmp_path, head, asked, begun, grown, {"$set": {"summary": "s"}}, later, {"$rewindTo": "3"})
    assert found.imported.origin.cwd == "/w"
    assert found.imported.origin.model == "gemini-x"
    assert [plain_text(one.content) for one in responses(found)] == ["I look."]
    [result] = [one.event for one in found.records if isinstance(one.event, ToolResult)]
    assert (result.tool_name, result.is_error, plain_text(result.content)) == ("read", True, "none")
    assert "wrong" not in shown(found)


# agent-session/1 and messages --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "response", "failed"),
    [
        ("run_shell_command", {"output": "Output: x\nExit Code: 2\nProcess Group PGID: 7"}, True),
        (
            "run_shell_command",
            {"output": "Output: x\nExit Code: 2\nError: (none)\nProcess Group PGID: 7"},
            False,
        ),
        (
            "run_shell_command",
            {"output": "Output: x\nError: (none)\nExit Code: 0\nSignal: 0\nProcess Group PGID: 7"},
            False,
        ),
        ("read_file", {"output": "\nExit Code: 2\nProcess Group PGID: 7"}, False),
        ("read_file", {"error": "no such file"}, True),
    ],
)
def test_a_call_of_gemini_failed_if_its_response_says_so(
    tmp_path: Path, name: str, response: dict[str, str], failed: bool
) -> None:
    answer = {"functionResponse": {"id": "c", "name": name, "response": response}}
    call = {"id": "c", "name": name, "args": {}, "status": "success", "result": [answer]}
    messages = [
        {"id": "1", "type": "user", "content": "go"},
        {"id": "2", "type": "gemini", "content": "", "toolCalls": [call]},
    ]
    found = value(tmp_path, {"sessionId": "s", "startTime": "2026-01-01T00:00:00Z", "messages": messages})
    assert [one.event.is_error for one in found.records if isinstance(one.event, ToolResult)] == [failed]


@pytest.mark.skipif(not COMPLETE, reason="these files are not in a source distribution")
@pytest.mark.parametrize(
    ("name", "failed"),
    [("codex-1.jsonl.gz", 2), ("codex-2.jsonl.gz", 1), ("opencode-1.json.gz", 1), ("opencode-2.json.gz", 1)],
)
def test_commands_that_failed_in_real_files_are_errors(tmp_path: Path, name: str, failed: int) -> None:
    found = read_source(IMPORTS / name)
    assert sum(one.event.is_error for one in found.records if isinstance(one.event, ToolResult)) == failed


def test_a_marked_compaction_of_an_agent_session_is_put_in_place_only_when_asked_for(tmp_path: Path) -> None:
    rows = [
        {"format": "agent-session/1"},
        {"role": "user", "content": [words("old")]},
        {"role": "user", "kind": "compact_boundary", "content": []},
        {"role": "user", "kind": "compact_summary", "content": [words("S1")]},
        {"role": "user", "kind": "compact_summary", "content": [words("S2")]},
        {"role": "user", "content": [words("new")]},
    ]
    assert shown(lines(tmp_path, *rows)) == ["S1\n\nS2", "new"]
    whole = read_source(tmp_path / "file")
    assert shown(whole) == ["old", "S1", "S2", "new"]
    assert not any(isinstance(one.event, CompactionApplied) for one in whole.records)


def test_the_model_of_a_request_with_messages_is_kept(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "One."},
        {"role": "user", "content": "again"},
        {"role": "assistant", "content": "Two.", "model": "claude-opus-4-6"},
    ]
    found = value(tmp_path, {"model": "claude-haiku-4-5", "messages": messages})
    events = [record.event for record in found.records]
    assert [one.model for one in events if isinstance(one, AssistantMessage)] == [
        "claude-haiku-4-5",
        "claude-opus-4-6",
    ]


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"role": "user", "content": [{"type": "tool_use", "id": "a", "name": "b", "input": {}}]}, "call"),
        ({"role": "assistant", "content": [{"type": "tool_result", "tool_use_id": "a"}]}, "tool_result"),
        (
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "b c", "input": {}}]},
            "b c",
        ),
        (
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "b", "input": {}}] * 2},
            "same id",
        ),
        ({"role": "user", "content": [{"type": "tool_result", "tool_use_id": 3}]}, "tool_use_id"),
        ({"role": "user", "content": [3]}, "messages.1"),
        ({"content": "x"}, "no role"),
    ],
)
def test_messages_that_no_endpoint_takes_are_refused_by_number(
    tmp_path: Path, message: object, said: str
) -> None:
    with pytest.raises(SessionCorrupt, match=said) as error:
        value(tmp_path, {"messages": [{"role": "user", "content": "hi"}, message]})
    assert "messages.1" in error.value.message


@pytest.mark.parametrize(
    ("name", "kind", "asked", "answered"),
    [
        ("codex-1.jsonl", "codex", 1, 14),
        ("codex-2.jsonl", "codex", 1, 9),
        ("opencode-1.json", "opencode", 3, 12),
        ("opencode-2.json", "opencode", 1, 22),
        ("gemini-cli-1.json", "gemini-cli", 1, 11),
    ],
)
@pytest.mark.skipif(not COMPLETE, reason="these files are not in a source distribution")
def test_real_files_are_read_without_damage(name: str, kind: str, asked: int, answered: int) -> None:
    found = read_source(IMPORTS / f"{name}.gz")
    assert found.kind == kind
    assert found.notices == ()
    assert len(responses(found)) == answered
    assert valid_points(found.records) >= asked
    assert any(one.usage.output_tokens for one in responses(found))
    assert all(plain_text(one.event.content) for one in found.records if isinstance(one.event, ToolResult))
