"""Aggressive: every old result is cleared, whatever the ratios say."""

from prunecli.context.strategies.adaptive import HardClear, Tools
from tests.context.talk import PICTURE, Talk, seqs, talk_of, texts, tokens


def test_all_results_before_the_last_answers_are_cleared() -> None:
    talk, found = talk_of(50, 50, 50, 50)
    assert seqs(talk.ask("aggressive")) == found[:2]
    assert texts(talk.ask("aggressive")) == ["[Old tool result content cleared]"] * 2
    assert seqs(talk.ask("aggressive", keep_last_assistants=0)) == found


def test_ratios_and_the_switch_of_hard_clear_do_not_matter() -> None:
    talk, found = talk_of(50, 50)
    asked = talk.ask(
        "aggressive",
        keep_last_assistants=1,
        soft_trim_ratio=9.0,
        hard_clear_ratio=9.0,
        hard_clear=HardClear(enabled=False, placeholder="[gone]"),
    )
    assert (seqs(asked), texts(asked)) == (found, ["[gone]", "[gone]"])


def test_images_denied_tools_pinned_and_tiny_results_stay_errors_go() -> None:
    talk = Talk()
    talk.user()
    talk.step("read", tokens(50), PICTURE)
    talk.step("bash", tokens(50))
    talk.pin(talk.step("read", tokens(50)))
    talk.step("read", "abc")
    failed = talk.step("read", tokens(50), error=True)
    talk.say()
    assert seqs(talk.ask("aggressive", keep_last_assistants=1, tools=Tools((), ("bash",)))) == [failed]


def test_a_trimmed_result_is_cleared_a_cleared_one_is_left() -> None:
    talk, (first, second, third) = talk_of(50, 50, 50)
    talk.edit("trim", first, "t" * 100)
    talk.edit("clear", second, "[gone]")
    assert seqs(talk.ask("aggressive", keep_last_assistants=1)) == [first, third]


def test_what_the_model_has_not_seen_is_kept() -> None:
    talk = Talk()
    talk.user()
    talk.step("read", tokens(50))
    assert talk.ask("aggressive", keep_last_assistants=0).edits == ()


def test_a_placeholder_that_is_no_bracket_gets_the_handle_as_a_last_line() -> None:
    talk, (first,) = talk_of(50)
    asked = talk.ask(
        "aggressive",
        talk.view(recall=True),
        keep_last_assistants=1,
        hard_clear=HardClear(placeholder="cleared"),
    )
    assert texts(asked) == [f"cleared\n[recall {first} for the full text]"]
