"""/review: have the agent review uncommitted changes."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, Say, Submit
from prunecli.runtime import Runtime

_TASK = """\
Review {what}. Read the diff first, then as much of the surrounding code as you need. Change nothing.

Report only problems that should be fixed, most serious first: bugs, data loss, security, broken callers, missing \
tests. For each, give the file and line, what goes wrong and when, and the smallest fix. If there are none, say so \
in one line."""
_UNCOMMITTED = "the uncommitted changes in this repository, staged, unstaged and untracked"


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Have the agent review your changes, or something else: /review the last commit."""
    if runtime.running:
        return [Say("The agent is working. Esc to stop it.", "warning")]
    return [Submit(_TASK.format(what=arguments or _UNCOMMITTED))]
