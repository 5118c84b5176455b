"""Importance: the n exchanges with the highest score are kept."""

from typing import Any

import pytest

from prunecli.context.strategies.importance import EDITED, QUOTED, UNRESOLVED, Options
from prunecli.context.strategy import FunctionFailed
from prunecli.model.events import AssistantMessage
from prunecli.model.messages import Text
from tests.context.talk import THOUGHT, Talk, seqs

NAME = "importance"
LINE = "def the_line_that_the_model_quotes(later):"


def talk_of(exchanges: int) -> tuple[Talk, list[int]]:
    talk = Talk()
    talk.user()
    return talk, [talk.say(f"answer {index}") for index in range(exchanges)]


def kept_for(first: Any, *, apart: int, then: Any = None) -> bool:
    """Whether an exchange, which `first` writes, survives n = 1 although `apart` newer ones follow. `then` writes
    the first of those, which counts for it or not."""
    talk = Talk()
    talk.user()
    head = first(talk)
    if then:
        then(talk)
        apart -= 1
    for _ in range(apart):
        talk.say("plain")
    return head not in seqs(talk.ask(NAME, n=1))


def test_by_default_ten_are_kept_by_the_built_in_score() -> None:
    assert Options() == Options(n=10, function="")


@pytest.mark.parametrize(("n", "dropped"), [(1, 3), (3, 1), (4, 0), (9, 0), (0, 4), (-1, 4)])
def test_of_plain_exchanges_the_newest_are_kept(n: int, dropped: int) -> None:
    talk, heads = talk_of(4)
    assert seqs(talk.ask(NAME, n=n)) == heads[:dropped]


def reads(talk: Talk) -> int:
    return talk.step("read", "text", path="./src//a.py") - 1


def edits(talk: Talk) -> None:
    talk.step("edit", "ok", path="src/a.py")


@pytest.mark.parametrize(("apart", "kept"), [(EDITED - 1, True), (EDITED, False)])
def test_a_file_that_is_edited_later_outweighs_some_recency(apart: int, kept: bool) -> None:
    """At EDITED exchanges apart the scores are equal, and ties go to the newer."""
    assert kept_for(reads, apart=apart, then=edits) is kept


def test_an_edit_that_failed_counts_for_nothing() -> None:
    def fails(talk: Talk) -> None:
        talk.step("edit", "no", path="other.py", error=True)
        talk.step("edit", "ok", path="other.py")

    assert not kept_for(reads, apart=EDITED - 2, then=fails)


def greps(talk: Talk) -> int:
    return talk.step("grep", f"a\n   {LINE}  \nb", pattern="def") - 1


@pytest.mark.parametrize(
    ("quote", "apart", "kept"),
    [
        (lambda talk: talk.say(f"It says:\n{LINE}\n"), QUOTED - 1, True),
        (lambda talk: talk.say(f"It says:\n{LINE}\n"), QUOTED, False),
        (lambda talk: talk.step("bash", "", command=f"x\n{LINE}"), QUOTED - 1, True),
        (lambda talk: talk.step("my_tool", "", deep=[{"in": LINE.replace(" ", "  ")}]), QUOTED - 1, True),
        (lambda talk: talk.say(LINE[:-3]), QUOTED - 1, False),
        (lambda talk: talk.say("b"), QUOTED - 1, False),
    ],
)
def test_a_long_line_that_the_model_repeats_outweighs_some_recency(
    quote: Any, apart: int, kept: bool
) -> None:
    assert kept_for(greps, apart=apart, then=quote) is kept


def fails(talk: Talk) -> int:
    return talk.step("bash", "no", command="make", error=True) - 1


@pytest.mark.parametrize(
    ("then", "apart", "kept"),
    [
        (None, UNRESOLVED - 1, True),
        (None, UNRESOLVED, False),
        (lambda talk: talk.step("bash", "ok", command="make"), 5, False),
        (lambda talk: talk.step("bash", "ok", command="make test"), 5, True),
        (lambda talk: talk.step("my_tool", "ok", command="make"), 5, True),
    ],
)
def test_an_error_counts_until_the_same_call_succeeds(then: Any, apart: int, kept: bool) -> None:
    assert kept_for(fails, apart=apart, then=then) is kept


def test_what_counts_stays_counted_when_the_exchange_that_showed_it_is_dropped() -> None:
    talk = Talk()
    talk.user()
    head = reads(talk)
    edits(talk)
    last = talk.say("plain")
    talk.edit("drop", last - 2)
    assert head not in seqs(talk.ask(NAME, n=1))


def test_an_exchange_that_comes_back_has_its_score_again() -> None:
    talk = Talk()
    talk.user()
    head = reads(talk)
    dropped = talk.edit("drop", head)
    edits(talk)
    newest = [talk.say("plain") for _ in range(3)]
    assert seqs(talk.ask(NAME, n=2)) == [newest[0] - 2, newest[0]]
    talk.revert(dropped)
    talk.user()
    talk.user()
    assert seqs(talk.ask(NAME, n=1)) == [newest[0] - 2, *newest]


def test_pinned_exchanges_and_the_one_in_progress_are_kept_and_count_towards_n() -> None:
    talk, heads = talk_of(4)
    talk.pin(heads[0])
    talk.step("read", "text", path="a")
    assert seqs(talk.ask(NAME, n=3)) == heads[1:3]
    assert seqs(talk.ask(NAME, n=1)) == heads[1:]


def test_a_refusal_neither_counts_nor_goes() -> None:
    talk, heads = talk_of(2)
    talk.add(AssistantMessage((Text("no"),), "m", "refusal"))
    assert seqs(talk.ask(NAME, n=1)) == heads[:1]


def test_in_the_open_tool_loop_its_thinking_stays() -> None:
    talk = Talk()
    talk.user()
    heads = [talk.step("read", "x", before=before) - 1 for before in ((THOUGHT,), (), ())]
    assert seqs(talk.ask(NAME, n=1)) == heads[1:2]


# A function of the user's ----------------------------------------------------------------------------------------


def by_length(view: Any, exchange: Any) -> float:
    return view.shown_tokens(exchange)


def test_a_function_replaces_the_score_and_equal_ones_go_to_the_newer() -> None:
    talk = Talk()
    talk.user()
    heads = [talk.say("x" * length) for length in (400, 40, 200, 40)]
    asked = talk.ask(NAME, n=2, functions={"function": by_length})
    assert seqs(asked) == [heads[1], heads[3]]
    assert seqs(talk.ask(NAME, n=3, functions={"function": by_length})) == heads[1:2]


def test_a_function_is_asked_once_for_each_exchange_and_user_turn() -> None:
    talk, heads = talk_of(3)
    asked: list[int] = []

    def noting(view: Any, exchange: Any) -> int:
        asked.append(exchange.seq)
        return exchange.seq

    for _ in range(3):
        talk.ask(NAME, n=3, functions={"function": noting})
    assert asked == heads
    new = talk.say()
    talk.ask(NAME, n=3, functions={"function": noting})
    assert asked == [*heads, new]
    talk.user()
    talk.ask(NAME, n=3, functions={"function": noting})
    assert asked == [*heads, new, *heads, new]


@pytest.mark.parametrize("given", [None, "7", True, float("nan"), float("inf")])
def test_a_function_that_gives_no_number_means_no_proposal(given: Any) -> None:
    talk, _ = talk_of(3)
    asked = talk.ask(NAME, n=1, functions={"function": lambda view, exchange: given})
    assert asked.edits == ()
    assert asked.problem.startswith("pruning.importance.function gave ")


def test_a_function_that_fails_means_no_proposal_and_is_asked_again_in_the_next_user_turn() -> None:
    talk, heads = talk_of(3)
    asked: list[int] = []

    def failing(view: Any, exchange: Any) -> float:
        asked.append(exchange.seq)
        raise FunctionFailed("it broke")

    for _ in range(3):
        proposal = talk.ask(NAME, n=1, functions={"function": failing})
        assert (proposal.edits, proposal.problem, proposal.note) == ((), "it broke", "it broke")
    assert asked == heads[:1]
    talk.user()
    talk.ask(NAME, n=1, functions={"function": failing})
    assert len(asked) == 2


@pytest.mark.parametrize("text", ["scores", "scores:", ":rank", "my-scores:rank", "a b:rank", "a:b:c"])
def test_what_is_no_reference_is_refused_with_the_key(text: str) -> None:
    with pytest.raises(ValueError, match=r'^function: expected "package\.module:name", got'):
        Options(function=text)


def test_a_reference_may_have_dots_on_both_sides() -> None:
    assert Options(function="my.scores:Rank.by_age").function == "my.scores:Rank.by_age"
