"""The welcome's line about the sessions of other agents in this directory, and what pruning would have saved on them.

The replays run in a process of their own, so that no key waits for them. Their sums are kept until one of the
sessions changes.
"""

import asyncio
import json
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from prunecli.runtime.background import Background
from prunecli.runtime.importers import importer_of, titles
from prunecli.runtime.parts import Greet, Part
from prunecli.session.store import Listed
from prunecli.util.errors import PrunecliError
from prunecli.util.figures import counted, money
from prunecli.util.private_file import make_private, write_private

if TYPE_CHECKING:
    from prunecli.plugins.app import Installed
    from prunecli.runtime.host import Host

LAST = 10
"""Number of sessions to replay, the newest ones."""
SECONDS = 120.0
A_CENT = 0.01

Found = tuple[str, Listed]
"""An agent such as "@claude", and one of its sessions."""


class Invitation(Part):
    def __init__(self, host: "Host", parent: "Invitation | None") -> None:
        super().__init__(host, parent)
        self._work = Background(lambda _: None)  # without an estimate, the welcome only names the sessions

    async def shown(self, greet: Greet) -> None:
        setup, installed = self.host.setup, self.host.config.installed
        if self.host.session.records or self.host.who:
            return
        found = await asyncio.to_thread(sessions_here, installed, setup.environ, setup.cwd)
        if found:
            greet(invitation(found, titles(installed)), f"/resume {found[0][0]}")
            self._work.start(self._estimate(found[:LAST], greet))

    async def _estimate(self, found: Sequence[Found], greet: Greet) -> None:
        setup = self.host.setup
        kept = setup.places.data / "invitation.json"
        key = "\n".join(sorted(f"{agent}:{one.id}:{one.changed}" for agent, one in found))
        sums = await asyncio.to_thread(_kept, kept, key)
        if sums is None:
            sums = await replayed([f"{agent}:{one.id}" for agent, one in found], setup.environ, setup.cwd)
            await asyncio.to_thread(_keep, kept, key, sums)
        cost, saved = sums
        if saved >= A_CENT:
            on = "it" if len(found) == 1 else f"the last {len(found)}"
            greet(f"Pruning would have saved about {money(saved)} of {money(cost)} on {on}", "")

    async def close(self) -> None:
        await self._work.close()


def sessions_here(installed: "Installed", environ: Mapping[str, str], cwd: Path) -> list[Found]:
    """Return the other agents' sessions of this directory, newest first. Reads their folders."""
    found: list[Found] = []
    for agent in titles(installed):
        try:
            found += ((agent, one) for one in importer_of(agent, installed).listed(environ, cwd, []))
        except (PrunecliError, OSError):
            continue  # `/resume @AGENT` says what cannot be read
    return sorted(found, key=lambda pair: pair[1].changed, reverse=True)


def invitation(found: Sequence[Found], names: Mapping[str, str]) -> str:
    """Return the welcome's line: "14 Claude Code sessions and 1 pi session here: Enter to choose one"."""
    counts = Counter(agent for agent, _ in found)
    groups = [counted(count, f"{names[agent]} session") for agent, count in counts.items()]
    whose = f"{', '.join(groups[:-1])} and {groups[-1]}" if len(groups) > 1 else groups[0]
    return f"{whose} here: Enter to choose one, or prunecli -r {found[0][0]}"


async def replayed(sources: Sequence[str], environ: Mapping[str, str], cwd: Path) -> tuple[float, float]:
    """Return what these sessions cost without pruning, and what `auto` would have saved of it, in USD; 0 and 0 if
    they cannot be replayed."""
    words = [sys.executable, "-m", "prunecli", "replay", *sources, "--strategy", "auto", "--json"]
    process = await asyncio.create_subprocess_exec(
        *words, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL, cwd=cwd, env=dict(environ)
    )
    try:
        async with asyncio.timeout(SECONDS):
            printed, _ = await process.communicate()
    except TimeoutError:
        return 0.0, 0.0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    try:
        totals = {row["strategy"]: row for row in json.loads(printed)["totals"]}
        cost = float(totals["no_pruning"]["cost"])
        return cost, cost - float(totals["auto"]["cost_with_rereads"])
    except (ValueError, KeyError, TypeError):
        return 0.0, 0.0


def _kept(path: Path, key: str) -> tuple[float, float] | None:
    try:
        found = json.loads(path.read_bytes())
        return (float(found["cost"]), float(found["saved"])) if found["key"] == key else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _keep(path: Path, key: str, sums: tuple[float, float]) -> None:
    try:
        make_private(path.parent)
        write_private(path, json.dumps({"key": key, "cost": sums[0], "saved": sums[1]}).encode())
    except OSError:
        return  # the next start replays them again
