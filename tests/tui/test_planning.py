"""Plan mode on the screen: the agent looks, ends in a plan, and the user approves or denies it."""

from pathlib import Path
from time import monotonic

import pytest

from prunecli.commands.plan import plan_of
from prunecli.front.presentation.entries import Prompt, ToolCall, ToolState
from prunecli.model.messages import Text, ToolUse
from prunecli.model.notes import APPROVED, PLAN_NOTE, plan_in
from prunecli.tui.widgets.question import WRITE_REASON, Question
from tests.scripted import Scripted, calls, says
from tests.tui.showing_app import Shown, shown

PLAN = "I looked.\n\n## Plan\n\n1. Edit parser.py"
WRITE = ToolUse("t1", "write", {"path": "a.txt", "content": "x"})


def script(*more: Scripted) -> list[Scripted]:
    return [calls(WRITE), says(PLAN), *more]


async def planned(s: Shown) -> Question:
    """The question, when it takes answers."""
    await s.type("/plan fix it", "escape", "enter")
    await s.until(lambda: s.frame.query(Question))
    panel = s.frame.query_one(Question)
    await s.until(lambda: panel.answering.is_ready(monotonic()))
    return panel


async def test_in_plan_mode_nothing_is_changed_and_the_model_is_told(tmp_path: Path) -> None:
    async with shown(tmp_path, script()) as s:
        await planned(s)
        await s.until_shown("Carry out this plan?", "go on in edits mode", "go on in ask mode", "plan ·")
        assert not (tmp_path / "work" / "a.txt").exists()
        assert [e.state for e in s.entries if isinstance(e, ToolCall)] == [ToolState.DENIED]
        first = s.runtime.session.context.items[0].event
        assert getattr(first, "content", None) == (Text("fix it"), PLAN_NOTE)
        assert [e.text for e in s.entries if isinstance(e, Prompt)] == ["fix it"]


@pytest.mark.parametrize(("key", "mode"), [("enter", "edits"), ("y", "ask"), ("2", "ask")])
async def test_approving_goes_on_in_the_mode_that_was_chosen(tmp_path: Path, key: str, mode: str) -> None:
    async with shown(tmp_path, script(says("Done."))) as s:
        await planned(s)
        await s.pilot.press(key)
        await s.idle()
        await s.until_shown(APPROVED, "Done.")
        assert s.runtime.gatekeeper.mode == mode
        assert not s.frame.query(Question)
        assert s.frame.focused is s.frame.prompt


async def test_a_word_against_it_goes_to_the_model_and_the_next_plan_is_asked_about(tmp_path: Path) -> None:
    async with shown(tmp_path, script(says("## Plan\n\nsmaller"))) as s:
        panel = await planned(s)
        await s.type("even smaller", "enter")
        await s.until_shown("❯ even smaller")
        await s.until(lambda: s.frame.query(Question) and s.frame.query_one(Question) is not panel)
        assert s.runtime.gatekeeper.mode == "plan"


async def test_no_waits_for_what_to_change_and_needs_none(tmp_path: Path) -> None:
    async with shown(tmp_path, script()) as s:
        await planned(s)
        await s.pilot.press("up", "enter")
        await s.until_shown("❯ 3 Keep planning", WRITE_REASON[0])
        await s.pilot.press("enter")
        await s.until(lambda: not s.frame.query(Question))
        assert s.runtime.gatekeeper.mode == "plan"


async def test_esc_leaves_the_plan_as_it_is(tmp_path: Path) -> None:
    async with shown(tmp_path, script()) as s:
        await planned(s)
        await s.pilot.press("escape")
        await s.until(lambda: not s.frame.query(Question))
        assert s.runtime.gatekeeper.mode == "plan"
        assert not s.conversation.runs.busy


@pytest.mark.parametrize(("answer", "mode"), [("It parses.", "plan"), (PLAN, "ask")])
async def test_only_a_plan_in_plan_mode_is_asked_about(tmp_path: Path, answer: str, mode: str) -> None:
    async with shown(tmp_path, [says(answer)], sets=[f"permissions.mode={mode}"]) as s:
        await s.type("what is it?", "enter")
        await s.idle()
        assert plan_of(s.runtime) == ""
        assert not s.frame.query(Question)


@pytest.mark.parametrize(
    ("answer", "plan"),
    [
        ("# Plan\na", "# Plan\na"),
        ("x\n\n### The plan for it\n- a", "### The plan for it\n- a"),
        ("## Plan\nold\n## Plan\nnew", "## Plan\nnew"),
        ("## Planning\na", ""),
        ("a plan: do it", ""),
        ("", ""),
    ],
)
def test_a_plan_is_what_stands_under_its_heading(answer: str, plan: str) -> None:
    assert plan_in(answer) == plan


@pytest.mark.parametrize(("keys", "mode"), [(["up", "enter"], "auto"), (["escape"], "plan"), (["n"], "plan")])
async def test_auto_mode_begins_only_after_a_yes_and_ends_with_shift_tab(
    tmp_path: Path, keys: list[str], mode: str
) -> None:
    async with shown(tmp_path, sets=["permissions.mode=plan"]) as s:
        await s.type("/permissions auto", "escape", "enter")
        await s.until_shown("Run everything without asking (auto mode)?", "❯ 2 No  stay in plan mode")
        question = s.frame.query_one(Question)
        await s.until(lambda: question.answering.is_ready(monotonic()))
        await s.pilot.press(*keys)
        await s.until(lambda: not s.frame.query(Question))
        await s.until(lambda: s.runtime.gatekeeper.mode == mode)
        await s.pilot.press("shift+tab")
        assert s.runtime.gatekeeper.mode == "ask"
