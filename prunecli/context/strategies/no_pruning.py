"""no_pruning (tinyAgent): proposes nothing."""

from dataclasses import dataclass

from prunecli.context.strategy import Proposal
from prunecli.context.view import View


@dataclass(frozen=True, slots=True)
class Options:
    """No options."""


def propose(view: View, options: Options) -> Proposal:
    """Propose nothing."""
    return Proposal((), "no_pruning prunes nothing")
