"""opencode (OpenCode's compaction.prune): keep the newest results up to a budget, clear the older ones.

Source: PRUNING.md section 4. Unlike pi, the result that crosses the line is cleared, and the walk stops at the
first result that this strategy cleared before.
"""

from dataclasses import dataclass
from typing import Annotated

from prunecli.context.exchange import Entry
from prunecli.context.index import ResultIndex
from prunecli.context.strategy import Proposal, Size, always_kept, too_few
from prunecli.context.view import View
from prunecli.model.edits import Edit
from prunecli.model.events import PrunApplied

PLACEHOLDER = "[Old tool result content cleared]"


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `[pruning.opencode]`."""

    prune_minimum: Annotated[Size, "Prune only when more than this many tokens would be freed."] = 20_000
    prune_protect: Annotated[Size, "Tokens of the newest tool results that are always kept."] = 40_000
    protected_turns: Annotated[
        Size, "Results of the last so many user turns are kept, outside of the budget."
    ] = 2
    protected_tools: Annotated[tuple[str, ...], "Results of these tools are never pruned."] = ("skill",)


_TOTAL, _CANDIDATE, _CLEARABLE, _OURS = range(4)


def propose(view: View, options: Options) -> Proposal:
    """Clears of all completed results beyond the protected budget, if they free more than the minimum."""
    index = view.follow(
        ("opencode", options), lambda: ResultIndex(4, lambda at, entry: _measure(at, entry, options))
    )
    recent = view.turn_start(options.protected_turns)
    end, first = index.before(recent), index.reaching(_OURS, len(index), 1) + 1
    protect = options.prune_protect
    stop = index.reaching(_TOTAL, end, protect + 1) + 1 if protect >= 0 else end
    freed = index.sum(_CANDIDATE, first, stop)
    edits = index.edits(_CLEARABLE, first, max(first, stop), lambda entry: _cleared(view, entry))

    def why(entry: Entry) -> str:
        if entry.seq >= recent:
            return f"within the last {options.protected_turns} user turns"
        if index.before(entry.seq) < first:
            return "older than what was cleared before"
        if entry.is_error:
            return "an error"
        if entry.tool_name in options.protected_tools:
            return f"{entry.tool_name} is a protected tool"
        if index.before(entry.seq) >= stop:
            return f"within prune_protect ({protect:,} tokens)"
        return "its placeholder would be no shorter"

    if not edits:
        return Proposal((), always_kept(protect), why)
    if freed <= options.prune_minimum and not view.forced:
        return Proposal((), too_few(freed, options.prune_minimum), why)
    return Proposal(tuple(edits), f"{view.told(freed):,} tokens older than prune_protect ({protect:,})", why)


def _measure(view: View, entry: Entry, options: Options) -> tuple[int, int, int, int]:
    """Tokens in the running total, tokens that would be freed, whether it may be cleared, whether we cleared it."""
    if not view.live(entry):
        return 0, 0, 0, _ours(view, entry)
    if entry.is_error or entry.tool_name in options.protected_tools:
        return 0, 0, 0, 0
    tokens = _tokens(view, entry)
    return (tokens, 0, 0, 0) if view.locked(entry) else (tokens, tokens, 1, 0)


def _ours(view: View, entry: Entry) -> int:
    """1 where a clear of this strategy stands on the result."""
    context = view.context
    pruns = (context.pruns[prun].event for prun, edit in context.edits_of(entry.seq) if edit.kind == "clear")
    return int(any(isinstance(prun, PrunApplied) and prun.strategy == "opencode" for prun in pruns))


def _cleared(view: View, entry: Entry) -> Edit | None:
    return view.replaced("clear", entry, view.with_handle(entry, PLACEHOLDER))


def _tokens(view: View, entry: Entry) -> int:
    if view.estimator == "chars4":
        return (entry.chars + 2) // 4
    return view.tokens(entry) - entry.image_tokens
