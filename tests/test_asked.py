"""The command lines that need no parser, read as the parser reads them."""

import pytest

from prunecli.asked import PICKER, Launch, short_start


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        ([], Launch()),
        (["-c"], Launch(continue_last=True)),
        (["--continue"], Launch(continue_last=True)),
        (["-r"], Launch(resume=PICKER)),
        (["--resume"], Launch(resume=PICKER)),
        (["-r", "2026@17"], Launch(resume="2026@17")),
        (["--resume", "a name"], Launch(resume="a name")),
    ],
)
def test_the_usual_starts_are_read_without_a_parser(words: list[str], asked: Launch) -> None:
    assert short_start(words) == asked


@pytest.mark.parametrize(
    "words",
    [["-p"], ["-c", "-p"], ["-r", "--fork"], ["-r", ""], ["-r", "id", "go on"], ["fix it"], ["--help"]],
)
def test_every_other_one_is_left_to_the_parser(words: list[str]) -> None:
    assert short_start(words) is None
