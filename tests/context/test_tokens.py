"""Tokens of words that nobody has counted, against the shipped tokenizer."""

import pytest

from prunecli.context.tokens import from_words
from prunecli.providers.tokenizer import SHIPPED


@pytest.mark.parametrize(
    "words",
    [
        "🎉 🚀 🎯 ✨ 🧪 🔧 ",
        "😀",
        "🚀",
        "👍",
        "✅",
        "❤️🧡💛💚",
        "🦄🪐🫠🪿🛸🧿",
        "👩‍👩‍👧‍👦",
        "👩‍👩‍👧 ok ",
        "🇩🇪 🇫🇷 🇯🇵 ",
        "👍🏽 👏🏽 ",
        "𝒜𝓑𝔠𝕯𝖊𝗙",
        "𠮷𠀋𡈽",
        "The build is green 🎉 and the deploy runs 🚀 ",
    ],
)
def test_words_with_emoji_are_estimated_within_a_fifth(words: str) -> None:
    text = words * 40
    counted = SHIPPED.count(text)
    assert abs(from_words(text) - counted) <= counted / 5


def test_words_without_emoji_count_as_their_bytes() -> None:
    assert from_words("Привет " * 4) == 13
