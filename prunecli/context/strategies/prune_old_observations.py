"""prune_old_observations (tinyAgent): in older exchanges, trim long tool results to their start.

A text longer than max_length becomes its first max_length characters and "...".
"""

from typing import Annotated

from prunecli.context.cut import head
from prunecli.context.exchange import Entry
from prunecli.context.strategy import Proposal, Size
from prunecli.context.view import View
from prunecli.model.edits import Edit
from prunecli.util.by_project import ALLOWED
from prunecli.util.frozen import frozen


@frozen
class Options:
    """The options of `[pruning.prune_old_observations]`."""

    keep_last_n: Annotated[int, "Newest exchanges whose results stay whole.", ALLOWED] = 3
    max_length: Annotated[Size, "Characters to keep of an older result.", ALLOWED] = 100


def propose(view: View, options: Options) -> Proposal:
    """Trim every long result before the kept exchanges."""
    trims = view.measured(("prune_old_observations", options), lambda entry: _trimmed(view, entry, options))
    keep = max(0, options.keep_last_n)
    start = view.exchange_start(keep)
    edits = [edit for entry in view.results if entry.seq < start and (edit := trims[entry])]

    def why(entry: Entry) -> str:
        return f"in the last {keep} exchanges" if entry.seq >= start else "short, or an image"

    return Proposal(tuple(edits), f"results of the last {keep} exchanges are kept whole", why)


def _trimmed(view: View, entry: Entry, options: Options) -> Edit | None:
    if entry.images or len(entry.text) <= options.max_length or view.locked(entry):
        return None
    text = head(entry.text, options.max_length) + "..."
    return view.replaced("trim", entry, view.with_handle(entry, text))
