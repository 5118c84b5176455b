"""Server-Sent Events from bytes, however the bytes are cut."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from prunecli.providers.sse import EventDecoder, ServerEvent

STREAM = (
    ': a comment\n\nevent: ping\ndata: {"type": "ping"}\n\nid: 7\nretry: 10\nevent: delta\n'
    'data: {"text": "Grüße 漢字 😀\u2028x"}\n\ndata: one\ndata: two\n\nevent: last\n\n'
).encode()
EVENTS = [
    ServerEvent("ping", '{"type": "ping"}'),
    ServerEvent("delta", '{"text": "Grüße 漢字 😀\u2028x"}'),
    ServerEvent("", "one\ntwo"),
    ServerEvent("last", ""),
]


def decoded(pieces: list[bytes], limit: int = 1000) -> list[ServerEvent]:
    decoder = EventDecoder(limit)
    return [event for piece in pieces for event in decoder.feed(piece)]


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_events_are_the_same_however_the_bytes_are_cut(line_end: bytes, size: int):
    stream = STREAM.replace(b"\n", line_end)
    if line_end == b"\r":
        stream += b"\n"  # what follows a carriage return decides what it was
    assert decoded([stream[at : at + size] for at in range(0, len(stream), size)]) == EVENTS


BITS = [b"\r", b"\n", b"\n\n", b"data:", b"event:", b":", b" ", b"x", b"\xff", b"\0"]


@example(b"data:\r\n\n", 1)
@given(
    st.lists(st.sampled_from(BITS), max_size=30).map(b"".join) | st.binary(max_size=300), st.integers(1, 20)
)
def test_no_bytes_are_too_broken_and_no_cut_changes_what_they_mean(data: bytes, size: int):
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    assert decoded(pieces) == decoded([data])


def test_a_space_after_the_colon_belongs_to_the_field_and_a_second_one_to_the_value():
    assert decoded([b"data:a\n\ndata:  b\n\n"]) == [ServerEvent("", "a"), ServerEvent("", " b")]


def test_bytes_that_are_no_utf8_become_replacement_characters():
    assert decoded([b"event: \xff\ndata: a\xe4b\n\n"]) == [ServerEvent("\ufffd", "a\ufffdb")]


def test_an_event_that_never_ends_is_refused_before_it_fills_the_memory():
    for piece in (
        b"data: " + b"x" * 400,
        b"data: " + b"x" * 400 + b"\n",
        b"\n" * 400,
        b": still here\n\n" * 40,
    ):
        with pytest.raises(ValueError, match="more than 1,000 bytes"):
            decoded([piece] * 3)


def test_many_events_are_no_large_event():
    assert len(decoded([b"data: " + b"x" * 400 + b"\n\n"] * 30)) == 30


def test_an_event_without_its_empty_line_is_none():
    assert decoded([b"event: message_stop\ndata: {}\n"]) == []
