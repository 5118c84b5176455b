"""Records with a good checksum and wrong shapes: each is named in one line, and the rest of its session is used."""

import json
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings

from prunecli.agent.assemble import ModelSettings, assemble
from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.model.events import Event, SessionStarted, Unknown, UserMessage
from prunecli.model.messages import Text, plain_text
from prunecli.model.record_codec import encode_record
from prunecli.session.log import LOST_WORDS, read_log
from prunecli.session.session import Session
from prunecli.session.store import Store
from tests.session.exporters.sample import numbered
from tests.session.shapes import every_kind, line_of_json, mutated, session_copy, use_everything

START = SessionStarted("s-1", "/w", "claude-x")


def said(words: str) -> UserMessage:
    return UserMessage((Text(words),))


def opened(folder: Path, data: bytes) -> Session:
    path = folder / "s-1.jsonl"
    path.write_bytes(data)
    return Session.load(path, Context(Chars4()), writable=True)


def test_the_sample_holds_every_kind_of_record_and_nothing_is_wrong_with_it(tmp_path: Path) -> None:
    records = every_kind()
    assert {type(one.event) for one in records} == set(get_args(Event)) - {Unknown}
    path = Store(tmp_path).new_path(tmp_path, "s-1")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join(map(encode_record, records)))
    session = use_everything(path, tmp_path)
    assert session.records == records


@pytest.mark.slow
@given(mutated())
@settings(max_examples=30, deadline=None)
def test_no_shape_of_a_record_keeps_a_session_from_being_used(
    tmp_path_factory, made: tuple[bytes, int]
) -> None:
    data, _ = made
    folder = tmp_path_factory.mktemp("shapes")
    path = Store(folder).new_path(folder, "s-1")
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    session = use_everything(path, folder)
    assert session.records
    assert path.read_bytes() == data  # reading repairs nothing in the file


def line(seq: int, payload: str) -> bytes:
    return line_of_json({"seq": seq, "timestamp": 1_767_225_600_000 + seq, **json.loads("{" + payload + "}")})


NAMED = {
    '"type":"SettingChanged","key":"request.preamble","value":{"system":[1],"tools":[]}': (
        "malformed SettingChanged: system: expected a list of strings, got list"
    ),
    '"type":"SettingChanged","key":"request.preamble","value":{"tools":[{"input_schema":{}}]}': (
        "malformed SettingChanged: name is missing"
    ),
    '"type":"SettingChanged","key":"request.preamble","value":{"tools":[{"name":"a","input_schema":"x"}]}': (
        "malformed SettingChanged: input_schema: expected an object, got str"
    ),
    '"type":"AssistantMessage","content":[],"usage":{"input_tokens":1' + "0" * 30 + "}": (
        "malformed AssistantMessage: input_tokens: 1e+30 is out of range"
    ),
    '"type":"AssistantMessage","content":[],"usage":{"input_tokens":-5}': (
        "malformed AssistantMessage: input_tokens: -5 is negative"
    ),
    '"type":"ToolResult","tool_use_id":"t","content":[],"details":[1]': (
        "malformed ToolResult: details: expected an object, got list"
    ),
    '"type":"UserMessage","content":[{"type":["x"]}]': (
        "malformed UserMessage: the block type is not a string: ['x']"
    ),
    '"type":"UserMessage","content":[],"origin":"attachment","attached":{"tool_name":1,"input":{}}': (
        "malformed UserMessage: tool_name: expected a string, got int"
    ),
    '"type":"PrunApplied","source":"user","edits":[{"kind":"hide","seq":1}]': (
        "malformed PrunApplied: kind: unknown edit 'hide'"
    ),
    '"type":"Rewound"': "malformed Rewound: to_seq is missing",
}


@pytest.mark.parametrize(("payload", "why"), NAMED.items())
def test_a_malformed_record_is_named_in_one_line_and_those_around_it_are_used(
    tmp_path: Path, payload: str, why: str
) -> None:
    data = b"".join(map(encode_record, numbered(START, said("before")))) + line(2, payload)
    session = opened(tmp_path, data + line(3, '"type":"UserMessage","content":"behind"'))
    assert session.notices == [f"s-1.jsonl line 3, record 2: {why}"]
    lost = [plain_text(LOST_WORDS.content)] if '"UserMessage"' in payload else []
    assert [entry.text for entry in session.context.items] == ["before", *lost, "behind"]


def test_a_malformed_record_stays_in_the_file_goes_into_a_copy_and_keeps_its_number(tmp_path: Path) -> None:
    strange = line(2, '"type":"PrunReverted","seqs":["x"]')
    session = opened(tmp_path, b"".join(map(encode_record, numbered(START, said("before")))) + strange)
    session.emit(said("behind"))
    assert session.path is not None
    copy = session_copy(session, Store(tmp_path / "copies"), tmp_path)
    session.close()
    assert [one.seq for one in read_log(session.path).records] == [0, 1, 2, 3]
    assert [one.event for one in copy.records[1:]] == [one.event for one in session.records[1:]]


@pytest.mark.parametrize(
    ("block", "kind"),
    [
        ({"type": "tool_result", "tool_use_id": "t9", "content": "x"}, "tool_result"),
        ({"type": "tool_use", "id": "t9", "name": "read", "input": {}}, "tool_use"),
        ({"type": "thinking", "thinking": "x", "signature": "y"}, "thinking"),
        ({"type": "hologram", "depth": 3}, "hologram"),
        ({"no": "type"}, "nameless"),
    ],
)
def test_a_block_that_no_user_message_can_hold_is_said_and_not_sent(
    tmp_path: Path, block: dict[str, object], kind: str
) -> None:
    message = {"seq": 1, "timestamp": 1_767_225_600_001, "type": "UserMessage"}
    message["content"] = [{"type": "text", "text": "look"}, block]
    session = opened(tmp_path, encode_record(numbered(START)[0]) + line_of_json(message))
    assert session.notices == [f"s-1.jsonl record 1: a {kind} block can't be sent there and is left out"]
    (sent,) = assemble(session.context, ModelSettings("claude-x")).messages
    assert [json.loads(one) for one in sent.blocks] == [{"type": "text", "text": "look"}]


@pytest.mark.parametrize(
    ("requires", "named"), [("foo", "foo"), (["a", "b"], "a, b"), ({"new": 1}, "{'new': 1}")]
)
def test_what_a_session_needs_is_named_whatever_its_shape(
    tmp_path: Path, requires: object, named: str
) -> None:
    first = {"seq": 0, "timestamp": 1, "type": "SessionStarted", "id": "s-1", "cwd": "/w", "model": "m"}
    session = opened(tmp_path, line_of_json(first | {"version": 1, "requires": requires}))
    assert session.read_only == f"read-only: it needs {named}"


def test_a_session_with_a_thousand_bad_lines_says_the_first_ones(tmp_path: Path) -> None:
    bad = b"".join(line(seq, '"type":"Rewound","to_seq":"x"') for seq in range(1, 1_001))
    session = opened(tmp_path, encode_record(numbered(START)[0]) + bad)
    assert len(session.notices) == 21
    assert session.notices[-1] == "s-1.jsonl: 980 more; run `prunecli sessions verify` to list them"
