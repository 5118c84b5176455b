"""Compaction: a summary by the model replaces the middle of a session (PRUNING.md sections 7 and 10).

Pure: what is to be summarised, what is said to the model, and the event that its answer becomes. Never called
pruning; pruning goes first.
"""

from dataclasses import dataclass
from typing import Annotated

from prunecli.context.exchange import Entry
from prunecli.context.state import Context
from prunecli.context.token_counts import words_of
from prunecli.model.events import CompactionApplied, UserMessage
from prunecli.model.messages import Text


@dataclass(frozen=True, slots=True)
class Options:
    """When and what: the options of `[compaction]`."""

    enabled: Annotated[bool, "Whether it happens by itself."] = True
    max_context_tokens: Annotated[int, "Tokens; the window counts where it is smaller."] = 200_000
    compact_at_pct: Annotated[float, "Share of them at which a summary is made."] = 0.85
    keep_first_turns: Annotated[int, "User turns at the beginning that stay."] = 2
    keep_recent_turns: Annotated[int, "User turns at the end that stay."] = 4
    keep_user_chars: Annotated[int, "Characters of the user's words that are kept verbatim."] = 20_000

    def threshold(self, window: int) -> int:
        """Tokens of context at which a compaction is due."""
        return round(self.compact_at_pct * min(self.max_context_tokens, window))


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    """The range to be summarised: after entry `head_end` and before `tail_start`, both of which stay.

    `words` are the user's in that range, verbatim as far as they are kept.
    """

    head_end: int
    tail_start: int
    words: str
    focus: str = ""

    def request_text(self) -> str:
        """What the model is asked for."""
        about = f" Pay special attention to: {self.focus}." if self.focus else ""
        return (
            "[This is prunecli, not the user.] The conversation is about to be shortened. Write a summary of it that "
            "lets you go on without the messages it replaces: what was asked and why, decisions and their reasons, "
            "files read and changed with what matters in them, commands and their outcome, errors still open, and "
            f"the next steps.{about} The user's own words are kept beside it; do not repeat them. Answer with the "
            "summary only, call no tool."
        )

    def event(self, context: Context, summary: str) -> CompactionApplied:
        """The event of an answer; what it will look like to the model stands in it whole."""
        parts = [f"<summary>\n{summary.strip()}\n</summary>"]
        if self.words:
            parts.insert(0, f"<user-words>\n{self.words}\n</user-words>")
        text = "[Earlier messages were replaced by this summary.]\n" + "\n".join(parts)
        counts = context.counts
        left = counts.shown.minus(counts.amount_of(self.covered(context)))
        before, after = counts.context_tokens, counts.scale.total(*left.plus(words_of(text)))
        return CompactionApplied(text, self.head_end, self.tail_start, before, after, self.focus)

    def covered(self, context: Context) -> list[Entry]:
        """The items that the summary replaces."""
        return [item for item in context.items if self.head_end < _place(item) < self.tail_start]


def plan_compaction(
    context: Context, options: Options, window: int, focus: str = ""
) -> CompactionPlan | None:
    """The middle user turns, or in one long turn the older exchanges; None where nothing lies between.

    Never the exchange in progress, and never a range that overlaps an earlier one in part.
    """
    by_turns = _between_turns(context, options)
    threshold = options.threshold(window)
    if by_turns and _tail_tokens(context, by_turns[1]) <= threshold:
        head_end, tail_start = by_turns
        words = _words(context, head_end, tail_start, options.keep_user_chars)
    else:
        by_exchanges = _between_exchanges(context, threshold // 4)
        if by_exchanges is None:
            return None
        head_end, tail_start = by_exchanges
        words = _words(context, head_end, tail_start, None)
    return CompactionPlan(head_end, tail_start, words, focus)


def due(context: Context, options: Options, window: int) -> bool:
    """Whether the context has reached the threshold, and the user said something since the last compaction."""
    if not options.enabled or context.counts.context_tokens < options.threshold(window):
        return False
    return last_word(context) > context.boundary


def last_word(context: Context) -> int:
    """The seq of the newest user message, -1 for none."""
    return max((item.seq for item in reversed(context.items) if item.kind in ("user", "command")), default=-1)


def _between_turns(context: Context, options: Options) -> tuple[int, int] | None:
    """The last entry of the first turns and the first of the recent ones, with something between them."""
    starts = [item.seq for item in context.items if item.kind in ("user", "command")]
    first, recent = max(0, options.keep_first_turns), max(1, options.keep_recent_turns)
    if len(starts) <= first + recent:
        return None
    return _last_before(context, starts[first]), starts[-recent]


def _between_exchanges(context: Context, keep_tokens: int) -> tuple[int, int] | None:
    """The first user message, and the oldest of the newest exchanges that fit: at least one is kept."""
    opening = next((item for item in context.items if item.kind in ("user", "command", "summary")), None)
    shown = [e for e in context.exchanges if context.is_shown(e.seq) and not context.dropped(e)]
    if opening is None or len(shown) < 2:
        return None
    kept, used = shown[-1], 0
    for exchange in reversed(shown):
        used += context.counts.tokens_of([exchange.head])
        if used > keep_tokens and exchange is not shown[-1]:
            break
        kept = exchange
    head_end = _place(opening)
    between = any(head_end < _place(item) < kept.seq for item in context.items)
    return (head_end, kept.seq) if between and kept.seq > head_end else None


def _last_before(context: Context, seq: int) -> int:
    """The last entry before a user message: results of its exchange count as theirs."""
    return max((entry.seq for entry in context.entries.values() if entry.seq < seq), default=seq - 1)


def _tail_tokens(context: Context, start: int) -> int:
    return context.counts.tokens_of(item for item in context.items if item.seq >= start)


def _words(context: Context, head_end: int, tail_start: int, limit: int | None) -> str:
    """The user's words in the range, in order, newest kept first where they are too long; cuts are named."""
    said = [
        block.text
        for item in context.items
        if item.kind in ("user", "command")
        and head_end < item.seq < tail_start
        and isinstance(item.event, UserMessage)
        for block in item.event.content[: 1 if item.kind == "command" else None]
        if isinstance(block, Text)
    ]
    text = "\n\n".join(said)
    if limit is None or len(text) <= limit:
        return text
    return f"[the first {len(text) - limit:,} of {len(text):,} characters were cut]\n{text[-limit:]}"


def _place(item: Entry) -> int:
    return item.event.head_end if isinstance(item.event, CompactionApplied) else item.seq
