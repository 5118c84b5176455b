"""Cuts: the input of an old call, without its long texts."""

import json
from pathlib import Path
from typing import Any

import pytest

from prunecli.commands.command import Say, Table, run_line
from prunecli.context.cuts import cut
from prunecli.context.inputs import long_texts
from prunecli.context.labels import Key
from prunecli.context.manual_edits import plan, plan_inputs
from prunecli.context.outline import Outline
from prunecli.model.edits import Edit
from prunecli.model.events import PrunApplied, Unknown
from prunecli.model.messages import Text, ToolUse
from prunecli.model.record_codec import record_from_json, record_to_json
from prunecli.runtime.toolbox import inputs
from prunecli.session.session import FEATURES
from tests.context.talk import Talk
from tests.context.test_wire_calls import judged
from tests.context.thinking import Talk as Bound
from tests.starting import start

OLD, NEW = "before = 1\n" * 60, "after = 2\n" * 60
BODY = "line of the file\n" * 40
PATCH = "*** Begin Patch\n*** Update File: a/[id].tsx\n" + "-old\n+new\n" * 60 + "*** End Patch"
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("edit", {"path": "a.py", "old_string": OLD, "new_string": NEW}),
    ("write", {"path": "b.py", "content": BODY}),
    ("bash", {"command": f"cat > c.py <<'EOF'\n{BODY}EOF\npython c.py"}),
    ("apply_patch", {"input": PATCH}),
)
MARK = "[input pruned — {}, ~{} tokens | recall {} input]"


def talked(*calls: tuple[str, dict[str, Any]]) -> tuple[Talk, int]:
    """A session with an answer that makes these calls, and its number."""
    talk = Talk()
    talk.user()
    head = talk.call(*calls)
    for _ in calls:
        talk.answer("done")
    talk.seen()
    return talk, head


def sent(talk: Talk) -> list[dict[str, Any]]:
    blocks = [json.loads(block) for message in talk.context.messages() for block in message.blocks]
    return [block["input"] for block in blocks if block["type"] == "tool_use"]


def cut_all(talk: Talk, head: int) -> int:
    found = plan_inputs(talk.view(recall=True), [head])
    assert found.allowed, found.refusal
    return [talk.add(event) for event in found.events][-1]


def test_a_cut_call_keeps_its_paths_and_its_command_and_names_what_is_gone() -> None:
    talk, head = talked(*CALLS)
    cut_all(talk, head)
    edit, write, bash, patch = sent(talk)
    assert edit == {
        "path": "a.py",
        "old_string": MARK.format("old text", 165, head),
        "new_string": MARK.format("new text", 150, head),
    }
    assert write == {"path": "b.py", "content": MARK.format("content", 170, head)}
    body = MARK.format("here-document", 170, head)
    assert bash == {"command": f"cat > c.py <<'EOF'\n{body}\nEOF\npython c.py"}
    assert patch["input"].startswith("[input pruned — patch of a/[id].tsx, ~")
    assert judged(talk.context) == ""


def test_undo_redo_and_a_restore_bring_back_the_same_bytes() -> None:
    talk, head = talked(*CALLS)
    whole = talk.context.messages()
    tokens = talk.context.counts.context_tokens
    prune = cut_all(talk, head)
    short, saved = talk.context.messages(), talk.context.counts.pruned.raw
    assert talk.context.counts.context_tokens == tokens - saved < tokens - 400
    talk.revert(prune)
    assert talk.context.messages() == whole
    assert talk.context.counts.context_tokens == tokens
    cut_all(talk, head)
    assert talk.context.messages() == short
    talk.revert(head)
    assert talk.context.messages() == whole


def test_recall_returns_the_texts_of_an_input_byte_for_byte() -> None:
    talk, head = talked(*CALLS)
    cut_all(talk, head)
    texts = [block.text for block in inputs(talk.context, head) if isinstance(block, Text)]
    assert [text.partition("\n")[2] for text in texts] == [OLD, NEW, BODY, BODY[:-1], PATCH]
    assert texts[0].startswith("[old text of edit]\n")
    assert not inputs(talk.context, talk.user("hello"))


def test_what_is_left_of_an_input_can_be_cut_later() -> None:
    talk, head = talked(CALLS[0])
    (call,) = talk.exchange(head).calls
    old, new = long_texts(call)
    first = cut(talk.view(), talk.entry(head), call, [old])
    assert first is not None
    talk.add(PrunApplied("strategy", (first,)))
    assert [len(given["new_string"]) for given in sent(talk)] == [len(NEW)]
    cut_all(talk, head)
    assert max(map(len, sent(talk)[0].values())) < 80
    whole = talk.context.counts.tokens(talk.entry(head))
    assert talk.context.counts.pruned.raw == pytest.approx(whole - 60, abs=25)
    assert not plan_inputs(talk.view(), [head]).allowed
    assert new.text == NEW


def test_a_short_input_stays_and_so_does_that_of_the_call_in_progress() -> None:
    talk = Talk()
    talk.user()
    small = talk.exchange(talk.step("edit", "done", path="a.py", old_string="a", new_string="b")).seq
    now = talk.call(CALLS[0])
    assert "no long text" in plan_inputs(talk.view(), [small]).refusal
    assert "in progress" in plan_inputs(talk.view(), [now]).refusal
    assert plan_inputs(talk.view(), [0]).refusal == "only calls have an input"


def test_a_cut_costs_the_thinking_after_it_and_not_its_own() -> None:
    talk = Bound(steps=3)
    heads = [exchange.seq for exchange in talk.context.exchanges]
    call = talk.context.exchanges[1].calls[0]
    talk.emit(PrunApplied("user", (Edit("cut", heads[1], call.id, '{"path":"x"}', 9, 3),)))
    assert talk.unseen() == heads[2:]


def test_the_input_is_a_row_of_the_context_that_can_be_pruned() -> None:
    talk, head = talked(CALLS[0])
    outline, key = Outline(talk.context, talk.records), Key("calls", head)
    before = outline.node(key)
    assert (before.label, before.state) == ("input of edit a.py", "live")
    for event in plan(talk.view(), outline, "prune", key).events:
        talk.add(event)
    outline.take(talk.records)
    node = outline.node(key)
    assert (node.state, node.why, node.original) == ("trimmed", "by you", before.tokens)
    assert node.tokens < 80 < node.original
    parts = [outline.figures(Key("exchange", head)).tokens, outline.figures(Key("result", head + 1)).tokens]
    assert parts[0] == node.tokens + parts[1]


def test_prune_by_number_shortens_an_input(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    talk, head = talked(CALLS[1])
    for record in talk.records:
        runtime.emit(record.event)
    head = runtime.session.context.exchanges[0].seq
    said = run_line(runtime, f"/prune {head} input")[-1]
    assert isinstance(said, Say)
    assert "shorten the input of 1 call" in said.text
    table = run_line(runtime, "/context table")[0]
    assert isinstance(table, Table)
    assert [row[4] for row in table.rows if row[0] == str(head)] == ["input trimmed"]


def test_a_cut_is_a_record_that_older_versions_open_read_only_and_that_must_hold_an_input() -> None:
    talk, head = talked(CALLS[0])
    value = record_to_json(talk.records[cut_all(talk, head)])
    assert record_from_json(json.loads(json.dumps(value))).event == talk.records[-1].event
    assert "cut" in FEATURES
    edits: Any = json.loads(json.dumps(value))["edits"]
    edits[0]["text"] = "no JSON"
    damaged = record_from_json({**json.loads(json.dumps(value)), "edits": edits}).event
    assert isinstance(damaged, Unknown)
    assert "PrunApplied" in damaged.why


@pytest.mark.parametrize(
    ("name", "given", "kinds"),
    [
        ("edit", {"path": "p" * 300, "oldText": OLD, "newText": NEW}, ["old", "new"]),
        ("edit", {"path": "a", "edits": [{"old_string": OLD, "new_string": "x"}]}, ["old"]),
        ("bash", {"command": "run " + "word " * 100}, ["command"]),
        ("bash", {"command": f"apply_patch <<'EOF'\n{PATCH}\nEOF"}, ["patch"]),
        ("exec", {"input": f"await tools.patch({PATCH!r})"}, ["patch"]),
        ("grep", {"pattern": "x" * 400, "query": "y" * 400}, []),
        ("task", {"prompt": "please " * 60}, ["other"]),
    ],
)
def test_only_long_texts_that_name_nothing_are_cut(
    name: str, given: dict[str, Any], kinds: list[str]
) -> None:
    assert [text.kind for text in long_texts(ToolUse("t", name, given))] == kinds


def test_dropping_a_cut_call_counts_each_token_once() -> None:
    talk, head = talked(CALLS[0])
    cut_all(talk, head)
    before = talk.context.counts.context_tokens
    drop = talk.view().drop(talk.exchange(head))
    talk.add(PrunApplied("user", (drop,)))
    assert before - talk.context.counts.context_tokens == drop.tokens_saved
