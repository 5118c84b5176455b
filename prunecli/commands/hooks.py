"""/hooks: what to use instead of hooks."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, Say
from prunecli.runtime import Runtime

STAND_IN = True
"""Marks a command that only names a replacement, so it is listed last."""


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Hooks are not supported; /permissions sets what runs without asking."""
    return [Say("prunecli has no hooks. /permissions and its rules decide what tools may do.")]
