"""Plan mode on the screen: the agent looks, ends in a plan, and the user approves or denies it."""

from pathlib import Path
from time import monotonic

import pytest
from textual.widgets import Input

from prunecli.model.messages import Text, ToolUse
from prunecli.model.planning import APPROVED, PLAN_NOTE, plan_in
from prunecli.providers.scripted import Scripted, calls, says
from prunecli.runtime.plan import plan_of
from prunecli.tui.transcript.entries import Prompt, ToolCall, ToolState
from prunecli.tui.widgets.plan import PlanPanel
from prunecli.tui.widgets.question import TOO_SOON
from tests.tui.showing_app import Shown, shown

PLAN = "I looked.\n\n## Plan\n\n1. Edit parser.py"
WRITE = ToolUse("t1", "write", {"path": "a.txt", "content": "x"})


def script(*more: Scripted) -> list[Scripted]:
    return [calls(WRITE), says(PLAN), *more]


async def planned(s: Shown) -> PlanPanel:
    """The question, when it takes answers."""
    await s.type("/plan fix it", "escape", "enter")
    await s.until(lambda: s.frame.query(PlanPanel))
    panel = s.frame.query_one(PlanPanel)
    await s.until(lambda: panel._armed_at < monotonic())
    return panel


async def test_in_plan_mode_nothing_is_changed_and_the_model_is_told(tmp_path: Path) -> None:
    async with shown(tmp_path, script()) as s:
        await planned(s)
        await s.until_shown("Shall this plan be carried out?", "mode ask", "mode edits", "plan ·")
        assert not (tmp_path / "work" / "a.txt").exists()
        assert [e.state for e in s.entries if isinstance(e, ToolCall)] == [ToolState.DENIED]
        first = s.runtime.session.context.items[0].event
        assert getattr(first, "content", None) == (Text("fix it"), PLAN_NOTE)
        assert [e.text for e in s.entries if isinstance(e, Prompt)] == ["fix it"]


async def test_it_says_when_keys_do_not_answer_yet(tmp_path: Path) -> None:
    async with shown(tmp_path, script()) as s:
        panel = await planned(s)
        await s.until(lambda: TOO_SOON not in s.screen_text())
        panel.wait_for_quiet()
        await s.until_shown(TOO_SOON)
        await s.until(lambda: TOO_SOON not in s.screen_text())


@pytest.mark.parametrize(("key", "mode"), [("y", "ask"), ("e", "edits")])
async def test_approving_goes_on_in_the_mode_that_was_chosen(tmp_path: Path, key: str, mode: str) -> None:
    async with shown(tmp_path, script(says("Done."))) as s:
        await planned(s)
        await s.pilot.press(key)
        await s.idle()
        await s.until_shown(APPROVED, "Done.")
        assert s.runtime.gatekeeper.mode == mode
        assert not s.frame.query(PlanPanel)
        assert s.frame.focused is s.frame.prompt


async def test_a_word_against_it_goes_to_the_model_and_the_next_plan_is_asked_about(tmp_path: Path) -> None:
    async with shown(tmp_path, script(says("## Plan\n\nsmaller"))) as s:
        panel = await planned(s)
        await s.pilot.press("n")
        await s.until(lambda: isinstance(s.frame.focused, Input))
        await s.type("smaller", "enter")
        await s.until(lambda: s.frame.query(PlanPanel) and s.frame.query_one(PlanPanel) is not panel)
        assert s.runtime.gatekeeper.mode == "plan"


async def test_esc_leaves_the_plan_as_it_is(tmp_path: Path) -> None:
    async with shown(tmp_path, script()) as s:
        await planned(s)
        await s.pilot.press("escape")
        await s.until(lambda: not s.frame.query(PlanPanel))
        assert s.runtime.gatekeeper.mode == "plan"
        assert not s.conversation.runs.busy


async def test_what_was_typed_before_the_question_stood_there_is_no_answer(tmp_path: Path) -> None:
    """SEC-16."""
    async with shown(tmp_path, script()) as s:
        panel = await planned(s)
        panel.wait_for_quiet()
        await s.type("ye")
        assert s.frame.prompt.text == "ye"
        assert s.runtime.gatekeeper.mode == "plan"
        assert s.frame.query(PlanPanel)


async def test_a_question_in_plan_mode_that_is_no_task_asks_nothing(tmp_path: Path) -> None:
    async with shown(tmp_path, [says("It parses.")], sets=["permissions.mode=plan"]) as s:
        await s.type("what is it?", "enter")
        await s.idle()
        assert not s.frame.query(PlanPanel)


async def test_outside_of_plan_mode_a_plan_is_only_words(tmp_path: Path) -> None:
    async with shown(tmp_path, [says(PLAN)]) as s:
        await s.type("go", "enter")
        await s.idle()
        assert plan_of(s.runtime) == ""
        assert not s.frame.query(PlanPanel)


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
