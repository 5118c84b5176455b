"""/agents: what to use instead of subagents."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, Say
from prunecli.runtime import Runtime

STAND_IN = True
"""Marks a command that only names a replacement, so it is listed last."""


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Subagents are not supported; use /fork or `prunecli -p`."""
    return [Say("prunecli has no subagents. /fork continues in a copy; `prunecli -p` runs a separate task.")]
