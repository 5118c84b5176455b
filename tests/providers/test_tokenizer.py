"""Counting tokens offline: the vocabulary as it ships, and inputs that break the engine below."""

import hashlib
import json
import lzma
import os
import subprocess
import sys
from base64 import b64encode
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prunecli.errors import ConfigError
from prunecli.providers import tokenizer
from prunecli.providers.tokenizer import MAX_PIECE, VOCABULARY, Shipped, Tokenizer, pieces

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
    lines = (b"%s %d\n" % (b64encode(token), rank) for token, rank in tokenizer.ranks(DATA).items())
    cached.write_bytes(b"".join(lines))
    assert hashlib.sha256(cached.read_bytes()).hexdigest() == PUBLISHED
    done = subprocess.run(
        [sys.executable, "-c", OWN_ENCODING],
        input=json.dumps(TEXTS), capture_output=True, text=True, check=True, timeout=60,
        env={**os.environ, "TIKTOKEN_CACHE_DIR": str(tmp_path), "HTTPS_PROXY": "http://127.0.0.1:9"},
    )  # fmt: skip
    assert [counter.count(text) for text in TEXTS] == json.loads(done.stdout)


def test_the_shipped_one_is_loaded_once_whichever_thread_asks_first(counter: Tokenizer):
    shipped = Shipped()
    assert (shipped.ready, shipped.count("")) == (False, 0)
    shipped.warm()
    assert shipped.count("hello world") == counter.count("hello world")
    assert (shipped.ready, shipped.load()) == (True, shipped.load())


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
    packed = (DATA / VOCABULARY).read_bytes()
    if damage == "another":
        other = lzma.decompress(packed).replace(b"!", b"?", 1)
        packed = lzma.compress(other, preset=0)
    path.write_bytes({"cut": packed[:-1000], "garbage": b"x" * 1000}.get(damage, packed))
    with pytest.raises(ConfigError, match=VOCABULARY):
        tokenizer.load(tmp_path)
