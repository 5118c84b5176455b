"""The pruning policy of a run: the strategies, the gate, the window and the limits."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from prunecli.context.compaction import CompactionPlan, due, last_word, plan_compaction
from prunecli.context.compaction import Options as Compaction
from prunecli.context.economics import Gate, Market
from prunecli.context.ledger import Ledger, ledger, prun_applied
from prunecli.context.pressure import in_tool_round, pressing, relieve
from prunecli.context.prun import MemoCopies, Order, PrunPlan, plan_edits, plan_prun
from prunecli.context.state import Context
from prunecli.context.strategy import Chosen, propose_all
from prunecli.context.view import View
from prunecli.model.events import PrunApplied, PruneSource, ToolResult

TOO_LONG = "the endpoint rejected the request as too long"
MAX_REPEATS = 5
"""The number of identical calls with identical results in a row after which a run stops."""


@dataclass(frozen=True, slots=True)
class Policy:
    """How a session is pruned.

    `window` and `max_tokens` (the limit of an answer) are in tokens. `leaves_out`: prunecli removes and records
    thinking that a prune invalidated, instead of the endpoint dropping it. `binds`: the model binds its thinking to
    everything before it, so strategies wait for the end of a tool round. `compacts`: the endpoint writes summaries;
    `reads_summaries`: it accepts those it wrote.
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

    def view(self, context: Context) -> View:
        """The view that strategies get."""
        return View(context, self.window, recall=self.recall, leaves_out=self.leaves_out)

    def ledger(self, context: Context) -> Ledger:
        """The current ledger."""
        return ledger(self.view(context), self.chosen)

    def prunes(self, context: Context) -> list[PrunApplied]:
        """The prunes to apply before the next request: proposals that pass the gate, else emergency relief.

        Together they break the cache once. Empty while pruning is off.
        """
        if not self.enabled:
            return []
        events, _ = self.decided(context)
        view = self.view(context)
        if not events and pressing(view, self.max_tokens):
            proposal = relieve(view, self.max_tokens)
            if proposal.edits:
                event = prun_applied(
                    view, "strategy", proposal.edits, strategy="pressure", reason=proposal.note
                )
                events = self._with_cost(context, [event])
        return events

    def decided(self, context: Context) -> tuple[list[PrunApplied], str]:
        """The strategies' prunes, or none and the reason why the gate holds them."""
        if not self.enabled:
            return [], ""
        view = self.view(context)
        events, _ = self._proposals(view, "strategy")
        if events and self.binds and in_tool_round(context) and not pressing(view, self.max_tokens):
            return [], "held until your next prompt: an edit now would drop thinking"
        if not events or self.gate == "always":
            return self._with_cost(context, events), ""
        from prunecli.context.gate import judge  # deferred: the first request does not need it

        decision = judge(context, events, self.window, self.market)
        if not decision.apply:
            return [], decision.reason
        return [replace(event, reason=f"{event.reason}; {decision.reason}") for event in events], ""

    def _with_cost(self, context: Context, events: list[PrunApplied]) -> list[PrunApplied]:
        """The prunes, with the thinking they cost added to their reasons."""
        if not events or not self.binds:
            return events
        from prunecli.context.impact import impact

        words = impact(context, events, self.market).thinking
        return [replace(event, reason="; ".join(filter(None, (event.reason, words)))) for event in events]

    def problems(self, context: Context) -> tuple[str, ...]:
        """Strategy functions of the user that failed, as messages."""
        asked = self.chosen if self.enabled and any(one.foreign for one in self.chosen) else ()
        return tuple(one.problem for _, one in propose_all(self.view(context), asked) if one.problem)

    def compact(self, context: Context) -> CompactionPlan | None:
        """The compaction to make before the next request, if pruning was not enough."""
        if not due(context, self.compaction, self.window):
            return None
        return self.plan_compaction(context, "")

    def plan_compaction(self, context: Context, focus: str) -> CompactionPlan | None:
        """The compaction that `/compact` would make, whether due or not."""
        return plan_compaction(context, self.compaction, self.window, focus, by_endpoint=self.compacts)

    def make_room(self, context: Context, reason: str = "before a compaction") -> list[PrunApplied]:
        """The strategies' prunes before a compaction, without minimum and gate; empty while pruning is off."""
        if not self.enabled:
            return []
        events, _ = self._proposals(replace(self.view(context), forced=True), "strategy")
        return [replace(event, reason=reason) for event in events]

    def shorten(self, context: Context) -> CompactionPlan | None:
        """The compaction to make after the endpoint rejected a request as too long.

        The window is then smaller than assumed, so the size of this request replaces it. None if there is no user
        message since the last compaction.
        """
        if not self.compaction.enabled or last_word(context) <= context.boundary:
            return None
        window = min(self.window, context.counts.context_tokens)
        return plan_compaction(context, self.compaction, window, by_endpoint=self.compacts)

    def instead(self, context: Context, plan: CompactionPlan, *, short: bool) -> CompactionPlan:
        """The plan for a summary by the model, used if the endpoint makes none."""
        window = min(self.window, context.counts.context_tokens) if short else self.window
        own = plan_compaction(context, self.compaction, window, plan.focus)
        return own or replace(plan, by_endpoint=False)

    def forced(self, context: Context) -> tuple[list[PrunApplied], str]:
        """The prunes of `/prune`, without minimum and gate; and why there are no more."""
        events, view = self._proposals(replace(self.view(context), forced=True), "user")
        notes = [proposal.note for _, proposal in propose_all(view, self.chosen) if proposal.note]
        return events, "; ".join(notes)

    def _proposals(self, view: View, source: PruneSource) -> tuple[list[PrunApplied], View]:
        events: list[PrunApplied] = []
        for name, proposal in propose_all(view, self.chosen):
            if proposal.edits:
                events.append(prun_applied(view, source, proposal.edits, strategy=name, reason=proposal.note))
                view = view.after(proposal.edits)
        return events, view

    def overflow(self, context: Context) -> PrunApplied | None:
        """The last-resort prune after a request was rejected as too long; None if nothing is left."""
        view = self.view(context)
        proposal = relieve(view, self.max_tokens, hard=True)
        if not proposal.edits:
            return None
        return prun_applied(view, "strategy", proposal.edits, strategy="pressure", reason=TOO_LONG)

    # The model's own prunes ----------------------------------------------------------------------------------

    def plan(self, context: Context, tokens: int, memo: str | None) -> PrunPlan:
        """The plan of a prun call in the current exchange, after the earlier calls of its message."""
        earlier = planned(context)
        return plan_prun(
            self.view(context), tokens, memo, order=self.order, copies=self.copies, earlier=earlier
        )

    def promised(self, context: Context) -> list[PrunApplied]:
        """The pending prun plans of the current exchange as events, one for each call."""
        plans = planned(context)
        events: list[PrunApplied] = []
        done = sum(prun > _last_seq(context) for prun in context.model_pruns)
        for plan in plans[done:]:
            view = self.view(context)
            edits = plan_edits(view, plan, copies=self.copies)
            events.append(prun_applied(view, "model", edits, memo=plan.memo, reason="the model asked for it"))
        return events


def planned(context: Context) -> list[PrunPlan]:
    """The plans recorded in the results of the current exchange, in submission order."""
    exchange = context.in_progress
    results: Sequence[ToolResult] = (
        [entry.event for entry in exchange.results if isinstance(entry.event, ToolResult)] if exchange else []
    )
    plans = [PrunPlan.from_json(result.details["prun"]) for result in results if "prun" in result.details]
    return [plan for plan in plans if plan.exchanges]


def _last_seq(context: Context) -> int:
    return context.in_progress.last_seq if context.in_progress else -1
