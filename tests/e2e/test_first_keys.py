"""Keys pressed while the program starts, in a real terminal: a short dose of `first_keys.py`."""

import random

import pytest

from tests.e2e.first_keys import Press, Typed, busy, expected, presses, rounds
from tests.e2e.terminal import HAS_TMUX

needs_tmux = pytest.mark.skipif(not HAS_TMUX, reason="tmux is not installed")


def wrong(count: int, seed: int) -> list[str]:
    told: list[str] = []
    rounds(count, seed, told.append)
    return told


@pytest.mark.terminal
@needs_tmux
def test_keys_at_any_moment_of_the_start_take_effect_once_and_in_order() -> None:
    assert wrong(3, seed=7) == []


@pytest.mark.long
@pytest.mark.terminal
@needs_tmux
def test_two_hundred_sequences_on_an_idle_and_on_a_busy_machine() -> None:
    assert wrong(100, seed=1) == []
    with busy(4):
        assert wrong(100, seed=1001) == []


def test_the_model_of_an_editor() -> None:
    typed = [
        Press(0.0, "letters", "qz"),
        Press(0.1, "BSpace"),
        Press(0.2, "C-u"),
        Press(0.3, "Enter"),
        Press(0.4, "letters", "a"),
        Press(0.5, "paste", "<b>"),
        Press(0.6, "Enter"),
        Press(0.7, "letters", "c"),
    ]
    assert expected(typed) == Typed(["a<b>"], "c")


def test_every_sequence_is_in_the_order_of_its_times_and_ends_in_letters() -> None:
    for seed in range(50):
        made = presses(random.Random(seed))
        assert [press.at for press in made] == sorted(press.at for press in made)
        assert made[-1].kind == "letters"
