"""The screens of commands, at two sizes and in a light theme, as they were looked at and kept."""

from pathlib import Path

import pytest
from textual.widgets import Input

from prunecli.commands.command import Table
from prunecli.providers.scripted import says
from prunecli.tui.screens.choose import ChooseScreen
from prunecli.tui.screens.secret import SecretScreen
from prunecli.tui.screens.table import TableScreen
from prunecli.tui.widgets.plan import PlanPanel
from tests.tui.showing_app import Shown
from tests.tui.snapshots.conversation import conversation
from tests.tui.snapshots.picture import LOOKS, Look, pictured, same_picture

every_look = pytest.mark.parametrize("look", LOOKS, ids=str)

DOCTOR = Table(
    "Doctor",
    ("", "what", "how it is"),
    (
        ("ok", "prunecli", "0.1.0, Python 3.11.7, linux"),
        ("ok", "terminal", "xterm-256color, 80x24, 256 colours"),
        ("ok", "configuration", "built-in values; `prunecli config init` makes a file"),
        ("note", "credentials", "no API key"),
        ("ok", "model", "demo, window 200.0K tokens"),
        ("note", "sandbox", "none so far: commands run with your rights (bwrap is not there)"),
        ("ok", "rg", "/usr/bin/rg"),
        ("ok", "sessions", "82.5 GB free, ~/.local/share/prunecli/sessions/home-src-app-31f6e88d"),
    ),
    note="credentials: set ANTHROPIC_API_KEY, or run `prunecli login` (/login); --model demo needs none",
)
"""As /doctor gives it on some machine."""


async def still(s: Shown, screen: type, name: str, look: Look) -> None:
    """The picture of a screen that is there, its cursor at rest."""
    await s.until(lambda: isinstance(s.app.screen, screen))
    for field in s.app.screen.query(Input):
        field.cursor_blink = False
    await same_picture(s, name, look)


@every_look
async def test_the_palette(tmp_path: Path, look: Look) -> None:
    async with pictured(tmp_path, look, events=conversation()) as s:
        await s.pilot.press("ctrl+p")
        await s.until_shown("type to filter")
        await s.type("undo")
        await still(s, ChooseScreen, "palette", look)


@every_look
async def test_the_question_after_a_plan(tmp_path: Path, look: Look) -> None:
    plan = "## Plan\n\n1. Return `tok` in parser.py\n2. Run check.py"
    async with pictured(tmp_path, look, [says(plan)], events=conversation()) as s:
        await s.type("/plan fix it", "escape", "enter")
        await s.until(lambda: s.frame.query(PlanPanel))
        await s.until_shown("Shall this plan be carried out?")
        await s.until(lambda: not s.frame.query_one(PlanPanel).has_class("-early"))
        s.frame.activity.end()
        await same_picture(s, "plan", look)


@every_look
async def test_the_question_for_a_key(tmp_path: Path, look: Look) -> None:
    async with pictured(tmp_path, look, events=conversation()) as s:
        await s.type("/login", "escape", "enter")
        await s.until(lambda: isinstance(s.app.screen, SecretScreen))
        await s.type("sk-ant-1234")
        await still(s, SecretScreen, "secret", look)


@every_look
async def test_where_to_go_back_to(tmp_path: Path, look: Look) -> None:
    async with pictured(tmp_path, look, events=conversation()) as s:
        await s.type("/rewind", "escape", "enter")
        await s.until_shown("Go back to before")
        await still(s, ChooseScreen, "rewind", look)


@every_look
async def test_what_works_here(tmp_path: Path, look: Look) -> None:
    async with pictured(tmp_path, look, events=conversation()) as s:
        s.app.push_screen(TableScreen(DOCTOR))
        await s.until_shown("how it is")
        await still(s, TableScreen, "doctor", look)


@every_look
async def test_every_prune_so_far(tmp_path: Path, look: Look) -> None:
    async with pictured(tmp_path, look, events=conversation()) as s:
        await s.type("/prune-stats", "escape", "enter")
        await s.until_shown("Prunes")
        await still(s, TableScreen, "prune-stats", look)


@every_look
async def test_what_was_paid(tmp_path: Path, look: Look) -> None:
    async with pictured(tmp_path, look, events=conversation()) as s:
        await s.type("/cost", "escape", "enter")
        await s.until_shown("output")
        await still(s, TableScreen, "cost", look)


@every_look
async def test_the_context_as_a_table(tmp_path: Path, look: Look) -> None:
    async with pictured(tmp_path, look, events=conversation()) as s:
        await s.type("/context table", "escape", "enter")
        await s.until_shown("entry", "tokens")
        await still(s, TableScreen, "context-table", look)
