"""Counting tokens offline: the vocabulary as it ships, tiktoken's counts, and inputs that break its engine."""

import hashlib
import json
import os
import subprocess
import sys
from array import array
from base64 import b64encode
from collections.abc import Collection
from pathlib import Path
from unicodedata import category
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prunecli.providers import tokenizer
from prunecli.providers.tokenizer import LARGE_CHARS, MAX_PIECE, VOCABULARY, Tokenizer, pieces
from prunecli.util.errors import ConfigError

DATA = Path(tokenizer.__file__).parent.parent / "data"


@pytest.fixture(scope="module")
def counter() -> Tokenizer:
    return tokenizer.load()


TEXTS = [
    "",
    "hello world",
    "The quick brown fox jumps over the lazy dog.",
    "def main() -> None:\n    return None\n\n\tif x:\r\n",
    "<|endoftext|>",
    "antidisestablishmentarianism I'LL we've",
    "漢字かな交じり文 Grüße Ελληνικά العربية 😀👩‍👩‍👧",
    "1234567890 3.14159 0xdeadbeef",
    "   leading,   trailing   \n  \n",
    "e\u0301" * 20 + "!?#" * 20,
]

PUBLISHED = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
"""The sha256 of the published file, which tiktoken checks."""

OWN_ENCODING = """
import json, sys, tiktoken
encoding = tiktoken.get_encoding("o200k_base")
print(json.dumps([len(encoding.encode_ordinary(text)) for text in json.load(sys.stdin)]))
"""


def test_counts_are_those_of_the_library_s_own_o200k_base(tmp_path: Path, counter: Tokenizer):
    url = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
    cached = tmp_path / hashlib.sha1(url.encode()).hexdigest()
    lines = (b"%s %d\n" % (b64encode(token), rank) for token, rank in counter.ranks().items())
    cached.write_bytes(b"".join(lines))
    assert hashlib.sha256(cached.read_bytes()).hexdigest() == PUBLISHED
    done = subprocess.run(
        [sys.executable, "-c", OWN_ENCODING],
        input=json.dumps(TEXTS), capture_output=True, text=True, check=True, timeout=60,
        env={**os.environ, "TIKTOKEN_CACHE_DIR": str(tmp_path), "HTTPS_PROXY": "http://127.0.0.1:9"},
    )  # fmt: skip
    assert [counter.count(text) for text in TEXTS] == json.loads(done.stdout)


def packed(tokens: Collection[bytes], slots: int = 1 << 19) -> bytes:
    """The file of these tokens, given in the order of their ranks."""
    table, position = array("I", bytes(4 * slots)), 0
    for token in tokens:
        at = crc32(token) % slots
        while table[at]:
            at = (at + 1) % slots
        table[at] = position << 8 | len(token)
        position += len(token)
    if sys.byteorder == "big":
        table.byteswap()
    return table.tobytes() + b"".join(tokens)


def test_the_table_is_made_of_the_tokens_alone(counter: Tokenizer):
    assert packed(counter.ranks()) == (DATA / VOCABULARY).read_bytes()


CHARACTERS = [char for char in map(chr, range(sys.maxunicode + 1)) if category(char) not in ("Cn", "Co")]
PARTS = [
    *"aBtZ019 \n\r\t\v\x1c\x85'/!=_", "'s", "'S", "'ll", "'RE", "ſ", "'ſ", *"éÉǅʰª漢٣²Ⅷⓐ—…K😀",
    *"\u0301\u00a0\u2028\u3000\u200d\ufeff\u180e\ud83d",
]  # fmt: skip


def reference(counter: Tokenizer, text: str) -> int:
    return len(counter.tiktoken.encode_ordinary(text))


@given(st.lists(st.sampled_from(PARTS) | st.sampled_from(CHARACTERS)).map("".join))
def test_every_count_is_tiktoken_s(counter: Tokenizer, text: str):
    assert counter.count(text) == reference(counter, text)


@pytest.mark.slow
def test_every_character_is_counted_as_by_tiktoken(counter: Tokenizer):
    texts = (shape.replace("x", char) for char in CHARACTERS for shape in ("Axb", "'x", " x1x", "\nx x"))
    assert [text for text in texts if counter.count(text) != reference(counter, text)] == []


def test_programs_and_their_papers_are_counted_as_by_tiktoken(counter: Tokenizer):
    texts = [path.read_text("utf-8") for path in DATA.parent.glob("*/*.[pm][yd]")]
    texts += [hashlib.sha512(text.encode()).hexdigest() * 9 for text in texts[:9]]
    short = [text for text in texts if len(text) <= MAX_PIECE]
    assert [counter.count(text) for text in short] == [reference(counter, text) for text in short]
    assert len(short) > 100


def test_a_text_of_any_length_has_one_rule(counter: Tokenizer):
    """tiktoken counts what is longer than LARGE_CHARS, in the same pieces."""
    text = "".join(map(str, range(LARGE_CHARS)))
    assert counter.count(text) == sum(map(counter.count, pieces(text)))


def test_half_a_pair_is_counted_like_its_replacement(counter: Tokenizer):
    assert counter.count("a \ud83d b") == counter.count("a \ufffd b")


@pytest.mark.parametrize("unit", [" ", "a", "\n", "\t", " \n", "=", "\u0301", "漢", "'s", "\u00a0"])
def test_a_megabyte_of_the_same_is_counted(counter: Tokenizer, unit: str):
    """In one piece blanks overflow the engine's stack, which ends the process."""
    assert counter.count(unit * (1_000_000 // len(unit))) > 1000


def test_counting_in_pieces_costs_next_to_no_accuracy(counter: Tokenizer):
    line = "    result = compute(first, second)  # the quick brown fox, 1234567\n"
    text = line * 10_000
    whole, one = counter.count(text), counter.count(line * 400)
    assert abs(whole - one * 25) <= len(text) // MAX_PIECE + 25


@given(st.text(st.sampled_from("ab \n")), st.integers(2, 9))
def test_pieces_are_the_text_and_none_is_too_long(text: str, limit: int):
    found = list(pieces(text, limit))
    assert "".join(found) == text
    assert all(0 < len(piece) <= limit for piece in found)


def test_a_piece_ends_behind_a_line_where_it_can():
    assert list(pieces("aaaa\nbbb\ncc", 8)) == ["aaaa\n", "bbb\ncc"]
    assert list(pieces("a\nbbbbbbbb", 8)) == ["a\nbbbbbb", "bb"]


def test_a_missing_vocabulary_is_an_error_that_names_the_file(tmp_path: Path):
    with pytest.raises(ConfigError, match=VOCABULARY):
        tokenizer.load(tmp_path)


@pytest.mark.parametrize("damage", ["cut", "garbage", "another"])
def test_a_damaged_vocabulary_is_never_used(tmp_path: Path, damage: str):
    path = tmp_path / VOCABULARY
    table = (DATA / VOCABULARY).read_bytes()
    damaged = {"cut": table[:-1000], "garbage": b"x" * 1000, "another": table[:-1] + b"?"}
    path.write_bytes(damaged[damage])
    with pytest.raises(ConfigError, match=VOCABULARY):
        tokenizer.load(tmp_path)
