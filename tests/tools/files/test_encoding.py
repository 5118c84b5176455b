"""Which encoding a file is in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prunecli.tools.files.encoding import encoding_of, is_binary

FOREIGN = {
    "gbk": "配置=中文说明\nname=x\n",
    "big5": "設定=中文\nname=x\n",
    "shift_jis": "設定=テスト\nname=x\n",
    "euc_jp": "設定=日本語\nname=x\n",
    "euc_kr": "설정=한국어\nname=x\n",
    "iso2022_jp": "設定=日本語\nname=x\n",
    "koi8_r": "настройка=русский\nname=x\n",
    "cp1251": "настройка=русский\nname=x\n",
    "iso8859_2": "zażółć gęślą\nname=x\n",
}
"""Text in encodings that can't be told from each other, by codec."""


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
        ("café “quoted” 10€".encode("cp1252"), "latin-1"),
        *((text.encode(codec), "ascii") for codec, text in FOREIGN.items()),
    ],
)
def test_the_encoding_is_found(data: bytes, codec: str) -> None:
    assert encoding_of(data).codec == codec


@given(st.text(st.characters(codec="utf-8", exclude_characters="\ufeff")))
def test_every_text_round_trips_in_the_encoding_of_its_file(text: str) -> None:
    data = text.encode()
    encoding = encoding_of(data)
    assert encoding.encode(encoding.decode(data)) == data


def test_a_nul_makes_a_file_binary_unless_it_is_utf_16_or_utf_32() -> None:
    assert is_binary(b"a\0b")
    assert not is_binary(b"\xff\xfea\0")
    assert not is_binary(b"\xff\xfe\0\0a\0\0\0")
    assert is_binary(b"text and \0")
    assert not is_binary(b"\xff\xfe\xfd")
