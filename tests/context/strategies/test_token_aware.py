"""Token_aware: the newest exchanges that fit a budget stay, the rest is dropped."""

import pytest

from prunecli.context.strategies.token_aware import Options
from prunecli.model.events import AssistantMessage, SettingChanged
from prunecli.model.messages import Text
from tests.context.talk import Talk, seqs, tokens

NAME = "token_aware"


def talk_of(*sizes: int) -> tuple[Talk, list[int]]:
    """A message of 10 tokens, and answers of so many."""
    talk = Talk()
    talk.user(tokens(10))
    return talk, [talk.say(tokens(size)) for size in sizes]


def test_by_default_half_of_the_window_may_be_kept() -> None:
    assert Options().max_tokens is None
    talk, heads = talk_of(30, 30)
    assert talk.ask(NAME, talk.view(140)).edits == ()
    assert seqs(talk.ask(NAME, talk.view(139))) == heads[:1]


@pytest.mark.parametrize(
    ("budget", "dropped"), [(60, 0), (59, 1), (40, 1), (39, 2), (29, 3), (0, 3), (-5, 3)]
)
def test_what_exactly_fits_stays(budget: int, dropped: int) -> None:
    talk, heads = talk_of(20, 10, 20)
    assert seqs(talk.ask(NAME, max_tokens=budget)) == heads[:dropped]


def test_after_the_first_that_does_not_fit_smaller_ones_go_too() -> None:
    talk, heads = talk_of(1, 50, 10)
    assert seqs(talk.ask(NAME, max_tokens=25)) == heads[:2]


def test_system_prompt_tools_and_memos_are_counted_first() -> None:
    talk, heads = talk_of(20, 20)
    talk.add(SettingChanged("request.preamble", {"system": ["s" * 373], "tools": []}))
    assert talk.ask(NAME, max_tokens=150).edits == ()  # the block around the text is 27 characters
    assert seqs(talk.ask(NAME, max_tokens=149)) == heads[:1]
    talk.edit("memo", heads[0], "m" * 40)
    talk.edit("drop", heads[0])
    assert talk.ask(NAME, max_tokens=130).edits == ()


def test_calls_and_edited_results_count_with_what_they_show() -> None:
    talk = Talk()
    talk.user(tokens(10))
    result = talk.step("read", tokens(100), path="abc")  # read{"path":"abc"}: 5 tokens
    talk.say(tokens(1))
    assert talk.ask(NAME, max_tokens=116).edits == ()
    assert seqs(talk.ask(NAME, max_tokens=115)) == [result - 1]
    talk.edit("clear", result, "[gone]")
    assert talk.ask(NAME, max_tokens=18).edits == ()


def test_the_exchange_in_progress_and_pinned_ones_stay_though_they_do_not_fit() -> None:
    talk, heads = talk_of(20, 20)
    talk.pin(heads[0])
    talk.step("read", tokens(100))
    asked = talk.ask(NAME, max_tokens=50)
    assert seqs(asked) == heads[1:]
    talk.apply(asked, NAME)
    assert talk.ask(NAME, max_tokens=50).edits == ()


def test_a_refusal_costs_nothing_because_nobody_sends_it() -> None:
    talk, _ = talk_of(20)
    talk.add(AssistantMessage((Text(tokens(90)),), "m", "refusal"))
    assert talk.ask(NAME, max_tokens=30).edits == ()


def test_the_output_of_a_command_counts_as_the_users() -> None:
    talk, heads = talk_of(20)
    talk.command(tokens(50), "!abc")
    assert talk.ask(NAME, max_tokens=81).edits == ()
    assert seqs(talk.ask(NAME, max_tokens=80)) == heads


def test_the_note_says_how_much_is_kept() -> None:
    talk, _ = talk_of(20, 20)
    assert talk.ask(NAME, max_tokens=60).note == "83% of max_tokens (60) kept"
    assert talk.ask(NAME, max_tokens=49).note == "61% of max_tokens (49) kept"
