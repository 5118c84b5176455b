"""The effect of a sandbox on permission: fewer questions inside it, and always one before leaving it.

Inside, secrets are hidden, nothing outside the workspace can be written and the network is off. So a command's
effects stay in the workspace. `RULES` are the texts that `/permissions` shows.
"""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from prunecli.safety.permissions.places import lies_in_kept, set_of
from prunecli.safety.permissions.rules import starts_others
from prunecli.util.frozen import frozen
from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    from prunecli.model.shell import Doubt
    from prunecli.safety.permissions import harm
    from prunecli.safety.permissions.calls import Call
    from prunecli.safety.permissions.harmless_commands import Words
else:
    harm = lazy("prunecli.safety.permissions.harm")

_NEEDS_MORE = r"""(?x)
    (?:^|[\n\x1f;&|({`"']|(?:^|\s)(?:then|do|else|exec|xargs|sudo|env|time|nohup|npx|run)\s)\s*(?:[\w./~-]*/)?
    (?:
    git(?![\w./-])
      (?!(?:\s+-c\s+\S+|\s+-C\s+\S+|\s+-\S+)*
        \s+(?:blame|cat-file|describe|diff|grep|log|ls-files|rev-parse|shortlog|show|status)(?![\w-]))
    | (?:npm|pnpm|yarn|bun|corepack)(?:\s+-\S+)*\s+(?:i|in|install|add|remove|rm|r|un|uninstall|unlink|link|up|update
      |upgrade|dedupe|init|create|pkg|version|set|patch|patch-commit|import|use|ci)\b
    | (?:yarn|pnpm)\s*(?:$|[;&|\n]) | (?:husky|lefthook|pre-commit)\s+(?:init|install|add)\b
    | uv\s+(?:init|python\s+pin)\b)"""
"""Commands, where one may start, that write to the repository, or files that control other programs without naming
these files. A sandbox keeps both read-only."""
_READS_SECRET = ("reads ", "may read ")
_PROGRAMS = set_of("git npm pnpm yarn bun corepack husky lefthook pre-commit uv poetry")
_BETWEEN = re.compile(r"""[\s"'`=:,;|&<>(){}\[\]@]+""")

PROPOSED = (
    "In ask mode, commands that no rule covers run on a layer over the workspace, and you are asked about what they"
    " changed",
    "In plan mode, they run on a layer that is thrown away",
)
RULES = (
    "Commands that only read run without asking, even outside the workspace, as far as the sandbox shows it",
    "In edits mode, other commands do too, except those that write with git, install packages, name files that"
    " control other programs (AGENTS.md, package.json), or may match a deny or ask rule",
    "Files that control other programs are read-only unless you allow the command",
    "Commands outside the sandbox always need approval",
)


@frozen
class SandboxedCommands:
    """The sandbox that a call will run in, by default none.

    `there`: a sandbox is in effect. `closed`: it blocks the network, has found every secret of the workspace and
    enforces every deny rule, so it replaces questions. `proposes`: commands may run in it before the user is asked,
    on a layer over the workspace and without network.
    """

    there: bool = False
    closed: bool = False
    proposes: bool = False


NO_SANDBOX = SandboxedCommands()


def leaves(call: "Call", inside: SandboxedCommands) -> str:
    """Return why a command that asks to run outside the sandbox needs approval, or ""."""
    if not inside.there or call.outside is None:
        return ""
    return f"runs outside the sandbox: {call.outside}"


def may_be_tried(
    call: "Call", mode: str, inside: SandboxedCommands, doubtful: Callable[[], "list[tuple[Words, Doubt]]"]
) -> bool:
    """Return whether a command that needs approval may run before the answer, with its changes held back. One that
    names a secret may not."""
    if call.effect != "run" or mode not in ("ask", "plan") or not inside.proposes or call.outside is not None:
        return False
    doubts = [doubt.reason for _, doubt in doubtful()] if call.line else [call.doubt]
    return not any(doubt.startswith(_READS_SECRET) for doubt in doubts)


def harm_inside(
    call: "Call", mode: str, inside: SandboxedCommands, doubtful: Callable[[], "list[tuple[Words, Doubt]]"]
) -> str | None:
    """Return why a command needs approval in edits mode although it would run in the sandbox, "" if it needs none,
    and None if the sandbox does not decide. `doubtful` returns the commands of its line that are not harmless."""
    if call.effect != "run" or not inside.closed or mode != "edits":
        return None
    text = call.text or ""
    if more := _needing_more(call, doubtful):
        return more
    obeyed = next(filter(lies_in_kept, _BETWEEN.split(text)), "")
    if obeyed and call.doubt.startswith(("reads ", "may read ")):
        return call.doubt
    return f"names {obeyed}, which controls other programs" if obeyed else ""


def _needing_more(call: "Call", doubtful: Callable[[], "list[tuple[Words, Doubt]]"]) -> str:
    """Return what a command may do that needs more than the sandbox allows, "" if it seems to need no more."""
    if call.line is None:
        return call.doubt if re.search(_NEEDS_MORE, call.text or "") else ""
    found = [
        (words, doubt)
        for words, doubt in doubtful()
        if starts_others(words[0]) or words[0].rpartition("/")[2] in _PROGRAMS
        if re.search(_NEEDS_MORE, "\x1f".join(words))
    ]
    if not found:
        return ""

    return harm.of_line(call.line, found)
