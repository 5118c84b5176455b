"""pi (pi-context-pruning 1.1): keep the newest results up to a budget, clear the rest once it is worth it.

Source: PRUNING.md section 4, `pi`. The walk goes from the newest result to the oldest.
"""

from dataclasses import dataclass
from typing import Annotated

from prunecli.context.exchange import Entry
from prunecli.context.index import ResultIndex
from prunecli.context.strategy import Proposal, Size, always_kept, too_few
from prunecli.context.view import View
from prunecli.model.edits import Edit

_IMAGE_CHARS = 4_800


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `[pruning.pi]`."""

    prune_minimum: Annotated[Size, "Prune only when at least this many tokens would be freed."] = 20_000
    prune_protect: Annotated[Size, "Tokens of the newest tool results that are always kept."] = 40_000
    protected_turns: Annotated[
        Size, "Results of the last so many user turns are kept, outside of the budget."
    ] = 2
    protected_tools: Annotated[tuple[str, ...], "Results of these tools are never pruned."] = ()
    prunable_tools: Annotated[
        tuple[str, ...], "Only results of these tools are pruned; empty means of all."
    ] = (
        "read",
        "bash",
        "grep",
        "find",
        "ls",
        "edit",
        "write",
    )


_BUDGET, _CANDIDATE, _CLEARABLE = range(3)


def propose(view: View, options: Options) -> Proposal:
    """Clears of all results beyond the protected budget, if they free the minimum."""
    index = view.follow(
        ("pi", options), lambda: ResultIndex(3, lambda at, entry: _measure(at, entry, options))
    )
    recent = view.turn_start(options.protected_turns)
    end = index.before(recent)
    protect = options.prune_protect
    start = max(0, index.reaching(_BUDGET, end, protect)) if protect > 0 else end
    used, freed = index.sum(_BUDGET, start, end), index.sum(_CANDIDATE, 0, start)
    edits = index.edits(_CLEARABLE, 0, start, lambda entry: _cleared(view, entry))

    def why(entry: Entry) -> str:
        if entry.seq >= recent:
            return f"within the last {options.protected_turns} user turns"
        if kept := _kept_tool(entry.tool_name, options):
            return kept
        if index.before(entry.seq) >= start:
            return f"within prune_protect ({protect:,} tokens)"
        return "an error" if entry.is_error else "its placeholder would be no shorter"

    if not edits:
        return Proposal((), always_kept(protect), why)
    if freed < options.prune_minimum and not view.forced:
        return Proposal((), too_few(freed, options.prune_minimum), why)
    return Proposal(
        tuple(edits), f"{view.told(freed):,} tokens older than the newest {view.told(used):,}", why
    )


def _measure(view: View, entry: Entry, options: Options) -> tuple[int, int, int]:
    """Tokens that use up the budget, tokens that count towards the minimum, and whether it may be cleared."""
    if not view.live(entry) or _kept_tool(entry.tool_name, options):
        return 0, 0, 0
    tokens = _tokens(view, entry)
    return (tokens, 0, 0) if entry.is_error or view.locked(entry) else (tokens, tokens, 1)


def _cleared(view: View, entry: Entry) -> Edit | None:
    what = f"output pruned — ~{view.about(_tokens(view, entry)):,} tokens"
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
