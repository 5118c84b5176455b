"""Codex sessions whose beginning is in other files, or whose name is, and calls in code mode."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prunecli.model.events import AssistantMessage, CompactionApplied, ToolResult, UserMessage
from prunecli.model.messages import plain_text, tool_uses
from prunecli.session.importers.finding import listed, search, session_files, sessions_of
from prunecli.session.importers.source import Source, read_source
from prunecli.session.session_search import Hit
from tests.session.importers.packing import compress

PARENT, CHILD, SECOND, THIRD = (f"01a21b2a-40c6-7de3-98bd-00000000000{digit}" for digit in "1234")
DAY = ".codex/sessions/2026/11/27"


def row(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-11-27T04:00:00Z", "type": kind, "payload": payload}


def meta(session: str, base: tuple[str, bytes] | None = None, minute: int = 0) -> dict[str, Any]:
    inherited = {"thread_id": base[0], "end_byte_offset": len(base[1])} if base else None
    started = f"2026-11-27T04:{minute:02}:00Z"
    return row("session_meta", id=session, cwd="/work", timestamp=started, history_base=inherited)


def said(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return row("response_item", type="message", role=role, content=[{"type": kind, "text": text}])


def turn(prompt: str, answer: str) -> list[dict[str, Any]]:
    return [said("user", prompt), said("assistant", answer)]


def packed(*rows: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in rows)


def put(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(compress(data) if path.suffix == ".zst" else data)
    return path


def talk(source: Source) -> list[str]:
    events = [record.event for record in source.records]
    return [plain_text(one.content) for one in events if isinstance(one, UserMessage | AssistantMessage)]


def rollout(session: str, file: str = "") -> str:
    return f"rollout-2026-11-27T04-00-00-{session}{'_' * bool(file)}{file}.jsonl"


KEPT = packed(meta(PARENT), *turn("one", "1"))
LATER = packed(*turn("two", "2"))


@pytest.mark.parametrize("parent", [DAY, ".codex/archived_sessions"])
@pytest.mark.parametrize("ending", ["", ".zst"])
def test_a_forked_session_begins_with_the_part_of_the_other_file_that_it_continues(
    tmp_path: Path, parent: str, ending: str
) -> None:
    put(tmp_path / parent / (rollout(PARENT) + ending), KEPT + LATER)
    # The folder of a session is that of its day, so that of a fork may be another one.
    fork = put(
        tmp_path / ".codex/sessions/2026/12/24" / rollout(CHILD),
        packed(meta(CHILD, (PARENT, KEPT)), *turn("other", "3")),
    )
    source = read_source(fork)
    assert talk(source) == ["one", "1", "other", "3"]
    assert source.imported.origin.id == CHILD
    assert source.notices == ()
    environ = {"HOME": str(tmp_path)}
    facts = {one.id: one.digest for one in listed("@codex", environ, Path("/work"), [])}
    assert (facts[CHILD].first, facts[CHILD].last, facts[CHILD].prompts) == ("one", "other", 2)
    assert facts[PARENT].last == "two"
    assert [hit.path for hit in found_in(tmp_path, "one")].count(fork) == 1


def found_in(home: Path, word: str) -> Iterator[Hit]:
    sessions = list(listed("@codex", {"HOME": str(home)}, Path("/work"), []))
    return (hit for hit in search(sessions, word) if isinstance(hit, Hit))


def test_a_session_that_was_reverted_is_its_newest_file_and_what_that_continues(tmp_path: Path) -> None:
    put(tmp_path / DAY / rollout(PARENT), KEPT + LATER)
    second = packed(meta(PARENT, (PARENT, KEPT), 1), *turn("three", "3"))
    put(tmp_path / DAY / rollout(PARENT, SECOND), second + LATER)
    third = packed(meta(PARENT, (SECOND, second), 2), *turn("four", "4"))
    newest = put(tmp_path / DAY / rollout(PARENT, THIRD), third)
    assert sessions_of("@codex", {"HOME": str(tmp_path)}) == [newest]
    assert session_files(tmp_path / DAY) == [newest]
    source = read_source(newest)
    assert talk(source) == ["one", "1", "three", "3", "four", "4"]
    began = source.records[0].timestamp
    assert began == read_source(tmp_path / DAY / rollout(PARENT)).records[0].timestamp, "an id depends on it"


def test_a_session_whose_beginning_is_missing_or_damaged_is_read_and_says_so(tmp_path: Path) -> None:
    rows = turn("other", "3")
    fork = put(tmp_path / DAY / rollout(CHILD), packed(meta(CHILD, (PARENT, KEPT)), *rows))
    source = read_source(fork)
    assert talk(source) == ["other", "3"]
    assert source.notices == (f"line 1: earlier messages are missing: no file of {PARENT}",)
    other = put(fork.with_name(rollout(PARENT) + ".zst"), KEPT)
    other.write_bytes(other.read_bytes()[:-5])
    assert "damaged zstd file: truncated" in read_source(fork).notices[0]
    other.unlink()
    damaged = KEPT + b"{\n"
    put(other.with_suffix(""), damaged)
    put(fork, packed(meta(CHILD, (PARENT, damaged)), *rows))
    source = read_source(fork)
    assert talk(source) == ["one", "1", "other", "3"]
    assert source.notices[0].startswith(f"{rollout(PARENT)} line 4: ")


@pytest.mark.parametrize("base", [CHILD, "*", "../../x", "", "0" * 36])
def test_a_session_that_claims_to_continue_itself_or_no_session_is_read(tmp_path: Path, base: str) -> None:
    fork = put(tmp_path / DAY / rollout(CHILD), packed(meta(CHILD, (base, KEPT)), *turn("other", "3")))
    source = read_source(fork)
    assert talk(source) == ["other", "3"]
    assert len(source.notices) == 1


@pytest.mark.parametrize("ending", ["", ".zst"])
def test_sessions_of_subagents_are_left_out(tmp_path: Path, ending: str) -> None:
    main = put(tmp_path / DAY / (rollout(PARENT) + ending), KEPT)
    spawned = meta(CHILD)
    spawned["payload"]["source"] = {"subagent": {"thread_spawn": {"parent_thread_id": PARENT}}}
    put(tmp_path / DAY / (rollout(CHILD) + ending), packed(spawned, *turn("sub", "1")))
    assert sessions_of("@codex", {"HOME": str(tmp_path)}) == [main]


def test_a_subagents_own_call_is_apart_from_the_one_that_it_inherited(tmp_path: Path) -> None:
    def call(name: str) -> dict[str, Any]:
        return row("response_item", type="function_call", call_id=name, name=name, arguments="{}")

    rows = [meta(CHILD), said("user", "go"), call("spawn_agent")]
    rows += [row("event_msg", type="turn_aborted"), row("event_msg", type="task_started"), call("view_image")]
    source = read_source(put(tmp_path / "x", packed(*rows)))
    answers = [one.event for one in source.records if isinstance(one.event, AssistantMessage)]
    names = [[call.name for call in tool_uses(one.content)] for one in answers]
    assert names == [["spawn_agent"], ["view_image"]]


def test_a_session_has_the_name_that_its_user_gave_it_last(tmp_path: Path) -> None:
    path = put(tmp_path / DAY / rollout(PARENT), KEPT)
    names = [{"id": PARENT, "thread_name": name} for name in ("First name", "Last name")]
    put(tmp_path / ".codex/session_index.jsonl", packed(*names))
    assert read_source(path).imported.origin.name == "Last name"
    [one] = listed("@codex", {"HOME": str(tmp_path)}, Path("/work"), [])
    assert one.name == "Last name"
    put(tmp_path / ".codex/session_index.jsonl", b"\x1f\x8b damaged")
    assert read_source(path).imported.origin.name == ""


def test_a_call_in_code_mode_is_no_shell_command(tmp_path: Path) -> None:
    script = 'text(await tools.exec_command({cmd: "ls"}))'
    rows = [meta(PARENT), said("user", "go")]
    for call, done in (("a", "Script completed\n"), ("b", "Script failed\n")):
        output = [{"type": "input_text", "text": done}, {"type": "input_text", "text": "files"}]
        rows += [
            row("response_item", type="custom_tool_call", call_id=call, name="exec", input=script),
            row("response_item", type="custom_tool_call_output", call_id=call, output=output),
        ]
    events = [record.event for record in read_source(put(tmp_path / "x", packed(*rows))).records]
    calls = [call for one in events if isinstance(one, AssistantMessage) for call in tool_uses(one.content)]
    assert [(call.name, call.input) for call in calls] == [("exec", {"input": script})] * 2
    results = [one for one in events if isinstance(one, ToolResult)]
    assert [(one.is_error, "files" in plain_text(one.content)) for one in results] == [
        (False, True),
        (True, True),
    ]


def test_what_paginated_history_repeats_is_not_doubled(tmp_path: Path) -> None:
    def counted(total: int, tokens: int) -> dict[str, Any]:
        info = {"total_token_usage": {"input_tokens": total}, "last_token_usage": {"input_tokens": tokens}}
        return row("event_msg", type="token_count", info=info)

    prompt = {"type": "UserMessage", "id": "u", "content": [{"type": "text", "text": "go"}]}
    answer = {"type": "AgentMessage", "id": "m", "content": [{"type": "Text", "text": "Done."}]}
    rows = [
        meta(PARENT),
        said("user", "go"),
        row("event_msg", type="item_completed", item=prompt),
        row("event_msg", type="item_completed", item=answer),
        said("assistant", "Done."),
        row("token_usage_record", usage={"input_tokens": 100}),
        counted(100, 100),
        said("user", "more"),
        said("assistant", "Interru"),
        counted(100, 100),
    ]
    source = read_source(put(tmp_path / "x", packed(*rows)))
    assert talk(source) == ["go", "Done.", "more", "Interru"]
    answers = [one.event for one in source.records if isinstance(one.event, AssistantMessage)]
    assert [one.usage.input_tokens for one in answers] == [100, 0]


def test_a_list_shows_the_tokens_that_are_left_after_a_compaction(tmp_path: Path) -> None:
    used = {"input_tokens": 0, "total_tokens": 6_120}
    rows = [
        meta(PARENT),
        said("user", "go"),
        row("event_msg", type="token_count", info={"last_token_usage": used}),
    ]
    put(tmp_path / DAY / rollout(PARENT), packed(*rows))
    [one] = listed("@codex", {"HOME": str(tmp_path)}, Path("/work"), [])
    assert one.digest.context == 6_120


def test_a_summary_leaves_out_what_codex_tells_the_model_about_the_machine(tmp_path: Path) -> None:
    texts = "<environment_context>\n  <cwd>/w</cwd>", "the task", "what was done"
    history = [said("user", text)["payload"] for text in texts]
    rows = [meta(PARENT), said("user", "old"), row("compacted", message="", replacement_history=history)]
    source = read_source(put(tmp_path / "x", packed(*rows)), compactions=True)
    [summary] = [one.event.summary for one in source.records if isinstance(one.event, CompactionApplied)]
    assert "the task\n\nwhat was done" in summary
    assert "<cwd>" not in summary


def test_messages_of_other_agents_are_notices_and_searches_for_tools_are_calls(tmp_path: Path) -> None:
    done = {"type": "input_text", "text": "Message Type: FINAL_ANSWER\nPayload:\nall green"}
    sealed = {"type": "encrypted_content", "encrypted_content": "x"}
    rows = [
        meta(PARENT),
        said("user", "go"),
        row("response_item", type="tool_search_call", call_id="a", arguments={"query": "mail"}),
        row("response_item", type="tool_search_output", call_id="a", tools=[{"name": "send_mail"}]),
        row("response_item", type="agent_message", author="/root/probe", content=[done, sealed]),
        row("response_item", type="agent_message", content=[sealed]),
        said("assistant", "Done."),
    ]
    source = read_source(put(tmp_path / "x", packed(*rows)))
    events = [record.event for record in source.records]
    [notice] = [one for one in events if isinstance(one, UserMessage) and one.origin == "command"]
    assert plain_text(notice.content[:1]) == "[message from /root/probe]"
    assert "all green" in plain_text(notice.content[1:])
    [result] = [one for one in events if isinstance(one, ToolResult)]
    assert (result.tool_name, plain_text(result.content)) == ("tool_search", '[{"name":"send_mail"}]')
    assert source.imported.left_out == {"encrypted_content blocks": 2}
