"""pi (pi-context-pruning 1.1): keep the newest results within a budget, prune the rest.

Clears only once it is worth it. The walk goes from the newest result to the oldest.
"""

from typing import Annotated

from prunecli.context.exchange import Entry
from prunecli.context.strategy import Proposal, Size, always_kept, older_than, too_few
from prunecli.context.view import View
from prunecli.model.edits import Edit
from prunecli.util.by_project import ALLOWED
from prunecli.util.frozen import frozen

_IMAGE_CHARS = 4_800


@frozen
class Options:
    """The options of `[pruning.pi]`."""

    prune_minimum: Annotated[Size, "Prune only if at least this many tokens would be freed.", ALLOWED] = (
        20_000
    )
    prune_protect: Annotated[Size, "Tokens of the newest tool results to keep.", ALLOWED] = 40_000
    protected_turns: Annotated[
        Size, "Newest user turns whose results are kept, outside the budget.", ALLOWED
    ] = 2
    protected_tools: Annotated[tuple[str, ...], "Results of these tools are never pruned.", ALLOWED] = ()
    prunable_tools: Annotated[
        tuple[str, ...], "Prune only results of these tools; empty: all tools.", ALLOWED
    ] = (
        "read",
        "bash",
        "grep",
        "find",
        "ls",
        "edit",
        "write",
    )


def propose(view: View, options: Options) -> Proposal:
    """Clear all results beyond the protected budget, if that frees the minimum."""
    sizes = view.measured(("pi", options), lambda entry: _size(view, entry, options))
    clears = view.measured("pi: clears", lambda entry: _cleared(view, entry))
    recent = kept_from = view.turn_start(options.protected_turns)
    protect = options.prune_protect
    used = freed = 0
    edits: list[Edit] = []
    for entry in reversed(view.results_before(recent)):
        tokens, may_go = sizes[entry]
        if tokens is None:
            continue
        if used < protect:
            used += tokens
            kept_from = entry.seq
        elif may_go:
            freed += tokens
            if edit := clears[entry]:
                edits.append(edit)

    def why(entry: Entry) -> str:
        if entry.seq >= recent:
            return f"within the last {options.protected_turns} user turns"
        if kept := _kept_tool(entry.tool_name, options):
            return kept
        if entry.seq >= kept_from:
            return f"within prune_protect ({protect:,} tokens)"
        return "an error" if entry.is_error else "its placeholder would not be shorter"

    if not edits:
        return Proposal((), always_kept(protect), why)
    if freed < options.prune_minimum and not view.forced:
        return Proposal((), too_few(freed, options.prune_minimum), why)
    return Proposal(tuple(reversed(edits)), older_than(protect), why)


def _size(view: View, entry: Entry, options: Options) -> tuple[int | None, bool]:
    """Return the tokens (None for a tool whose results are always kept), and whether the result may be cleared."""
    if _kept_tool(entry.tool_name, options):
        return None, False
    return _tokens(view, entry), not (entry.is_error or view.locked(entry))


def _cleared(view: View, entry: Entry) -> Edit | None:
    what = f"output pruned — ~{view.about(_tokens(view, entry), entry):,} tokens"
    return view.replaced("clear", entry, view.placeholder(entry, what))


def _kept_tool(name: str, options: Options) -> str:
    if name in options.protected_tools:
        return f"{name} is a protected tool"
    if options.prunable_tools and name not in options.prunable_tools:
        return f"{name} is not among the prunable tools"
    return ""


def _tokens(view: View, entry: Entry) -> int:
    if view.estimator == "chars4":
        return -(-(entry.chars + _IMAGE_CHARS * entry.images) // 4)
    return view.tokens(entry)
