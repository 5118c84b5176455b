"""Compaction: a summary replaces the middle of a session, or everything before the recent turns.

This module chooses the range, writes the instructions for the model, and turns its answer into an event. Compaction
is separate from pruning, which goes first.

If the endpoint supports this, it makes the summary itself (`by_endpoint`) and signs it. The thinking of the kept
turns then stays valid, but only if nothing precedes the signed block and nothing comes between the block and those
turns. So the first turns are summarized too, and the range ends where a user message follows an answer. The user's
messages are sent at the place of the compaction, after the kept turns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Literal

from prunecli.context import render
from prunecli.context.exchange import Entry
from prunecli.context.item_order import covers, group_of, place, replaced, words_left
from prunecli.context.state import Context
from prunecli.context.tokens import CHARS_PER_TOKEN, words_of
from prunecli.model.events import AssistantMessage, CompactionApplied, UserMessage
from prunecli.model.messages import Block, Json, Opaque, Text, Usage
from prunecli.model.requests import COMPACTION
from prunecli.util.figures import counted
from prunecli.util.frozen import frozen
from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    from prunecli.context import economics, impact
    from prunecli.context.impact import Impact
else:
    economics = lazy("prunecli.context.economics")
    impact = lazy("prunecli.context.impact")

LEAST_CHARS = 600
"""The characters that a summary must replace: about its own length. Fewer cost a request and gain nothing."""
MAX_INSTRUCTIONS = 16_384
"""Maximum characters of instructions that the endpoint accepts."""


@frozen
class Options:
    """The options of `[compaction]`, as described in the configuration."""

    enabled: bool = True
    max_context_tokens: int = 200_000
    compact_at_pct: float = 0.85
    keep_first_turns: int = 2
    keep_recent_turns: int = 4
    keep_user_chars: int = 20_000
    on_return: Literal["offer", "auto", "off"] = "offer"
    ahead: bool = False

    def limit(self, window: int) -> int:
        """Return the limit of context tokens, no larger than the window."""
        return min(self.max_context_tokens, window)

    def threshold(self, window: int) -> int:
        """Return the tokens of context at which a compaction is due."""
        return round(self.compact_at_pct * self.limit(window))


@frozen
class CompactionPlan:
    """The range to summarize: after entry `head_end` and before `tail_start`, both kept.

    `words` are the user's messages in that range, kept verbatim up to a limit. With `by_endpoint`, the endpoint makes
    the summary. `ready` is the summary, if it was prepared before.
    """

    head_end: int
    tail_start: int
    words: str
    focus: str = ""
    by_endpoint: bool = False
    ready: CompactionApplied | None = None

    def cut(self, context: Context) -> int:
        """Return the number of messages before the first one that is kept."""
        kept = next(item for item in context.items if item.kind != "summary" and item.seq >= self.tail_start)
        return group_of(context, kept.seq)

    def request_text(self) -> str:
        """Return the prompt that asks the model for a summary."""
        return f"[This is prunecli, not the user.] {self._asked(self.focus)}"

    def instructions(self) -> str:
        """Return the instructions for the endpoint. They replace its own prompt, so they are complete."""
        return self._asked(self.focus[: MAX_INSTRUCTIONS - len(self._asked("-"))])

    def _asked(self, focus: str) -> str:
        about = f" Pay special attention to: {focus}." if focus else ""
        return (
            "The conversation is about to be shortened. Write a summary that lets you continue without the messages "
            "it replaces: what was asked and why, decisions and their reasons, files read and changed with what "
            "matters in them, commands and their outcome, errors still open, and the next steps."
            f"{about} The user's own words are kept beside it; do not repeat them. "
            "Answer with the summary only, call no tool."
        )

    def event(
        self, context: Context, summary: str, block: Mapping[str, Json] | None = None
    ) -> CompactionApplied:
        """Return the event for an answer, with the summary exactly as the model will see it.

        `block` is the endpoint's own block, if it made the summary.
        """
        words = self.words if block else ""
        text = render.summary(summary, "" if block else self.words)
        return measured(
            context,
            CompactionApplied(
                text, self.head_end, self.tail_start, focus=self.focus, block=block, words=words
            ),
        )

    def expected(self, context: Context, tokens: int) -> CompactionApplied:
        """Return the event for a summary of this many tokens, to tell its effect before there is one."""
        if self.ready:
            return measured(context, self.ready)
        text = "x" * round(CHARS_PER_TOKEN * tokens / context.counts.scale.ratio)
        block: dict[str, Json] = {"type": COMPACTION, "content": text, "signature": "expected"}
        event = self.event(context, text, block if self.by_endpoint else None)
        return replace(event, usage=Usage(output_tokens=tokens))

    def likely_tokens(self, context: Context) -> int:
        """Return the most tokens that a summary of a short range is likely to have: a quarter of what it replaces."""
        return max(1, _replaceable(context, self) // (4 * CHARS_PER_TOKEN))

    def thinking(self, context: Context) -> str:
        """Return the effect of the summary on the thinking of kept answers, in plain text; "" for none."""
        block: dict[str, Json] | None = {} if self.by_endpoint else None
        return _impact(context, CompactionApplied("", self.head_end, self.tail_start, block=block)).thinking


def _impact(context: Context, event: CompactionApplied) -> "Impact":
    return impact.impact(context, [event], economics.Market())


def measured(context: Context, event: CompactionApplied) -> CompactionApplied:
    """Return the event of a summary with the tokens before and after it."""
    counts = context.counts
    covered = [item for item in context.items if covers(event, item)]
    left = counts.shown.minus(counts.amount_of(covered))
    kept = [item for item in context.items if not covers(event, item)]
    said = replaced(words_left(event, context.beside), kept)
    beside = [*filter(None, [event.words]), *(typed for one in said for typed in one.typed)]
    new = render.summary_texts(event, beside)
    after = counts.scale.total(*left.plus(words_of("".join(new))))
    kept_thinking = _impact(context, event)
    after += kept_thinking.back.tokens - kept_thinking.lost.tokens
    return replace(event, tokens_before=counts.context_tokens, tokens_after=max(0, after))


def prepared_plan(context: Context, model: str, *, by_endpoint: bool) -> CompactionPlan | None:
    """Return the use of the summary that was prepared; None if there is none, or if what it covers is gone.

    The endpoint's own needs the model that made it, and unchanged messages in its range: else later thinking is lost.
    """
    billed = context.ahead.billed
    if billed is None or (ready := billed.prepared) is None or ready.head_end >= ready.tail_start:
        return None
    kept = context.entries.get(ready.tail_start)
    if kept is None or kept.kind == "summary" or not context.is_shown(kept.seq):
        return None
    plan = CompactionPlan(ready.head_end, ready.tail_start, ready.words, "", ready.block is not None, ready)
    if ready.block is None:
        return plan
    accepts = by_endpoint and billed.model == model and render.is_signed(ready.block)
    return plan if accepts and summarized_sha256(context, plan) == billed.sha256 else None


def summarized_sha256(context: Context, plan: CompactionPlan) -> str:
    """Return the chain over the messages that the endpoint summarizes; "" if the model does."""
    return context.digests()[plan.cut(context)].hex() if plan.by_endpoint else ""


def signed_summary(content: Sequence[Block]) -> Mapping[str, Json] | None:
    """Return the endpoint's summary in a response; None if the summary is empty or can't be sent back."""
    for block in content:
        if isinstance(block, Opaque) and render.is_signed(block.json):
            return block.json
    return None


def plan_compaction(
    context: Context, options: Options, window: int, focus: str = "", *, by_endpoint: bool = False
) -> CompactionPlan | None:
    """Return the range to summarize: the middle user turns, or the older exchanges of one long turn.

    Return None if there is nothing in between. With `by_endpoint`, return everything before the recent turns if the
    conditions are met. The range never includes the exchange in progress, and never partly overlaps an earlier range.
    """
    threshold = options.threshold(window)
    if by_endpoint and (found := _before_recent(context, options, threshold)):
        words = _words(context, *found, options.keep_user_chars)
        return CompactionPlan(*found, words, focus, by_endpoint=True)
    by_turns = _between_turns(context, options)
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


def is_worth_asking(context: Context, plan: CompactionPlan) -> bool:
    """Return whether a summary of the range can be shorter than the range."""
    return _replaceable(context, plan) >= LEAST_CHARS


def why_nothing(context: Context, options: Options, window: int) -> str:
    """Return why `/compact` has nothing to do."""
    plan = plan_compaction(context, options, window)
    turns = sum(item.opens_turn for item in context.items)
    if plan:
        size = max(0, _replaceable(context, plan))
        return f"a summary would replace only {size:,} characters, and is about as long"
    if turns > options.keep_first_turns + options.keep_recent_turns:
        return "the recent turns fill the context, and they stay"
    return (
        f"the session has {counted(turns, 'turn')}, and the first {options.keep_first_turns} and the last "
        f"{options.keep_recent_turns} stay ([compaction] keep_first_turns, keep_recent_turns)"
    )


def _replaceable(context: Context, plan: CompactionPlan) -> int:
    """Return the characters that a summary would replace, as they are shown, without the user's words, which stay."""
    event, found = CompactionApplied("", plan.head_end, plan.tail_start), 0
    for item in context.items:
        if covers(event, item) and not (item.exchange and context.dropped(item.exchange)):
            parts = item.exchange.entries if item.exchange else (item,)
            found += sum(context.counts.shown_chars(part, context.text_edit(part.seq)) for part in parts)
    return found - len(plan.words)


def next_cut(context: Context, options: Options, window: int) -> int:
    """Return the number of messages that a summary by the endpoint would replace now; 0 for none."""
    found = _before_recent(context, options, options.threshold(window))
    return 0 if found is None else CompactionPlan(*found, "", by_endpoint=True).cut(context)


def due(context: Context, options: Options, window: int) -> bool:
    """Return whether the context is over the threshold and there is a user message since the last compaction."""
    if not options.enabled or context.counts.context_tokens < options.threshold(window):
        return False
    return last_word(context) > context.boundary


def last_word(context: Context) -> int:
    """Return the seq of the newest user message, -1 if there is none."""
    return next((item.seq for item in reversed(context.items) if item.opens_turn), -1)


def _between_turns(context: Context, options: Options) -> tuple[int, int] | None:
    """Return the last entry of the first turns and the first entry of the recent ones, if any lie between."""
    starts = [item.seq for item in context.items if item.opens_turn]
    first, recent = max(0, options.keep_first_turns), max(1, options.keep_recent_turns)
    if len(starts) <= first + recent:
        return None
    return _last_before(context, starts[first]), starts[-recent]


def _before_recent(context: Context, options: Options, threshold: int) -> tuple[int, int] | None:
    """Return the range before the recent turns that the endpoint can summarize while their thinking stays valid.

    Return None if there is no such range or if the rest would be too large. The range ends where a user message
    follows an answer, since otherwise the endpoint would merge the messages on both sides of the cut. A model turn
    that the endpoint paused must stay the last message.
    """
    last = context.items[-1].event if context.items else None
    if isinstance(last, AssistantMessage) and last.stop_reason == "pause_turn":
        return None
    opening = next((item for item in context.items if item.opens_turn), None)
    starts = (item for item in reversed(context.items) if item.opens_turn and item is not opening)
    for start in islice(starts, max(0, options.keep_recent_turns - 1), None):
        if (tail := _cut_before(context, start)) is not None:
            first = context.items[0]
            head = place(first) - (first.kind != "summary")
            fits = _tail_tokens(context, start.seq) <= threshold
            return (head, tail) if fits and head < tail else None
    return None


def _cut_before(context: Context, start: Entry) -> int | None:
    """Return the start of the kept part if this user message is its first; None if no cut is possible."""
    at = group_of(context, start.seq)
    if at == 0 or not start.is_sent:
        return None
    before, first = context.wire.messages(at - 1, at + 1)
    seq = first.seqs[0]
    # The message may begin with the words beside an earlier summary, but not with a summary, which no cut keeps.
    is_middle = context.is_shown(seq) and context.position(seq) > 0
    if before.role != "assistant" or (
        seq != start.seq and (is_middle or context.entries[seq].kind != "summary")
    ):
        return None
    if context.entries[before.seqs[-1]].kind == "summary":
        return None  # only an earlier summary precedes it
    return seq


def _between_exchanges(context: Context, keep_tokens: int) -> tuple[int, int] | None:
    """Return the first user message and the oldest of the newest exchanges that fit. At least one exchange is
    kept."""
    opening = next((item for item in context.items if item.opens_turn or item.kind == "summary"), None)
    shown = [e for e in context.exchanges if context.is_shown(e.seq) and not context.dropped(e)]
    if opening is None or len(shown) < 2:
        return None
    kept, used = shown[-1], 0
    for exchange in reversed(shown):
        used += context.counts.tokens_of([exchange.head])
        if used > keep_tokens and exchange is not shown[-1]:
            break
        kept = exchange
    head_end = place(opening)
    between = any(head_end < place(item) < kept.seq for item in context.items)
    return (head_end, kept.seq) if between and kept.seq > head_end else None


def _last_before(context: Context, seq: int) -> int:
    """Return the last entry before a user message, including results of its exchange."""
    return max((entry.seq for entry in context.entries.values() if entry.seq < seq), default=seq - 1)


def _tail_tokens(context: Context, start: int) -> int:
    """Return the tokens from a shown user message on."""
    return context.counts.tokens_of(context.items[context.position(start) :])


def _words(context: Context, head_end: int, tail_start: int, limit: int | None) -> str:
    """Return the user's messages in the range, in order.

    If they are too long, the newest are kept and cuts are marked.
    """
    said = [
        (item.seq + 1, block.text)
        for item in context.items
        if item.opens_turn and head_end < item.seq < tail_start and isinstance(item.event, UserMessage)
        for block in item.event.content[: 1 if item.kind == "command" else None]
        if isinstance(block, Text)
    ]
    said += [
        (one.event.tail_start, one.event.words)  # older than the turns that were kept then
        for one in context.beside
        if head_end < one.seq < tail_start and isinstance(one.event, CompactionApplied)
    ]
    text = "\n\n".join(words for _, words in sorted(said, key=itemgetter(0)))
    if limit is None or len(text) <= limit:
        return text
    return f"[the first {len(text) - limit:,} of {len(text):,} characters were cut]\n{text[-limit:]}"
