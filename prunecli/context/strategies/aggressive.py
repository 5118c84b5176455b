"""aggressive (OpenClaw): clear every old result, whatever the ratios say.

Source: PRUNING.md section 4; options as of adaptive, of which only keep_last_assistants, hard_clear.placeholder
and tools matter.
"""

from prunecli.context.strategies.adaptive import Options as Options
from prunecli.context.strategies.adaptive import eligible
from prunecli.context.strategy import Proposal
from prunecli.context.view import View


def propose(view: View, options: Options) -> Proposal:
    """Clears of every eligible result."""
    candidates = eligible(view, options)
    placeholder = options.hard_clear.placeholder
    edits = [view.replaced("clear", entry, view.with_handle(entry, placeholder)) for entry in candidates]
    kept = tuple(edit for edit in edits if edit)
    return Proposal(kept, f"results before the last {options.keep_last_assistants} answers are cleared")
