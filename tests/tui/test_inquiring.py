"""Questions of the model in a panel: keys, several choices, own words, and no answer by accident."""

from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from prunecli.front.presentation.entries import ToolCall
from prunecli.model.messages import ToolUse
from prunecli.tui.inquiring import InquiryPanel
from prunecli.tui.widgets.question import WRITE
from tests.scripted import calls, says
from tests.tui.showing_app import Shown, shown

OPTIONS = [{"label": "tabs", "description": "as now"}, {"label": "spaces"}]


def script(**more: Any) -> list[Any]:
    given = {"question": "Tabs or spaces?", "options": OPTIONS, **more}
    return [calls(ToolUse("a1", "ask", given)), says("all right")]


async def asked(s: Shown, *, armed: bool = True) -> InquiryPanel:
    await s.type("go", "enter")
    await s.until(lambda: s.frame.query(InquiryPanel))
    panel = s.frame.query_one(InquiryPanel)
    if armed:
        await s.until(lambda: panel.answering.is_ready(monotonic()))
    return panel


def results(s: Shown) -> list[str]:
    return [entry.text for entry in s.runtime.session.context.entries.values() if entry.kind == "result"]


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        (["enter"], "chose: tabs"),
        (["2"], "chose: spaces"),
        (["down", "enter"], "chose: spaces"),
        (["escape"], "declined to answer."),
        (["up", "enter"], "declined to answer."),
    ],
)
async def test_keys_choose_or_decline(tmp_path: Path, keys: list[str], answer: str) -> None:
    async with shown(tmp_path, script()) as s:
        await asked(s)
        await s.until_shown("Tabs or spaces?", "❯ 1 tabs as now", "2 spaces", "3 Type another answer")
        await s.pilot.press(*keys)
        await s.idle()
        assert results(s) == [f"The user {answer}"]
        assert not s.frame.query(InquiryPanel)
        assert s.frame.prompt.text == ""
        call = next(entry for entry in s.entries if isinstance(entry, ToolCall))
        assert call.argument == "Tabs or spaces?"


async def test_what_is_typed_is_the_answer(tmp_path: Path) -> None:
    async with shown(tmp_path, script()) as s:
        await asked(s)
        await s.type("2 of each", "enter")
        await s.idle()
        assert results(s) == ["The user answered: 2 of each"]
        assert s.frame.prompt.text == ""


async def test_the_row_for_own_words_waits_for_them(tmp_path: Path) -> None:
    async with shown(tmp_path, script()) as s:
        await asked(s)
        await s.pilot.press("3")
        await s.until_shown(WRITE[0])
        await s.pilot.press("enter")
        assert results(s) == []
        assert s.frame.prompt.text == ""
        await s.type("neither", "enter")
        await s.idle()
        assert results(s) == ["The user answered: neither"]


async def test_several_are_chosen_and_sent(tmp_path: Path) -> None:
    async with shown(tmp_path, script(multiple=True, default="spaces")) as s:
        panel = await asked(s)
        await s.until_shown("1 [ ] tabs", "❯ 2 [ ] spaces", "3 Send (0 chosen)")
        await s.pilot.press("enter")
        await s.until_shown("2 [x] spaces", "3 Send (1 chosen)")
        await s.until(lambda: panel.answering.is_ready(monotonic()))
        await s.pilot.press("up", "enter")
        await s.until_shown("1 [x] tabs", "3 Send (2 chosen)")
        await s.pilot.press("enter")
        await s.until_shown("1 [ ] tabs", "3 Send (1 chosen)")
        await s.pilot.press("down", "down", "enter")
        await s.idle()
        assert results(s) == ["The user chose: spaces"]


async def test_a_digit_chooses_one_of_several_and_words_are_added(tmp_path: Path) -> None:
    async with shown(tmp_path, script(multiple=True)) as s:
        await asked(s)
        await s.pilot.press("2")
        await s.until_shown("2 [x] spaces")
        assert s.frame.prompt.text == ""
        await s.type("at most 4", "enter")
        await s.idle()
        assert results(s) == ["The user chose: spaces\nThe user added: at most 4"]


async def test_a_long_question_is_read_by_scrolling_and_hides_nothing(tmp_path: Path) -> None:
    text = "\n".join(["Which one?", *(f"line {n}" for n in range(60)), "\x1b[2Jend"])
    async with shown(tmp_path, script(question=text)) as s:
        panel = await asked(s)
        read = await s.read_through(panel)
        assert "line 0" in read
        assert read.endswith("end")
        assert "\x1b" not in read
        await s.pilot.press("escape")
        await s.idle()


async def test_the_space_bar_chooses_and_blanks_are_no_answer(tmp_path: Path) -> None:
    async with shown(tmp_path, script(multiple=True)) as s:
        await asked(s)
        await s.pilot.press("space", "down", "space", "space")
        await s.until_shown("1 [x] tabs", "2 [ ] spaces", "Send (1 chosen)", "Space or a digit to choose")
        assert s.frame.prompt.text == ""
        await s.pilot.press("down", "enter")
        await s.idle()
        assert results(s) == ["The user chose: tabs"]


async def test_no_row_stands_empty_between_a_question_and_its_options(tmp_path: Path) -> None:
    async with shown(tmp_path, script()) as s:
        await asked(s)
        rows = s.screen_text().split("\n")
        title = next(at for at, row in enumerate(rows) if row.endswith("█ Tabs or spaces?"))
        assert "1 tabs" in rows[title + 1]
        await s.pilot.press("space", "enter")
        await s.idle()
        assert results(s) == ["The user chose: tabs"], "a blank is not the user's words"
