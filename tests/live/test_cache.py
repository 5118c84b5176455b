"""Does the service cache prompts, and count images, as the figures of this program assume?"""

import struct
import time
import zlib
from base64 import b64encode
from typing import Any

import pytest

from tests.live.api import Answer, Api, Talk, text

MARK = {"type": "ephemeral"}


def long(words: str) -> str:
    """About 5,000 tokens that no earlier request had: the service stores nothing short."""
    return f"{time.time_ns()} {words} " * 500


def white(width: int, height: int) -> str:
    """A white PNG, in base64."""
    header, rows = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0), b"\0" + b"\xff" * 3 * width
    chunks = b"IHDR" + header, b"IDAT" + zlib.compress(rows * height), b"IEND"
    packed = [struct.pack(">I", len(one) - 4) + one + struct.pack(">I", zlib.crc32(one)) for one in chunks]
    return b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(packed)).decode()


def read(answer: Answer) -> int:
    """Tokens that came from the cache."""
    return int(answer.body["usage"]["cache_read_input_tokens"])


def test_only_what_ends_at_a_breakpoint_is_stored(api: Api) -> None:
    """The gate rests on this: a change rewrites everything behind the last breakpoint before it."""
    system = [{"type": "text", "text": long("Answer briefly."), "cache_control": MARK}]
    before = [text(long("a note")), {"role": "assistant", "content": [{"type": "text", "text": "Noted."}]}]

    def ask(words: str) -> Answer:
        last = {"role": "user", "content": [{"type": "text", "text": words, "cache_control": MARK}]}
        answer = api.post([*before, last], system=system)
        assert answer.status == 200, answer.error
        return answer

    first = ask("Say only: ok")
    assert read(first) == 0
    assert 0 < read(ask("Say only: yes")) < 0.75 * first.tokens, "system prompt alone"
    assert read(ask("Say only: ok")) > 0.9 * first.tokens


def test_thinking_that_is_dropped_again_leaves_the_cache_as_it_is(api: Api) -> None:
    """Why dropped thinking stays in the request."""
    fields: dict[str, Any] = {"system": long("Answer briefly."), "cache_control": MARK}
    talk = Talk(api)
    for _ in range(2):
        talk.turn(**fields)
    talk.edit(2)
    first, second = talk.ask(**fields), talk.ask(**fields)
    assert first.dropped == second.dropped == ["messages.3.content.0"]
    assert read(second) > 0.9 * second.tokens


@pytest.mark.parametrize(("width", "height"), [(200, 200), (1_000, 1_000), (1_092, 300)])
def test_an_image_takes_a_token_for_28_by_28_pixels(api: Api, width: int, height: int) -> None:
    """Counting is free."""
    source = {"type": "base64", "media_type": "image/png", "data": white(width, height)}
    words = {"type": "text", "text": "What is this?"}
    with_image = [{"role": "user", "content": [{"type": "image", "source": source}, words]}]
    fields = {"path": "/v1/messages/count_tokens", "max_tokens": None}
    counts = [api.post(asked, **fields) for asked in (with_image, [{"role": "user", "content": [words]}])]
    assert [one.status for one in counts] == [200, 200], counts[0].error
    whole, plain = (one.body["input_tokens"] for one in counts)
    assert whole - plain == pytest.approx(-(-width // 28) * -(-height // 28), abs=10)
