"""aggressive (OpenClaw): clear every old result, whatever the ratios say.

Options as in adaptive; only keep_last_assistants, hard_clear.placeholder and tools have an effect.
"""

from prunecli.context.strategies.adaptive import Options as Options
from prunecli.context.strategies.adaptive import candidates, clears_of, reason
from prunecli.context.strategy import Proposal
from prunecli.context.view import View


def propose(view: View, options: Options) -> Proposal:
    """Clear every eligible result."""
    clears = clears_of(view, options)
    edits = [edit for entry, *_ in candidates(view, options) if (edit := clears[entry])]
    note = f"results before the last {options.keep_last_assistants} answers are cleared"
    return Proposal(tuple(edits), note, reason(view, options))
