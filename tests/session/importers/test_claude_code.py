"""Claude Code's files: the line it would resume, responses split over rows, compactions, branches, subagents."""

import json
from pathlib import Path
from typing import Any

from prunecli.model.events import AssistantMessage, CompactionApplied, PrunApplied, ToolResult, UserMessage
from prunecli.model.messages import Text, Thinking, ToolUse, plain_text
from prunecli.session.importers.source import Source, read_source
from tests.session.points import content, sent, valid_points

SAMPLES = sorted((Path(__file__).parents[2] / "imports").glob("claude-code-*.gz"))


def row(uuid: str, parent: str | None, kind: str, **fields: Any) -> dict[str, Any]:
    return {"uuid": uuid, "parentUuid": parent, "type": kind, "sessionId": "s", "cwd": "/w", **fields}


def user(uuid: str, parent: str | None, content: Any, **fields: Any) -> dict[str, Any]:
    return row(uuid, parent, "user", message={"role": "user", "content": content}, **fields)


def result(uuid: str, parent: str, call: str, text: str) -> dict[str, Any]:
    return user(uuid, parent, [{"type": "tool_result", "tool_use_id": call, "content": text}])


def answer(
    uuid: str, parent: str | None, response: str, *blocks: dict[str, Any], **fields: Any
) -> dict[str, Any]:
    usage = {"input_tokens": 5, "output_tokens": 7, "cache_read_input_tokens": 11}
    message = {
        "id": response,
        "role": "assistant",
        "model": "claude-x",
        "content": list(blocks),
        "usage": usage,
    }
    return row(uuid, parent, "assistant", message=message, requestId=f"req_{response}", **fields)


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(name: str, use: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": use, "name": name, "input": given}


def read(folder: Path, *rows: dict[str, Any] | str) -> Source:
    path = folder / "file"
    path.write_text("\n".join(one if isinstance(one, str) else json.dumps(one) for one in rows))
    return read_source(path)


def said(source: Source) -> list[str]:
    return [
        plain_text(one.event.content)
        for one in source.records
        if isinstance(one.event, UserMessage | AssistantMessage)
    ]


def test_the_rows_of_a_response_are_one_response_whose_usage_counts_once(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        user("1", None, "go"),
        answer("2", "1", "m1", {"type": "thinking", "thinking": "hm", "signature": "sig"}),
        answer("3", "2", "m1", text("I look.")),
        answer("4", "3", "m1", call("Read", "t1", file_path="/a")),
        result("5", "4", "t1", "content"),
        answer("6", "5", "m2", text("Done.")),
    )
    responses = [one.event for one in found.records if isinstance(one.event, AssistantMessage)]
    assert responses[0].content == (
        Thinking("hm", "sig"),
        Text("I look."),
        ToolUse("t1", "read", {"path": "/a"}),
    )
    assert [one.usage.output_tokens for one in responses] == [7, 7]
    assert responses[0].request_id == "req_m1"
    assert responses[0].model == "claude-x"
    assert valid_points(found.records) == 3


def test_results_of_parallel_calls_that_hang_on_their_own_row_are_all_kept(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        user("1", None, "go"),
        answer("2", "1", "m1", call("Bash", "t1", command="a")),
        answer("3", "2", "m1", call("Bash", "t2", command="b")),
        result("4", "2", "t1", "from a"),
        result("5", "3", "t2", "from b"),
        answer("6", "5", "m2", text("Done.")),
    )
    results = [one.event for one in found.records if isinstance(one.event, ToolResult)]
    assert [plain_text(one.content) for one in results] == ["from a", "from b"]
    assert found.branches == ()


def test_the_last_message_ends_the_main_line_and_the_other_line_is_a_branch(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        user("1", None, "go"),
        answer("2", "1", "m1", text("First way.")),
        user("3", "2", "no"),
        answer("4", "3", "m2", text("Sorry.")),
        user("5", "2", "better"),
        answer("6", "5", "m3", text("Good.")),
    )
    assert said(found) == ["go", "First way.", "better", "Good."]
    [branch] = found.branches
    assert branch.common == 2
    assert plain_text(content(branch.records[3].event)) == "no"
    assert branch.records[:3] == found.records[:3]


def test_a_damaged_line_does_not_cut_off_what_stands_before_it(tmp_path: Path) -> None:
    found = read(tmp_path, user("1", None, "go"), '{"uuid":"2",', user("3", "2", "on"))
    assert said(found) == ["go", "on"]
    assert found.notices[0].startswith("line 2: ")


def test_a_compaction_stands_for_all_before_it_but_the_segment_it_preserved(tmp_path: Path) -> None:
    meta = {"trigger": "auto", "preTokens": 9000, "preservedSegment": {"headUuid": "3", "tailUuid": "4"}}
    found = read(
        tmp_path,
        user("1", None, "go"),
        answer("2", "1", "m1", text("Old.")),
        user("3", "2", "kept"),
        answer("4", "3", "m2", text("Kept too.")),
        row("5", None, "system", subtype="compact_boundary", logicalParentUuid="4", compactMetadata=meta),
        user("6", "5", "What happened.", isCompactSummary=True),
        user("7", "6", "next"),
    )
    [compaction] = [one.event for one in found.records if isinstance(one.event, CompactionApplied)]
    assert compaction == CompactionApplied("What happened.", 0, 3, 9000)
    shown = [block["text"] for message in sent(found.records) for block in message["content"]]
    assert shown == ["What happened.", "kept", "Kept too.", "next"]


def test_results_that_were_cleared_are_cleared_here_too(tmp_path: Path) -> None:
    meta = {"compactedToolIds": ["t1", "unknown"]}
    found = read(
        tmp_path,
        user("1", None, "go"),
        answer("2", "1", "m1", call("Bash", "t1", command="a")),
        result("3", "2", "t1", "long"),
        row("4", "3", "system", subtype="microcompact_boundary", microcompactMetadata=meta),
        answer("5", "4", "m2", text("Done.")),
        user("6", "5", "next"),
    )
    assert [one.event.strategy for one in found.records if isinstance(one.event, PrunApplied)] == [
        "claude-code"
    ]
    assert "long" not in json.dumps(sent(found.records))


def test_a_subagents_rows_are_counted_and_a_file_of_nothing_else_is_read(tmp_path: Path) -> None:
    inner = user("9", None, "subtask", isSidechain=True)
    found = read(tmp_path, user("1", None, "go"), inner, answer("2", "1", "m1", text("Hi.")))
    assert said(found) == ["go", "Hi."]
    assert found.imported.left_out == {"subagent (sidechain) rows": 1}
    assert said(read(tmp_path, inner)) == ["subtask"]


def test_words_typed_while_the_agent_worked_are_kept_and_other_attachments_counted(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        user("1", None, "go"),
        row("2", "1", "attachment", attachment={"type": "queued_command", "prompt": "also this"}),
        row("3", "2", "attachment", attachment={"type": "skill_listing"}),
        answer("4", "3", "m1", text("Hi.")),
    )
    assert said(found) == ["go", "also this", "Hi."]
    assert found.imported.left_out == {"attachment (skill_listing)": 1}


def test_messages_that_the_program_made_of_errors_are_left_out(tmp_path: Path) -> None:
    wrong = answer("2", "1", "m1", text("API Error"), isApiErrorMessage=True)
    found = read(tmp_path, user("1", None, "go"), wrong, user("3", "2", "again"))
    assert said(found) == ["go", "again"]


def test_the_name_that_the_user_or_the_program_gave_is_kept(tmp_path: Path) -> None:
    found = read(tmp_path, user("1", None, "go"), {"type": "ai-title", "aiTitle": "A fix", "sessionId": "s"})
    assert found.imported.origin.name == "A fix"
    assert found.imported.origin.id == "s"


def test_only_the_first_branches_of_very_many_are_read_and_the_rest_is_counted(tmp_path: Path) -> None:
    others = [user(f"b{number}", "1", "else") for number in range(60)]
    found = read(tmp_path, user("1", None, "go"), *others, user("end", "1", "on"))
    assert said(found) == ["go", "on"]
    assert len(found.branches) == found.imported.branch_count == 50
    assert found.imported.left_out == {"branches over the limit": 10}
