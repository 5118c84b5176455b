"""What a sandbox changes about judging commands: fewer questions inside it, always one before leaving it.

Inside, secrets are hidden, nothing outside the workspace can be written and the network is off, so a command's
effects stay in the workspace. The rule, as `/permissions` shows it, is `RULE`.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prunecli.agent.permissions.calls import Call
    from prunecli.model.shell import Line

RULE = (
    "With a sandbox and no network, commands that only read may read outside the workspace too, and in edits mode"
    " every command runs without asking, except those that use git to write or that a deny or ask rule may match."
    " Running outside the sandbox is always asked."
)


@dataclass(frozen=True, slots=True)
class Inside:
    """The sandbox that a call will run in, by default none.

    `there`: one is in force. `closed`: it has no network, found every secret of the workspace and enforces every deny
    rule, so its walls replace questions.
    """

    there: bool = False
    closed: bool = False


NO_SANDBOX = Inside()


def leaves(call: "Call", inside: Inside) -> str:
    """Why a command that asks to run outside the sandbox needs approval, or ""."""
    if not inside.there or call.outside is None:
        return ""
    return f"it would run outside the sandbox: {call.outside}"


def stays(call: "Call", mode: str, inside: Inside) -> bool:
    """Whether the walls make the question about a command unnecessary."""
    if call.effect != "run" or not inside.closed or mode != "edits":
        return False
    return not (_uses_git(call.line) if call.line else "git" in (call.text or ""))


def _uses_git(line: "Line") -> bool:
    return any("git" in word for words in line.commands for word in words)
