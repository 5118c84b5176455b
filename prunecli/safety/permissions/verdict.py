"""The values of a judgment: the mode, the rules in effect, and the verdict.

They are separate from `judge`, which startup does not need: it is imported with the first tool call.
"""

from typing import Literal, get_args

from prunecli.safety.permissions.rules import parse_rule
from prunecli.util.frozen import frozen

Mode = Literal["ask", "edits", "plan", "auto"]
MODES: tuple[Mode, ...] = get_args(Mode)


@frozen
class Rules:
    """The rules in effect, as text. Raises ConfigError for the first invalid one."""

    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for text in (*self.allow, *self.ask, *self.deny):
            parse_rule(text)


@frozen
class Verdict:
    """A decision and its reason in plain words.

    `rules` are what "allow for this session" would add to the allow rules: one for each command of a line that is not
    yet allowed; none if there is no narrow rule to offer.
    `may_change_files`: the call may change files. `granted`: an allow rule or auto mode allows it, not only the
    sandbox around it. `firm`: one of the user's rules or the sandbox requires the question, so only the user may
    allow the call. `trial`: the command may run at once where nothing that it does counts; the decision is then about
    its changes.
    """

    kind: Literal["allow", "ask", "deny"]
    reason: str
    rules: tuple[str, ...] = ()
    may_change_files: bool = True
    granted: bool = False
    firm: bool = False
    trial: bool = False
