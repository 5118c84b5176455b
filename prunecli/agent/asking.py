"""A permission question and its answer."""

from typing import TYPE_CHECKING, Literal, TypeAlias

from prunecli.model.messages import ToolUse
from prunecli.model.touches import Touches
from prunecli.tools.processes.sandboxing import NOTHING, Blocked
from prunecli.util.frozen import frozen

if TYPE_CHECKING:
    from prunecli.safety.proposals.changes import Proposal

AnswerKind: TypeAlias = Literal["once", "always", "project", "deny"]


@frozen
class Asked:
    """A permission question: the call, what it touches, why it needs approval, and the rules "always" would add.

    `who` is the task that asks, "" for the session's own agent. Commands that already ran where nothing counts are
    asked about with their `proposal`, whose changes Yes applies; or, if they are to run `again`, with what the
    sandbox `blocked`, which Yes opens for them. `wall` says what is around commands, in words.
    """

    call: ToolUse
    touches: Touches | None
    reason: str
    rules: tuple[str, ...] = ()
    who: str = ""
    proposal: "Proposal | None" = None
    again: bool = False
    blocked: Blocked = NOTHING
    wall: str = ""


@frozen
class Answer:
    """The user's answer. `word` tells the model why a call was denied.

    "always" adds the offered rules for this session, "project" also keeps it for the directory.
    """

    kind: AnswerKind
    word: str = ""
