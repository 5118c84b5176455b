"""Keep_last_n_steps: all but the last n exchanges are dropped, the user's words stay."""

import pytest

from prunecli.context.strategies.keep_last_n_steps import Options
from prunecli.model.events import AssistantMessage
from prunecli.model.messages import RedactedThinking, Text, Thinking
from tests.context.talk import THOUGHT, Talk, seqs, tokens

NAME = "keep_last_n_steps"


def talk_of(exchanges: int) -> tuple[Talk, list[int]]:
    """Finished exchanges, the first with a call and its result, the others answers without any."""
    talk = Talk()
    talk.user()
    heads = [talk.step("read", tokens(5)) - 1]
    heads += [talk.say() for _ in range(exchanges - 1)]
    return talk, heads


def test_the_default_is_that_of_the_original() -> None:
    assert Options().n == 10


@pytest.mark.parametrize(("n", "dropped"), [(1, 3), (3, 1), (4, 0), (5, 0), (0, 4), (-2, 4)])
def test_the_last_n_exchanges_stay_and_zero_keeps_none(n: int, dropped: int) -> None:
    talk, heads = talk_of(4)
    assert seqs(talk.ask(NAME, n=n)) == heads[:dropped]


def test_the_exchange_in_progress_stays_for_every_n_and_counts_towards_it() -> None:
    talk, heads = talk_of(2)
    talk.step("read", tokens(5))
    assert seqs(talk.ask(NAME, n=0)) == heads
    assert seqs(talk.ask(NAME, n=2)) == heads[:1]


def test_a_drop_takes_the_call_with_all_its_results_and_leaves_the_words_of_the_user() -> None:
    talk = Talk()
    talk.user("first")
    talk.call(("read", {}), ("bash", {}))
    talk.answer(tokens(5))
    talk.answer(tokens(5))
    talk.user("second")
    talk.say()
    talk.user("third")
    asked = talk.ask(NAME, n=1)
    assert [(edit.kind, edit.text) for edit in asked.edits] == [("drop", None)]
    talk.apply(asked, NAME)
    assert talk.shown() == {}
    said = [
        block for message in talk.request().messages if message.role == "user" for block in message.blocks
    ]
    assert [word in block for word, block in zip((b"first", b"second", b"third"), said, strict=True)] == [
        True
    ] * 3


def test_pinned_and_dropped_exchanges_are_passed_over() -> None:
    talk, heads = talk_of(4)
    talk.pin(heads[1])
    talk.edit("drop", heads[2])
    assert seqs(talk.ask(NAME, n=1)) == heads[:1]
    talk.pin(heads[0] + 1)
    assert talk.ask(NAME, n=1).edits == ()


def test_cleared_results_count_with_what_they_show() -> None:
    talk, heads = talk_of(2)
    talk.edit("clear", heads[0] + 1, "[gone]")
    (drop,) = talk.ask(NAME, n=1).edits
    assert drop.tokens_before == 2 + 2  # read{} and the placeholder


def test_a_refusal_is_a_step_that_nobody_sends_or_drops() -> None:
    talk, heads = talk_of(2)
    talk.add(AssistantMessage((Text("no"),), "m", "refusal"))
    assert seqs(talk.ask(NAME, n=2)) == heads[:1]
    assert seqs(talk.ask(NAME, n=0)) == heads


def test_exchanges_before_a_compaction_neither_go_nor_count() -> None:
    talk = Talk()
    start = talk.user()
    talk.say()
    kept = talk.say()
    talk.compact(start, kept)
    heads = [talk.say(), talk.say()]
    assert seqs(talk.ask(NAME, n=1)) == heads[:1]


def loop(*starts: Thinking | RedactedThinking | None) -> tuple[Talk, list[int]]:
    """A tool loop that is open, its answers beginning with these; an earlier turn before it."""
    talk = Talk()
    talk.user()
    talk.say()
    talk.user()
    return talk, [talk.step("read", "x", before=(start,) if start else ()) - 1 for start in starts]


def test_in_the_open_tool_loop_what_begins_with_thinking_stays_where_nothing_after_it_does() -> None:
    talk, (first, second, _) = loop(THOUGHT, None, None)
    assert seqs(talk.ask(NAME, n=1)) == [first - 2, second]
    talk, (first, second, third, _) = loop(THOUGHT, RedactedThinking("x"), None, None)
    assert seqs(talk.ask(NAME, n=1)) == [first - 2, first, third]


def test_in_the_open_tool_loop_all_may_go_before_an_answer_that_begins_with_thinking() -> None:
    talk, (first, second, _) = loop(THOUGHT, None, THOUGHT)
    assert seqs(talk.ask(NAME, n=1)) == [first - 2, first, second]
    talk, (first, second, _) = loop(None, None, None)
    assert seqs(talk.ask(NAME, n=1)) == [first - 2, first, second]
    talk, (first, second, _) = loop(Thinking("unsigned", ""), None, None)
    assert seqs(talk.ask(NAME, n=1)) == [first - 2, first, second]


def test_a_closed_tool_loop_may_lose_its_thinking() -> None:
    talk, (first, second) = loop(THOUGHT, None)
    talk.say()
    assert seqs(talk.ask(NAME, n=1)) == [first - 2, first, second]


def test_the_note_counts_the_exchanges() -> None:
    talk, heads = talk_of(4)
    assert talk.ask(NAME, n=3).note == "4 exchanges, the last 3 are kept"
    assert talk.ask(NAME, n=9).why(talk.entry(heads[0] + 1)) == "in the last 9 exchanges"
