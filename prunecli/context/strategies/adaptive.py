"""adaptive (OpenClaw): trim long old results as the context fills, then prune the oldest.

Always counts characters, regardless of the estimator; the window is four characters per token. aggressive
shares its options and its choice of results.
"""

from collections.abc import Callable
from dataclasses import field
from fnmatch import fnmatchcase
from typing import Annotated

from prunecli.context.cut import head, tail
from prunecli.context.exchange import Entry
from prunecli.context.strategy import Proposal, Ratio, Size
from prunecli.context.view import View
from prunecli.model.edits import Edit
from prunecli.util.by_project import ALLOWED
from prunecli.util.frozen import frozen

IMAGE_CHARS = 8_000


@frozen
class SoftTrim:
    """How a long result is trimmed. Lengths in characters."""

    max_chars: Annotated[Size, "Results up to this length are not trimmed.", ALLOWED] = 4_000
    head_chars: Annotated[Size, "Characters to keep at the start.", ALLOWED] = 1_500
    tail_chars: Annotated[Size, "Characters to keep at the end.", ALLOWED] = 1_500


@frozen
class HardClear:
    """How results are cleared."""

    enabled: Annotated[bool, "Let adaptive clear results; aggressive always does.", ALLOWED] = True
    placeholder: Annotated[str, "Text in place of a cleared result.", ALLOWED] = (
        "[Old tool result content cleared]"
    )


@frozen
class Tools:
    """Tools whose results may be pruned. `*` is a wildcard, `deny` wins, and an empty `allow` means all tools."""

    allow: Annotated[tuple[str, ...], "Tools to prune, as names or patterns; empty: all.", ALLOWED] = ()
    deny: Annotated[tuple[str, ...], "Tools never to prune, as names or patterns.", ALLOWED] = ()

    def may(self, name: str) -> bool:
        """Return whether results of this tool may be pruned, ignoring case."""
        if any(_matches(name, pattern) for pattern in self.deny):
            return False
        return not self.allow or any(_matches(name, pattern) for pattern in self.allow)


@frozen
class Options:
    """The options of `[pruning.adaptive]` and `[pruning.aggressive]`."""

    keep_last_assistants: Annotated[
        Size, "Keep results after the n-th assistant message from the end.", ALLOWED
    ] = 3
    soft_trim_ratio: Annotated[Ratio, "Share of the window from which long results are trimmed.", ALLOWED] = (
        0.3
    )
    hard_clear_ratio: Annotated[Ratio, "Share of the window from which results are cleared.", ALLOWED] = 0.5
    min_prunable_tool_chars: Annotated[
        Size, "Clear only if this many characters could be cleared.", ALLOWED
    ] = 50_000
    soft_trim: SoftTrim = field(default_factory=SoftTrim)
    hard_clear: HardClear = field(default_factory=HardClear)
    tools: Tools = field(default_factory=Tools)


def propose(view: View, options: Options) -> Proposal:
    """Trim, then clear from the oldest on until the ratio is below `hard_clear_ratio`."""
    window = 4 * view.window
    total = view.total_chars(IMAGE_CHARS)
    if total / window < options.soft_trim_ratio and not view.forced:
        return Proposal((), f"{total:,} of {window:,} characters: below soft_trim_ratio")
    trims = view.measured(("adaptive: trims", options), lambda entry: _trim(view, entry, options))
    found = candidates(view, options)
    edits: dict[int, Edit] = {}
    for entry, (chars, left, is_long) in found:
        if is_long:
            total += left - chars
            if edit := trims[entry]:
                edits[entry.seq] = edit
    note = f"{total:,} of {window:,} characters"
    least = 0 if view.forced else options.min_prunable_tool_chars
    if options.hard_clear.enabled and sum([left for _, (_, left, _) in found]) >= least:
        clears = view.measured(("adaptive: clears", options), lambda entry: cleared(view, entry, options))
        placeholder = len(options.hard_clear.placeholder)
        for entry, (_, left, _) in found:
            if total / window < options.hard_clear_ratio:
                break
            total += placeholder - left
            if edit := clears[entry]:
                edits[entry.seq] = edit
    return Proposal(tuple(edits[seq] for seq in sorted(edits)), note, reason(view, options))


def candidates(view: View, options: Options) -> list[tuple[Entry, tuple[int, int, bool]]]:
    """Return the prunable results, oldest first, with their characters now and after trimming, and whether to
    trim."""
    sizes = view.measured(("adaptive", options), lambda entry: _size(view, entry, options))
    start = view.exchange_start(options.keep_last_assistants)
    return [(entry, size) for entry in view.uncleared if entry.seq < start and (size := sizes[entry])]


def prunable(view: View, entry: Entry, options: Options) -> bool:
    """Return whether a result may be pruned: it is not locked, has no images, is from an allowed tool, and does not
    precede the first prompt."""
    return not (
        entry.images
        or not options.tools.may(entry.tool_name)
        or view.locked(entry)
        or entry.seq < view.first_user
    )


def cleared(view: View, entry: Entry, options: Options) -> Edit | None:
    """Return the edit that clears a result, or None if it saves no tokens."""
    return view.replaced("clear", entry, view.with_handle(entry, options.hard_clear.placeholder))


def _size(view: View, entry: Entry, options: Options) -> tuple[int, int, bool] | None:
    """Return the values for `candidates`; None for a result that can't be pruned."""
    if not prunable(view, entry, options):
        return None
    text = trimmed(entry, options.soft_trim) if view.text_edit(entry) is None else None
    chars = view.shown_chars(entry)
    return chars, chars if text is None else len(text), text is not None


def _trim(view: View, entry: Entry, options: Options) -> Edit | None:
    text = trimmed(entry, options.soft_trim)
    return None if text is None else view.replaced("trim", entry, view.with_handle(entry, text))


def reason(view: View, options: Options) -> Callable[[Entry], str]:
    """Return a function that gives the reason why a live result is left alone."""
    start = view.exchange_start(options.keep_last_assistants)

    def why(entry: Entry) -> str:
        if entry.seq >= start:
            return f"within the last {options.keep_last_assistants} answers"
        if not options.tools.may(entry.tool_name):
            return f"{entry.tool_name} is not an allowed tool"
        return "holds an image" if entry.images else "short enough so far"

    return why


def trimmed(entry: Entry, options: SoftTrim) -> str | None:
    """Return the trimmed text, or None if the result is short enough."""
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
