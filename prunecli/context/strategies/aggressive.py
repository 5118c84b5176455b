"""aggressive (OpenClaw): prune every old result, however full the context is.

Options as in adaptive; only keep_last_assistants, hard_clear.placeholder and tools have an effect.
"""

from prunecli.context.exchange import Entry
from prunecli.context.strategies.adaptive import Options as Options
from prunecli.context.strategies.adaptive import cleared, prunable, reason
from prunecli.context.strategy import Proposal
from prunecli.context.view import View
from prunecli.model.edits import Edit


def propose(view: View, options: Options) -> Proposal:
    """Clear every eligible result."""

    def clear(entry: Entry) -> Edit | None:
        return cleared(view, entry, options) if prunable(view, entry, options) else None

    clears = view.measured(("aggressive", options), clear)
    start = view.exchange_start(options.keep_last_assistants)
    edits = [edit for entry in view.uncleared if entry.seq < start and (edit := clears[entry])]
    note = f"results before the last {options.keep_last_assistants} answers are cleared"
    return Proposal(tuple(edits), note, reason(view, options))
