"""prune_old_observations (tinyAgent): in older exchanges, long tool results become their beginning.

Source: PRUNING.md section 4. A text longer than max_length becomes its first max_length characters and "...".
"""

from dataclasses import dataclass
from typing import Annotated

from prunecli.context.cut import head
from prunecli.context.exchange import Entry
from prunecli.context.strategy import Proposal
from prunecli.context.view import NEVER, View
from prunecli.model.edits import Edit


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `[pruning.prune_old_observations]`."""

    keep_last_n: Annotated[int, "Exchanges whose results stay whole, counted from the end."] = 3
    max_length: Annotated[int, "Characters that are kept of an older result."] = 100


def propose(view: View, options: Options) -> Proposal:
    """Trims of every long result before the kept exchanges."""
    exchanges = view.exchanges
    keep = max(0, options.keep_last_n)
    kept_from = exchanges[-keep].seq if 0 < keep <= len(exchanges) else -1 if keep else NEVER
    results = view.results[: view.since(kept_from)]
    edits = [edit for entry in results if (edit := _trimmed(view, entry, options))]
    return Proposal(tuple(edits), f"results of the last {keep} exchanges stay whole")


def _trimmed(view: View, entry: Entry, options: Options) -> Edit | None:
    text = entry.text
    if len(text) <= options.max_length or entry.images or view.locked(entry):
        return None
    return view.replaced("trim", entry, view.with_handle(entry, head(text, options.max_length) + "..."))
