"""The inspector and its screens at two sizes and in a light theme, as they were looked at and kept."""

from pathlib import Path

import pytest

from prunecli.features.inspector.details import DiffScreen, TextScreen
from prunecli.features.inspector.screen import ContextScreen
from tests.tui.snapshots.conversation import conversation
from tests.tui.snapshots.picture import LOOKS, Look, difference, pictured
from tests.tui.test_inspector import reads

every_look = pytest.mark.parametrize("look", LOOKS, ids=str)


@every_look
async def test_the_first_view_with_what_can_be_pruned(tmp_path: Path, look: Look) -> None:
    async with pictured(tmp_path, look, events=reads(12)) as s:
        await s.type("/context", "escape", "enter")
        await s.until(lambda: isinstance(s.app.screen, ContextScreen))
        await s.until_shown("what you can prune", "file9.py", "p  clear this result")
        assert not await difference(s, "inspector-first", look)


@every_look
async def test_the_inspector_with_a_pruned_result_marked(tmp_path: Path, look: Look) -> None:
    async with pictured(tmp_path, look, events=conversation()) as s:
        await s.type("/context", "escape", "enter")
        await s.until(lambda: isinstance(s.app.screen, ContextScreen))
        await s.pilot.press("E", "home", *["down"] * 6)
        await s.until_shown("restore and pin")
        assert not await difference(s, "inspector", look)


@every_look
async def test_the_text_of_a_pruned_result(tmp_path: Path, look: Look) -> None:
    async with pictured(tmp_path, look, events=conversation()) as s:
        await s.type("/context", "escape", "enter")
        await s.until(lambda: isinstance(s.app.screen, ContextScreen))
        await s.pilot.press("E", "home", *["down"] * 6, "enter")
        await s.until(lambda: isinstance(s.app.screen, TextScreen))
        await s.until_shown("the model sees this (cleared)", "def rule_0")
        assert not await difference(s, "inspector-text", look)


@every_look
async def test_what_two_requests_differ_in(tmp_path: Path, look: Look) -> None:
    async with pictured(tmp_path, look, events=conversation()) as s:
        await s.type("/context", "escape", "enter")
        await s.until(lambda: isinstance(s.app.screen, ContextScreen))
        await s.pilot.press("d", "left", "left")
        await s.until(lambda: isinstance(s.app.screen, DiffScreen))
        await s.until_shown("Request 2 → 3", "~ replaced")
        assert not await difference(s, "inspector-difference", look)
