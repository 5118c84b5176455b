"""Searches by the endpoint in any log: the fold equals the projection, every pair is whole, every block is sent."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from prunecli.agent.assemble import ModelSettings, assemble
from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.model.edits import Edit
from prunecli.model.events import (
    AssistantMessage,
    CompactionApplied,
    Event,
    PrunApplied,
    PrunReverted,
    Record,
    RequestSent,
    Rewound,
    SettingChanged,
    ToolResult,
    UserMessage,
)
from prunecli.model.messages import Block, Opaque, Text, Thinking, ToolUse
from prunecli.model.requests import PREAMBLE
from prunecli.model.searches import SEARCHES, is_result_type
from tests.context.project import project
from tests.endpoint.searches import check_pairs
from tests.session.points import folded

TOOL = {"type": "web_search_20250305", "name": "web_search"}
STEPS = (
    "user",
    "search",
    "search",
    "use",
    "result",
    "text",
    "call",
    "answer",
    "drop",
    "revert",
    "off",
    "on",
    "compact",
)


def _use(number: int) -> Opaque:
    return Opaque(
        {"type": "server_tool_use", "id": f"s{number}", "name": "web_search", "input": {"query": "q"}}
    )


def _found(number: int) -> Opaque:
    rows = [{"type": "web_search_result", "title": "T", "url": "u", "encrypted_content": "eHh4eHh4eHg="}]
    return Opaque({"type": "web_search_tool_result", "tool_use_id": f"s{number}", "content": rows})


@st.composite
def searching(draw: st.DrawFn) -> list[Event]:
    """The events of a log whose answers search, pause, are dropped and go on."""
    events: list[Event] = [
        SettingChanged(PREAMBLE, {"system": ["s"], "tools": [TOOL]}),
        UserMessage((Text("hi"),)),
    ]
    number = 0
    for step in draw(st.lists(st.sampled_from((*STEPS, "rewind", "sent")), max_size=25)):
        answers = [at for at, one in enumerate(events) if isinstance(one, AssistantMessage)]
        match step:
            case "user":
                events.append(UserMessage((Text("more"),)))
            case "search" | "use" | "result" | "text":
                number += step in ("search", "use")
                cited = Text("cited", ({"type": "web_search_result_location", "url": "u"},))
                content: tuple[Block, ...] = {
                    "search": (Thinking("t", "sig"), _use(number), _found(number), cited),
                    "use": (Thinking("t", "sig"), _use(number)),
                    "result": (_found(number), Text("found")),
                    "text": (Text("words"),),
                }[step]
                reason = draw(st.sampled_from(("pause_turn", "end_turn", "max_tokens")))
                events.append(AssistantMessage(content, "m", reason))
            case "call":
                number += 1
                events.append(
                    AssistantMessage((_use(number), _found(number), ToolUse(f"c{number}", "read", {})), "m")
                )
            case "answer":
                events.append(ToolResult(f"c{number}", "read", (Text("file"),)))
            case "drop" if answers:
                seq = draw(st.sampled_from(answers))
                events.append(PrunApplied("user", (Edit("drop", seq),)))
            case "revert":
                events.append(PrunReverted((draw(st.integers(0, len(events))),)))
            case "off" | "on":
                events.append(SettingChanged(SEARCHES, step == "on"))
            case "compact":
                end = draw(st.integers(0, len(events)))
                events.append(CompactionApplied("summary", 1, end, 10, 1))
            case "rewind":
                events.append(Rewound(draw(st.integers(0, len(events)))))
            case "sent":
                events.append(RequestSent("m", 1, "", ()))
    return events


@settings(max_examples=50, deadline=None)
@given(searching())
def test_the_fold_equals_the_projection_and_every_pair_is_whole(events: list[Event]) -> None:
    context, records = Context(Chars4()), list[Record]()
    for seq, event in enumerate(events):
        records.append(Record(seq, 1_000 + seq, event))
        context.apply(records[-1])
        context.sha256()
        assert context.messages() == project(records)
        digest = context.sha256()
        fresh = folded(records)
        assert fresh.sha256() == digest
    messages = [json.loads(message.canonical) for message in context.messages()]
    for at, message in enumerate(messages):
        if message["role"] == "assistant":
            check_pairs(message["content"], waits=at == len(messages) - 1)
    off = context.settings.get(SEARCHES) is False
    kinds = {block["type"] for message in messages for block in message["content"]}
    assert not (off and ("server_tool_use" in kinds or any(map(is_result_type, kinds))))
    assert bool(context.preamble.tools) is not off
    if messages and messages[-1]["role"] == "user":
        assemble(context, ModelSettings("m"))
