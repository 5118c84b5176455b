"""opencode (OpenCode's compaction.prune): keep the newest results up to a budget, clear the older ones.

Source: PRUNING.md section 4. Unlike pi, the result that crosses the line is cleared, and the walk stops at the
first result that this strategy cleared before.
"""

from dataclasses import dataclass
from typing import Annotated

from prunecli.context.exchange import Entry
from prunecli.context.strategy import Proposal
from prunecli.context.view import View
from prunecli.model.edits import Edit

PLACEHOLDER = "[Old tool result content cleared]"


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `[pruning.opencode]`."""

    prune_minimum: Annotated[int, "Prune only when more than this many tokens would be freed."] = 20_000
    prune_protect: Annotated[int, "Tokens of the newest tool results that are always kept."] = 40_000
    protected_turns: Annotated[
        int, "Results of the last so many user turns are kept, outside of the budget."
    ] = 2
    protected_tools: Annotated[tuple[str, ...], "Results of these tools are never pruned."] = ("skill",)


def propose(view: View, options: Options) -> Proposal:
    """Clears of all completed results beyond the protected budget, if they free more than the minimum."""
    recent = view.turn_start(options.protected_turns)
    stop = view.last_cleared_by("opencode")
    total = freed = 0
    edits: list[Edit] = []
    spared: dict[int, str] = {}
    for entry in reversed(view.results):
        if entry.seq < stop:
            break
        if entry.seq >= recent:
            spared[entry.seq] = f"within the last {options.protected_turns} user turns"
        elif entry.is_error:
            spared[entry.seq] = "an error"
        elif entry.tool_name in options.protected_tools:
            spared[entry.seq] = f"{entry.tool_name} is a protected tool"
        else:
            tokens = _tokens(view, entry)
            total += tokens
            if total <= options.prune_protect:
                spared[entry.seq] = f"within the newest {options.prune_protect:,} tokens"
            elif why := view.locked(entry):
                spared[entry.seq] = why
            else:
                freed += tokens
                if edit := view.replaced("clear", entry, view.with_handle(entry, PLACEHOLDER)):
                    edits.append(edit)
    if not edits:
        return Proposal(
            (), f"{min(total, options.prune_protect):,} of {options.prune_protect:,} tokens protected", spared
        )
    if freed <= options.prune_minimum and not view.forced:
        return Proposal((), f"{freed:,} tokens prunable, more than {options.prune_minimum:,} needed", spared)
    return Proposal(
        tuple(reversed(edits)), f"{freed:,} tokens beyond the newest {options.prune_protect:,}", spared
    )


def _tokens(view: View, entry: Entry) -> int:
    if view.estimator == "chars4":
        return (entry.chars + 2) // 4
    return view.tokens(entry) - entry.image_tokens
