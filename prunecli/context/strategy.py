"""What a strategy is, and running a list of them: each sees the proposals of those before it as applied.

A strategy is a module with a frozen dataclass `Options` and a function `propose(view, options) -> Proposal`.
Law: after its own edits were applied it proposes nothing (idempotence, property-tested for each).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from prunecli.context.view import View
from prunecli.model.edits import Edit


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a strategy would do now. `note` says why nothing, or what holds it back, in plain words; `spared`
    names reasons for results it would not touch, by seq, as far as it is cheap to say."""

    edits: tuple[Edit, ...] = ()
    note: str = ""
    spared: Mapping[int, str] = field(default_factory=dict)


class Strategy(Protocol):
    """A strategy's module."""

    Options: type

    def propose(self, view: View, options: Any) -> Proposal:
        """The edits that the strategy wants now."""
        ...


@dataclass(frozen=True, slots=True)
class Chosen:
    """A strategy by its name, with its module and options."""

    name: str
    strategy: Strategy
    options: Any


def propose_all(view: View, chosen: Sequence[Chosen]) -> list[tuple[str, Proposal]]:
    """Each strategy's proposal, in order, as (name, proposal)."""
    proposals: list[tuple[str, Proposal]] = []
    for one in chosen:
        proposal = one.strategy.propose(view, one.options)
        proposals.append((one.name, proposal))
        view = view.after(proposal.edits)
    return proposals
