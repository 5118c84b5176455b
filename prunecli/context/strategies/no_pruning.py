"""no_pruning (tinyAgent): proposes nothing.

Source: PRUNING.md section 4.
"""

from dataclasses import dataclass

from prunecli.context.strategy import Proposal
from prunecli.context.view import View


@dataclass(frozen=True, slots=True)
class Options:
    """No options."""


def propose(view: View, options: Options) -> Proposal:
    """Nothing, ever."""
    return Proposal((), "no_pruning prunes nothing")
