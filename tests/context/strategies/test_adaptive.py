"""Adaptive: long old results are trimmed as the context fills, the oldest cleared as it fills more."""

import re
from typing import Any

import pytest

from prunecli.config.effective import Config
from prunecli.context.strategies.adaptive import HardClear, Options, SoftTrim, Tools
from prunecli.util.errors import ConfigError
from tests.context.talk import PICTURE, THOUGHT, Talk, seqs, texts

WINDOW = 1_000
"""Tokens; 4,000 characters."""
TRIM = SoftTrim(max_chars=100, head_chars=10, tail_chars=5)
NOTE = "[Tool result trimmed: kept first 10 chars and last 5 chars of {} chars.]"


def options(**more: Any) -> dict[str, Any]:
    """Everything before the last answer is trimmed, and cleared where `hard_clear_ratio` says so."""
    basic: dict[str, Any] = {
        "keep_last_assistants": 1,
        "soft_trim_ratio": 0.0,
        "hard_clear_ratio": 2.0,
        "min_prunable_tool_chars": 0,
        "soft_trim": TRIM,
        "hard_clear": HardClear(placeholder="[gone]"),
    }
    return basic | more


def talk_of(*texts_: str) -> tuple[Talk, list[int]]:
    """A session of these results, with nothing else that has characters but a last answer of four."""
    talk = Talk()
    talk.user("")
    found = []
    for text in texts_:
        talk.call(("read", {}))
        found.append(talk.answer(text))
    talk.say("done")
    return talk, found


BESIDE = 2
"""Characters of a call without arguments: `{}`."""


def test_the_defaults_are_those_of_the_original() -> None:
    assert Options() == Options(
        3,
        0.3,
        0.5,
        50_000,
        SoftTrim(4_000, 1_500, 1_500),
        HardClear(True, "[Old tool result content cleared]"),
        Tools((), ()),
    )


def test_a_long_result_keeps_its_head_and_its_tail() -> None:
    talk, _ = talk_of("a" * 50 + "b" * 51)
    (text,) = texts(talk.ask("adaptive", talk.view(WINDOW), **options()))
    assert text == "a" * 10 + "\n...\n" + "b" * 5 + "\n\n" + NOTE.format(101)


@pytest.mark.parametrize(("chars", "trims"), [(100, False), (101, True)])
def test_only_results_longer_than_max_chars_are_trimmed(chars: int, trims: bool) -> None:
    talk, _ = talk_of("a" * chars)
    assert bool(talk.ask("adaptive", talk.view(WINDOW), **options()).edits) is trims


@pytest.mark.parametrize(("tail", "trims"), [(290, False), (289, False), (100, True)])
def test_only_where_head_and_tail_are_shorter_than_the_whole_and_tokens_are_saved(
    tail: int, trims: bool
) -> None:
    talk, _ = talk_of("a" * 300)
    asked = talk.ask("adaptive", talk.view(WINDOW), **options(soft_trim=SoftTrim(100, 10, tail)))
    assert bool(asked.edits) is trims


def test_the_blocks_of_a_result_are_joined_by_a_newline_before_they_are_cut() -> None:
    talk = Talk()
    talk.user()
    talk.step("read", "a" * 60, "b" * 200)
    talk.say()
    (text,) = texts(talk.ask("adaptive", talk.view(WINDOW), **options(soft_trim=SoftTrim(100, 65, 5))))
    assert text is not None
    assert text.startswith("a" * 60 + "\nbbbb\n...\nbbbbb\n\n")
    assert text.endswith("of 261 chars.]")


def test_lengths_are_code_points_and_no_character_loses_its_marks() -> None:
    talk, _ = talk_of("🙂" * 9 + "e\u0301" + "x" * 100 + "👍\U0001f3fd" + "yyyy")
    (text,) = texts(talk.ask("adaptive", talk.view(WINDOW), **options()))
    assert text == "🙂" * 9 + "\n...\n" + "yyyy" + "\n\n" + NOTE.format(117)


def test_the_handle_for_recall_is_the_last_line_of_a_trimmed_text() -> None:
    talk, (first,) = talk_of("a" * 300)
    (text,) = texts(talk.ask("adaptive", talk.view(WINDOW, recall=True), **options()))
    assert text == "a" * 10 + "\n...\naaaaa\n\n" + NOTE.format(300) + f"\n[recall {first} for the full text]"


@pytest.mark.parametrize(("keep", "trimmed"), [(3, 0), (2, 1), (1, 2), (0, 2), (-1, 2)])
def test_what_follows_the_nth_assistant_message_from_the_end_is_kept(keep: int, trimmed: int) -> None:
    talk, found = talk_of("a" * 300, "b" * 300)
    asked = talk.ask("adaptive", talk.view(WINDOW), **options(keep_last_assistants=keep))
    assert seqs(asked) == found[:trimmed]


def test_with_fewer_assistant_messages_than_are_kept_nothing_happens() -> None:
    talk, _ = talk_of("a" * 300)
    assert talk.ask("adaptive", talk.view(WINDOW), **options(keep_last_assistants=3)).edits == ()


def test_what_the_model_has_not_seen_is_kept_when_no_answer_is() -> None:
    talk = Talk()
    talk.user()
    talk.step("read", "a" * 300)
    assert talk.ask("adaptive", talk.view(WINDOW), **options(keep_last_assistants=0)).edits == ()


def test_nothing_before_the_first_user_message_is_touched() -> None:
    talk = Talk()
    talk.step("read", "a" * 300)
    talk.user()
    new = talk.step("read", "b" * 300)
    talk.say()
    assert seqs(talk.ask("adaptive", talk.view(WINDOW), **options())) == [new]


def test_nothing_before_a_compaction_is_touched() -> None:
    talk = Talk()
    first = talk.user()
    old = talk.step("read", "a" * 300)
    talk.say()
    talk.compact(first, old - 1)
    new = talk.step("read", "b" * 300)
    talk.say()
    assert seqs(talk.ask("adaptive", talk.view(WINDOW), **options())) == [new]


@pytest.mark.parametrize(
    ("allow", "deny", "left"),
    [
        ((), (), {"read", "Bash", "my_tool"}),
        (("READ",), (), {"read"}),
        (("b*", "*tool"), (), {"Bash", "my_tool"}),
        (("*",), ("ba*",), {"read", "my_tool"}),
        ((), ("*",), set()),
        (("r?ad", "[r]ead"), (), set()),
    ],
)
def test_tools_are_matched_by_wildcards_case_aside_and_deny_wins(
    allow: tuple[str, ...], deny: tuple[str, ...], left: set[str]
) -> None:
    talk = Talk()
    talk.user()
    results = {name: talk.step(name, "a" * 300) for name in ("read", "Bash", "my_tool")}
    talk.say()
    asked = talk.ask("adaptive", talk.view(WINDOW), **options(tools=Tools(allow, deny)))
    assert set(seqs(asked)) == {results[name] for name in left}


def test_a_result_with_an_image_is_passed_over_an_error_is_not() -> None:
    talk = Talk()
    talk.user()
    talk.step("read", "a" * 300, PICTURE)
    failed = talk.step("read", "b" * 300, error=True)
    talk.say()
    assert seqs(talk.ask("adaptive", talk.view(WINDOW), **options())) == [failed]


def test_the_total_counts_words_thinking_inputs_results_and_8000_for_an_image() -> None:
    talk = Talk()
    talk.user("12345")
    talk.step("read", "r" * 30, PICTURE, path="é", before=(THOUGHT,))
    talk.say("said")
    note = talk.ask("adaptive", talk.view(10_000), **options(soft_trim_ratio=1.0)).note
    total = 5 + len("hm") + len('{"path":"é"}') + 30 + 8_000 + 4
    assert note == f"{total:,} of 40,000 characters: below soft_trim_ratio"


@pytest.mark.parametrize(("ratio", "trims"), [(0.1, True), (0.1000001, False), (0.07, True)])
def test_exactly_at_the_soft_ratio_is_reached(ratio: float, trims: bool) -> None:
    talk, _ = talk_of("a" * (400 - 4 - BESIDE))
    asked = talk.ask("adaptive", talk.view(WINDOW), **options(soft_trim_ratio=ratio))
    assert bool(asked.edits) is trims


def test_a_ratio_is_compared_as_a_quotient_which_rounds_as_in_the_original() -> None:
    """7 of 100 characters is 0.07, though 0.07 * 100 is a little more than 7."""
    talk, _ = talk_of("a" * (700 - 4 - BESIDE))
    asked = talk.ask("adaptive", talk.view(2_500), **options(soft_trim_ratio=0.07))
    assert len(asked.edits) == 1


def cleared(talk: Talk, **more: Any) -> list[int]:
    """What is cleared where nothing is long enough to be trimmed."""
    asked = talk.ask("adaptive", talk.view(WINDOW), **options(soft_trim=SoftTrim(9_999, 1, 1), **more))
    assert {edit.kind for edit in asked.edits} <= {"clear"}
    return seqs(asked)


def test_the_oldest_are_cleared_until_the_ratio_is_below_the_hard_one() -> None:
    talk, found = talk_of("a" * 300, "b" * 300, "c" * 300)
    total = 3 * (300 + BESIDE) + 4
    gain = 300 - len("[gone]")
    assert cleared(talk, hard_clear_ratio=(total + 1) / 4_000) == []
    assert cleared(talk, hard_clear_ratio=total / 4_000) == found[:1]
    assert cleared(talk, hard_clear_ratio=(total - gain + 1) / 4_000) == found[:1]
    assert cleared(talk, hard_clear_ratio=(total - gain) / 4_000) == found[:2]
    assert cleared(talk, hard_clear_ratio=0.0) == found


@pytest.mark.parametrize(("least", "clears"), [(600, 1), (601, 0)])
def test_nothing_is_cleared_where_less_than_the_least_could_go(least: int, clears: int) -> None:
    talk, found = talk_of("a" * 300, "b" * 300)
    assert cleared(talk, hard_clear_ratio=0.13, min_prunable_tool_chars=least) == found[:clears]


def test_hard_clear_can_be_switched_off() -> None:
    talk, _ = talk_of("a" * 300)
    off = HardClear(enabled=False)
    assert cleared(talk, hard_clear_ratio=0.0, hard_clear=off) == []


def test_characters_after_trimming_decide_about_clearing() -> None:
    talk, found = talk_of("a" * 1_000, "b" * 1_000)
    trimmed = 10 + 5 + 5 + 2 + len(NOTE.format(1000))
    asked = talk.ask(
        "adaptive", talk.view(WINDOW), **options(hard_clear_ratio=0.0, min_prunable_tool_chars=0)
    )
    assert [edit.kind for edit in asked.edits] == ["clear", "clear"]
    asked = talk.ask(
        "adaptive",
        talk.view(WINDOW),
        **options(hard_clear_ratio=0.0, min_prunable_tool_chars=2 * trimmed + 1),
    )
    assert [(edit.kind, edit.seq) for edit in asked.edits] == [("trim", seq) for seq in found]


def test_a_tiny_result_stays_but_counts_as_cleared() -> None:
    """As in the original, where its placeholder makes it longer."""
    talk, (_, second) = talk_of("ab", "b" * 300)
    total = 302 + 2 * BESIDE + 4
    assert cleared(talk, hard_clear_ratio=(total + 4) / 4_000) == []
    assert cleared(talk, hard_clear_ratio=total / 4_000) == [second]


def test_a_trimmed_result_is_not_trimmed_again_but_may_be_cleared() -> None:
    talk, (first, second) = talk_of("a" * 1_000, "b" * 1_000)
    talk.apply(talk.ask("adaptive", talk.view(WINDOW), **options()), "adaptive")
    assert talk.ask("adaptive", talk.view(WINDOW), **options()).edits == ()
    asked = talk.ask("adaptive", talk.view(WINDOW), **options(hard_clear_ratio=0.03))
    assert [(edit.kind, edit.seq) for edit in asked.edits] == [("clear", first), ("clear", second)][
        : len(asked.edits)
    ]
    assert asked.edits[0].tokens_before < 40
    talk.apply(asked, "adaptive")
    assert talk.shown()["toolu_0"] == "[gone]"


def test_a_trim_that_came_from_elsewhere_counts_with_what_it_shows() -> None:
    talk, (first, second) = talk_of("a" * 1_000, "b" * 1_000)
    talk.edit("trim", first, "t" * 200)
    asked = talk.ask(
        "adaptive", talk.view(WINDOW), **options(hard_clear_ratio=0.0, min_prunable_tool_chars=301)
    )
    assert [(edit.kind, edit.seq) for edit in asked.edits] == [("trim", second)]
    asked = talk.ask(
        "adaptive", talk.view(WINDOW), **options(hard_clear_ratio=0.0, min_prunable_tool_chars=290)
    )
    assert [(edit.kind, edit.seq) for edit in asked.edits] == [("clear", first), ("clear", second)]


def test_a_pinned_result_is_neither_touched_nor_counted() -> None:
    talk, (first, second) = talk_of("a" * 300, "b" * 300)
    talk.pin(first)
    assert cleared(talk, hard_clear_ratio=0.0, min_prunable_tool_chars=300) == [second]
    assert cleared(talk, hard_clear_ratio=0.0, min_prunable_tool_chars=301) == []


def test_forced_the_soft_ratio_counts_as_reached_and_the_least_as_zero_but_not_the_hard_ratio() -> None:
    talk, found = talk_of("a" * 300, "b" * 300)
    view = talk.view(WINDOW, forced=True)
    soft = options(soft_trim_ratio=1.0)
    assert seqs(talk.ask("adaptive", view, **soft)) == found
    assert {edit.kind for edit in talk.ask("adaptive", view, **soft).edits} == {"trim"}
    hard = options(soft_trim_ratio=1.0, hard_clear_ratio=0.01, min_prunable_tool_chars=9_999)
    assert {edit.kind for edit in talk.ask("adaptive", view, **hard).edits} == {"clear"}


def test_each_result_that_is_spared_has_its_reason() -> None:
    talk = Talk()
    talk.user()
    image = talk.step("read", "a" * 300, PICTURE)
    denied = talk.step("bash", "a" * 300)
    short = talk.step("read", "a" * 30)
    talk.say()
    last = talk.step("read", "a" * 300)
    why = talk.ask("adaptive", talk.view(WINDOW), **options(tools=Tools((), ("bash",)))).why
    assert {seq: why(talk.entry(seq)) for seq in (image, denied, short, last)} == {
        image: "holds an image",
        denied: "bash is not an allowed tool",
        short: "short enough so far",
        last: "within the last 1 answers",
    }


@pytest.mark.parametrize(
    ("key", "value", "range_"),
    [
        ("adaptive.soft_trim_ratio", "-0.1", "a number from 0 to 1"),
        ("aggressive.hard_clear_ratio", "1.5", "a number from 0 to 1"),
        ("adaptive.keep_last_assistants", "-1", "an integer of at least 0"),
    ],
)
def test_an_option_out_of_its_range_is_refused_with_the_range(key: str, value: str, range_: str) -> None:
    with pytest.raises(ConfigError, match=rf"pruning\.{re.escape(key)}: expected {range_}, got {value}"):
        Config().with_value(key, value)
