"""Tokens of words that nobody has counted, against the shipped tokenizer, and of images."""

import json

import pytest

from prunecli.context.state import Context
from prunecli.context.tokens import Amount, Chars4, Scale, from_words
from prunecli.context.view import View
from prunecli.model.events import (
    AssistantMessage,
    CompactionApplied,
    Event,
    Record,
    RequestSent,
    Rewound,
    SessionStarted,
    SettingChanged,
    ToolResult,
    UserMessage,
)
from prunecli.model.messages import Image, Text, ToolUse, Usage
from prunecli.model.requests import PREAMBLE
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


def test_a_refused_answer_is_not_sent_and_takes_no_tokens() -> None:
    context = Context(Chars4())
    context.apply(Record(0, 0, UserMessage((Text("x" * 400),))))
    context.apply(Record(1, 1, RequestSent("m", 100, "")))
    before = context.counts.context_tokens
    refused = AssistantMessage((Text("y" * 400),), "m", "refusal", Usage(before, 100))
    context.apply(Record(2, 2, refused))
    assert context.counts.context_tokens == before
    assert context.counts.length.chars == 400


def test_a_count_recorded_with_another_formula_for_images_keeps_its_sum() -> None:
    context, picture = Context(SHIPPED), Image("image/png", "iVBORw0KGgo=", 1_000, 1_000)
    context.apply(Record(0, 0, UserMessage((Text("look"),))))
    context.apply(Record(1, 1, AssistantMessage((ToolUse("t", "read", {}),), "m", "tool_use")))
    context.apply(Record(2, 2, ToolResult("t", "read", (picture,), tokens=1_333)))
    assert (
        sum(context.counts.amount(context.entries[2])) == context.counts.tokens(context.entries[2]) == 1_333
    )


class Reported:
    """A session with an endpoint that counts 3,000 tokens before the messages and 1.3 for each of ours."""

    def __init__(self) -> None:
        self.context, self.texts, self.seq = Context(Chars4()), 0, 0
        self.add(SettingChanged(PREAMBLE, {"system": ["x" * 9_000], "tools": []}))

    def add(self, event: Event, tokens: int = 0) -> int:
        self.context.apply(Record(self.seq, self.seq, event))
        self.texts, self.seq = self.texts + tokens, self.seq + 1
        return self.seq - 1

    def turn(self, *sizes: int) -> int:
        """A prompt, and results of these tokens; the seq of the prompt."""
        prompt = self.add(UserMessage((Text("word " * 40),)), 50)
        for number, size in enumerate(sizes):
            use = ToolUse(f"t{prompt}-{number}", "read", {})
            self.answer(use)
            self.add(ToolResult(use.id, "read", (Text("abcd" * size),)), size)
        self.answer(Text("done"))
        return prompt

    def answer(self, block: Text | ToolUse) -> None:
        self.add(RequestSent("m", 0, ""))
        usage = Usage(3_000 + round(1.3 * self.texts), 13)
        self.add(AssistantMessage((block,), "m", usage=usage), 10)


def test_only_a_reported_total_is_exact_and_the_preamble_keeps_its_size_while_the_session_grows() -> None:
    session = Reported()
    counts, fixed, totals = session.context.counts, list[int](), list[int]()
    prompts = []
    for sizes in ((100, 3_000), (500, 40), (2_000, 900, 20)):
        prompts.append(session.turn(*sizes))
        fixed.append(counts.fixed)
        totals.append(counts.context_tokens)
        assert counts.is_reported
        assert counts.context_tokens == pytest.approx(3_000 + 1.3 * session.texts, abs=1)
    assert max(fixed) - min(fixed) < 200
    session.add(UserMessage((Text("more"),)))
    assert not counts.is_reported
    for prompt, total in zip(reversed(prompts[1:]), reversed(totals[:-1]), strict=True):
        session.add(Rewound(prompt - 1))
        assert (counts.context_tokens, counts.is_reported) == (total, True)
    session.add(Rewound(prompts[0] - 1))
    assert counts.context_tokens == pytest.approx(3_000, abs=200)
    assert not counts.is_reported


def test_another_family_of_models_is_expected_to_differ_as_much_from_its_factor() -> None:
    """An endpoint that counts less for this session's content than the family's factor says does so for the next
    family too."""
    context, texts = Context(Chars4(), {"dense": 1.6, "sparse": 1.2}.__getitem__), 0

    def add(event: Event) -> None:
        seq = max(context.entries, default=0) + 1
        context.apply(Record(seq, seq, event))

    add(SettingChanged("model.name", "dense"))
    add(UserMessage((Text("abcd" * 100),)))
    for texts in (100, 3_100, 6_100):
        use = ToolUse(f"t{texts}", "read", {})
        add(AssistantMessage((use,), "dense", "tool_use", Usage(round(1.28 * texts), 10)))
        add(ToolResult(use.id, "read", (Text("abcd" * 3_000),)))
    counted = context.counts.context_tokens
    assert counted == pytest.approx(1.28 * 9_100, rel=0.02)
    add(SettingChanged("model.name", "sparse"))
    assert context.counts.context_tokens == pytest.approx(0.75 * counted, rel=0.01)


def test_a_summary_counts_as_it_is_sent() -> None:
    context = Context(Chars4())
    said = [SessionStarted("s", "/", "m"), UserMessage((Text("do it"),)), AssistantMessage((Text("done"),))]
    block = {"type": "compaction", "content": "so far", "signature": "x"}
    said += [UserMessage((Text("go on"),)), CompactionApplied("in words", -1, 3, block=block, words="do it")]
    for seq, event in enumerate(said):
        context.apply(Record(seq, seq, event))
    summary = context.items[0]
    texts = [json.loads(one)["content"] for one in [summary.block]] + [
        json.loads(one)["text"] for one in summary.words
    ]
    assert context.counts.tokens_of([summary]) == sum(map(Chars4().count, texts))


@pytest.mark.parametrize("preamble", [0, 200, 2_000, 20_000])
@pytest.mark.parametrize("first", [1, 20, 40, 1_000, 2_600_000])
@pytest.mark.parametrize("report", [1, 10, 100])
def test_a_report_far_below_the_estimate_is_not_believed(preamble: int, first: int, report: int) -> None:
    """Some servers report only uncached tokens, or nonsense; a long prompt must not look short after that."""
    scale = Scale.of(1.0, preamble).reported(report, Amount(words=first))
    for amount in (Amount(2_600_000), Amount(0, 2_600_000), Amount(0, 0, 2_600_000)):
        assert scale.total(*amount) > 400_000
        assert scale.reported(report, amount).total(*amount) > 400_000
