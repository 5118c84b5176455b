"""opencode (OpenCode): keep the newest results within a budget, prune the rest.

Unlike pi, the result that crosses the line is cleared, and the walk stops at the first result that this strategy has
already cleared.
"""

from typing import Annotated

from prunecli.context.exchange import Entry
from prunecli.context.strategy import Proposal, Size, always_kept, older_than, too_few
from prunecli.context.view import View
from prunecli.model.edits import Edit
from prunecli.model.events import PrunApplied
from prunecli.util.by_project import ALLOWED
from prunecli.util.frozen import frozen

PLACEHOLDER = "[Old tool result content cleared]"


@frozen
class Options:
    """The options of `[pruning.opencode]`."""

    prune_minimum: Annotated[Size, "Prune only if more than this many tokens would be freed.", ALLOWED] = (
        20_000
    )
    prune_protect: Annotated[Size, "Tokens of the newest tool results to keep.", ALLOWED] = 40_000
    protected_turns: Annotated[
        Size, "Newest user turns whose results are kept, outside the budget.", ALLOWED
    ] = 2
    protected_tools: Annotated[tuple[str, ...], "Results of these tools are never pruned.", ALLOWED] = (
        "skill",
    )


def propose(view: View, options: Options) -> Proposal:
    """Clear all completed results beyond the protected budget, if that frees more than the minimum."""
    recent, last_cleared = view.turn_start(options.protected_turns), _ours(view)
    edits, freed, kept_from = _older(view, options, last_cleared, recent)
    protect = options.prune_protect

    def why(entry: Entry) -> str:
        if entry.seq >= recent:
            return f"within the last {options.protected_turns} user turns"
        if entry.seq < last_cleared:
            return "older than the results already cleared"
        if kept := _always_kept(entry, options):
            return kept
        if entry.seq >= kept_from:
            return f"within prune_protect ({protect:,} tokens)"
        return "its placeholder would not be shorter"

    if not edits:
        return Proposal((), always_kept(protect), why)
    if freed <= options.prune_minimum and not view.forced:
        return Proposal((), too_few(freed, options.prune_minimum), why)
    return Proposal(tuple(reversed(edits)), older_than(protect), why)


def _older(view: View, options: Options, start: int, end: int) -> tuple[list[Edit], int, int]:
    """Return the clears beyond the protected budget, newest first, their tokens, and the start of the kept part."""
    sizes = view.measured(("opencode", options), lambda entry: _size(view, entry, options))
    clears = view.measured("opencode: clears", lambda entry: _cleared(view, entry))
    edits, total, freed, kept_from = list[Edit](), 0, 0, end
    for entry in reversed(view.results_before(end)):
        if entry.seq < start:
            break
        tokens, may_go = sizes[entry]
        if tokens is None:
            continue
        total += tokens
        if total <= options.prune_protect:
            kept_from = entry.seq
        elif may_go:
            freed += tokens
            if edit := clears[entry]:
                edits.append(edit)
    return edits, freed, kept_from


def _size(view: View, entry: Entry, options: Options) -> tuple[int | None, bool]:
    """Return the tokens for the running total (None if not counted), and whether the result may be cleared."""
    if _always_kept(entry, options):
        return None, False
    return _tokens(view, entry), not view.locked(entry)


def _always_kept(entry: Entry, options: Options) -> str:
    if entry.is_error:
        return "an error"
    return f"{entry.tool_name} is a protected tool" if entry.tool_name in options.protected_tools else ""


def _ours(view: View) -> int:
    """Return the seq of the newest result that this strategy cleared; -1 if there is none."""
    context, newest = view.context, -1
    clears_of = view.kept("opencode: clears of each prune", dict[int, list[Edit]])
    for record in reversed(context.pruns.values()):
        event = record.event
        if not isinstance(event, PrunApplied) or event.strategy != "opencode":
            continue
        if record.seq not in clears_of:
            clears = [edit for edit in event.edits if edit.kind == "clear"]
            clears_of[record.seq] = sorted(clears, key=lambda edit: edit.seq)
        for edit in reversed(clears_of[record.seq]):
            if edit.seq <= newest:
                break
            if context.in_force(record.seq, edit):
                newest = edit.seq
    return newest


def _cleared(view: View, entry: Entry) -> Edit | None:
    return view.replaced("clear", entry, view.with_handle(entry, PLACEHOLDER))


def _tokens(view: View, entry: Entry) -> int:
    if view.estimator == "chars4":
        return (entry.chars + 2) // 4
    return view.tokens(entry) - entry.image_tokens
