"""Blank texts: the endpoint refuses a text block without a visible character, wherever it comes from."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prunecli.model.edits import Edit
from prunecli.model.events import AssistantMessage, PrunApplied, Record, ToolResult, UserMessage
from prunecli.model.messages import Text, Thinking, ToolUse
from tests.context.project import project
from tests.endpoint.rules import Rules
from tests.endpoint.sample import verdict
from tests.session.points import folded

BLANKS = st.sampled_from(["", " ", "\n", "\t \r\n", "\u00a0", "\u2003\u2028"])
TEXTS = st.one_of(BLANKS, BLANKS, st.just("words"))


@st.composite
def logs(draw: st.DrawFn) -> list[Record]:
    """A conversation in which most texts are blank."""
    events: list[Any] = []
    for turn in range(draw(st.integers(1, 4))):
        events.append(UserMessage(tuple(map(Text, draw(st.lists(TEXTS, max_size=2))))))
        if draw(st.integers(0, 3)) == 0:
            events.append(UserMessage((Text("!ls"), Text(draw(TEXTS))), "command"))
        blocks: list[Any] = [Thinking("hm", "sig")] if draw(st.booleans()) else []
        blocks += [Text(draw(TEXTS)) for _ in range(draw(st.integers(0, 2)))]
        calls = [ToolUse(f"t{turn}_{n}", "ls", {}) for n in range(draw(st.integers(0, 2)))]
        events.append(AssistantMessage((*blocks, *calls)))
        events += [
            ToolResult(call.id, "ls", tuple(map(Text, draw(st.lists(TEXTS, max_size=2))))) for call in calls
        ]
    seqs = [n for n, event in enumerate(events) if isinstance(event, ToolResult)]
    if seqs and draw(st.booleans()):
        edits = tuple(Edit("clear", seq, None, draw(BLANKS)) for seq in seqs[:2])
        events.append(PrunApplied("user", edits))
    return [Record(seq, seq, event) for seq, event in enumerate(events)]


def sent(records: list[Record]) -> list[dict[str, Any]]:
    context = folded(records)
    assert context.messages() == project(records)
    return [json.loads(message.canonical) for message in context.messages()]


@given(logs())
@settings(max_examples=100, deadline=None)
def test_no_blank_text_is_ever_sent(records: list[Record]) -> None:
    messages = sent([*records, Record(len(records), len(records), UserMessage((Text("go on"),)))])
    body = {"model": "claude-sonnet-4-5", "max_tokens": 10, "messages": messages}
    assert verdict(body, Rules(signatures=False)) == ""
    typed = [block for r in records if isinstance(r.event, UserMessage) for block in r.event.content]
    words = [block.text for block in typed if isinstance(block, Text)]
    shown = [b["text"] for m in messages if m["role"] == "user" for b in m["content"] if b["type"] == "text"]
    assert shown.count("words") >= sum(word == "words" for word in words)
    assert all(text.strip() for text in shown)


@pytest.mark.parametrize("blank", ["", " \n", "\u3000"])
def test_a_result_of_nothing_says_so(blank: str) -> None:
    events: list[Any] = [
        UserMessage((Text("go"),)),
        AssistantMessage((ToolUse("t", "ls", {}),)),
        ToolResult("t", "ls", (Text(blank),)),
    ]
    messages = sent([Record(seq, seq, event) for seq, event in enumerate(events)])
    assert messages[-1]["content"][0]["content"] == [{"text": "(no output)", "type": "text"}]
