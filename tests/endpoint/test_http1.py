"""Does the parser take requests however their bytes arrive, and refuse what is no HTTP?"""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.endpoint.http1 import MalformedHttpError, RequestParser, head

HEAD = b"POST /v1/messages?beta=true HTTP/1.1\r\nHost: x\r\nX-API-Key:  k \r\n"
BY_LENGTH = HEAD + b"Content-Length: 11\r\n\r\nhello world"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n6\r\nhello \r\n5;ext=1\r\nworld\r\n0\r\n\r\n"


def fed(pieces: list[bytes], limit: int = 1000) -> RequestParser:
    parser = RequestParser(limit)
    for piece in pieces:
        parser.feed(piece)
    return parser


@pytest.mark.parametrize("raw", [BY_LENGTH, CHUNKED], ids=["length", "chunks"])
@given(cuts=st.sets(st.integers(1, 130)))
def test_a_request_is_the_same_however_it_is_cut(raw: bytes, cuts: set[int]):
    places = [0, *sorted(cut for cut in cuts if cut < len(raw)), len(raw)]
    parser = RequestParser(1000)
    found = []
    for start, end in pairwise(places):
        parser.feed(raw[start:end])
        found.append(parser.next())
    request = found[-1]
    assert request is not None
    assert found[:-1] == [None] * (len(found) - 1)
    assert (request.method, request.path, request.body) == (
        "POST",
        "/v1/messages?beta=true",
        b"hello world",
    )
    assert request.headers["x-api-key"] == "k"
    assert request.keep_alive


def test_two_requests_in_one_piece_come_out_one_by_one():
    parser = fed([BY_LENGTH + CHUNKED + b"GET / HTTP/1.0\r\n\r\n"])
    bodies = [parser.next(), parser.next(), parser.next()]
    assert [request.body for request in bodies if request] == [b"hello world", b"hello world", b""]
    assert bodies[2] is not None
    assert not bodies[2].keep_alive
    assert parser.next() is None


@pytest.mark.parametrize("raw", [BY_LENGTH, CHUNKED], ids=["length", "chunks"])
def test_a_body_over_the_limit_is_read_away_and_marked(raw: bytes):
    """The client hears 413 instead of a broken connection."""
    parser = fed([raw[:-9]], limit=5)
    assert parser.next() is None
    parser.feed(raw[-9:] + BY_LENGTH[: len(HEAD)] + b"\r\n")
    request, following = parser.next(), parser.next()
    assert request is not None
    assert (request.oversized, request.body) == (True, b"")
    assert following is not None
    assert not following.oversized


@pytest.mark.parametrize(
    "raw",
    [
        b"hello\r\n\r\n",
        b"GET / HTTP/2\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"G" * 70_000,
    ],
    ids=["line", "version", "header", "length", "chunk size", "endless head"],
)
def test_what_is_no_http_is_refused(raw: bytes):
    with pytest.raises(MalformedHttpError):
        fed([raw]).next()


def test_a_client_that_waits_to_be_asked_for_the_body_is_noticed():
    parser = fed([HEAD + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n"])
    assert parser.next() is None
    assert parser.wants_continue


def test_a_status_without_a_standard_phrase_has_a_head_too():
    assert head(529, {"a": "b"}) == b"HTTP/1.1 529 Unknown\r\na: b\r\n\r\n"
