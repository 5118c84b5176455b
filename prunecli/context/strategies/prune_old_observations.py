"""prune_old_observations (tinyAgent): in older exchanges, long tool results become their beginning.

Source: PRUNING.md section 4. A text longer than max_length becomes its first max_length characters and "...".
"""

from dataclasses import dataclass
from typing import Annotated

from prunecli.context.cut import head
from prunecli.context.exchange import Entry
from prunecli.context.index import ResultIndex
from prunecli.context.strategy import Proposal, Size
from prunecli.context.view import View
from prunecli.model.edits import Edit


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `[pruning.prune_old_observations]`."""

    keep_last_n: Annotated[int, "Exchanges whose results stay whole, counted from the end."] = 3
    max_length: Annotated[Size, "Characters that are kept of an older result."] = 100


def propose(view: View, options: Options) -> Proposal:
    """Trims of every long result before the kept exchanges."""
    index = view.follow(
        ("prune_old_observations", options),
        lambda: ResultIndex(1, lambda at, entry: (int(_is_long(at, entry, options)),)),
    )
    keep = max(0, options.keep_last_n)
    stop = index.before(view.exchange_start(keep))
    edits = index.edits(0, 0, stop, lambda entry: _trimmed(view, entry, options))

    def why(entry: Entry) -> str:
        return f"in the last {keep} exchanges" if index.before(entry.seq) >= stop else "short, or an image"

    return Proposal(tuple(edits), f"results of the last {keep} exchanges stay whole", why)


def _is_long(view: View, entry: Entry, options: Options) -> bool:
    if not view.live(entry) or entry.images or view.locked(entry):
        return False
    return len(entry.text) > options.max_length


def _trimmed(view: View, entry: Entry, options: Options) -> Edit | None:
    text = head(entry.text, options.max_length) + "..."
    return view.replaced("trim", entry, view.with_handle(entry, text))
