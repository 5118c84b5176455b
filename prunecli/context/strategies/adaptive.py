"""adaptive (OpenClaw): trim long old results when the context fills, clear the oldest when it fills more.

Source: PRUNING.md section 4. It always counts characters, whatever the estimator; the window is four for each
token. `Eligible` and the options are shared with aggressive.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Annotated

from prunecli.context.cut import head, tail
from prunecli.context.exchange import Entry
from prunecli.context.index import ResultIndex
from prunecli.context.strategy import Proposal, Size
from prunecli.context.sums import Dips
from prunecli.context.view import NEVER, View
from prunecli.model.edits import Edit

IMAGE_CHARS = 8_000


@dataclass(frozen=True, slots=True)
class SoftTrim:
    """How a long result is trimmed. Lengths in characters."""

    max_chars: Annotated[Size, "Results up to this length are not trimmed."] = 4_000
    head_chars: Annotated[Size, "Characters kept of the beginning."] = 1_500
    tail_chars: Annotated[Size, "Characters kept of the end."] = 1_500


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
    min_prunable_tool_chars: Annotated[Size, "Clear only where at least this much could go."] = 50_000
    soft_trim: SoftTrim = field(default_factory=SoftTrim)
    hard_clear: HardClear = field(default_factory=HardClear)
    tools: Tools = field(default_factory=Tools)


_TRIMMABLE, _TRIMMING, _CLEARABLE, _CHARS = range(4)


class Eligible(ResultIndex):
    """Results that may be pruned, with what trimming and clearing them would change.

    Columns: whether it would be trimmed, by how many characters that changes it, whether it may be cleared, its
    characters after trimming.
    """

    def __init__(self, options: Options) -> None:
        super().__init__(4, self._measured)
        self._options = options
        self._clearing = Dips()

    def update(self, view: View, touched: Sequence[Entry]) -> None:
        """Follows the fold."""
        placeholder = len(self._options.hard_clear.placeholder)
        for entry in touched:
            if entry.prunable:
                slot = self._set(view, entry)
                eligible = self.sum(_CLEARABLE, slot, slot + 1)
                change = placeholder - self.sum(_CHARS, slot, slot + 1) if eligible else 0
                if slot == len(self._clearing):
                    self._clearing.append(change)
                else:
                    self._clearing[slot] = change

    def clears(self, view: View, stop: int) -> list[Edit]:
        """The edits that clear the slots before `stop`."""
        text = self._options.hard_clear.placeholder
        return self.edits(
            _CLEARABLE, 0, stop, lambda entry: view.replaced("clear", entry, view.with_handle(entry, text))
        )

    def last_clear(self, stop: int, limit: int) -> int:
        """How many leading slots to clear until that has changed the total to below `limit`; at most `stop`."""
        slot = self._clearing.first_below(limit)
        return stop if slot < 0 else min(stop, slot + 1)

    def _measured(self, view: View, entry: Entry) -> tuple[int, int, int, int]:
        if not is_eligible(view, entry, self._options.tools):
            return 0, 0, 0, 0
        chars = view.shown_chars(entry)
        text = trimmed(entry, self._options.soft_trim) if view.text_edit(entry) is None else None
        if text is None:
            return 0, 0, 1, chars
        return 1, len(text) - chars, 1, len(text)


def propose(view: View, options: Options) -> Proposal:
    """Trims, then clears from the oldest on until the ratio is below `hard_clear_ratio`."""
    window = 4 * view.window
    total = view.total_chars(IMAGE_CHARS)
    if total < _reached(options.soft_trim_ratio, window) and not view.forced:
        return Proposal((), f"{total:,} of {window:,} characters: below soft_trim_ratio")
    index = view.follow(("adaptive", options), lambda: Eligible(options))
    stop = cutoff(index, view, options)
    trims = index.edits(_TRIMMABLE, 0, stop, lambda entry: _trim(view, entry, options))
    total += index.sum(_TRIMMING, 0, stop)
    note = f"{total:,} of {window:,} characters"
    why = reason(index, stop, options)
    hard = _reached(options.hard_clear_ratio, window)
    least = 0 if view.forced else options.min_prunable_tool_chars
    if total < hard or not options.hard_clear.enabled or index.sum(_CHARS, 0, stop) < least:
        return Proposal(tuple(trims), note, why)
    last = index.last_clear(stop, hard - total)
    clears = index.clears(view, last)
    edits = {edit.seq: edit for edit in (*trims, *clears)}
    return Proposal(tuple(edits[seq] for seq in sorted(edits)), note, why)


def is_eligible(view: View, entry: Entry, tools: Tools) -> bool:
    """Whether it is not cleared nor locked, of an allowed tool, without images, and after the first user message
    and the compaction boundary."""
    edit = view.text_edit(entry)
    if not view.shows(entry) or (edit is not None and edit.kind != "trim"):
        return False
    allowed = tools.may(entry.tool_name) and not entry.images
    return allowed and not view.locked(entry) and view.first_user <= entry.seq


def cutoff(index: ResultIndex, view: View, options: Options) -> int:
    """The slot of the n-th assistant message from the end: what may be pruned stands before it."""
    keep = options.keep_last_assistants
    return 0 if (start := view.exchange_start(keep)) < 0 else index.before(start)


def _trim(view: View, entry: Entry, options: Options) -> Edit | None:
    text = trimmed(entry, options.soft_trim)
    return None if text is None else view.replaced("trim", entry, view.with_handle(entry, text))


def reason(index: ResultIndex, stop: int, options: Options) -> Callable[[Entry], str]:
    """Why a live result would not be touched."""
    kept_from = index.seq(stop) if stop < len(index) else NEVER

    def why(entry: Entry) -> str:
        if entry.seq >= kept_from:
            return f"after the last but {options.keep_last_assistants} answers"
        if not options.tools.may(entry.tool_name):
            return f"{entry.tool_name} is not an allowed tool"
        return "holds an image" if entry.images else "short enough so far"

    return why


def _reached(ratio: float, window: int) -> int:
    """The least number of characters whose share of the window is not below the ratio."""
    chars = max(0, int(ratio * window) - 1)
    while chars / window < ratio:
        chars += 1
    return chars


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
