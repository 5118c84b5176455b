"""Is a script file read into the same values that a test would write, and a wrong one explained?"""

from pathlib import Path
from typing import Any

import pytest

from tests.endpoint import faults
from tests.endpoint.script import DEFAULT_REPLY, Call, Raw, Redacted, Reply, Text, Thinking
from tests.endpoint.script_json import ScriptError, load_script, parse_script


def test_a_list_of_strings_is_a_script():
    loaded = parse_script(["one", "two"])
    assert loaded.replies == ("one", "two")
    assert (loaded.default, loaded.loop) == (DEFAULT_REPLY, False)


def test_every_block_and_option_can_be_written():
    loaded = parse_script(
        {
            "replies": [
                {
                    "content": [
                        "words",
                        {"type": "text", "text": "more"},
                        {"type": "thinking", "thinking": "why", "signature": ""},
                        {"type": "redacted_thinking", "secret": "s"},
                        {"type": "tool_use", "name": "read", "input": {"a": 1}, "id": "t", "json": "{"},
                        {"type": "raw", "start": {"type": "x"}, "deltas": [{"type": "y"}]},
                    ],
                    "stop_reason": "refusal",
                    "chunk": 3,
                    "delay": 1,
                    "usage": {"input_tokens": 5},
                    "pings": False,
                    "headers": {"a": "b"},
                }
            ],
            "default": {"content": "end"},
            "loop": True,
        }
    )
    reply = loaded.replies[0]
    assert reply == Reply(
        [
            "words",
            Text("more"),
            Thinking("why", ""),
            Redacted("s"),
            Call("read", {"a": 1}, "t", "{"),
            Raw({"type": "x"}, ({"type": "y"},)),
        ],
        stop_reason="refusal",
        chunk=3,
        delay=1,
        usage={"input_tokens": 5},
        pings=False,
        headers={"a": "b"},
    )
    assert loaded.default == Reply(["end"])
    assert loaded.loop


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (
            {"fault": "http_error", "status": 429, "retry_after": "3"},
            faults.HttpError(429, retry_after="3"),
        ),
        ({"fault": "raw_response", "body": "<html>", "repeat": 2}, faults.RawResponse(b"<html>", repeat=2)),
        ({"fault": "echo_key", "after": 3}, faults.EchoKey(after=3)),
        ({"fault": "close_before_response", "reset": True}, faults.CloseBeforeResponse(True)),
        ({"fault": "drop_keep_alive"}, faults.DropKeepAlive()),
        ({"fault": "error_event", "after": 3}, faults.ErrorEvent(3)),
        ({"fault": "end_of_body", "after": 3}, faults.EndOfBody(3)),
        ({"fault": "close", "after": 3}, faults.Close(3)),
        ({"fault": "reset", "after": 3}, faults.Reset(3)),
        ({"fault": "broken_chunk", "after": 3}, faults.BrokenChunk(3)),
        ({"fault": "stall", "ping_every": 0.5}, faults.Stall(ping_every=0.5)),
        ({"fault": "insert", "after": 1, "event": "x"}, faults.Insert(1, "x")),
        ({"fault": "cut_tool_json", "at": 4}, faults.CutToolJson(4)),
        ({"fault": "drip", "size": 2}, faults.Drip(2)),
    ],
)
def test_every_fault_can_be_written_alone_and_attached(value: dict[str, Any], fault: faults.Fault):
    assert parse_script([value]).replies == (fault,)
    attached = parse_script([{"content": "x", "faults": value}]).replies[0]
    assert isinstance(attached, Reply)
    assert attached.all_faults == (fault,)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({}, "a list of replies is needed"),
        ("x", "a list of replies is needed"),
        ({"replies": [], "repeat": 3}, "repeat: unknown key; known are replies, default, loop"),
        ([3], r"replies\[0\]: a string, a reply or a fault is needed, not 3"),
        ([{"text": "x"}], r"replies\[0\]\.text: unknown key; known are content, stop_reason"),
        ([{"content": "x", "chunk": "5"}], r'replies\[0\]\.chunk: "5" is no int'),
        ([{"content": "x", "chunk": True}], r"replies\[0\]\.chunk: true is no int"),
        ([{"content": "x", "chunk": 0}], r"replies\[0\]\.chunk: 0 characters"),
        ([{"content": "x", "delay": "1"}], r'replies\[0\]\.delay: "1" is no number'),
        ([{"content": [{"type": "video"}]}], r"replies\[0\]\.content\[0\]\.type: one of text, thinking"),
        ([{"content": [{"type": "tool_use"}]}], r"replies\[0\]\.content\[0\]\.name: is missing"),
        ([{"fault": "explode"}], r"replies\[0\]\.fault: one of http_error, raw_response"),
        ([{"fault": ["stall"]}], r"replies\[0\]\.fault: one of"),
        ([{"fault": "close"}], r"replies\[0\]\.after: is missing"),
        (["x", {"content": "y", "faults": [{"fault": "stall", "at": 1}]}], r"replies\[1\]\.faults\[0\]\.at"),
    ],
)
def test_a_wrong_script_names_the_place_and_the_way_out(value: Any, message: str):
    with pytest.raises(ScriptError, match=message):
        parse_script(value)


def test_a_file_names_itself_in_its_errors(tmp_path: Path):
    path = tmp_path / "s.json"
    path.write_text('["a"]')
    assert load_script(path).replies == ("a",)
    path.write_text("{")
    with pytest.raises(ScriptError, match=r"s\.json: not JSON"):
        load_script(path)
    path.write_text("[1]")
    with pytest.raises(ScriptError, match=r"s\.json: replies\[0\]"):
        load_script(path)
