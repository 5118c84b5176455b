"""The terminal interface on a scripted runtime, driven by a pilot: what its tests share."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from textual import events
from textual.keys import _character_to_key
from textual.pilot import Pilot

from prunecli.front.presentation.entries import Entry
from prunecli.runtime import Runtime
from prunecli.tui.app import PrunecliApp
from prunecli.tui.conversation import Conversation
from prunecli.tui.screens.frame import Frame
from prunecli.tui.widgets.long_question import LongQuestion
from tests.scripted import Scripted
from tests.starting import start
from tests.waiting import DEADLINE


def joined(text: str) -> str:
    """The text without its line ends and repeated blanks: where a line breaks hangs on the length of paths."""
    return " ".join(text.split())


@dataclass
class Shown:
    """A running interface."""

    app: PrunecliApp
    pilot: Pilot[Any]
    runtime: Runtime

    @property
    def frame(self) -> Frame:
        return self.app.frame

    @property
    def conversation(self) -> Conversation:
        assert self.app.conversation is not None
        return self.app.conversation

    @property
    def entries(self) -> list[Entry]:
        document = self.frame.transcript.document
        keys = range(document.next_key - document.count, document.next_key)
        return [item.entry for key in keys if (item := document.item(key))]

    def screen_text(self) -> str:
        """What stands on the screen, row by row."""
        lines = self.app.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in lines)

    async def read_through(self, question: LongQuestion) -> str:
        """What can be read of a long question by PgDn alone, without the places where its lines break."""
        rows: dict[int, str] = {}
        while True:
            await self.pilot.pause()
            what = question.what()
            top, region = round(what.scroll_y), what.scrollable_content_region
            lines = self.screen_text().split("\n")[region.y : region.bottom]
            rows |= {top + at: line[region.x : region.right].strip(" │") for at, line in enumerate(lines)}
            await self.pilot.press("pagedown")
            if round(what.scroll_y) == top:
                return "".join(rows[at] for at in sorted(rows))

    async def until(self, condition: Callable[[], object]) -> None:
        """Lets the interface work until something holds.

        `pilot.pause` wakes every widget, so it is not what asks again and again.
        """
        try:
            async with asyncio.timeout(DEADLINE):
                while not condition():
                    await asyncio.sleep(0.01)
                    if condition():
                        await self.pilot.pause(0)
        except TimeoutError:
            raise AssertionError(f"it did not happen; the screen is\n{self.screen_text()}") from None

    async def until_shown(self, *texts: str) -> None:
        """Lets it work until all of these stand on the screen, wherever the lines break."""
        await self.until(lambda: all(joined(text) in joined(self.screen_text()) for text in texts))

    async def type(self, text: str, *keys: str) -> None:
        """Types a text at once, as a fast typist does, then presses keys.

        `pilot.press` waits for an idle machine twice for each key, which takes longer than the tests themselves.
        """
        driver = self.app._driver
        assert driver is not None
        await self.pilot.pause()  # what was just opened has the focus
        for char in text:
            event = events.Key(char if char.isalnum() else _character_to_key(char), char)
            event.set_sender(self.app)
            driver.send_message(event)
        await self.pilot.pause()
        await self.pilot.press(*keys)

    def press_at_once(self, keys: Sequence[str], before: float = 0.0) -> None:
        """Presses keys within a hundredth of a second of each other, however long it takes to handle them; the last
        one so many seconds ago."""
        last = monotonic() - before
        for number, key in enumerate(keys, 1):
            named = key if len(key) > 1 else _character_to_key(key)
            event = events.Key(named, key if len(key) == 1 else {"enter": "\r"}.get(key))
            event.time = last - (len(keys) - number) / 100
            self.app.post_message(event)

    async def idle(self) -> None:
        """Lets it work until no run is under way and everything that was told is shown."""
        await self.until(lambda: not self.conversation.runs.busy)
        await self.pilot.pause()


@asynccontextmanager
async def shown(
    folder: Path,
    script: Sequence[Scripted] = (),
    *,
    size: tuple[int, int] = (80, 24),
    runtime: Runtime | None = None,
    prompt: str = "",
    environ: dict[str, str] | None = None,
    **more: Any,
) -> AsyncIterator[Shown]:
    """The interface with everything loaded, on a runtime of `tests.starting`."""
    runtime = runtime or start(folder, script, **more)
    setup = runtime.setup
    app = PrunecliApp(lambda: runtime, setup.places, setup.cwd, environ or {}, prompt)
    async with app.run_test(size=size) as pilot:
        running = Shown(app, pilot, runtime)
        await running.until(lambda: app.conversation is not None and app.conversation.listening)
        yield running
        await app.close()
