"""/prune-config: the strategies with what this session would have cost, and their options."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from prunecli.features.replay.trying import trial_of
from prunecli.runtime import Runtime
from prunecli.tui.screens.strategies import GENERAL, StrategiesScreen
from prunecli.util.figures import money
from tests.commands.test_trying import worked
from tests.starting import start
from tests.tui.showing_app import Shown, shown


@asynccontextmanager
async def chooser(runtime: Runtime, folder: Path, size: tuple[int, int] = (120, 40)) -> AsyncIterator[Shown]:
    async with shown(folder, size=size, runtime=runtime) as s:
        await s.type("/prune-config", "escape", "enter")
        await s.until(lambda: isinstance(s.app.screen, StrategiesScreen))
        yield s


def screen(s: Shown) -> StrategiesScreen:
    assert isinstance(s.app.screen, StrategiesScreen)
    return s.app.screen


async def marks(s: Shown, name: str) -> None:
    """Mark a row of the strategies."""
    await s.pilot.press("home", *["down"] * screen(s)._names.index(name))
    await s.until(lambda: screen(s)._chosen == name)


async def test_each_strategy_has_a_sentence_and_what_this_session_would_have_cost(tmp_path: Path) -> None:
    runtime = await worked(tmp_path)
    trial = trial_of(runtime, "aggressive")
    costs = {row.strategy: row.cost for row in trial.rows()}
    assert trial.bill.cost is not None
    async with chooser(runtime, tmp_path) as s:
        await s.until(lambda: screen(s)._costs.get("superseded", "…") != "…")
        await s.until_shown(
            f"this session was billed {money(trial.bill.cost)}",
            "Prune every old result, however full the context is (OpenClaw).",
        )
        row = next(line for line in s.screen_text().split("\n") if " aggressive " in line)
        assert row.rstrip().endswith(money(costs["aggressive"]))
        assert next(line for line in s.screen_text().split("\n") if "●" in line).split()[1] == "auto"


async def test_the_marked_strategy_shows_its_options_with_meaning_and_range(tmp_path: Path) -> None:
    async with chooser(start(tmp_path), tmp_path) as s:
        await s.until_shown("no options")
        await marks(s, "pi")
        await s.until_shown(
            "prune_minimum", "prune_protect", "protected_turns", "An integer of at least 0", "20000", "40000"
        )
        await marks(s, GENERAL)
        await s.until_shown("gate", "One of always, cache_aware")


async def test_enter_uses_a_strategy_and_sets_an_option_and_a_wrong_value_says_why(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    async with chooser(runtime, tmp_path) as s:
        await marks(s, "pi")
        await s.pilot.press("enter")
        assert runtime.config.pruning.strategy == "pi"
        await s.until_shown('strategy = "pi" for this session')
        await s.pilot.press("tab", "down", "enter", *["backspace"] * 5, *"2000", "enter")
        await s.until_shown("pi.prune_protect = 2000 for this session", "2000 (session)")
        assert runtime.config.strategy_options("pi").prune_protect == 2_000
        await s.pilot.press("enter", *"x", "enter")
        await s.until_shown("prune_protect: expected an integer of at least 0")
        await s.pilot.press("enter", *"9", "escape", "tab", "home")
        assert runtime.config.strategy_options("pi").prune_protect == 2_000
        await s.until_shown("Prune what costs more to keep than to fetch again")
        await s.pilot.press("escape")
        await s.until(lambda: s.app.screen is s.frame)


@pytest.mark.parametrize("size", [(50, 15), (80, 24), (160, 48), (20, 6)])
async def test_it_fits_every_screen(tmp_path: Path, size: tuple[int, int]) -> None:
    async with chooser(start(tmp_path), tmp_path, size) as s:
        await marks(s, "pi")
        await s.pilot.press("tab", "down", "enter", "escape", "tab", "end", "pageup")
        lines = s.screen_text().split("\n")
        assert len(lines) == size[1]
        if size[0] >= 50:
            await s.until_shown("strategy", "cost", "Esc to close")
