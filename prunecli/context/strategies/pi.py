"""pi (pi-context-pruning 1.1): keep the newest results up to a budget, clear the rest once it is worth it.

Source: PRUNING.md section 4, `pi`. The walk goes from the newest result to the oldest.
"""

from dataclasses import dataclass
from typing import Annotated

from prunecli.context.exchange import Entry
from prunecli.context.strategy import Proposal
from prunecli.context.view import View
from prunecli.model.edits import Edit

_IMAGE_CHARS = 4_800


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `[pruning.pi]`."""

    prune_minimum: Annotated[int, "Prune only when at least this many tokens would be freed."] = 20_000
    prune_protect: Annotated[int, "Tokens of the newest tool results that are always kept."] = 40_000
    protected_turns: Annotated[
        int, "Results of the last so many user turns are kept, outside of the budget."
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


def propose(view: View, options: Options) -> Proposal:
    """Clears of all results beyond the protected budget, if they free the minimum."""
    recent = view.turn_start(options.protected_turns)
    used = freed = 0
    edits: list[Edit] = []
    spared: dict[int, str] = {}
    for entry in reversed(view.results):
        if entry.seq >= recent:
            spared[entry.seq] = f"within the last {options.protected_turns} user turns"
        elif why := _kept_tool(entry.tool_name, options):
            spared[entry.seq] = why
        elif used < options.prune_protect:
            used += _tokens(view, entry)
            spared[entry.seq] = f"within the newest {options.prune_protect:,} tokens"
        elif entry.is_error:
            spared[entry.seq] = "an error"
        elif why := view.locked(entry):
            spared[entry.seq] = why
        else:
            tokens = _tokens(view, entry)
            freed += tokens
            what = f"output pruned — ~{tokens:,} tokens"
            if edit := view.replaced("clear", entry, view.placeholder(entry, what)):
                edits.append(edit)
            else:
                spared[entry.seq] = "its placeholder would be no shorter"
    if not edits:
        return Proposal((), f"{used:,} of {options.prune_protect:,} tokens protected", spared)
    if freed < options.prune_minimum and not view.forced:
        return Proposal((), f"{freed:,} tokens prunable, {options.prune_minimum:,} needed", spared)
    return Proposal(tuple(reversed(edits)), f"{freed:,} tokens beyond the newest {used:,}", spared)


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
