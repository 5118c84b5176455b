"""Semantic: exchanges close to the prompt and unlike each other are kept."""

from collections.abc import Sequence
from typing import Any

import pytest

from prunecli.context.strategies.semantic import LAMBDA, Options, newest_prompt
from prunecli.context.strategy import FunctionFailed
from tests.context.talk import THOUGHT, Talk, seqs, tokens

NAME = "semantic"


def talk_of(prompt: str, *answers: str) -> tuple[Talk, list[int]]:
    """Answers of ten tokens each, the prompt after them."""
    talk = Talk()
    heads = [talk.say(text.ljust(40, ".")) for text in answers]
    talk.user(prompt.ljust(40, "."))
    return talk, heads


def test_the_defaults() -> None:
    assert (Options(), LAMBDA) == (Options(max_tokens=None, embedder=""), 0.5)


def test_where_everything_fits_nothing_is_proposed() -> None:
    talk, _ = talk_of("parser", "parser", "screen")
    asked = talk.ask(NAME, max_tokens=30)
    assert (asked.edits, asked.note) == ((), "everything fits max_tokens (30)")
    assert len(talk.ask(NAME, max_tokens=29).edits) == 1


def test_by_default_half_of_the_window_may_be_kept() -> None:
    talk, _ = talk_of("parser", "parser", "screen")
    assert talk.ask(NAME, talk.view(60)).edits == ()
    assert len(talk.ask(NAME, talk.view(59)).edits) == 1


def test_what_is_close_to_the_newest_prompt_is_kept() -> None:
    talk, heads = talk_of("why does the parser fail", "parser state", "screen color", "cache price")
    assert seqs(talk.ask(NAME, max_tokens=20)) == heads[1:]
    talk.user("what about the color of the screen")
    assert seqs(talk.ask(NAME, max_tokens=29)) == [heads[0], heads[2]]


def test_what_repeats_a_chosen_one_comes_after_something_new() -> None:
    talk, heads = talk_of("parser", "parser alpha beta gamma", "parser alpha beta gamma", "screen color")
    assert seqs(talk.ask(NAME, max_tokens=30)) == heads[:1]


def test_of_equal_ones_the_newer_is_kept() -> None:
    talk, heads = talk_of("nothing alike", "aaa", "bbb", "ccc")
    assert seqs(talk.ask(NAME, max_tokens=20)) == heads[:2]


def test_what_does_not_fit_is_passed_over_for_something_smaller() -> None:
    talk = Talk()
    large = talk.say("parser " * 40)
    small = talk.say("screen color".ljust(40, "."))
    talk.user("parser".ljust(40, "."))
    assert seqs(talk.ask(NAME, max_tokens=20)) == [large]
    assert seqs(talk.ask(NAME, max_tokens=80)) == [small]


def test_a_result_and_the_input_of_its_call_are_compared_too() -> None:
    talk = Talk()
    first = talk.step("read", "nothing".ljust(40, "."), path="parser.py") - 1
    second = talk.step("read", "the parser".ljust(40, "."), path="abcdef.py") - 1
    third = talk.step("read", "nothing".ljust(40, "."), path="screen.py") - 1
    talk.say("ok..")
    talk.user("parser".ljust(40, "."))
    asked = seqs(talk.ask(NAME, max_tokens=50))
    assert third in asked
    assert not {first, second} & set(asked)


def test_pinned_exchanges_and_the_one_in_progress_come_first_and_use_up_the_budget() -> None:
    talk, heads = talk_of("parser", "parser state", "screen color")
    talk.pin(heads[1])
    assert seqs(talk.ask(NAME, max_tokens=20)) == heads[:1]
    talk.step("read", tokens(100), path="a")
    assert seqs(talk.ask(NAME, max_tokens=90)) == heads[:1]


def test_system_prompt_and_words_of_the_user_use_up_the_budget() -> None:
    talk, heads = talk_of("parser", "parser state")
    assert seqs(talk.ask(NAME, max_tokens=19)) == heads
    talk.user(tokens(30))
    assert seqs(talk.ask(NAME, max_tokens=49)) == heads


def test_the_choice_is_made_once_in_a_user_turn_and_what_came_later_goes_last() -> None:
    talk, heads = talk_of("parser", "parser state", "screen color")
    assert seqs(talk.ask(NAME, max_tokens=20)) == heads[1:]
    late = talk.say("cache price".ljust(40, "."))
    assert seqs(talk.ask(NAME, max_tokens=20)) == heads
    assert seqs(talk.ask(NAME, max_tokens=30)) == heads[1:]
    talk.user("price")
    assert late not in seqs(talk.ask(NAME, max_tokens=22))


def test_after_its_own_edits_it_proposes_nothing_though_what_is_left_does_not_fit() -> None:
    talk, heads = talk_of("parser", "parser state", "screen color")
    talk.pin(heads[0])
    talk.apply(talk.ask(NAME, max_tokens=5), NAME)
    assert talk.ask(NAME, max_tokens=5).edits == ()


def test_the_prompt_is_the_newest_user_message_commands_aside() -> None:
    talk, _ = talk_of("parser")
    assert newest_prompt(talk.view()) is talk.entry(0)
    talk.command("out")
    assert newest_prompt(talk.view()) is talk.entry(0)
    steer = talk.user("screen", origin="steering")
    assert newest_prompt(talk.view()) is talk.entry(steer)
    assert newest_prompt(Talk().view()) is None


def test_in_the_open_tool_loop_its_thinking_stays() -> None:
    talk = Talk()
    talk.user("parser")
    heads = [talk.step("read", tokens(20), before=before) - 1 for before in ((THOUGHT,), (), ())]
    assert seqs(talk.ask(NAME, max_tokens=5)) == heads[1:2]


# An embedder of the user's -----------------------------------------------------------------------------------------


def letters(texts: Sequence[str]) -> list[list[float]]:
    """How often a, b and c stand in a text."""
    return [[float(text.count(letter)) for letter in "abc"] for text in texts]


def test_an_embedder_replaces_the_built_in_vectors() -> None:
    talk, heads = talk_of("bb", "aaaa", "bbb", "c")
    assert seqs(talk.ask(NAME, max_tokens=20, functions={"embedder": letters})) == [heads[0], heads[2]]


def test_an_embedder_is_asked_for_the_prompt_and_what_is_new_once_in_a_user_turn() -> None:
    talk, _ = talk_of("bb", "aaaa", "bbb")
    asked: list[int] = []

    def noting(texts: Sequence[str]) -> list[list[float]]:
        asked.append(len(texts))
        return letters(texts)

    for _ in range(3):
        talk.ask(NAME, max_tokens=20, functions={"embedder": noting})
    assert asked == [3]
    talk.say("cc")
    talk.ask(NAME, max_tokens=20, functions={"embedder": noting})
    talk.user("c")
    talk.ask(NAME, max_tokens=20, functions={"embedder": noting})
    assert asked == [3, 2]


@pytest.mark.parametrize(
    "given",
    [
        [],
        [[1.0]],
        [[1.0], [1.0, 2.0], [1.0]],
        [["x"], ["y"], ["z"]],
        [[float("nan")], [1.0], [1.0]],
        None,
        [1.0, 2.0, 3.0],
    ],
)
def test_an_embedder_that_gives_something_else_means_no_proposal(given: Any) -> None:
    talk, _ = talk_of("bb", "aaaa", "bbb")
    asked = talk.ask(NAME, max_tokens=20, functions={"embedder": lambda texts: given})
    assert asked.edits == ()
    assert asked.problem.startswith("pruning.semantic.embedder: expected 3 vectors of one length")


def test_an_embedder_that_fails_means_no_proposal_and_is_asked_again_in_the_next_user_turn() -> None:
    talk, heads = talk_of("bb", "aaaa", "bbb")
    broken = [True]

    def sometimes(texts: Sequence[str]) -> list[list[float]]:
        if broken[0]:
            raise FunctionFailed("it broke")
        return letters(texts)

    assert talk.ask(NAME, max_tokens=20, functions={"embedder": sometimes}).problem == "it broke"
    broken[0] = False
    assert talk.ask(NAME, max_tokens=20, functions={"embedder": sometimes}).problem == "it broke"
    talk.user("b")
    assert seqs(talk.ask(NAME, max_tokens=21, functions={"embedder": sometimes})) == heads[:1]
