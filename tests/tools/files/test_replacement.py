"""An edit is a splice of bytes, and what can't be done is said precisely."""

import unicodedata

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from prunecli.tools.files.encoding import encoding_of, has_only_crlf
from prunecli.tools.files.replacement import replaced
from prunecli.util.errors import ToolError
from tests.tools.files.test_encoding import FOREIGN

CODECS = ("utf-8", "utf-8-sig", "utf-16-le", "utf-16-be", "latin-1")
MARKS = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}


def written(text: str, codec: str) -> bytes:
    """The bytes of a file that an editor saved in this encoding."""
    return MARKS.get(codec, b"") + text.encode(codec)


letters = st.text(st.sampled_from("ab é\t\n\r"), max_size=12)


@given(letters, letters, letters, letters, st.sampled_from(CODECS))
def test_an_edit_changes_no_byte_but_those_of_its_match(
    before: str, old: str, after: str, new: str, codec: str
) -> None:
    text = before + old + after
    data = written(text, codec)
    starts = [at for at in range(len(text)) if text.startswith(old, at)]
    assume(old and old != new and len(starts) == 1)
    assume(encoding_of(data).codec == codec.removesuffix("-sig"))
    head, tail = written(before, codec), written(after, codec)[len(written("", codec)) :]
    expected_new = new.replace("\r\n", "\n").replace("\n", "\r\n") if has_only_crlf(text) else new
    middle = written(expected_new, codec)[len(written("", codec)) :]
    assert replaced(data, old, new, everywhere=False).data == head + middle + tail


@given(st.binary(max_size=60), st.text(st.sampled_from("abé\n"), min_size=1, max_size=3), st.text(max_size=5))
@example(b"\xff\xfea\0b\0", "a", "b")
@example(b"caf\xe9 a", "caf", "b")
def test_whatever_the_file_holds_the_bytes_around_the_match_stay(data: bytes, old: str, new: str) -> None:
    assume(old != new)
    try:
        done = replaced(data, old, new, everywhere=False)
    except ToolError:
        return
    encoding = encoding_of(data)
    text = encoding.decode(data)

    def crlf(given: str) -> str:
        return given.replace("\r\n", "\n").replace("\n", "\r\n")

    possible = set()
    for wanted in {old, crlf(old)}:
        for put in {new, crlf(new)}:
            bytes_old, bytes_new = wanted.encode(encoding.codec), put.encode(encoding.codec, "replace")
            possible |= {
                data[:at] + bytes_new + data[at + len(bytes_old) :]
                for at in range(len(data))
                if data.startswith(bytes_old, at)
            }
    assert done.data in possible, text


@given(letters, st.text(st.sampled_from("ab\n"), min_size=1, max_size=2), letters)
def test_replace_all_is_what_bytes_replace_does(text: str, old: str, new: str) -> None:
    assume(old in text and old != new and not has_only_crlf(text))
    done = replaced(text.encode(), old, new, everywhere=True)
    assert done.data == text.encode().replace(old.encode(), new.encode())
    assert done.count == text.count(old)


def refused(data: bytes, old: str, new: str = "new", *, everywhere: bool = False) -> str:
    with pytest.raises(ToolError) as error:
        replaced(data, old, new, everywhere=everywhere)
    return str(error.value)


def test_lf_text_finds_crlf_lines_and_what_is_put_in_gets_crlf() -> None:
    assert (
        replaced(b"a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\nz\n", everywhere=False).data == b"x\r\ny\r\nz\r\nc\r\n"
    )
    assert replaced(b"a\r\nb\r\n", "b", "x\ny", everywhere=False).data == b"a\r\nx\r\ny\r\n"


def test_in_a_file_of_mixed_line_ends_the_exact_match_comes_first() -> None:
    assert replaced(b"a\nb\r\nx\r\na\r\nb", "a\nb", "a\nc", everywhere=False).data == b"a\nc\r\nx\r\na\r\nb"
    assert replaced(b"x\na\r\nb\n", "a\nb", "c\nd", everywhere=False).data == b"x\nc\r\nd\n"


def test_no_final_newline_stays_none() -> None:
    assert replaced(b"a\nb", "b", "c", everywhere=False).data == b"a\nc"


def test_a_mark_at_the_start_stays_and_is_not_part_of_the_text() -> None:
    assert replaced(b"\xef\xbb\xbfabc", "abc", "x", everywhere=False).data == b"\xef\xbb\xbfx"
    assert replaced(b"\xef\xbb\xbfabc", "\ufeffabc", "x", everywhere=False).data == b"x"


def test_utf_16_is_matched_on_its_units() -> None:
    """U+0061 U+6100 holds the bytes of U+6161 at an odd offset."""
    data = b"\xff\xfe" + "\u0061\u6100".encode("utf-16-le")
    assert b"\x00\x00" in data
    assert "0 matches" in refused(data, "\u0000")


def test_absent_is_said_with_the_count_and_the_nearest_line() -> None:
    text = b"import os\n\ndef total(items):\n    return sum(items)\n"
    message = refused(text, "def totals(item):")
    assert "0 matches" in message
    assert "line 3: def total(items):" in message


@pytest.mark.parametrize(
    ("data", "old", "hint"),
    [
        (b"if x:\n\treturn 1\n", "if x:\n    return 1", "Line 1 differs only in white space: if x:"),
        (b"a = 1\n\n\n  b = 2 \n", "a = 1\nb = 2", "Line 1 differs only in white space: a = 1"),
        ("x\ncafe\u0301\n".encode(), "caf\u00e9", "Line 2 differs only in Unicode normalization"),
        ("caf\u00e9\n".encode(), "cafe\u0301", "Line 1 differs only in Unicode normalization"),
        (b"Hello World\n", "hello world", "Line 1 differs in upper and lower case"),
        (b"caf\xe9 one\n", "caf\ufffd one", "U+FFFD"),
        (b"already new\n", "old", "new_string is already there"),
    ],
)
def test_a_near_miss_is_explained(data: bytes, old: str, hint: str) -> None:
    assert hint in refused(data, old)


def test_many_are_counted_with_their_lines() -> None:
    assert "matches 3 places (lines 1, 3, 4)" in refused(b"x\ny\nx\nx\n", "x")
    assert "matches 12 places (lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …)" in refused(b"x\n" * 12, "x")


def test_very_many_are_not_all_counted() -> None:
    assert "10000 or more places" in refused(b"x" * 100_000, "x")


def test_overlapping_matches_are_ambiguous() -> None:
    assert "matches 2 places" in refused(b"aaa", "aa")
    assert replaced(b"aaa", "aa", "b", everywhere=True).data == b"ba"


def test_empty_and_equal_are_refused() -> None:
    assert "empty" in refused(b"x", "")
    assert "the same" in refused(b"x", "x", "x")
    assert "0 matches" in refused(b"", "x")


def test_a_character_that_the_encoding_lacks_is_named() -> None:
    assert "latin-1, which has no '→' (U+2192)" in refused(b"caf\xe9", "caf", "→")
    assert "0 matches" in refused(b"caf\xe9", "→")


@pytest.mark.parametrize(("codec", "text"), FOREIGN.items())
def test_only_ascii_is_put_into_a_file_of_an_encoding_that_cannot_be_told(codec: str, text: str) -> None:
    data = text.encode(codec)
    assert replaced(data, "name=x", "name=y", everywhere=False).data == text.replace("=x", "=y").encode(codec)
    for old, new in (("name=x", "name=é"), ("name=x", text[3]), (text[0:4], "x")):
        assert "may be Shift_JIS, GBK, EUC" in refused(data, old, new)


@pytest.mark.parametrize(
    ("codec", "text", "old"), [("shift_jis", "設定=ソ\n", "\\"), ("iso2022_jp", "日本語\n", "|")]
)
def test_half_a_character_is_no_match(codec: str, text: str, old: str) -> None:
    assert old.encode() in text.encode(codec)
    assert "inside a character" in refused(text.encode(codec), old, "x")


@pytest.mark.parametrize(
    ("old", "new"), [("a\r\nb", "a\nb"), ("a\nb", "a\r\nb"), ("a\r\n", "a\n"), ("b\n", "b\r\n")]
)
def test_an_edit_of_line_ends_alone_is_refused_where_they_stay(old: str, new: str) -> None:
    assert "CR LF" in refused(b"a\r\nb\r\nc\r\n", old, new)


def test_nothing_is_normalized() -> None:
    nfd = unicodedata.normalize("NFD", "é")
    data = f"a {nfd} é b".encode()
    assert replaced(data, "é", "e", everywhere=False).data == f"a {nfd} e b".encode()
