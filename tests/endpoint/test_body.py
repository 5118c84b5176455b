"""Is a body read as strictly as the service reads it, and is what is known from an earlier one found again?"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.endpoint.body import Fresh, Known, parse_body
from tests.endpoint.shape import RefusedError


def refusal(raw: bytes) -> str:
    with pytest.raises(RefusedError) as caught:
        parse_body(raw, None)
    return str(caught.value)


def whole(raw: bytes) -> object:
    """The body's JSON, as the parser sees it."""
    parsed = parse_body(raw, None)
    if parsed.messages is None:
        return dict(parsed.fields)
    return {**parsed.fields, "messages": [message.value for message in parsed.messages]}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(
    st.dictionaries(st.sampled_from(["a", "messages", "é", "system"]), JSON),
    st.booleans(),
    st.sampled_from([None, 2]),
)
def test_every_json_object_is_read_as_the_standard_library_reads_it(
    value: dict[str, object], ascii_only: bool, indent: int | None
):
    raw = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode()
    assert whole(raw) == json.loads(raw)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "Expecting value"),
        (b"[1]", "Input should be a valid dictionary"),
        (b'{"a": 1', "delimiter"),
        (b'{"a": 1,}', "Expecting property name"),
        (b"{a: 1}", "Expecting property name"),
        (b'{"a" 1}', "delimiter"),
        (b'{"messages": [1,]}', "Expecting value"),
        (b'{"messages": [1 2]}', "delimiter"),
        (b'{"a": 1} {}', "unexpected content after document"),
        (b'{"a": NaN}', "unexpected constant NaN"),
        (b'{"a": -Infinity}', "unexpected constant -Infinity"),
        (b'{"a": 1, "a": 2}', 'duplicate key "a"'),
        (b'{"messages": [], "messages": []}', 'duplicate key "messages"'),
        (b'{"messages": [{"role": "user", "role": "user"}]}', 'duplicate key "role"'),
        (b'{"a": "\xff"}', "str is not valid UTF-8"),
        (b'{"a": "\xed\xa0\xbd"}', "str is not valid UTF-8"),
        (b'\xef\xbb\xbf{"a": 1}', "Expecting value"),
        (b'{"a": "x\ny"}', "Invalid control character"),
        (b'{"a": ' + b"9" * 5000 + b"}", "digits"),
        (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "recursion limit exceeded"),
    ],
    ids=lambda value: value[:24].decode("latin-1") if isinstance(value, bytes) else None,
)
def test_a_body_that_is_no_strict_json_is_refused(raw: bytes, message: str):
    """Nothing lenient passes."""
    assert message in refusal(raw)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (r'"\ud83d"', "no low surrogate in string: line 1 column 8 (char 7)"),
        (r'"\ud83d x"', "no low surrogate in string"),
        (r'"\ud83d\ud83d\ude00"', "no low surrogate in string"),
        (r'"\ude00"', "invalid high surrogate in string"),
        (r'{"\uDE00": 1}', "invalid high surrogate in string"),
        (r'"\\\ud83d"', "no low surrogate in string"),
    ],
)
def test_half_a_surrogate_pair_is_refused_wherever_it_stands(text: str, message: str):
    assert message in refusal(b'{"a": ' + text.encode() + b"}")


@pytest.mark.parametrize("text", [r'"\ud83d\ude00"', r'"\\ud83d"', r'"\\\\ud83d \u00e9"', '"😀"'])
def test_what_only_looks_like_half_a_pair_is_accepted(text: str):
    assert whole(b'{"a": ' + text.encode() + b"}") == {"a": json.loads(text)}


MESSAGE = st.sampled_from([{"role": "user", "content": text} for text in ("a", "b", "ab", "😀", "")])


@given(st.lists(st.lists(MESSAGE, max_size=8), min_size=2, max_size=5), st.booleans())
def test_known_messages_are_found_again_and_nothing_else_is(bodies: list[list[object]], spaced: bool):
    """Whatever was dropped, added or changed between two bodies, every message is read rightly."""
    known: Known[object] | None = None
    for messages in bodies:
        separators = (", ", ": ") if spaced else (",", ":")
        raw = json.dumps({"model": "m", "messages": messages}, separators=separators).encode()
        parsed = parse_body(raw, known)
        assert parsed.messages is not None
        values = [message.value if isinstance(message, Fresh) else message for message in parsed.messages]
        assert values == messages
        assert [
            json.loads(parsed.places.text[start:end])
            for start, end in zip(parsed.places.starts, parsed.places.ends, strict=True)
        ] == messages
        known = Known(parsed.places, values)


def test_a_body_that_repeats_an_earlier_one_reads_only_what_is_new():
    messages = [{"role": "user", "content": f"message {index}"} for index in range(50)]
    known: Known[str] = Known(
        parse_body(json.dumps({"messages": messages}).encode(), None).places, ["known"] * 50
    )

    def fresh(changed: list[object]) -> int:
        parsed = parse_body(json.dumps({"max_tokens": 1, "messages": changed}).encode(), known)
        return sum(isinstance(message, Fresh) for message in parsed.messages or [])

    new = {"role": "user", "content": "new"}
    assert fresh([*messages, new]) == 1
    assert fresh([*messages[:20], new, *messages[21:]]) == 1
    assert fresh([*messages[:10], *messages[12:]]) == 1, "after a drop the rest is found again"
    assert fresh([new, new, *messages]) == 2
