"""Sessions of the agents' own current versions: three prompts typed, a tool used, resumed in between.

What the program wrote into a user's place (a command's output, a notice) is no prompt, and can be pruned.
"""

import json
from pathlib import Path

import pytest

from prunecli.model.edits import Edit
from prunecli.model.events import AssistantMessage, PrunApplied, Record, ToolResult, UserMessage
from prunecli.model.messages import Text, Thinking, Usage, plain_text
from prunecli.session.importers.source import Source, read_source
from tests.session.points import content, folded, sent, valid_points

RESUMED = Path(__file__).parents[2] / "imports" / "resumed"
TYPED = ["Read the notes.", "Run the check.", "Thank you, that is all."]
ALL = sorted(RESUMED.glob("*.gz"))


def prompts(source: Source) -> list[str]:
    return [
        plain_text(one.event.content).strip('"')
        for one in source.records
        if isinstance(one.event, UserMessage) and one.event.origin != "command"
    ]


def typed(record: Record) -> str:
    """What stays of a command when its output is pruned."""
    event = record.event
    command = isinstance(event, UserMessage) and event.origin == "command"
    return plain_text(content(event)[:1]) if command else ""


def written(source: Source) -> list[tuple[str, str]]:
    """What programs wrote: the title or command that stays, and the text that may be pruned."""
    return [
        (plain_text(one.event.content[:1]), plain_text(one.event.content[1:]))
        for one in source.records
        if isinstance(one.event, UserMessage) and one.event.origin == "command"
    ]


@pytest.mark.parametrize(
    "name",
    [
        "claude-code.jsonl",
        "codex.jsonl",
        "gemini-cli.jsonl",
        "gemini-cli-twice.jsonl",
        "opencode.json",
        "pi.jsonl",
    ],
)
def test_three_prompts_typed_are_three_prompts_imported_with_each_call_and_its_result(name: str) -> None:
    found = read_source(RESUMED / f"{name}.gz")
    assert found.notices == ()
    assert prompts(found) == TYPED
    results = [one.event for one in found.records if isinstance(one.event, ToolResult)]
    assert [one.tool_name for one in results] == ["bash" if name.startswith("codex") else "read", "bash"]
    assert ["teal" in plain_text(one.content) for one in results] == [True, False]
    assert ["checked" in plain_text(one.content) for one in results] == [False, True]
    assert valid_points(found.records) >= 3


@pytest.mark.parametrize("name", ["claude-code-commands", "codex", "gemini-cli", "pi"])
def test_a_shell_command_of_the_prompt_is_a_command_whose_output_can_be_pruned(name: str) -> None:
    found = read_source(RESUMED / f"{name}.jsonl.gz")
    [record] = [one for one in found.records if typed(one) == "!seq 1 30"]
    assert "29\n30" in plain_text(content(record.event))
    last = found.records[-1]
    cleared = PrunApplied("user", (Edit("clear", record.seq, None, "gone"),))
    edit = Record(last.seq + 1, last.timestamp + 1, cleared)
    shown = [
        block.get("text", "") for message in sent([*found.records, edit]) for block in message["content"]
    ]
    assert "!seq 1 30" in shown
    assert "gone" in shown
    assert not any("29\n30" in text for text in shown)
    assert folded(found.records).entries[record.seq].kind == "command"


def test_what_claude_code_tells_the_model_of_tasks_is_a_notice_with_its_summary() -> None:
    found = read_source(RESUMED / "claude-code-commands.jsonl.gz")
    assert prompts(found) == ["Read the notes.", "Start it in the background.", "Ask a subagent.", TYPED[-1]]
    titles = [title for title, _ in written(found)]
    assert titles == [
        "!seq 1 30",
        '[Background command "Wait" completed (exit code 0)]',
        '[Agent "Look" finished]',
    ]


def test_a_slash_command_of_claude_code_keeps_what_was_typed_and_what_it_became() -> None:
    found = read_source(RESUMED / "claude-code-slash.jsonl.gz")
    assert prompts(found) == ["Read the notes."]
    told = dict(written(found))
    assert told["/greet Ada"].startswith("Greet Ada in three languages.")
    assert told["[notice]"].startswith("## Context Usage")


def test_the_files_of_subagents_are_counted_and_can_be_imported_on_their_own() -> None:
    found = read_source(RESUMED / "claude-code-commands.jsonl.gz")
    [said] = [
        (what, count) for what, count in found.imported.left_out.items() if what.startswith("subagent files")
    ]
    assert said == ("subagent files (claude-code-commands/subagents; import each separately)", 1)
    [inner] = (RESUMED / "claude-code-commands" / "subagents").glob("*.gz")
    assert prompts(read_source(inner)) == ["Say what you see."]


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.name)
def test_the_same_conversation_comes_back_from_an_export_to_pi(path: Path, tmp_path: Path) -> None:
    from prunecli.features.export.exporters.formats import exported

    found = read_source(path)
    (tmp_path / "file").write_text(exported(found.records, "pi", keep_secrets=True).text)
    back = read_source(tmp_path / "file")
    assert sent(back.records) == sent(found.records)
    assert (prompts(back), written(back)) == (prompts(found), written(found))


def test_what_gemini_knew_of_a_message_before_it_was_resumed_is_kept(tmp_path: Path) -> None:
    head = {"sessionId": "g", "projectHash": "h", "startTime": "2026-11-01T10:00:00Z"}
    tokens = {"input": 100, "output": 9, "cached": 60}
    thought = {"subject": "Plan", "description": "Look."}
    answer = {"id": "2", "type": "gemini", "timestamp": "2026-11-01T10:00:05Z", "model": "gemini-x"}
    resumed = {**head, "startTime": "2026-11-02T10:00:00Z"}
    again = [
        {"id": "1", "type": "user", "content": [{"text": "go"}], "timestamp": "2026-11-02T10:00:00Z"},
        {"id": "2", "type": "gemini", "content": [{"text": "Done."}], "timestamp": "2026-11-02T10:00:00Z"},
    ]
    rows = [
        head,
        {"id": "1", "type": "user", "content": [{"text": "go"}], "timestamp": "2026-11-01T10:00:00Z"},
        {**answer, "content": "Done.", "tokens": tokens, "thoughts": [thought]},
        resumed,
        {"$set": {"messages": []}},
        {"$set": {"messages": again}},
    ]
    (tmp_path / "x").write_text("\n".join(map(json.dumps, rows)))
    source = read_source(tmp_path / "x")
    assert prompts(source) == ["go"]
    [said] = [one for one in source.records if isinstance(one.event, AssistantMessage)]
    assert isinstance(said.event, AssistantMessage)
    assert said.event.content == (Thinking("Plan\nLook.", ""), Text("Done."))
    assert said.event.usage == Usage(40, 9, 60, None)
    assert said.event.model == "gemini-x"
    assert said.timestamp - source.records[0].timestamp == 5_000
    assert source.imported.origin.started == source.records[0].timestamp
