"""`# text` at the prompt."""

from pathlib import Path
from time import monotonic

from tests.scripted import says
from tests.tui.showing_app import Shown, shown


async def ready(s: Shown) -> None:
    """Waits until keys answer the question."""
    panel = s.frame.prompt.question
    assert panel is not None
    await s.until(lambda: panel.answering.is_ready(monotonic()))


async def test_a_line_is_shown_before_it_is_written(tmp_path: Path) -> None:
    async with shown(tmp_path, [says("Done.")]) as s:
        path = s.runtime.setup.cwd / "AGENTS.md"
        await s.type("# Use tabs")
        await s.until_shown("adds a line to AGENTS.md")
        await s.pilot.press("enter")
        await s.until_shown(
            "Add this line to which file?", "+ - Use tabs", "Project", "User, for all projects"
        )
        assert not path.exists()
        await ready(s)
        await s.pilot.press("enter")
        await s.until_shown("Added to AGENTS.md: - Use tabs")
        assert path.read_text() == "- Use tabs\n"


async def test_esc_writes_nothing_and_up_brings_the_text_back(tmp_path: Path) -> None:
    async with shown(tmp_path, [says("Done.")]) as s:
        await s.type("# Use tabs", "enter")
        await s.until_shown("Add this line to which file?")
        await ready(s)
        await s.pilot.press("escape")
        await s.until_shown("Not saved.")
        assert not (s.runtime.setup.cwd / "AGENTS.md").exists()
        await s.pilot.press("up")
        assert s.frame.prompt.typed == "# Use tabs"


async def test_a_text_of_several_lines_and_a_word_after_the_sign_are_prompts(tmp_path: Path) -> None:
    async with shown(tmp_path, [says("One."), says("Two."), says("Three.")]) as s:
        await s.type("# Plan", "ctrl+j")
        await s.type("do it", "enter")
        await s.until_shown("One.")
        await s.idle()
        await s.type("#12 is a bug", "enter")
        await s.until_shown("Two.")
        await s.idle()
        await s.type(" # spaced", "enter")
        await s.until_shown("Three.")
        assert not (s.runtime.setup.cwd / "AGENTS.md").exists()
