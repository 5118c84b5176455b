"""The pruning policy of a run: the strategies, the gate, the window and the limits."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from prunecli.agent.on_return import OnReturn, ahead_options, on_return
from prunecli.context.compaction import (
    CompactionPlan,
    due,
    is_worth_asking,
    last_word,
    next_cut,
    plan_compaction,
)
from prunecli.context.compaction import Options as Compaction
from prunecli.context.counted import parts_of
from prunecli.context.economics import Gate, Market
from prunecli.context.expectations import SUMMARY_TOKENS, Expectations
from prunecli.context.item_order import covers
from prunecli.context.ledger import Ledger, ledger, prun_applied
from prunecli.context.old_thinking import is_old_thinking, thinking_of
from prunecli.context.pressure import TRIGGER, in_tool_round, pressing, relieve, room
from prunecli.context.prun import MemoCopies, Order, PrunPlan, plan_edits, plan_entries, plan_prun, seqs_in
from prunecli.context.redo import WITH_SUMMARY
from prunecli.context.state import Context
from prunecli.context.strategy import Chosen, Proposal, propose_all
from prunecli.context.view import View
from prunecli.model.events import CompactionApplied, PrunApplied, PruneSource, ToolResult
from prunecli.util.figures import share, short
from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    from prunecli.context import impact, whole_acts
    from prunecli.context.impact import Impact
else:
    impact = lazy("prunecli.context.impact")
    whole_acts = lazy("prunecli.context.whole_acts")

TOO_LONG = "the endpoint rejected the request as too long"
HELD = "pruning.held"
"""The setting that records a hold by a hook: strategies' prunes wait until the next user message after the recorded
one."""
_UNTIL_PROMPT = "prunes wait until your next prompt"
MAX_REPEATS = 5
"""The number of identical calls with identical results in a row after which a run stops."""


class Waiting(NamedTuple):
    """Prunes that wait: what waits and why, and the tokens that they will free, None if unknown.

    `why` is "" if they wait only for the next request. `gain`: what a cold cache would cost for these tokens, in USD,
    None if unknown.
    """

    what: str
    why: str = ""
    freed: int | None = None
    gain: float | None = None

    @property
    def words(self) -> str:
        return f"{self.what}: {self.why}" if self.why else self.what


class Policy(NamedTuple):
    """How a session is pruned.

    `window` and `max_tokens` (the limit of an answer) are in tokens. `leaves_out`: prunecli itself removes and
    records thinking that a prune invalidated; otherwise the endpoint drops it. `binds`: the model binds its thinking
    to everything before it, so strategies wait for the end of a tool round. `compacts`: the endpoint writes
    summaries; `reads_summaries`: it accepts those it wrote; `searches`: it runs web searches; `tells`: it
    takes system messages between the others. `losing()`: pruning has
    cost more than it saved in this session. `nudges`: `prun` is suggested to the model.

    Near the limit, the cheapest remedy comes first: prunes that the gate allows, prunes instead of a due compaction,
    then the compaction. Only if there is no compaction, prunes are made at any price, and their reason states it.
    """

    chosen: tuple[Chosen, ...] = ()
    window: int = 200_000
    max_tokens: int = 32_000
    enabled: bool = True
    recall: bool = False
    order: Order = "newest"
    copies: MemoCopies = "once"
    gate: Gate = "always"
    market: Market = Market()
    compaction: Compaction = Compaction(enabled=False)
    leaves_out: bool = False
    binds: bool = False
    compacts: bool = False
    reads_summaries: bool = False
    searches: bool = True
    tells: bool = False
    expectations: Expectations | None = None
    losing: Callable[[], bool] = bool
    nudges: bool = False

    def at(self, now: int | None) -> "Policy":
        """Return the policy at a time in unix ms, None if unknown."""
        return self._replace(market=Market(now, *self.market[1:]))

    def view(self, context: Context, *, brief: bool = False) -> View:
        return View(
            context,
            self.window,
            recall=self.recall,
            leaves_out=self.leaves_out,
            market=self.market,
            expectations=self.expectations,
            losing=self.losing,
            brief=brief,
        )

    @property
    def limit(self) -> int:
        """The tokens of context at which room is made: by a summary, or by prunes at any price."""
        pressed = round(TRIGGER * room(self.window, self.max_tokens))
        if self.compaction.enabled:
            return min(pressed, self.compaction.threshold(self.window))
        return pressed if self.enabled else self.window

    @property
    def limit_words(self) -> str:
        """What acts at the limit, and what sets it."""
        if not (self.compaction.enabled or self.enabled):
            return "the window"
        act = "summarized" if self.compaction.enabled else "pruned at any price"
        if self.limit == self.compaction.threshold(self.window) and self.compaction.enabled:
            of_what = "compaction.max_context_tokens"
            if self.compaction.limit(self.window) == self.window:
                of_what = "the window"
            return f"{act} at {share(self.compaction.compact_at_pct)} of {of_what}"
        return f"{act} to keep {short(self.window - room(self.window, self.max_tokens))} for the reply"

    def ledger(self, context: Context) -> Ledger:
        return replace(
            ledger(self.view(context), self.chosen), limit=self.limit, limit_words=self.limit_words
        )

    def prunes(self, context: Context) -> list[PrunApplied]:
        """Return the prunes to apply before the next request: proposals that pass the gate.

        Together they break the cache once. Empty while pruning is off.
        """
        return self._decided(context, brief=True)[0]

    def relief(self, context: Context) -> list[PrunApplied]:
        """Return a prune at any price, if the next request comes too close to the window and nothing else helps."""
        if not self.enabled or held(context) or not pressing(context, self.window, self.max_tokens):
            return []
        view = self.view(context)
        proposal = relieve(view, self.max_tokens)
        if not proposal.edits:
            return []
        event = prun_applied(view, "strategy", proposal.edits, strategy="pressure", reason=proposal.note)
        return self._priced(context, [event])

    def decided(self, context: Context) -> tuple[list[PrunApplied], Waiting | None]:
        """Return the strategies' prunes, or no prunes and what waits."""
        return self._decided(context, brief=False)

    def waiting(self, context: Context) -> Waiting | None:
        """Return the prunes that wait, if only for the next request."""
        prunes, waiting = self.decided(context)
        if prunes:
            freed = impact.next_prunes(context, prunes, self.market)
            waiting = Waiting(f"{short(freed)} to prune with the next request", "", freed)
        if waiting is None or waiting.freed is None or self.market.write is None:
            return waiting
        return waiting._replace(gain=waiting.freed * self.market.write / 1_000_000)

    def _decided(self, context: Context, *, brief: bool) -> tuple[list[PrunApplied], Waiting | None]:
        if not self.enabled:
            return [], None
        if held(context):
            return [], Waiting(_UNTIL_PROMPT, "a hook holds them")
        view = self.view(context, brief=brief)
        found = propose_all(view, self.chosen)
        events = _events(view, found, "strategy")
        if not events:
            return [], next((_waiting(one.waiting, one.freed) for _, one in found if one.waiting), None)
        if self.binds and in_tool_round(context) and not self._is_full(context):
            return [], Waiting(_UNTIL_PROMPT, "an edit now would drop thinking")
        if self.gate == "always":
            priced = self.binds or self._is_full(context)
            return (self._priced(context, events) if priced else events), None

        decision = impact.judge(context, events, self.market, self.expectations)
        if decision.apply:
            # Old thinking names its own loss; what else is lost stands with the prunes after it.
            said = [decision.why if is_old_thinking(event) else decision.reason for event in events[:-1]]
            reasons = zip(events, [*said, decision.reason], strict=True)
            return [replace(event, reason=f"{event.reason}; {words}") for event, words in reasons], None
        if not self._is_full(context):
            return [], None if brief else _waiting(decision.reason, decision.freed)
        return self._priced(context, events, "the window is nearly full"), None

    def _is_full(self, context: Context) -> bool:
        """Return whether only pruning keeps the next request within the window."""
        return not self.can_compact(context) and pressing(context, self.window, self.max_tokens)

    def _priced(self, context: Context, events: Sequence[PrunApplied], why: str = "") -> list[PrunApplied]:
        if not events:
            return []

        found = impact.impact(context, events, self.market)
        warm = found.change is not None and found.change.rewritten > 0
        words = why, found.price if warm else "", found.thinking
        said = ", ".join(filter(None, words))
        return [replace(event, reason="; ".join(filter(None, (event.reason, said)))) for event in events]

    def problems(self, context: Context) -> tuple[str, ...]:
        """Return problems of the strategies that the user should know, such as failed functions."""
        may_wait = not in_tool_round(context) or self.market.near_limit(context.counts.context_tokens)
        asked = self.chosen if self.enabled and (may_wait or any(one.foreign for one in self.chosen)) else ()
        return tuple(one.problem for _, one in propose_all(self.view(context), asked) if one.problem)

    def can_compact(self, context: Context) -> bool:
        """Return whether compaction is on and there is a user message since the last compaction."""
        return self.compaction.enabled and last_word(context) > context.boundary

    def compact(self, context: Context) -> CompactionPlan | None:
        near = self.can_compact(context) and pressing(context, self.window, self.max_tokens)
        if not near and not due(context, self.compaction, self.window):
            found = self.on_return(context) if self.compaction.on_return == "auto" else None
            return found.plan if found else None
        return self.plan_compaction(context, "")

    def on_return(self, context: Context) -> OnReturn | None:
        """Return the summary that costs less than sending a long, cold context again; None if there is none."""
        return on_return(self, context)

    def plan_compaction(self, context: Context, focus: str) -> CompactionPlan | None:
        """Return the compaction that `/compact` would make, whether due or not; None if it can gain nothing."""
        plan = plan_compaction(context, self.compaction, self.window, focus, by_endpoint=self.compacts)
        return plan if plan and is_worth_asking(context, plan) else None

    def prunes_of_kept(self, context: Context, event: CompactionApplied) -> list[PrunApplied]:
        """Return the strategies' prunes of what a summary keeps: it rewrites the cache, so they cost nothing more.

        Empty if they would cost thinking that the summary keeps.
        """
        if not self.enabled or held(context):
            return []
        view = self.at(None).view(context)
        gone = {part.seq for item in context.items if covers(event, item) for part in parts_of(item)}
        found = [
            (name, replace(one, edits=tuple(e for e in one.edits if e.seq not in gone and e.kind != "strip")))
            for name, one in propose_all(view, self.chosen)
        ]
        events = [replace(one, reason=WITH_SUMMARY) for one in _events(view, found, "strategy")]
        costs = event.block and events and impact.impact(context, events, self.market).lost.blocks
        return [] if costs else events

    def summary(self, context: Context, plan: CompactionPlan) -> "Impact":
        """Return the expected effect of a summary."""
        most = self.expectations.summary_tokens if self.expectations else SUMMARY_TOKENS
        event = plan.expected(context, min(most, plan.likely_tokens(context)))
        return whole_acts.summarizing(context, plan, event, self.prunes_of_kept(context, event), self.market)

    def cut(self, context: Context) -> int:
        """Return the number of messages that a summary by the endpoint would replace now; 0 for none."""
        options = ahead_options(self.compaction) if self.compaction.ahead else self.compaction
        return next_cut(context, options, self.window) if self.compacts else 0

    def instead_of(self, context: Context, plan: CompactionPlan) -> list[PrunApplied]:
        """Return the strategies' prunes that make a due compaction unnecessary; empty if it costs less.

        They must leave room for a while. Inside a tool round, a summary by the endpoint keeps the thinking that
        prunes would drop. While pruning loses money, the result is empty too.
        """
        if held(context) or self.losing() or (plan.by_endpoint and in_tool_round(context)):
            return []
        events = self._forced(context)
        if not events:
            return []

        after = impact.impact(context, events, self.market).after
        limit = self.compaction.threshold(self.window)
        least = min(limit, round(self.market.engage_ratio * self.compaction.limit(self.window)))
        if after >= least or after > TRIGGER * room(self.window, self.max_tokens):
            return []
        return self._priced(context, events, "instead of a compaction")

    def make_room(self, context: Context) -> list[PrunApplied]:
        """Return the strategies' prunes after a request was rejected as too long, without minimum and gate."""
        return self._priced(context, [replace(event, reason=TOO_LONG) for event in self._forced(context)])

    def _forced(self, context: Context) -> list[PrunApplied]:
        """Return the strategies' prunes without minimum and gate; empty while pruning is off."""
        if not self.enabled:
            return []
        view = replace(self.view(context), forced=True)
        return _events(view, propose_all(view, self.chosen), "strategy")

    def shorten(self, context: Context) -> CompactionPlan | None:
        """Return the compaction to make after the endpoint rejected a request as too long.

        The window is then smaller than assumed, so the size of this request replaces it. Return None if there is no
        user message since the last compaction.
        """
        if not self.can_compact(context):
            return None
        window = min(self.window, context.counts.context_tokens)
        return plan_compaction(context, self.compaction, window, by_endpoint=self.compacts)

    def instead(self, context: Context, plan: CompactionPlan, *, short: bool) -> CompactionPlan:
        """Return the plan for a summary by the model, used if the endpoint makes none."""
        window = min(self.window, context.counts.context_tokens) if short else self.window
        own = plan_compaction(context, self.compaction, window, plan.focus)
        return own or replace(plan, by_endpoint=False)

    def forced(self, context: Context) -> tuple[list[PrunApplied], str]:
        """Return the prunes of `/prune`, without minimum and gate, and the reason why there are no more."""
        view = replace(self.view(context), forced=True)
        found = propose_all(view, self.chosen)
        left = view.after([edit for _, proposal in found for edit in proposal.edits])
        notes = [proposal.note for _, proposal in propose_all(left, self.chosen) if proposal.note]
        return _events(view, found, "user"), "; ".join(notes)

    def overflow(self, context: Context) -> PrunApplied | None:
        """Return the last-resort prune after a request was rejected as too long; None if nothing is left."""
        view = self.view(context)
        proposal = relieve(view, self.max_tokens, hard=True)
        if not proposal.edits:
            return None
        return prun_applied(view, "strategy", proposal.edits, strategy="pressure", reason=TOO_LONG)

    # The model's own prunes ----------------------------------------------------------------------------------

    def plan(self, context: Context, wanted: int | str, memo: str | None) -> PrunPlan:
        """Return the plan of a prun call in the current exchange, after the earlier calls of its message.

        `wanted` are tokens, or entries such as "12-20, 25". Raises ValueError for no entries.
        """
        earlier, view = planned(context), self.view(context)
        if isinstance(wanted, str):
            return plan_entries(view, seqs_in(view, wanted), memo, copies=self.copies, earlier=earlier)
        return plan_prun(view, wanted, memo, order=self.order, copies=self.copies, earlier=earlier)

    def planned_by_model(self, context: Context) -> list[PrunApplied]:
        """Return the pending prun plans of the current exchange as events, one for each call."""
        plans = planned(context)
        events: list[PrunApplied] = []
        done = sum(prun > _last_seq(context) for prun in context.model_pruns)
        for plan in plans[done:]:
            view = self.view(context)
            edits = plan_edits(view, plan, copies=self.copies)
            events.append(prun_applied(view, "model", edits, memo=plan.memo, reason="the model asked for it"))
        return events


def _events(view: View, found: Sequence[tuple[str, Proposal]], source: PruneSource) -> list[PrunApplied]:
    """Return the events of these proposals. Old thinking has its own, so that an undo can leave it out."""
    events: list[PrunApplied] = []
    for name, proposal in found:
        thinking = [edit for edit in proposal.edits if edit.kind == "strip"]
        others = [edit for edit in proposal.edits if edit.kind != "strip"]
        said = f"old thinking is no longer sent: {thinking_of(view.context, thinking)}"
        for edits, reason in ((thinking, said), (others, proposal.note)):
            if edits:
                events.append(prun_applied(view, source, edits, strategy=name, reason=reason))
    return events


def _waiting(why: str, freed: int | None) -> Waiting:
    return Waiting(why) if freed is None else Waiting(f"{short(freed)} to prune", why, freed)


def held(context: Context) -> bool:
    """Return whether a hook holds the strategies' prunes until the next user message."""
    until = context.settings.get(HELD)
    return until is not None and until == last_word(context)


def planned(context: Context) -> list[PrunPlan]:
    """Return the plans recorded in the results of the current exchange, in submission order."""
    exchange = context.in_progress
    results: Sequence[ToolResult] = (
        [entry.event for entry in exchange.results if isinstance(entry.event, ToolResult)] if exchange else []
    )
    plans = [PrunPlan.from_json(result.details["prun"]) for result in results if "prun" in result.details]
    return [plan for plan in plans if not plan.is_empty]


def _last_seq(context: Context) -> int:
    return context.in_progress.last_seq if context.in_progress else -1
