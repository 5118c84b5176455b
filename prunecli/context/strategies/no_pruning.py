"""no_pruning (tinyAgent): prune nothing."""

from prunecli.context.strategy import Proposal
from prunecli.context.view import View
from prunecli.util.frozen import frozen


@frozen
class Options:
    """No options."""


def propose(view: View, options: Options) -> Proposal:
    return Proposal((), "no_pruning prunes nothing")
