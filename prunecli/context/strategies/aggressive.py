"""aggressive (OpenClaw): clear every old result, whatever the ratios say.

Source: PRUNING.md section 4; options as of adaptive, of which only keep_last_assistants, hard_clear.placeholder
and tools matter.
"""

from prunecli.context.strategies.adaptive import Eligible, cutoff, reason
from prunecli.context.strategies.adaptive import Options as Options
from prunecli.context.strategy import Proposal
from prunecli.context.view import View


def propose(view: View, options: Options) -> Proposal:
    """Clears of every eligible result."""
    index = view.follow(("adaptive", options), lambda: Eligible(options))
    stop = cutoff(index, view, options)
    note = f"results before the last {options.keep_last_assistants} answers are cleared"
    return Proposal(tuple(index.clears(view, stop)), note, reason(index, stop, options))
