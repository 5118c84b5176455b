"""The screens of commands, at two sizes and in a light theme, as they were looked at and kept."""

from pathlib import Path
from typing import Any

import pytest
from textual.screen import Screen
from textual.widgets import Input

from prunecli.commands.command import Table
from prunecli.tui.screens.choose import ChooseScreen, SecretScreen
from prunecli.tui.screens.strategies import StrategiesScreen
from prunecli.tui.screens.table import TableScreen
from prunecli.tui.widgets.question import Question
from tests.scripted import says
from tests.tui.showing_app import Shown
from tests.tui.snapshots.conversation import conversation
from tests.tui.snapshots.picture import LOOKS, Look, difference, pictured

every_look = pytest.mark.parametrize("look", LOOKS, ids=str)

DOCTOR = Table(
    "Doctor",
    ("", "what", "how it is"),
    (
        ("ok", "prunecli", "0.1.0, Python 3.11.7, linux"),
        ("ok", "terminal", "xterm-256color, 80x24, 256 colors"),
        ("ok", "configuration", "built-in values; `prunecli config init` makes a file"),
        ("note", "credentials", "no API key"),
        ("ok", "model", "demo, window 200K tokens"),
        ("note", "sandbox", "none so far: commands run with your rights (bwrap is not there)"),
        ("ok", "rg", "/usr/bin/rg"),
        ("ok", "sessions", "82.5 GB free, ~/.local/share/prunecli/sessions/home-src-app-31f6e88d"),
    ),
    note="credentials: set ANTHROPIC_API_KEY, or run `prunecli login` (/login); --model demo needs none",
)
"""As /doctor gives it on some machine."""


async def at_rest(s: Shown, screen: type[Screen[Any]]) -> None:
    """A screen is there, and no cursor on it blinks."""
    await s.until(lambda: isinstance(s.app.screen, screen))
    for field in s.app.screen.query(Input):
        field.cursor_blink = False


@every_look
async def test_the_palette(tmp_path: Path, look: Look) -> None:
    async with pictured(tmp_path, look, events=conversation()) as s:
        await s.pilot.press("ctrl+p")
        await s.until_shown("type to filter")
        await s.type("undo")
        await at_rest(s, ChooseScreen)
        assert not await difference(s, "palette", look)


@every_look
async def test_the_question_after_a_plan(tmp_path: Path, look: Look) -> None:
    plan = "## Plan\n\n1. Return `tok` in parser.py\n2. Run check.py"
    async with pictured(tmp_path, look, [says(plan)], events=conversation()) as s:
        await s.type("/plan fix it", "escape", "enter")
        await s.until(lambda: s.frame.query(Question))
        await s.until_shown("Carry out this plan?")
        await s.until(lambda: not s.frame.query_one(Question).has_class("-early"))
        s.frame.activity.end()
        assert not await difference(s, "plan", look)


@every_look
async def test_the_question_for_a_key(tmp_path: Path, look: Look) -> None:
    async with pictured(tmp_path, look, events=conversation()) as s:
        await s.type("/login", "escape", "enter")
        await s.until(lambda: isinstance(s.app.screen, SecretScreen))
        await s.type("sk-ant-1234")
        await at_rest(s, SecretScreen)
        assert not await difference(s, "secret", look)


@every_look
async def test_what_works_here(tmp_path: Path, look: Look) -> None:
    async with pictured(tmp_path, look, events=conversation()) as s:
        s.app.push_screen(TableScreen(DOCTOR))
        await s.until_shown("how it is")
        assert not await difference(s, "doctor", look)


@every_look
async def test_the_strategies_to_choose_from(tmp_path: Path, look: Look) -> None:
    async with pictured(tmp_path, look, events=conversation()) as s:
        await s.type("/prune-config", "escape", "enter")
        await s.until(lambda: isinstance(s.app.screen, StrategiesScreen))
        screen = s.app.screen
        assert isinstance(screen, StrategiesScreen)
        await s.until(lambda: screen._costs != {} and "…" not in screen._costs.values())
        await s.pilot.press(*["down"] * screen._names.index("pi"), "tab", "down")
        await s.until_shown("prune_protect")
        assert not await difference(s, "strategies", look)


@every_look
@pytest.mark.parametrize(
    ("typed", "words", "screen", "name"),
    [
        pytest.param("/rewind", ["Rewind to before"], ChooseScreen, "rewind", id="where to go back to"),
        pytest.param("/prune-stats", ["Pruning"], TableScreen, "prune-stats", id="every prune so far"),
        pytest.param("/cost", ["output"], TableScreen, "cost", id="what was paid"),
        pytest.param(
            "/context table", ["entry", "tokens"], TableScreen, "context-table", id="the context as a table"
        ),
    ],
)
async def test_what_a_command_shows_of_the_session(
    tmp_path: Path, look: Look, typed: str, words: list[str], screen: type[Screen[Any]], name: str
) -> None:
    async with pictured(tmp_path, look, events=conversation()) as s:
        await s.type(typed, "escape", "enter")
        await s.until_shown(*words)
        await at_rest(s, screen)
        assert not await difference(s, name, look)
