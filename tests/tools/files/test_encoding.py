"""Which encoding a file is in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prunecli.tools.files.encoding import encoding_of, is_binary


@pytest.mark.parametrize(
    ("data", "codec"),
    [
        (b"", "utf-8"),
        ("é".encode(), "utf-8"),
        (b"caf\xe9", "latin-1"),
        ("é".encode() + b"\xff", "utf-8"),
        (b"\xef\xbb\xbfa", "utf-8"),
        (b"\xff\xfea\0", "utf-16-le"),
        (b"\xfe\xff\0a", "utf-16-be"),
    ],
)
def test_the_encoding_is_found(data: bytes, codec: str) -> None:
    assert encoding_of(data).codec == codec


@given(st.text(st.characters(codec="utf-8", exclude_characters="\ufeff")))
def test_every_text_round_trips_in_the_encoding_of_its_file(text: str) -> None:
    data = text.encode()
    encoding = encoding_of(data)
    assert encoding.encode(encoding.decode(data)) == data


def test_a_nul_makes_a_file_binary_unless_it_is_marked_utf_16() -> None:
    assert is_binary(b"a\0b")
    assert not is_binary(b"\xff\xfea\0")
    assert is_binary(b"\xff\xfe\0\0a\0\0\0")  # UTF-32
    assert not is_binary(b"\xff\xfe\xfd")
