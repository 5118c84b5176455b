"""/review: have the agent review uncommitted changes. Its prompt is `data/commands/review.md`."""

from collections.abc import Sequence

from prunecli.commands.command import WORKING, Effect, Submit
from prunecli.runtime import Runtime


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Have the agent review your changes, or something else: /review the last commit."""
    return [WORKING] if runtime.running else [Submit(f"/review {arguments}".strip())]
