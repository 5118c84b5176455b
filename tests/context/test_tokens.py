"""Tokens of words that nobody has counted, against the shipped tokenizer."""

import pytest

from prunecli.context.tokens import Amount, Scale, from_words
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


def test_how_results_count_is_known_once_enough_were_reported_and_not_of_another_model() -> None:
    scale = Scale.of(1.2, 100).reported(500, Amount(words=200))
    assert not scale.knows_results
    few = scale.grew(60, Amount(50))
    assert not few.knows_results
    enough = few.grew(500, Amount(400))
    assert enough.knows_results
    assert not enough.for_model(1.5).knows_results
