"""Which keys answer a question: times are arguments, so that nothing has to be waited for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prunecli.tui.prompting.answering import QUIET_SECONDS, Answering, Meaning

YES, ALWAYS, NO = 0, 1, 2
LONG, SHORT = QUIET_SECONDS * 1.2, QUIET_SECONDS / 5


class Desk:
    """A prompt with a question above it, and a person at a clock."""

    def __init__(self, typed: str = "", *, for_text: int | None = NO, needs_text: bool = False) -> None:
        self.answering = Answering(["1y", "2a", "3n"], for_text=for_text, leave=NO, needs_text=needs_text)
        self.text = typed
        self.now = 100.0
        self.answer: int | None = None
        self.answering.holds(typed)
        self.answering.appeared(self.now)

    def press(self, *keys: str, after: float = LONG) -> Meaning:
        """Presses keys with so much silence before each; what the last one was."""
        meaning = Meaning.TYPED
        for key in keys:
            self.wait(after)
            meaning = self.answering.press(key, self.now)
            if meaning is Meaning.ANSWERED:
                self.answer = self.answering.marked
            elif meaning in (Meaning.TYPED, Meaning.PENDING):
                self.text = self.text[:-1] if key == "backspace" else self.text + key[:1]
            self.answering.holds(self.text)
        return meaning

    def wait(self, seconds: float) -> None:
        """Nothing is pressed; a letter that waits for it answers."""
        self.now += seconds
        if self.answer is None and self.answering.due(self.now):
            if self.answering.write():
                self.text = ""
                self.answering.holds("")
            else:
                self.answer = self.answering.marked


@pytest.mark.parametrize(("key", "row"), [("y", YES), ("a", ALWAYS), ("1", YES), ("2", ALWAYS)])
def test_a_letter_alone_answers_after_half_a_second(key: str, row: int) -> None:
    desk = Desk()
    assert desk.press(key) is Meaning.PENDING
    desk.wait(QUIET_SECONDS * 0.9)
    assert desk.answer is None
    desk.wait(QUIET_SECONDS * 0.2)
    assert desk.answer == row


@pytest.mark.parametrize(
    "text", ["why do you need that?", "yes, but use ninja", "any reason?", "1. no", "no"]
)
@pytest.mark.parametrize("after", [SHORT, QUIET_SECONDS * 0.9])
def test_a_letter_inside_prose_answers_nothing(text: str, after: float) -> None:
    desk = Desk()
    desk.wait(LONG)
    desk.press(*text, after=after)
    desk.wait(10)
    assert (desk.answer, desk.text, desk.answering.marked) == (None, text, NO)
    assert desk.press("enter") is Meaning.ANSWERED
    assert desk.answer == NO


def test_prose_that_is_typed_with_long_pauses_answers_nothing_behind_its_first_letter() -> None:
    desk = Desk()
    desk.press(*"why", after=5.0)
    desk.wait(10)
    assert (desk.answer, desk.text) == (None, "why")


@given(
    st.text("yan123 bcé?", min_size=2, max_size=20).filter(str.strip), st.floats(0.0, QUIET_SECONDS * 0.99)
)
def test_no_text_that_is_typed_without_pauses_allows_anything(text: str, after: float) -> None:
    desk = Desk()
    desk.wait(LONG)
    desk.press(*text, after=after)
    desk.wait(LONG)
    assert desk.answer is None
    desk.press("enter")
    assert desk.answer == NO


@given(st.lists(st.sampled_from([*"yan123x", "enter", "backspace"]), max_size=20))
def test_what_is_typed_without_a_pause_since_before_it_appeared_answers_nothing(keys: list[str]) -> None:
    desk = Desk()
    desk.press(*keys, after=QUIET_SECONDS * 0.9)
    assert desk.answer is None


def test_a_key_that_was_pressed_before_it_appeared_is_no_answer_however_late_it_is_handled() -> None:
    desk = Desk()
    assert desk.answering.press("enter", desk.now - 0.1) is Meaning.TYPED
    assert desk.answering.press("y", desk.now - 0.1) is Meaning.TYPED


def test_seen_again_it_takes_no_key_at_once() -> None:
    desk = Desk()
    desk.press("down", "up")
    desk.answering.appeared(desk.now)
    assert desk.press("enter", after=SHORT) is Meaning.SOON
    assert desk.press("enter") is Meaning.ANSWERED


def test_arrows_mark_around_the_ends_and_enter_answers_with_the_marked_row() -> None:
    desk = Desk()
    marked = []
    for key in ("down", "down", "down", "up", "up"):
        assert desk.press(key) is Meaning.MARKED
        marked.append(desk.answering.marked)
    assert marked == [1, 2, 0, 2, 1]
    assert desk.press("enter", after=SHORT) is Meaning.ANSWERED
    assert desk.answer == ALWAYS


def test_arrows_move_also_while_nothing_answers_yet_and_enter_says_so() -> None:
    desk = Desk()
    assert desk.press("down", after=SHORT) is Meaning.MARKED
    assert desk.press("enter", after=SHORT) is Meaning.SOON
    assert desk.answer is None


def test_enter_behind_a_letter_counts_the_silence_from_enter() -> None:
    desk = Desk()
    desk.press("y")
    assert desk.press("enter", after=SHORT) is Meaning.MARKED
    desk.wait(QUIET_SECONDS * 0.9)
    assert desk.answer is None
    desk.wait(SHORT)
    assert desk.answer == YES


def test_a_letter_that_is_taken_back_is_no_answer() -> None:
    desk = Desk()
    desk.press("y")
    desk.press("backspace", after=SHORT)
    desk.wait(10)
    assert (desk.answer, desk.text) == (None, "")


def test_a_draft_marks_no_so_that_enter_allows_nothing() -> None:
    """Enter may have been meant for the draft."""
    desk = Desk("fix the bug and ")
    assert desk.answering.marked == NO
    assert desk.press("y") is Meaning.TYPED
    desk.wait(LONG)
    desk.press("enter")
    assert desk.answer == NO


def test_a_draft_can_be_left_alone_by_choosing_a_row() -> None:
    desk = Desk("fix the bug")
    desk.press("down", "enter")
    assert (desk.answer, desk.text) == (YES, "fix the bug")


def test_a_draft_goes_on_as_before_while_nothing_answers() -> None:
    desk = Desk("fix the bug")
    assert desk.press("enter", after=SHORT) is Meaning.TYPED


def test_a_paste_answers_nothing() -> None:
    desk = Desk()
    desk.press("y")
    desk.answering.pasted(desk.now + SHORT)
    desk.wait(10)
    assert desk.answer is None


def test_esc_means_its_row_whatever_is_typed() -> None:
    for typed in ("", "half a thought"):
        desk = Desk(typed)
        desk.press("escape")
        assert desk.answer == NO
    assert Desk().press("escape", after=SHORT) is Meaning.TYPED  # the agent is stopped


def test_ctrl_c_clears_what_is_typed_before_it_answers() -> None:
    assert Desk("text").press("ctrl+c") is Meaning.TYPED
    assert Desk().press("ctrl+c") is Meaning.ANSWERED


def test_where_no_row_takes_a_text_enter_needs_a_row_that_was_marked() -> None:
    desk = Desk("a draft", for_text=None)
    assert desk.press("enter") is Meaning.SOON
    assert desk.press("down", "enter") is Meaning.ANSWERED
    assert desk.answer == ALWAYS


@pytest.mark.parametrize("keys", [["n"], ["3"], ["up", "enter"]])
def test_the_row_for_a_text_waits_for_it_and_takes_every_key(keys: list[str]) -> None:
    desk = Desk()
    desk.press(*keys)
    desk.wait(LONG)
    assert (desk.answer, desk.text, desk.answering.is_writing) == (None, "", True)
    desk.press(*"y 2", after=LONG)
    assert (desk.answer, desk.text) == (None, "y 2")
    assert desk.press("enter") is Meaning.ANSWERED
    assert (desk.answer, desk.text) == (NO, "y 2")


@pytest.mark.parametrize(("needs_text", "answer"), [(False, NO), (True, None)])
def test_enter_alone_answers_only_where_no_text_is_needed(needs_text: bool, answer: int | None) -> None:
    desk = Desk(needs_text=needs_text)
    desk.press("up", "enter", "enter")
    assert desk.answer == answer


@pytest.mark.parametrize(("typed", "marked"), [("", YES), ("ab", NO)])
def test_esc_goes_from_the_text_back_to_the_choices_and_keeps_what_was_typed(typed: str, marked: int) -> None:
    desk = Desk()
    desk.press("up", "enter", *typed)
    assert desk.press("escape") is Meaning.MARKED
    assert (desk.answering.is_writing, desk.answering.marked, desk.text) == (False, marked, typed)
    assert desk.press("escape") is Meaning.ANSWERED
