"""Tokens of words that nobody has counted, against the shipped tokenizer, and of images."""

import pytest

from prunecli.context.state import Context
from prunecli.context.tokens import Amount, Chars4, Scale, from_words
from prunecli.context.view import View
from prunecli.model.events import AssistantMessage, Record, SettingChanged, ToolResult, UserMessage
from prunecli.model.messages import Image, Text, ToolUse, Usage
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


def test_an_image_counts_by_its_pixels_and_a_text_by_the_factor_of_the_model() -> None:
    context = Context(Chars4(), lambda _: 2.0)
    context.apply(Record(0, 0, SettingChanged("model.name", "dense")))
    words, picture = Text("x" * 400), Image("image/png", "iVBORw0KGgo=", 750, 1_000)
    call = AssistantMessage((ToolUse("t", "read", {}),), "dense", "tool_use", Usage(10, 5))
    context.apply(Record(1, 1, UserMessage((words, picture))))
    context.apply(Record(2, 2, call))
    context.apply(Record(3, 3, ToolResult("t", "read", (words, picture))))
    view = View(context, 100_000)
    assert context.counts.amount(context.entries[1]) == Amount(0, 27 * 36, 100)
    assert context.counts.amount(context.entries[3]) == Amount(100, 27 * 36)
    assert view.about(view.tokens(context.entries[3]), context.entries[3]) == 200 + 27 * 36


@pytest.mark.parametrize(
    "text", ["请检查配置参数是否有效。", "設定ファイルを読み込んで確認します。", "설정 파일을 읽습니다."]
)
def test_chars4_is_near_the_shipped_tokenizer_in_east_asian_scripts(text: str) -> None:
    assert Chars4().count(text * 20) == pytest.approx(SHIPPED.count(text * 20), rel=0.25)


def test_a_count_recorded_with_another_formula_for_images_keeps_its_sum() -> None:
    context, picture = Context(SHIPPED), Image("image/png", "iVBORw0KGgo=", 1_000, 1_000)
    context.apply(Record(0, 0, UserMessage((Text("look"),))))
    context.apply(Record(1, 1, AssistantMessage((ToolUse("t", "read", {}),), "m", "tool_use")))
    context.apply(Record(2, 2, ToolResult("t", "read", (picture,), tokens=1_333)))
    assert (
        sum(context.counts.amount(context.entries[2])) == context.counts.tokens(context.entries[2]) == 1_333
    )
