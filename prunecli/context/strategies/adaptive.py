"""adaptive (OpenClaw): trim long old results when the context fills, clear the oldest when it fills more.

Source: PRUNING.md section 4. It always counts characters, whatever the estimator; the window is four for each
token. `eligible` and the options are shared with aggressive.
"""

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Annotated

from prunecli.context.cut import head, tail
from prunecli.context.exchange import Entry
from prunecli.context.strategy import Proposal
from prunecli.context.view import NEVER, View
from prunecli.model.edits import Edit

IMAGE_CHARS = 8_000


@dataclass(frozen=True, slots=True)
class SoftTrim:
    """How a long result is trimmed. Lengths in characters."""

    max_chars: Annotated[int, "Results up to this length are not trimmed."] = 4_000
    head_chars: Annotated[int, "Characters kept of the beginning."] = 1_500
    tail_chars: Annotated[int, "Characters kept of the end."] = 1_500


@dataclass(frozen=True, slots=True)
class HardClear:
    """How results are cleared."""

    enabled: Annotated[bool, "Whether adaptive clears at all; aggressive always does."] = True
    placeholder: Annotated[str, "What stands for a cleared result."] = "[Old tool result content cleared]"


@dataclass(frozen=True, slots=True)
class Tools:
    """Which tools' results may be pruned; `*` is a wildcard, deny wins, an empty allow means all."""

    allow: Annotated[tuple[str, ...], "Names or patterns."] = ()
    deny: Annotated[tuple[str, ...], "Names or patterns."] = ()

    def may(self, name: str) -> bool:
        """Whether results of this tool may be pruned, case aside."""
        if any(_matches(name, pattern) for pattern in self.deny):
            return False
        return not self.allow or any(_matches(name, pattern) for pattern in self.allow)


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `[pruning.adaptive]` and `[pruning.aggressive]`."""

    keep_last_assistants: Annotated[
        int, "Results after the n-th assistant message from the end are kept."
    ] = 3
    soft_trim_ratio: Annotated[float, "Share of the window from which long results are trimmed."] = 0.3
    hard_clear_ratio: Annotated[float, "Share of the window from which results are cleared."] = 0.5
    min_prunable_tool_chars: Annotated[int, "Clear only where at least this much could go."] = 50_000
    soft_trim: SoftTrim = field(default_factory=SoftTrim)
    hard_clear: HardClear = field(default_factory=HardClear)
    tools: Tools = field(default_factory=Tools)


def propose(view: View, options: Options) -> Proposal:
    """Trims, then clears from the oldest on until the ratio is below `hard_clear_ratio`."""
    window = 4 * view.window
    total = view.total_chars(IMAGE_CHARS)
    if total < options.soft_trim_ratio * window and not view.forced:
        return Proposal((), f"{total:,} of {window:,} characters: below soft_trim_ratio")
    candidates = eligible(view, options)
    edits: dict[int, Edit] = {}
    shown: dict[int, int] = {}
    for entry in candidates:
        shown[entry.seq] = view.shown_chars(entry)
        if (text := trimmed(entry, options.soft_trim)) is not None and view.text_edit(entry) is None:
            if edit := view.replaced("trim", entry, view.with_handle(entry, text)):
                edits[entry.seq] = edit
            total += len(text) - shown[entry.seq]
            shown[entry.seq] = len(text)
    note = f"{total:,} of {window:,} characters"
    below = total < options.hard_clear_ratio * window
    if below or not options.hard_clear.enabled or sum(shown.values()) < options.min_prunable_tool_chars:
        return Proposal(tuple(edits.values()), note)
    placeholder = options.hard_clear.placeholder
    for entry in candidates:
        if total < options.hard_clear_ratio * window:
            break
        if edit := view.replaced("clear", entry, view.with_handle(entry, placeholder)):
            edits[entry.seq] = edit
        total += len(placeholder) - shown[entry.seq]
    return Proposal(tuple(edits[seq] for seq in sorted(edits)), note)


def eligible(view: View, options: Options) -> list[Entry]:
    """Results that are not cleared, before the n-th assistant message from the end, of allowed tools, without
    images."""
    keep = options.keep_last_assistants
    exchanges = view.exchanges
    if keep > len(exchanges):
        return []
    cutoff = exchanges[-keep].seq if keep > 0 else NEVER
    return [
        entry
        for entry in view.uncleared(cutoff)
        if options.tools.may(entry.tool_name) and not entry.images and not view.locked(entry)
    ]


def trimmed(entry: Entry, options: SoftTrim) -> str | None:
    """The trimmed text, or None for a result that is short enough."""
    text = entry.text
    kept = options.head_chars + options.tail_chars
    if len(text) <= options.max_chars or kept >= len(text):
        return None
    note = (
        f"[Tool result trimmed: kept first {options.head_chars} chars and last {options.tail_chars} chars "
        f"of {len(text)} chars.]"
    )
    return f"{head(text, options.head_chars)}\n...\n{tail(text, options.tail_chars)}\n\n{note}"


def _matches(name: str, pattern: str) -> bool:
    return fnmatchcase(name.lower(), pattern.strip().lower().replace("[", "[[]").replace("?", "[?]"))
