"""pi's files: the tree, compactions, edits of the context, shell commands of the user, signed thinking."""

import json
from pathlib import Path
from typing import Any

from prunecli.model.events import AssistantMessage, CompactionApplied, UserMessage
from prunecli.model.messages import Text, Thinking
from prunecli.session.importers.source import Source, read_source
from tests.session.points import sent

HEAD = {"type": "session", "version": 3, "id": "p", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/w"}


def entry(own: str, parent: str | None, kind: str = "message", **fields: Any) -> dict[str, Any]:
    return {"type": kind, "id": own, "parentId": parent, "timestamp": "2026-01-01T00:00:01Z", **fields}


def message(own: str, parent: str | None, role: str, content: Any, **fields: Any) -> dict[str, Any]:
    return entry(own, parent, message={"role": role, "content": content, **fields})


def read(folder: Path, *rows: dict[str, Any]) -> Source:
    (folder / "file").write_text("\n".join(map(json.dumps, (HEAD, *rows))))
    return read_source(folder / "file")


def shown(source: Source) -> list[str]:
    return [block.get("text", "") for one in sent(source.records) for block in one["content"]]


CALL = [{"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "/a"}}]
ANSWER = [{"type": "text", "text": "content"}]


def test_the_last_entry_ends_the_main_line_and_a_left_branch_is_reported(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        message("1", None, "user", "go"),
        message("2", "1", "assistant", [{"type": "text", "text": "One."}]),
        message("3", "1", "assistant", [{"type": "text", "text": "Two."}]),
        entry("4", "3", "branch_summary", summary="One was tried.", fromId="2"),
    )
    assert shown(found) == ["go", "Two.", "[A summary of a branch that was left.]", "One was tried."]
    assert [branch.common for branch in found.branches] == [1]


def test_a_compaction_keeps_what_pi_kept(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        message("1", None, "user", "old"),
        message("2", "1", "user", "kept"),
        entry("3", "2", "compaction", summary="S", firstKeptEntryId="2", tokensBefore=50),
        message("4", "3", "user", "new"),
    )
    [compaction] = [one.event for one in found.records if isinstance(one.event, CompactionApplied)]
    assert (compaction.tail_start, compaction.tokens_before) == (2, 50)
    assert shown(found)[1:] == ["kept", "new"]
    assert "<summary>\nS\n</summary>" in shown(found)[0]


def test_edits_of_the_context_are_edits_here(tmp_path: Path) -> None:
    rows = [
        message("1", None, "user", "go"),
        message("2", "1", "assistant", CALL),
        message("3", "2", "toolResult", ANSWER, toolCallId="c1", toolName="read"),
        message("4", "3", "assistant", [{"type": "text", "text": "Read."}]),
    ]
    short = {"content": [{"type": "text", "text": "stub"}]}
    cleared = read(tmp_path, *rows, entry("5", "4", "context_edit", targetId="3", replacement=short))
    assert sent(cleared.records)[2]["content"][0]["content"] == [{"type": "text", "text": "stub"}]
    dropped = read(tmp_path, *rows, entry("5", "4", "context_edit", targetId="2", replacement=None))
    assert shown(dropped) == ["go", "Read."]
    user = read(tmp_path, *rows, entry("5", "4", "context_edit", targetId="1", replacement=None))
    assert user.imported.left_out == {"context_edit of a message": 1}


def test_a_shell_command_of_the_user_is_one_and_a_hidden_one_is_left_out(tmp_path: Path) -> None:
    shell = {"role": "bashExecution", "command": "ls", "output": "a b"}
    found = read(
        tmp_path,
        entry("1", None, message=shell),
        entry("2", "1", message={**shell, "excludeFromContext": True}),
        message("3", "2", "user", "so?"),
    )
    assert found.records[1].event == UserMessage((Text("!ls"), Text("a b")), "command")
    assert found.imported.left_out == {"commands kept out of the context": 1}


def test_thinking_keeps_its_signature_only_where_the_endpoint_can_check_it(tmp_path: Path) -> None:
    thought = [{"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"}]
    signed = read(tmp_path, message("1", None, "assistant", thought, api="anthropic-messages"))
    other = read(tmp_path, message("1", None, "assistant", thought, api="openai-completions"))
    assert isinstance(signed.records[1].event, AssistantMessage)
    assert signed.records[1].event.content == (Thinking("hm", "sig"),)
    assert isinstance(other.records[1].event, AssistantMessage)
    assert other.records[1].event.content == (Thinking("hm", ""),)


def test_ids_that_the_endpoint_refuses_become_valid_and_stay_unique(tmp_path: Path) -> None:
    calls = [{**CALL[0], "id": "a|1"}, {**CALL[0], "id": "a/1"}]
    found = read(
        tmp_path,
        message("1", None, "user", "go"),
        message("2", "1", "assistant", calls),
        message("3", "2", "toolResult", [{"type": "text", "text": "second"}], toolCallId="a/1"),
        message("4", "3", "toolResult", ANSWER, toolCallId="a|1"),
    )
    answers = {one["tool_use_id"]: one["content"][0]["text"] for one in sent(found.records)[2]["content"]}
    assert answers == {"a_1": "content", "a_1_2": "second"}


def test_a_file_of_version_1_without_ids_is_one_line(tmp_path: Path) -> None:
    rows = [{"type": "message", "message": {"role": "user", "content": words}} for words in ("a", "b")]
    assert shown(read(tmp_path, *rows)) == ["a", "b"]


def test_a_loop_of_parents_ends(tmp_path: Path) -> None:
    found = read(tmp_path, message("1", "2", "user", "a"), message("2", "1", "user", "b"))
    assert shown(found) == ["a", "b"]
