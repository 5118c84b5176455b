"""Questions of the model in the plain interface."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from prunecli.front.presentation.questions import inquiry_lines, inquiry_reply
from prunecli.model.messages import ToolUse
from prunecli.tools.asking import Inquiry, Option, Reply
from tests.plain.test_talk import talked
from tests.scripted import calls, says
from tests.starting import start

GIVEN = {
    "question": "Which?\nIt matters.",
    "options": [{"label": "tabs", "description": "now"}, {"label": "2"}],
}
ASKED = Inquiry("Which?", (Option("tabs", "as now"), Option("spaces")))
SEVERAL = Inquiry("Which?", (Option("a"), Option("b"), Option("c")), multiple=True)


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as made:
        yield made


@pytest.mark.parametrize(
    ("line", "reply"),
    [
        ("2", Reply((1,))),
        (" Tabs ", Reply((0,))),
        ("", Reply()),
        ("3", Reply((), "3")),
        ("1 2", Reply((), "1 2")),
        ("both, please", Reply((), "both, please")),
        ("²", Reply((), "²")),
    ],
)
def test_a_line_is_a_number_a_label_or_own_words(line: str, reply: Reply) -> None:
    assert inquiry_reply(ASKED, line) == reply


def test_several_numbers_choose_several() -> None:
    assert inquiry_reply(SEVERAL, "3, 1") == Reply((0, 2))
    assert inquiry_reply(SEVERAL, "1 4") == Reply((), "1 4")


def test_a_question_is_printed_with_numbers_and_without_hidden_characters() -> None:
    asked = Inquiry("Which\x1b[2J?\n\x1b]0;x\x07more", ASKED.options, who="explore 2")
    lines = inquiry_lines(asked)
    assert lines[0].startswith("explore 2: Which")
    assert lines[2:] == ["  1. tabs - as now", "  2. spaces"]
    assert not any("\x1b" in line or "\x07" in line for line in lines)


@pytest.mark.parametrize(("line", "answer"), [("1", "chose: tabs"), ("neither", "answered: neither")])
def test_it_is_asked_and_answered(tmp_path: Path, runner: asyncio.Runner, line: str, answer: str) -> None:
    runtime = start(tmp_path, [calls(ToolUse("a", "ask", GIVEN)), says("I see.")])
    printed = talked(runner, runtime, "go", line)
    at = printed.index("Which?")
    assert printed[at + 1 : at + 4] == ["  It matters.", "  1. tabs - now", "  2. 2"]
    assert "I see." in printed
    results = [one.text for one in runtime.session.context.entries.values() if one.kind == "result"]
    assert results == [f"The user {answer}"]


def test_ctrl_c_interrupts_the_run(tmp_path: Path, runner: asyncio.Runner) -> None:
    runtime = start(tmp_path, [calls(ToolUse("a", "ask", GIVEN)), says("I see.")])
    printed = talked(runner, runtime, "go", KeyboardInterrupt)
    assert "Interrupted." in printed
    assert "I see." not in printed
