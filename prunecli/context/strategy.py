"""The strategy interface, and running a list of strategies. Each strategy sees earlier proposals as applied.

A strategy is a module with a frozen dataclass `Options` and a function `propose(view, options) -> Proposal`. Property
tests check two laws for each: once its own edits are applied, it proposes nothing (idempotence), and values cached
between requests (`View.measured`) do not change any answer. docs/strategies.md shows an example.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cache
from typing import Annotated, Any, Protocol, TypeAlias

from prunecli.context.exchange import Entry
from prunecli.context.view import View
from prunecli.model.edits import Edit
from prunecli.model.messages import Json
from prunecli.util.errors import PrunecliError
from prunecli.util.figures import budget
from prunecli.util.frozen import frozen

Size: TypeAlias = Annotated[int, (0, None)]
"""An option that is a count: tokens, characters, turns."""
Ratio: TypeAlias = Annotated[float, (0, 1)]
"""An option that is a share."""


class FunctionFailed(PrunecliError):
    """A user's function raised or returned an invalid value; the message names the function."""


_REFERENCE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


def check_reference(option: str, text: str) -> None:
    """Raise ValueError with the option's name unless the text is empty or "package.module:name"."""
    if text and not _REFERENCE.fullmatch(text):
        raise ValueError(f'{option}: expected "package.module:name", got {text[:60]!r}')


def unexplained(entry: Entry) -> str:  # noqa: ARG001  # the signature of all explanations
    """Return "", the default for `why`."""
    return ""


@frozen
class Proposal:
    """A strategy's proposal.

    `note` is the reason for proposing nothing or for waiting. `why` returns the reason why a live result is kept, as
    of the view used. `problem` is a problem to show to the user once, such as a failed function. `waiting` says, for
    the status line, what the strategy waits for, and `freed` the tokens that it will free then, None if unknown.
    """

    edits: tuple[Edit, ...] = ()
    note: str = ""
    why: Callable[[Entry], str] = unexplained
    problem: str = ""
    waiting: str = ""
    freed: int | None = None


class Strategy(Protocol):
    """A strategy's module.

    `FUNCTIONS` may name options with a "package.module:name"; `propose` gets those functions as keyword arguments of
    the same names. An empty option gives no argument.
    """

    Options: type

    def propose(self, view: View, options: Any, **functions: Callable[..., Any]) -> Proposal:
        """Return the edits that the strategy proposes now."""


@frozen
class Chosen:
    """A strategy by name, with its module, its options and the functions that the options name.

    `foreign`: it runs user code, which may raise only FunctionFailed.
    """

    name: str
    strategy: Strategy
    options: Any
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    foreign: bool = False

    @property
    def context_edit(self) -> Mapping[str, Json] | None:
        """The edit requested from the endpoint; None for a strategy that makes its own edits."""
        made = getattr(self.strategy, "context_edit", None)
        return made(self.options) if made else None

    def propose(self, view: View) -> Proposal:
        """Return the edits that the strategy proposes now. If it failed, return no edits, with the failure as the
        problem."""
        try:
            return self.strategy.propose(view, self.options, **self.functions)
        except FunctionFailed as failed:
            return Proposal((), failed.message, problem=failed.message)


def propose_all(view: View, chosen: Sequence[Chosen]) -> list[tuple[str, Proposal]]:
    """Return each strategy's proposal, in order, as (name, proposal)."""
    proposals: list[tuple[str, Proposal]] = []
    for one in chosen:
        proposal = one.propose(view)
        proposals.append((one.name, proposal))
        if proposal.edits and len(chosen) > 1:
            view = view.after(proposal.edits)
    return proposals


def too_few(freed: int, minimum: int) -> str:
    """Return the note of a proposal below its minimum; both values in raw tokens."""
    return f"only {min(0.99, freed / max(1, minimum)):.0%} of prune_minimum ({minimum:,} tokens) could go"


def older_than(protect: int) -> str:
    """Return the note of a prune of content older than the protected tokens.

    The note has no measured tokens, because the line that shows it adds them at the current scale.
    """
    return (
        f"older than the newest {budget(protect)} tokens of tool output" if protect else "older tool output"
    )


@cache
def always_kept(protect: int) -> str:
    """Return the note if nothing is older than the protected tokens."""
    return f"the newest {budget(protect)} of tool output is always kept"
