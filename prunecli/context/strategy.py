"""What a strategy is, and running a list of them: each sees the proposals of those before it as applied.

A strategy is a module with a frozen dataclass `Options` and a function `propose(view, options) -> Proposal`.
Laws, property-tested for each: after its own edits were applied it proposes nothing (idempotence), and what it keeps
of earlier requests (`View.measured`) changes no answer. README.md shows one.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Protocol, TypeAlias

from prunecli.context.exchange import Entry
from prunecli.context.view import View
from prunecli.errors import PrunecliError
from prunecli.figures import budget
from prunecli.model.edits import Edit
from prunecli.model.messages import Json

Size: TypeAlias = Annotated[int, (0, None)]
"""An option that counts something: tokens, characters, turns."""


class FunctionFailed(PrunecliError):
    """A function of the user's that a strategy was given raised, or gave what it must not; the message names it."""


_REFERENCE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


def check_reference(option: str, text: str) -> None:
    """Raises ValueError, with the option's name, for an option that is neither empty nor "package.module:name"."""
    if text and not _REFERENCE.fullmatch(text):
        raise ValueError(f'{option}: expected "package.module:name", got {text[:60]!r}')


def unexplained(entry: Entry) -> str:  # noqa: ARG001  # every explanation is asked alike
    """No reason."""
    return ""


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a strategy would do now.

    `note` says why nothing, or what holds it back, in plain words. `why` gives the reason for a live result that
    it would not touch, as of the view it was made from. `problem` is something that the user has to mend, to be
    shown once: a function of theirs that failed.
    """

    edits: tuple[Edit, ...] = ()
    note: str = ""
    why: Callable[[Entry], str] = unexplained
    problem: str = ""


class Strategy(Protocol):
    """A strategy's module. Where `FUNCTIONS` names options that hold a "package.module:name", `propose` takes the
    functions that they name as keyword arguments of the same names; an option left empty gives none."""

    Options: type

    def propose(self, view: View, options: Any, **functions: Callable[..., Any]) -> Proposal:
        """The edits that the strategy wants now."""
        ...


@dataclass(frozen=True, slots=True)
class Chosen:
    """A strategy by its name, with its module, options and the functions that its options name.

    `foreign`: it runs code of the user's, which may raise FunctionFailed and nothing else.
    """

    name: str
    strategy: Strategy
    options: Any
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    foreign: bool = False

    @property
    def context_edit(self) -> Mapping[str, Json] | None:
        """The edit that requests ask the endpoint for; None for a strategy that makes its own."""
        made = getattr(self.strategy, "context_edit", None)
        return made(self.options) if made else None

    def propose(self, view: View) -> Proposal:
        """The edits that the strategy wants now; none where it failed, which the proposal says."""
        try:
            return self.strategy.propose(view, self.options, **self.functions)
        except FunctionFailed as failed:
            return Proposal((), failed.message, problem=failed.message)


def propose_all(view: View, chosen: Sequence[Chosen]) -> list[tuple[str, Proposal]]:
    """Each strategy's proposal, in order, as (name, proposal)."""
    proposals: list[tuple[str, Proposal]] = []
    for one in chosen:
        proposal = one.propose(view)
        proposals.append((one.name, proposal))
        view = view.after(proposal.edits)
    return proposals


def too_few(freed: int, minimum: int) -> str:
    """The note of a proposal that frees less than its minimum; both in raw tokens."""
    return f"only {min(0.99, freed / max(1, minimum)):.0%} of prune_minimum ({minimum:,} tokens) could go"


def always_kept(protect: int) -> str:
    """The note where there is nothing older than the protected tokens."""
    return f"the newest {budget(protect)} of tool output is always kept"
