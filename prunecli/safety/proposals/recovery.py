"""Finishes what a program that ended was applying: every step of it, or none. Removes the layers nobody answered."""

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from prunecli.safety.proposals import journal, steps
from prunecli.safety.proposals.apply import end
from prunecli.safety.proposals.journal import Journal
from prunecli.safety.proposals.layer import OWNER, remove
from prunecli.util.errors import ToolError
from prunecli.util.figures import counted
from prunecli.util.sanitize import one_line


def recover(layers: Path) -> list[str]:
    """Finish or take back what was being applied, in layers whose program has ended. Return a line for each."""
    lines, names = list[str](), list[str]()
    with suppress(OSError):
        names = sorted(os.listdir(layers))
    for name in names:
        folder = str(layers / name)
        with suppress(OSError):  # removed meanwhile, or its program lives
            owner = os.open(os.path.join(folder, OWNER), os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if line := _recovered(folder):
                    lines.append(line)
            finally:
                os.close(owner)
    return lines


def _recovered(folder: str) -> str:
    try:
        plan = journal.read(folder)
    except (ValueError, TypeError, KeyError) as error:
        return f"{os.path.join(folder, journal.NAME)} can't be read ({error}); what it describes may be half applied"
    if plan is None:
        remove(folder)
        return ""
    try:
        is_applied = _finish(plan)
    except (OSError, ToolError) as error:
        return f"What was being applied when prunecli ended is half applied: {one_line(str(error))}"
    end(folder, plan)
    remove(folder)
    what = f"{counted(len({step.path for step in plan.steps}), 'change')} in {plan.roots[0][0]}"
    if is_applied:
        return f"prunecli ended while it applied {what}: it is done now"
    return f"prunecli ended while it applied {what}: nothing was changed"


def _finish(plan: Journal) -> bool:
    """Take the steps to the end, or back. Return whether they are applied."""
    if plan.over or not plan.steps:
        return plan.over and not plan.back
    if not plan.back:
        try:
            steps.forward(plan)
            return True
        except (OSError, ToolError):
            pass
    steps.backward(plan)
    return False
