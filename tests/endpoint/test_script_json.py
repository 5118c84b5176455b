"""Is a script file read into the same values that a test would write, and a wrong one explained?"""

from pathlib import Path
from typing import Any

import pytest

from tests.endpoint import faults
from tests.endpoint.script import DEFAULT_REPLY, Call, Item, Redacted, Reply, Text, Thinking
from tests.endpoint.script_json import LoadedScript, ScriptError, load_script, parse_script

BLOCKS = [
    "words",
    {"type": "text", "text": "more"},
    {"type": "thinking", "thinking": "why", "signature": ""},
    {"type": "redacted_thinking", "secret": "s"},
    {"type": "tool_use", "name": "read", "input": {"a": 1}, "id": "t", "json": "{"},
]
READ = ["words", Text("more"), Thinking("why", ""), Redacted("s"), Call("read", {"a": 1}, "t", "{")]


@pytest.mark.parametrize(
    ("value", "item"),
    [
        ("one", "one"),
        ({"content": BLOCKS, "chunk": 3, "pings": False}, Reply(READ, chunk=3, pings=False)),
        ({"content": "x", "faults": {"fault": "drip", "size": 2}}, Reply(["x"], faults=(faults.Drip(2),))),
        ({"fault": "http_error", "status": 429}, faults.HttpError(429)),
        ({"fault": "raw_response", "body": "<html>", "repeat": 2}, faults.RawResponse(b"<html>", repeat=2)),
        ({"fault": "close_before_response", "reset": True}, faults.CloseBeforeResponse(True)),
        ({"fault": "cut_tool_json", "at": 4}, faults.CutToolJson(4)),
    ],
)
def test_replies_and_faults_are_read(value: Any, item: Item):
    assert parse_script([value]) == LoadedScript((item,), DEFAULT_REPLY, False)
    assert parse_script({"replies": [], "default": value, "loop": True}) == LoadedScript((), item, True)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("x", "a list of replies is needed"),
        ({"replies": [], "repeat": 3}, "script: .*'repeat'"),
        ([3], r"replies\[0\]: a string, a reply or a fault is needed, not 3"),
        ([{"text": "x"}], r"replies\[0\]: .*'text'"),
        ([{"content": "x", "chunk": 0}], r"replies\[0\]: chunk: 0 characters"),
        ([{"content": [{"type": "video"}]}], r"replies\[0\]\.content\[0\]\.type: one of text, thinking"),
        ([{"content": [{"type": "tool_use"}]}], r"replies\[0\]\.content\[0\]: .*'name'"),
        ([{"fault": ["stall"]}], r"replies\[0\]\.fault: one of http_error, raw_response"),
        (
            ["x", {"content": "y", "faults": [{"fault": "stall", "at": 1}]}],
            r"replies\[1\]\.faults\[0\]: .*'at'",
        ),
    ],
)
def test_a_wrong_script_names_the_place_and_the_way_out(tmp_path: Path, value: Any, message: str):
    with pytest.raises(ScriptError, match=message):
        parse_script(value)
    path = tmp_path / "s.json"
    path.write_text("{")
    with pytest.raises(ScriptError, match=r"s\.json: not JSON"):
        load_script(path)
