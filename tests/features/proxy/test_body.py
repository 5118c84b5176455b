"""What is read of a request, however it is written and whatever is known of it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prunecli.context import render
from prunecli.features.proxy.body import incoming
from prunecli.features.proxy.way_back import Span, body_of
from prunecli.model.requests import WireMessage

TEXTS = st.text(max_size=6) | st.sampled_from(['"], {', "\ud83d", "näive 😀", "\\u0000"])
BLOCKS = st.fixed_dictionaries(
    {"type": st.just("text"), "text": TEXTS}, optional={"cache_control": st.just({"type": "ephemeral"})}
)
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant"]), "content": TEXTS | st.lists(BLOCKS, max_size=3)}
    ),
    min_size=1,
    max_size=6,
)
TOOLS = st.lists(st.fixed_dictionaries({"name": TEXTS}), max_size=2)
WAYS = st.sampled_from([{}, {"indent": 1}, {"separators": (",", ":")}])


@st.composite
def written(draw: st.DrawFn, messages: list[Any]) -> bytes:
    fields = {
        "model": "m",
        "system": draw(TEXTS),
        "messages": messages,
        "tools": draw(TOOLS),
        "max_tokens": 1,
    }
    body = {key: fields[key] for key in draw(st.permutations(sorted(fields)))}
    text = json.dumps(body, ensure_ascii=draw(st.booleans()), **draw(WAYS))
    return text.encode(errors="replace")


@given(st.data())
def test_a_request_is_the_same_whatever_is_known_of_it(data: st.DataObject) -> None:
    one = data.draw(MESSAGES)
    other = [*one[: data.draw(st.integers(0, len(one)))], *data.draw(MESSAGES)]
    earlier = [incoming(data.draw(written(messages))) for messages in (one, other, [one[0]])]
    raw = data.draw(written(other) | st.just(earlier[0].raw) | st.just(earlier[1].raw))
    request, body = incoming(raw, earlier), json.loads(raw)
    assert request == incoming(raw)
    assert {**request.fields, "messages": body["messages"]} == body
    assert [json.loads(raw[start:end]) for start, end in request.places] == body["messages"]
    assert request.with_messages([request.bytes_of(0, len(request.messages))]) == raw
    marks = [place for place, _ in request.marks.items()]
    assert marks == [
        (number, at)
        for number, message in enumerate(body["messages"])
        for at, block in enumerate(message["content"])
        if isinstance(block, dict) and "cache_control" in block
    ]


@pytest.mark.parametrize(
    "raw",
    [
        *(
            "",
            "[]",
            "{}",
            '{"messages":[]}',
            '{"messages":[1]}',
            '{"messages":[{"role":"user","content":"a"}',
        ),
        '{"messages":[{"role":"user","content":"a"}],}',
        '{"messages":[{"role":"user","content":"a"},]}',
        '{"messages":[{"role":"user","content":"a"}]} 1',
        '{"messages":[{"role":"user","content":"a"}],"messages":[]}',
        '{"a":1,,"messages":[{"role":"user","content":"a"}]}',
        '{"messages":[{"role":"user","content":[1]}]}',
    ],
)
def test_what_is_not_a_request_is_refused(raw: str) -> None:
    known = incoming(b'{"messages":[{"role":"user","content":"a"}]}')
    for earlier in ([], [known]):
        with pytest.raises(ValueError, match=" "):
            incoming(raw.encode(), earlier)


@pytest.mark.parametrize(
    ("before", "own", "wanted", "marked"),
    [
        (1, (6, 8), (0, 2), [0, 2, 8]),  # one is free, one is in place of the program's
        (1, (8,), (0, 2), [0, 2, 8]),
        (2, (6, 8), (2, 0), [2, 8]),  # only one can be had: the first
        (2, (6, 8), (6, 0), [6, 8]),
        (3, (8,), (0,), [8]),  # the last one stays
        (1, (6, 8), (6,), [6, 8]),
        (1, (), (0,), []),
    ],
)
def test_breakpoints_move_to_what_is_stored_and_to_what_stays(
    before: int, own: tuple[int, ...], wanted: tuple[int, ...], marked: list[int]
) -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    words = [{"type": "text", "text": f"words {number}"} for number in range(9)]
    messages = [
        {"role": ("user", "assistant")[number % 2], "content": [one | mark if number in own else one]}
        for number, one in enumerate(words)
    ]
    body = {"model": "m", "system": [words[0] | mark] * before, "messages": messages, "max_tokens": 1}
    spans = [
        Span(WireMessage.of("user", (render.text("[cleared]"),), (number,)), number, number + 1, number != 4)
        for number in range(9)
    ]
    sent, numbers = body_of(incoming(json.dumps(body).encode()), spans, wanted)
    made = [at for at, one in enumerate(json.loads(sent)["messages"]) if "cache_control" in str(one)]
    assert made == list(numbers) == marked
