"""The list of sessions at two sizes and in a light theme, as it was looked at and kept."""

import os
from pathlib import Path

import pytest

from prunecli.model.events import Event, SessionStarted
from prunecli.session.store import Store
from prunecli.tui.screens.sessions import SessionsScreen
from prunecli.util.paths import Places
from tests.session.written import answer, lines, named, prompt
from tests.tui.snapshots.picture import LOOKS, NOW, Look, difference, pictured

MINUTE = 60
HOUR = 60 * MINUTE
CWD = "/home/ada/src/app"
"""What the sessions say of their directory: the one that they lie under has another name in each test run."""


def written(folder: Path, session_id: str, events: list[Event], ago: int) -> None:
    """A session of the pictures' directory that changed so many seconds ago."""
    store = Store(Places.of({"HOME": str(folder / "home")}).sessions)
    path, changed = store.new_path(folder / "home" / "src" / "app", session_id), NOW // 1000 - ago
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lines([SessionStarted(session_id, CWD, "claude-sonnet-5-5"), *events]))
    os.utime(path, (changed, changed))


def three(folder: Path) -> None:
    """Sessions of minutes, hours and weeks ago. The list shows ages, so no time zone is in it."""
    parser = [prompt("fix the parser"), answer("the lexer was wrong"), prompt("thanks")]
    written(folder, "20231114-220000-a1b2c3", parser, 12 * MINUTE)
    guide = [prompt("write the guide to the grammar"), answer(), named("grammar guide")]
    written(folder, "20231114-150000-d4e5f6", guide, 7 * HOUR)
    slow = [prompt("why is test_rules slow?"), answer("it reads each rule anew")]
    written(folder, "20231025-090000-0a1b2c", slow, 20 * 24 * HOUR)


@pytest.mark.parametrize("look", LOOKS, ids=str)
async def test_the_sessions_of_a_directory_with_figures_and_prompts(tmp_path: Path, look: Look) -> None:
    three(tmp_path)
    async with pictured(tmp_path, look) as s:
        await s.type("/resume", "escape", "enter")
        await s.until(lambda: isinstance(s.app.screen, SessionsScreen))
        await s.until_shown("3 of 3", "fix the parser", "grammar guide", "first fix the parser")
        assert not await difference(s, "sessions", look)
