"""From the endpoint's events to deltas and a response: what counts, what is repaired, what never becomes a call."""

import itertools
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prunecli.model.codec import MAX_DEPTH
from prunecli.model.events import AssistantMessage, Record
from prunecli.model.messages import INVALID_INPUT, Opaque, RedactedThinking, Text, Thinking, ToolUse, Usage
from prunecli.model.record_codec import decode_record, encode_record
from prunecli.providers import stream
from prunecli.providers.provider import Begun, Response, StreamEvent, TextDelta, ThinkingDelta, ToolCallDelta
from prunecli.providers.stream import Assembly

START = {"type": "message_start", "message": {"id": "msg_1", "model": "m", "usage": {"input_tokens": 3}}}
STOP = {"type": "message_stop"}


def block(index: int, head: dict[str, Any], *deltas: dict[str, Any], closed: bool = True) -> list[Any]:
    events: list[Any] = [{"type": "content_block_start", "index": index, "content_block": head}]
    events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    return [*events, {"type": "content_block_stop", "index": index}] if closed else events


def text(*pieces: str, index: int = 0) -> list[Any]:
    deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
    return block(index, {"type": "text", "text": ""}, *deltas)


def call(
    *pieces: str, index: int = 0, tool_id: str = "toolu_1", name: str = "bash", closed: bool = True
) -> list[Any]:
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return block(
        index, {"type": "tool_use", "id": tool_id, "name": name, "input": {}}, *deltas, closed=closed
    )


def thinking(words: str, signature: str | None, index: int = 0, closed: bool = True) -> list[Any]:
    deltas = [{"type": "thinking_delta", "thinking": words}]
    if signature is not None:
        deltas.append({"type": "signature_delta", "signature": signature})
    return block(index, {"type": "thinking", "thinking": "", "signature": ""}, *deltas, closed=closed)


def ending(reason: str | None = "end_turn", **usage: Any) -> list[Any]:
    return [{"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}, STOP]


def played(events: list[Any]) -> tuple[list[StreamEvent], Response]:
    numbers = itertools.count(1)
    assembly = Assembly(lambda: f"new_{next(numbers)}", "req_1")
    begun, *given_out = [made for event in [START, *events] for made in assembly.feed(event)]
    assert isinstance(begun, Begun)
    return [made for made in given_out if not isinstance(made, Begun)], assembly.response()


def content(*events: Any) -> tuple[Any, ...]:
    return played(list(itertools.chain(*events)))[1].content


def test_the_beginning_tells_what_is_paid_so_far():
    assembly = Assembly(lambda: "new")
    assert assembly.feed(START) == [Begun(Usage(3, 0, None, None))]
    assert Assembly(lambda: "new").feed({"type": "message_start", "message": {"model": "m"}}) == []
    assert assembly.feed(ending(output_tokens=70)[0]) == [Begun(Usage(3, 70, None, None))]
    assert assembly.feed({"type": "message_delta", "delta": {}}) == []


def test_finished_thinking_before_the_text_is_told_at_once():
    assembly = Assembly(lambda: "new")
    events = [
        *thinking("Hm.", "a"),
        *thinking("So", "b", 1),
        *text("Yes.", index=2),
        *thinking("Why?", "c", 3),
    ]
    begun = [made for event in [START, *events] for made in assembly.feed(event) if isinstance(made, Begun)]
    told = [[block.signature for block in one.thinking if isinstance(block, Thinking)] for one in begun]
    assert told == [[], ["a"], ["a", "b"], ["a", "b"]]


def test_text_comes_as_deltas_and_whole_at_the_end():
    deltas, response = played(text("Hel", "lo") + ending("end_turn", output_tokens=2))
    assert deltas == [TextDelta("Hel"), TextDelta("lo")]
    expected = Response((Text("Hello"),), "end_turn", Usage(3, 2, None, None), "m", "req_1")
    assert response == replace(expected, message_id=START["message"]["id"])


def test_a_text_that_stands_in_its_start_event_is_text_too():
    deltas, response = played(block(0, {"type": "text", "text": "Hi"}) + ending())
    assert (deltas, response.content) == ([TextDelta("Hi")], (Text("Hi"),))


def test_an_empty_text_block_is_no_content():
    assert content(text(""), call("{}", index=1), ending("tool_use")) == (ToolUse("toolu_1", "bash", {}),)


def test_there_is_no_response_before_message_stop():
    assembly = Assembly(str)
    for event in [START, *text("Hello"), ending()[0]]:
        assembly.feed(event)
    assert not assembly.complete
    with pytest.raises(ValueError, match="before message_stop"):
        assembly.response()


INPUT = '{"command": "rm -rf /tmp/x/y", "note": "a \\"b\\" {}"}'


def test_a_whole_input_is_the_call():
    deltas, response = played(call(*INPUT) + ending("tool_use"))
    assert response.content == (ToolUse("toolu_1", "bash", json.loads(INPUT)),)
    assert deltas[0] == ToolCallDelta("toolu_1", "bash", "")
    assert "".join(delta.json for delta in deltas if isinstance(delta, ToolCallDelta)) == INPUT


@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("cut", range(len(INPUT)))
def test_a_cut_input_is_never_executed(cut: int, closed: bool):
    """At every byte, also at the first, where nothing but the name has come."""
    (found,) = content(call(INPUT[:cut], closed=closed), ending("max_tokens"))
    assert found.input == {INVALID_INPUT: INPUT[:cut]}


def test_an_input_that_was_never_closed_is_not_executed_though_it_parses():
    (found,) = content(call(INPUT, closed=False), ending("max_tokens"))
    assert found.input == {INVALID_INPUT: INPUT}


def test_a_call_before_the_cut_one_stands():
    first, second = content(
        call(INPUT), call('{"comm', index=1, tool_id="toolu_2", closed=False), ending("max_tokens")
    )
    assert (first.input, second.input) == (json.loads(INPUT), {INVALID_INPUT: '{"comm'})


@pytest.mark.parametrize(
    "raw",
    ['{"a": 1,}', '{"a": 1} x', '{"a": NaN}', '{"a": 1, "a": 2}', "[1]", '"x"', "null", "7", "{" * 5000],
)
def test_an_input_that_is_no_json_object_is_not_executed(raw: str):
    (found,) = content(call(raw), ending("tool_use"))
    assert found.input == {INVALID_INPUT: raw}


@pytest.mark.parametrize(
    ("levels", "is_read"), [(MAX_DEPTH, True), (MAX_DEPTH + 1, False), (700, False), (99_999, False)]
)
def test_objects_nested_too_deeply_are_not_executed(levels: int, is_read: bool):
    """The limit is the same on every Python."""
    raw = '{"a":' * levels + "1" + "}" * levels
    (found,) = content(call(raw), ending("tool_use"))
    assert (INVALID_INPUT in found.input) is (levels > MAX_DEPTH)
    record = Record(0, 0, AssistantMessage((found,), "m", "tool_use"))
    assert decode_record(encode_record(record)) == record


def test_an_input_in_the_start_event_that_nests_too_deeply_is_not_executed():
    deep: dict[str, Any] = {}
    for _ in range(MAX_DEPTH + 1):
        deep = {"a": deep, "b": 1}
    head = {"type": "tool_use", "id": "a", "name": "read", "input": deep}
    (found,) = content(block(0, head), ending("tool_use"))
    assert found.input == {INVALID_INPUT: ""}


@pytest.mark.parametrize("pieces", [(), ("",), (" ", "\n")])
def test_no_input_at_all_means_no_arguments(pieces: tuple[str, ...]):
    assert content(call(*pieces), ending("tool_use")) == (ToolUse("toolu_1", "bash", {}),)


def test_an_input_in_the_start_event_counts_where_no_deltas_follow():
    head = {"type": "tool_use", "id": "a", "name": "read", "input": {"path": "x"}}
    assert content(block(0, head), ending("tool_use")) == (ToolUse("a", "read", {"path": "x"}),)


def test_ids_are_unique_within_a_response_and_never_empty():
    events = [
        call("{}", index=at, tool_id=given) for at, given in enumerate(["a", "a", "", "a_2", "x|y", ""])
    ]
    assert [found.id for found in content(*events, ending("tool_use"))] == [
        "a",
        "a_2",
        "new_1",
        "a_2_2",
        "x_y",
        "new_2",
    ]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("", "unnamed"),
        ("str replace", "str_replace"),
        ("läs", "l_s"),
        ("x" * 200, "x" * 128),
        ("a\x1b[1m", "a__1m"),
    ],
)
def test_names_of_tools_are_made_of_the_allowed_characters(given: str, expected: str):
    deltas, response = played(call("{}", name=given) + ending("tool_use"))
    assert response.content == (ToolUse("toolu_1", expected, {}),)
    assert {delta.name for delta in deltas if isinstance(delta, ToolCallDelta)} == {expected}


def test_thinking_keeps_its_signature_byte_for_byte():
    deltas, response = played(thinking("Hm, 漢字.", "Eq+/==") + text("So.", index=1) + ending())
    assert deltas[0] == ThinkingDelta("Hm, 漢字.")
    assert response.content == (Thinking("Hm, 漢字.", "Eq+/=="), Text("So."))


def test_thinking_whose_text_is_withheld_is_kept_for_its_signature():
    assert content(thinking("", "sig"), text("So.", index=1), ending()) == (Thinking("", "sig"), Text("So."))


def test_thinking_of_a_server_that_signs_nothing_is_kept_unsigned():
    assert content(thinking("Hm.", None), text("So.", index=1), ending()) == (
        Thinking("Hm.", ""),
        Text("So."),
    )


@pytest.mark.parametrize(
    "events",
    [
        thinking("Hm", None, closed=False),
        thinking("Hm", "half a sig", closed=False),
        thinking("Hm", None),
        thinking("", None),
    ],
)
def test_thinking_that_was_cut_before_its_signature_is_never_replayable(events: list[Any]):
    assert content(events, ending("max_tokens")) == ()


def test_redacted_thinking_is_kept_as_it_came():
    assert content(block(0, {"type": "redacted_thinking", "data": "Zm9v"}), ending()) == (
        RedactedThinking("Zm9v"),
    )


@given(st.text(st.characters() | st.characters(categories=["Cs"]), min_size=1), st.data())
def test_surrogate_pairs_that_are_split_across_deltas_are_joined(words: str, data: st.DataObject):
    """However the UTF-16 units fall into deltas, the text is the same and can be encoded."""
    units = words.encode("utf-16-le", "surrogatepass")
    halves = [units[at : at + 2].decode("utf-16-le", "surrogatepass") for at in range(0, len(units), 2)]
    cuts = sorted(data.draw(st.sets(st.integers(0, len(halves)))))
    pieces = ["".join(halves[a:b]) for a, b in itertools.pairwise([0, *cuts, len(halves)])]
    deltas, response = played(text(*pieces) + ending())
    expected = units.decode("utf-16-le", "replace")
    assert response.content == (Text(expected),)
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == expected
    for delta in deltas:
        assert isinstance(delta, TextDelta)
        delta.text.encode()


def test_pairs_in_a_tool_input_are_joined_whether_they_are_escaped_or_not():
    first = content(call('{"a": "\\ud83d', '\\ude00 \\ud83d"}'), ending("tool_use"))
    second = content(call('{"a": "\ud83d', '\ude00 \ud83d"}'), ending("tool_use"))
    assert first == second == (ToolUse("toolu_1", "bash", {"a": "😀 \ufffd"}),)


@pytest.mark.parametrize(
    "event",
    [
        {"type": "ping"},
        {"type": "mystery", "data": 1},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "mystery_delta", "x": 1}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta", "citation": {}}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": None}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": ["x"]}},
        {"type": "content_block_stop", "index": 9},
        {},
    ],
)
def test_what_is_not_known_is_passed_over(event: dict[str, Any]):
    start, *rest = text("Hello")
    deltas, response = played([start, event, *rest, *ending()])
    assert (deltas, response.content) == ([TextDelta("Hello")], (Text("Hello"),))


@pytest.mark.parametrize(
    "event",
    [
        [],
        "x",
        None,
        {"type": "content_block_start", "index": 0},
        {"type": "content_block_start", "index": 0, "content_block": {"text": "no type"}},
        {"type": "content_block_start", "index": [1], "content_block": {"type": "text"}},
        {"type": "content_block_delta", "index": 0, "delta": 7},
        {
            "type": "content_block_delta",
            "index": 5,
            "delta": {"type": "input_json_delta", "partial_json": "{}"},
        },
        {"type": "message_delta"},
    ],
)
def test_an_event_that_breaks_the_protocol_is_refused(event: Any):
    with pytest.raises(ValueError, match=r"."):
        Assembly(str).feed(event)


def test_text_for_a_block_that_never_began_is_kept():
    event = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}}
    assert content([event], ending()) == (Text("Hi"),)


def test_a_block_of_an_unknown_kind_is_carried_along_with_its_input():
    head = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}, "caller": {"a": [1]}}
    piece = {"type": "input_json_delta", "partial_json": '{"query": "x"}'}
    deltas, response = played(block(0, head, piece) + ending("pause_turn"))
    assert deltas == [
        ToolCallDelta("s", "web_search"),
        ToolCallDelta("s", "web_search", '{"query": "x"}'),
    ]
    assert response.stop_reason == "pause_turn"
    assert response.content == (Opaque({**head, "input": {"query": "x"}}),)


@pytest.mark.parametrize("raw", ['{"query', "[]"])
def test_a_block_of_an_unknown_kind_with_a_broken_input_is_left_out(raw: str):
    piece = {"type": "input_json_delta", "partial_json": raw}
    assert content(block(0, {"type": "server_tool_use", "input": {}}, piece), ending("max_tokens")) == ()


def test_interleaved_blocks_stay_apart_and_in_order():
    first, second = text("a", "b"), text("c", "d", index=1)
    mixed = [event for pair in zip(first, second, strict=True) for event in pair]
    assert content(mixed, ending()) == (Text("ab"), Text("cd"))


def test_usage_is_merged_from_start_and_end():
    start = {"input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": 7}
    message = {"type": "message_start", "message": {"usage": start}}
    end = {"input_tokens": 0, "output_tokens": 25, "cache_creation_input_tokens": 0, "service_tier": "x"}
    assert played([message, *ending("end_turn", **end)])[1].usage == Usage(10, 25, 7, 0)


@pytest.mark.parametrize(
    "bad", [None, "7", -1, 1.5, float("inf"), True, [1], pytest.param(10**400, id="huge"), 10**10]
)
def test_a_count_that_is_none_is_passed_over(bad: Any):
    found = played(ending("end_turn", output_tokens=4, cache_read_input_tokens=bad))[1].usage
    assert found == Usage(3, 4, None, None)


@pytest.mark.parametrize(
    ("events", "expected"), [(text("x"), "end_turn"), (call("{}"), "tool_use"), ([], "end_turn")]
)
def test_a_missing_stop_reason_follows_from_the_content(events: list[Any], expected: str):
    assert played([*events, *ending(None)])[1].stop_reason == expected


@pytest.mark.parametrize("reason", ["refusal", "model_context_window_exceeded", "something_new"])
def test_every_stop_reason_is_handed_on(reason: str):
    assert played(text("x") + ending(reason))[1].stop_reason == reason


def test_a_response_beyond_all_bounds_is_refused():
    assembly = Assembly(str)
    piece = "x" * 1_000_000
    for event in text(*[piece] * (stream.MAX_RESPONSE_CHARS // len(piece))):
        assembly.feed(event)
    with pytest.raises(ValueError, match="more than 32,000,000 characters"):
        assembly.feed(
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "x"}}
        )


DROPPED = {"type": "thinking_dropped", "path": "messages.1.content.0", "reason": "prefix_binding_mismatch"}
NEW_KIND = {"type": "image_shrunk", "path": "messages.2.content.1", "how": {"by": [2]}}


def opened(**message: Any) -> list[Any]:
    return [{"type": "message_start", "message": message}]


@pytest.mark.parametrize("reported", [[], [DROPPED], [DROPPED, NEW_KIND]])
def test_what_the_endpoint_did_to_the_request_is_kept_as_it_came(reported: list[Any]):
    response = played([*opened(input_transformations=reported), *ending()])[1]
    assert response.input_transformations == tuple(reported)


@pytest.mark.parametrize("reported", [None, "none", {"type": "thinking_dropped"}])
def test_an_endpoint_that_reports_no_transformations_is_told_from_one_that_made_none(reported: Any):
    assert played([*opened(input_transformations=reported), *ending()])[1].input_transformations is None


@pytest.mark.parametrize(
    ("reported", "expected"),
    [
        (None, None),
        ({"applied_edits": []}, None),
        ({"applied_edits": "x"}, None),
        ({"applied_edits": [NEW_KIND, 3]}, (NEW_KIND,)),
    ],
)
def test_what_the_endpoint_edited_in_its_copy_is_kept_as_it_came(reported: Any, expected: Any):
    last = {**ending()[0], "context_management": reported}
    assert played([*opened(), last, STOP])[1].applied_edits == expected


def test_transformations_said_again_at_the_end_replace_those_of_the_start():
    last = {**ending()[0], "input_transformations": [NEW_KIND]}
    response = played([*opened(input_transformations=[DROPPED]), last, STOP])[1]
    assert response.input_transformations == (NEW_KIND,)


@pytest.mark.parametrize(
    ("details", "expected"),
    [
        ({"thinking_tokens": 41}, 41),
        ({"thinking_tokens": 0}, 0),
        ({"thinking_tokens": -1}, None),
        ({}, None),
        (None, None),
        (7, None),
    ],
)
def test_tokens_of_thinking_are_kept_where_they_are_reported(details: Any, expected: int | None):
    assert played(ending("end_turn", output_tokens_details=details))[1].thinking_tokens == expected


def test_a_summary_by_the_endpoint_comes_whole_and_its_usage_from_the_iterations() -> None:
    summary = {"type": "compaction", "content": "gist", "signature": "c2ln", "later": {"x": [None]}}
    passes = [
        {"type": "message", "input_tokens": 9, "output_tokens": 9},
        {"type": "compaction", "input_tokens": 40, "output_tokens": 7, "cache_read_input_tokens": 100},
        {"type": "compaction", "input_tokens": 2, "output_tokens": 1, "cache_read_input_tokens": 0},
    ]
    start = {**START, "message": {"model": "m", "usage": {"input_tokens": 0, "iterations": passes[:1]}}}
    numbers = itertools.count(1)
    assembly = Assembly(lambda: f"new_{next(numbers)}", "req_1")
    last = ending("compaction", input_tokens=0, output_tokens=0, iterations=passes)
    for event in [start, *block(0, summary), *last]:
        assembly.feed(event)
    response = assembly.response()
    assert response.content == (Opaque(summary),)
    assert response.stop_reason == "compaction"
    assert response.usage == Usage(42, 8, 100, None)


@pytest.mark.parametrize("passes", [None, "x", [1], [{"type": "compaction", "input_tokens": -1}], [{}]])
def test_odd_iterations_change_nothing(passes: Any) -> None:
    _, response = played([*text("hi"), *ending(output_tokens=5, iterations=passes)])
    assert response.usage == Usage(3, 5)
