"""How a screen is compared with the picture of it that was kept.

    async with pictured(tmp_path, look) as s:     # look: one of LOOKS
        ...
        assert not await difference(s, "name", look)

`UPDATE_PICTURES=1 pytest tests/tui/snapshots` keeps what is there now; look at it before it is committed.
"""

import os
import re
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from textual.widgets import Input

from prunecli.model.events import Event
from tests.scripted import Scripted
from tests.sessions import COMPLETE
from tests.starting import start
from tests.tui.showing_app import Shown, shown

FOLDER = Path(__file__).parent
NOW = 1_700_000_000_000
"""Unix milliseconds at which every picture is taken."""

_ID = re.compile(r"terminal-\d+-")
_FONTS = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)
_CLIPS = re.compile(r'<clipPath id="terminal-line-\d+">.*?</clipPath>\s*', re.DOTALL)
_CLIP_USES = re.compile(r' clip-path="url\(#terminal-line-\d+\)"')


class Look(NamedTuple):
    """A size in cells and a theme."""

    width: int
    height: int
    theme: str = "prune-dark"

    def __str__(self) -> str:
        """As it stands in the name of the picture's file."""
        return f"{self.width}x{self.height}" + ("" if self.theme == "prune-dark" else f"-{self.theme}")


LOOKS = (Look(80, 24), Look(160, 48), Look(80, 24, "prune-light")) if COMPLETE else ()
"""Two sizes, and a light theme. A source distribution has no pictures, so no screen is compared there."""
STILL_SECONDS = 1.0


@asynccontextmanager
async def pictured(
    folder: Path,
    look: Look,
    script: Sequence[Scripted] = (),
    *,
    events: Iterable[Event] = (),
    sets: Sequence[str] = (),
    **more: Any,
) -> AsyncIterator[Shown]:
    """The interface as `shown` has it, at a time that stands still and in a directory of a known name.

    `events` are in the session's log when it opens.
    """
    runtime = start(
        folder,
        script,
        sets=(f"ui.theme={look.theme}", "pruning.estimator=chars4", *sets),
        work="home/src/app",
        clock=lambda: NOW,
    )
    for event in events:
        runtime.emit(event)
    async with shown(folder, size=look[:2], runtime=runtime, **more) as screen:
        screen.frame.prompt.cursor_blink = False
        if runtime.session.context.items:
            await screen.until(lambda: _has_begun(screen))
        before = ""
        while (now := screen.screen_text()) != before:  # what is behind a screen is not painted any more
            before = now
            await screen.pilot.pause(0.05)
        yield screen


def _has_begun(screen: Shown) -> bool:
    """Whether something of the session is painted."""
    region = screen.frame.transcript.region
    rows = screen.screen_text().split("\n")[region.y : region.bottom]
    return screen.frame.transcript.document.count > 0 and any(row.strip() for row in rows)


async def difference(screen: Shown, name: str, look: Look) -> str:
    """Where the screen is not what the picture of that name shows, what to do about it: the new picture then lies
    beside the test's files. Nothing where it is the same."""
    path = FOLDER / f"{name}-{look}.svg"
    kept = path.read_text("utf-8") if path.exists() else ""
    picture = await settled(screen, name, kept)
    if os.environ.get("UPDATE_PICTURES"):
        path.write_text(kept := picture, "utf-8")
    if picture == kept:
        return ""
    found = screen.runtime.setup.places.home.parent / path.name
    found.write_text(picture, "utf-8")
    return (
        f"{name} looks different at {look}: compare {found} with {path}, and if it is as it should be keep it "
        f"with UPDATE_PICTURES=1. The screen is\n{screen.screen_text()}"
    )


async def settled(screen: Shown, name: str, kept: str) -> str:
    """The picture once it is the one that is kept, or nothing moved for so long that it will not become it."""
    for one in screen.app.screen.query(Input):
        one.cursor_blink = False  # a cursor that blinks never stays as it is for STILL_SECONDS
    before, since = "", time.monotonic()
    while (picture := normalized(screen.app.export_screenshot(title=name))) != kept:
        if picture != before:
            before, since = picture, time.monotonic()
        elif time.monotonic() - since > STILL_SECONDS:
            break
        for behind in screen.app.screen_stack:
            behind.refresh(layout=True)  # a busy machine may cover a screen before all of it was painted
        await screen.pilot.pause(0.05)
    return picture


def normalized(svg: str) -> str:
    """A picture without what differs from one export to the next, or only makes it larger."""
    svg = _FONTS.sub("", _ID.sub("terminal-", svg))
    svg = _CLIP_USES.sub("", _CLIPS.sub("", svg))
    return "\n".join(line.rstrip() for line in svg.split("\n") if line.strip()) + "\n"
