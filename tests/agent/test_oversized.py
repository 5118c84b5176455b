"""Prompts that no request can hold."""

import pytest

from prunecli.agent.oversized import PromptTooLarge, checked

WINDOW = 200_000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("x" * 31_000_000, "Prompt not sent: 31.0 MB is over the limit of 24.0 MB"),
        ("ä" * 15_000_000, "30.0 MB is over"),
        ("x" * 20_000_000, "about 5.0M tokens, more than the model's window of 200K"),
    ],
)
def test_it_is_refused_with_its_size_and_what_to_do(words: str, said: str) -> None:
    with pytest.raises(PromptTooLarge) as refused:
        checked(words, WINDOW)
    assert said in refused.value.message
    assert refused.value.hint.startswith("save it to a file")


@pytest.mark.parametrize("words", ["go", "x" * 700_000, "\ud800"])
def test_what_a_request_can_hold_is_let_through(words: str) -> None:
    assert checked(words, WINDOW) == words
