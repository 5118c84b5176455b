"""The effect of a sandbox on permission: fewer questions inside it, and always one before leaving it.

Inside, secrets are hidden, nothing outside the workspace can be written and the network is off. So a command's
effects stay in the workspace. `RULES` are the texts that `/permissions` shows.
"""

import re
from typing import TYPE_CHECKING

from prunecli.safety.permissions.places import lies_in_kept
from prunecli.util.frozen import frozen

if TYPE_CHECKING:
    from prunecli.model.shell import Line
    from prunecli.safety.permissions.calls import Call

_INSTALLS = r"""(?x)
    (?<![\w./-])(?:
    (?:npm|pnpm|yarn|bun|corepack)(?:\s+-\S+)*\s+(?:i|in|install|add|remove|rm|r|un|uninstall|unlink|link|up|update
      |upgrade|dedupe|init|create|pkg|version|set|patch|patch-commit|import|use|ci)\b
    | (?:yarn|pnpm)\s*(?:$|[;&|\n]) | (?:husky|lefthook|pre-commit)\s+(?:init|install|add)\b
    | uv\s+(?:init|python\s+pin)\b)"""
"""Commands that write files that control other programs without naming these files."""
_BETWEEN = re.compile(r"""[\s"'`=:,;|&<>(){}\[\]@]+""")

RULES = (
    "Commands that only read run without asking, even outside the workspace, as far as the sandbox shows it, and on"
    " files that another command lists",
    "So do queries that may run project code (npm ls, cargo tree, go list); for these, the workspace is read-only",
    "In edits mode, other commands do too, except those that write with git, install packages, name files that"
    " control other programs (AGENTS.md, package.json), or may match a deny or ask rule",
    "Files that control other programs are read-only unless you allow the command",
    "Commands outside the sandbox always need approval",
)


@frozen
class Inside:
    """The sandbox that a call will run in, by default none.

    `there`: a sandbox is in effect. `closed`: it blocks the network, has found every secret of the workspace and
    enforces every deny rule, so it replaces questions.
    """

    there: bool = False
    closed: bool = False


NO_SANDBOX = Inside()


def leaves(call: "Call", inside: Inside) -> str:
    """Return why a command that asks to run outside the sandbox needs approval, or ""."""
    if not inside.there or call.outside is None:
        return ""
    return f"it would run outside the sandbox: {call.outside}"


def stays(call: "Call", mode: str, inside: Inside) -> bool:
    """Return whether the sandbox makes the question about a command unnecessary."""
    if call.effect != "run" or not inside.closed or mode != "edits":
        return False
    if _uses_git(call.line) if call.line else "git" in (call.text or ""):
        return False
    return not re.search(_INSTALLS, call.text or "") and not _names_obeyed(call.text or "")


def _uses_git(line: "Line") -> bool:
    return any("git" in word for words in line.commands for word in words)


def _names_obeyed(text: str) -> bool:
    """Return whether a word of the text names a path that a sandbox keeps read-only, or a file below one."""
    return any(map(lies_in_kept, _BETWEEN.split(text)))
