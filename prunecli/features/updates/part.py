"""Asks once a day, after a run, which release is the newest, and says so at the next start of the screen."""

import json
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated

from prunecli import __version__
from prunecli.features.updates.releases import direct_url, is_newer, newest
from prunecli.runtime.background import Background
from prunecli.runtime.host import Host
from prunecli.runtime.parts import Part
from prunecli.util.by_project import Refused
from prunecli.util.errors import PrunecliError
from prunecli.util.frozen import frozen
from prunecli.util.private_file import make_private, read_private, write_private

DAY_SECONDS = 86_400
NOTICE = (
    "prunecli {} is available (this is {}): run `prunecli update`. [updates] notice = false turns this off."
)


@frozen
class Updates:
    """Newer releases of prunecli."""

    notice: Annotated[
        bool,
        "Once a day, after a run, ask pypi.org for the newest release; the next start names a newer one.",
        Refused("it decides whether this machine asks pypi.org"),
    ] = True


class Known:
    """What was last heard of the newest release, in a file that all starts share."""

    def __init__(self, file: Path, now: Callable[[], float] = time.time) -> None:
        self._file, self._now = file, now

    def due(self, what: str) -> bool:
        """Return whether "asked" or "told" is a day ago, or never happened."""
        last = self._read().get(what)
        return not isinstance(last, int | float) or not 0 <= self._now() - last < DAY_SECONDS

    @property
    def version(self) -> str:
        version = self._read().get("version")
        return version if isinstance(version, str) else ""

    def note(self, what: str, version: str = "") -> None:
        """Remember that this happened now. A folder that cannot be written is as if it never had."""
        found = self._read() | {what: self._now()} | ({"version": version} if version else {})
        with suppress(OSError):
            make_private(self._file.parent)
            write_private(self._file, json.dumps(found).encode())

    def _read(self) -> dict[str, object]:
        try:
            found = json.loads(read_private(self._file, 10_000, is_secret=False))
        except (OSError, ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}


async def ask(known: Known, fetch: Callable[[], Awaitable[str]] = newest) -> None:
    """Ask for the newest release if the last question is a day old. A failure waits for the next day, in silence:
    nobody asked."""
    if known.due("asked"):
        known.note("asked")
        with suppress(PrunecliError):
            known.note("asked", await fetch())


def notice(known: Known, version: str = __version__) -> str:
    """Return the line about a newer release, at most once a day; else ""."""
    if not is_newer(known.version, version) or not known.due("told"):
        return ""
    known.note("told")
    return NOTICE.format(known.version, version)


class ReleaseNotice(Part):
    """Does nothing in headless runs, in tasks, in a checkout, and before the first run has ended."""

    def __init__(self, host: Host, parent: "ReleaseNotice | None") -> None:
        super().__init__(host, parent)
        self._work = Background(lambda _: None)
        self._known = Known(host.setup.places.data / "release.json")
        self._on = False

    def opened(self, *, headless: bool) -> None:
        wanted = self.host.config.section("updates").notice and not self.host.who
        self._on = bool(wanted) and not headless and not direct_url()
        if self._on and (line := notice(self._known)):
            self.host.notices.append(line)

    async def idle(self) -> None:
        if self._on:
            self._on = False
            self._work.start(ask(self._known))

    async def close(self) -> None:
        await self._work.close()
