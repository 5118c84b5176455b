"""/init: have the agent write AGENTS.md. Its prompt is `data/commands/init.md`."""

from collections.abc import Sequence

from prunecli.commands.command import WORKING, Effect, Say, Submit
from prunecli.runtime import Runtime


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Create or update AGENTS.md, with optional instructions."""
    if runtime.running:
        return [WORKING]
    if not runtime.gatekeeper.trusted:
        return [Say("This directory is read-only until you trust it: /trust.", "warning")]
    if runtime.gatekeeper.mode == "plan":
        return [Say("Plan mode allows no changes. Shift+Tab to change mode.", "warning")]
    return [Submit(f"/init {arguments}".strip())]
