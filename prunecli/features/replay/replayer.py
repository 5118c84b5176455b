"""Plays a script under one policy, with the program's own fold, policy and spill, the session's clock, and an exact
cache.

The records and their numbers are those that the program would log, so the same texts are sent. A log of prunecli
keeps its numbers, but for the edits. In other recordings, each call runs alone.
"""

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeAlias

from prunecli.agent.assemble import cache_marks, compaction_marks
from prunecli.agent.decide import at_rest
from prunecli.agent.on_return import AHEAD_MS, ahead
from prunecli.agent.policy import Policy
from prunecli.context.again import withheld
from prunecli.context.compaction import CompactionPlan, last_word, summarized_sha256
from prunecli.context.economics import cold
from prunecli.context.item_order import covers, group_of
from prunecli.context.pressure import in_tool_round
from prunecli.context.state import Context
from prunecli.features.replay.prefix import PrefixCache
from prunecli.features.replay.rates import Rates
from prunecli.features.replay.regret import Regrets
from prunecli.features.replay.rows import Row
from prunecli.features.replay.script import Script, Step, is_answer, is_idle, is_request
from prunecli.features.replay.uses import Judge
from prunecli.model.events import (
    AssistantMessage,
    Attached,
    AttemptBilled,
    CompactionApplied,
    Event,
    Pinned,
    PrunApplied,
    PrunReverted,
    Record,
    RequestSent,
    Rewound,
    SessionStarted,
    SettingChanged,
    ToolResult,
    ToolStarted,
    UserMessage,
)
from prunecli.model.messages import Block, Json, ToolUse, Usage, tool_uses
from prunecli.model.requests import PREAMBLE, own_name
from prunecli.providers.models import CacheKind, token_factor
from prunecli.session.completing import next_timestamp
from prunecli.util.frozen import frozen

Spill: TypeAlias = Callable[[ToolResult, ToolUse, Step, int], ToolResult]
"""A function that holds back a part of a call's result before the result is recorded under this number."""


@frozen
class ReplayConfig:
    """One model's terms in a replay: the pruning of its requests, and the prices for a prompt of a given size."""

    policy: Policy
    rates: Callable[[int], Rates]


@frozen
class Part:
    """The inputs for playing a session. `terms` are by recorded model. `fixed` is the tokens of `preamble`, the value
    of the setting that records system prompt and tools. `summary_tokens` is the size of the summaries that the policy
    makes and the recording does not have, 0 for none."""

    strategy: str
    gate: str
    terms: Callable[[str], ReplayConfig]
    name_of: Callable[[str], str]
    preamble: Mapping[str, Json]
    fixed: int
    ttl_ms: int
    reply_tokens: int
    spill: Spill | None = None
    factor_of: Callable[[str], float] = token_factor
    summary_tokens: int = 0
    judges: bool = False
    cache: CacheKind = "breakpoints"


@frozen
class Asked:
    """A request without an answer so far: the recorded model, the time at which it was sent last, the edits made for
    it, and whether these broke the cache."""

    model: str
    at: int
    terms: ReplayConfig
    broke: bool
    before: tuple[PrunApplied, ...]


@frozen
class Sent:
    """One played request. `before` are the edits made for it."""

    at: int
    step: Step
    usage: Usage
    rates: Rates
    cost: float
    broke: bool
    before: tuple[PrunApplied, ...]


Watch: TypeAlias = Callable[["Replayer", Sent], None]
"""Called after each request, before its response. An exception ends the play."""


_ALLOCATIONS = 50_000


@contextmanager
def _collecting_rarely() -> Iterator[None]:
    """Look for garbage in cycles less often. A play makes many objects and almost no garbage; looking as often as by
    default takes a fifteenth of its time."""
    before = gc.get_threshold()
    gc.set_threshold(_ALLOCATIONS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


class Replayer:
    """One play of a script. `row` has the figures; `watch` is called after each request, before its response."""

    def __init__(self, script: Script, part: Part, watch: Watch | None = None) -> None:
        self.script = script
        self.part = part
        self.context = Context(script.counter, part.factor_of, billed=False)
        self.context.counts.sizes_of = script.sizes_of
        self.row = Row(script.name, script.agent, part.strategy, part.gate, part.spill is not None)
        self.cache = PrefixCache(part.fixed, part.ttl_ms, kind=part.cache)
        self.places: dict[int, int] = {}
        self.sources: dict[int, int] = {}
        self.regrets = Regrets(script, self, part.reply_tokens)
        self._judge = Judge(script, self.regrets) if part.judges else None
        self._seq = self._now = 0
        self._watch = watch
        self._calls: dict[str, ToolUse] = {}
        self._model = ""
        self._asked: Asked | None = None
        self._terms: dict[str, ReplayConfig] = {}
        self._pruned_results: set[int] = set()
        self._idle = False
        self._early: list[PrunApplied] = []
        """The edits before the request for a summary."""
        self._summarized_at = -1
        """The user message that was the newest one when a summary was last asked for."""

    def play(self) -> Row:
        """Play the script to its end."""
        with _collecting_rarely():
            for step in self.script.steps:
                if self.script.numbered:
                    self._idle = is_idle(step.event, self._idle)
                self._take(step)
        self.row.pruned_results = len(self._pruned_results)
        self.regrets.settle(self.row)
        return self.row

    def _take(self, step: Step) -> None:
        match step.event:
            case SessionStarted(model=model) as event:
                numbered = self.script.numbered
                self._model = self.part.name_of(model if numbered else next(iter(self.script.models), model))
                self._record(step, replace(event, model=self._model))
                if not numbered:
                    self._add(SettingChanged(PREAMBLE, self.part.preamble))
            case AssistantMessage() as event:
                event = self._renumbered(event) if self.script.numbered else event
                self._calls = {call.id: call for call in tool_uses(event.content)}
                self._answered(step, event)
            case AttemptBilled() as event if is_request(event):
                usage = self._billed(step, event)
                self._record(step, replace(event, usage=usage, model=self.part.name_of(event.model)))
                if self._asked is not None:  # it may be tried again
                    self._asked = replace(self._asked, at=self._now, broke=False, before=())
            case ToolResult() as event:
                self._result(step, event)
            case UserMessage(restores=restores) as event if restores:
                found = (self.places.get(seq, -1) for seq in restores)
                places = tuple(seq for seq in found if seq in self.context.entries)
                if withheld(self.context, places):  # else there is nothing to restore in this play
                    self._record(step, replace(event, restores=places))
            case UserMessage(attached=Attached() as attached) as event:
                self._record(step, replace(event, attached=self._cut(step, attached, event.content[1:])))
            case UserMessage() as event:
                _prepare(self, step.at)
                self._record(step, event)
            case CompactionApplied() as event:
                head, tail = self._last_place(event.head_end), self._place(event.tail_start)
                self._summary(step, replace(event, head_end=head, tail_start=tail))
            case Rewound(to_seq):
                self._record(step, Rewound(max(0, self._last_place(to_seq))))
                here = self.context.entries  # with what an earlier rewind left out, if this one returns to it
                self.regrets.rewound = {source for source, seq in self.places.items() if seq not in here}
            case Pinned(seqs, pinned):
                self._record(step, Pinned(tuple(map(self._place, seqs)), pinned))
            case event:
                self._beside(step, event)

    def _beside(self, step: Step, event: Event) -> None:
        """Play a record of prunecli that is not part of the conversation. Most only take a number and time."""
        match event:
            case ToolStarted():
                self._add(event, step.at)
                return
            case PrunReverted(seqs, requires):
                self._record(step, PrunReverted(tuple(map(self._place, seqs)), requires))
                return
            case RequestSent(model=model):
                self._now = max(self._now, step.at)
                self._ask(model)
                return
            case AttemptBilled(reason="summary") as event:
                self._summary(step, event)
                return
            case SettingChanged(key) if key == PREAMBLE and key not in self.context.settings:
                self._add(SettingChanged(PREAMBLE, self.part.preamble), step.at)
                return
            case SettingChanged("model.name", name) if self.part.name_of(str(name)) != self._model:
                self._model = self.part.name_of(str(name))
                self._add(SettingChanged("model.name", self._model), step.at)
                return
            case _:
                pass
        self._now = next_timestamp(step.at, self._now)
        self._seq += 1

    def _renumbered(self, event: AssistantMessage) -> AssistantMessage:
        """Return an answer whose calls of `recall` name the entries as this play numbers them."""

        def renumbered(block: Block) -> Block:
            entry = (
                block.input.get("entry")
                if isinstance(block, ToolUse) and own_name(block.name) == "recall"
                else None
            )
            place = self.places.get(entry) if isinstance(entry, int) else None
            if not isinstance(block, ToolUse) or place in (None, entry):
                return block
            return replace(block, input={**block.input, "entry": place})

        content = tuple(map(renumbered, event.content))
        return event if content == event.content else replace(event, content=content)

    def _place(self, source: int) -> int:
        """Return the number in this play of a source record, or of the next record that was played."""
        if source in self.places:
            return self.places[source]
        return min((seq for one, seq in self.places.items() if one > source), default=self._seq)

    def _last_place(self, source: int) -> int:
        """Return the number in this play of the last record up to a source record; -1 for none."""
        return max((seq for one, seq in self.places.items() if one <= source), default=-1)

    def _result(self, step: Step, event: ToolResult) -> None:
        call = self._calls.get(event.tool_use_id)
        if call is None:
            self._record(step, event)
            return
        if self.script.numbered:
            pass  # the call's start was a step
        elif step.touches is not None:
            self._add(ToolStarted(call.id, call.name, call.input, step.touches), step.at)
        else:
            self._seq += 1  # replaces the record of the call's start, which has no effect here
        self._record(step, self._spilled(step, event, call))

    def _spilled(self, step: Step, event: ToolResult, call: ToolUse) -> ToolResult:
        """Return a result as it is recorded now: whole, or with a part held back."""
        if self.part.spill is not None:
            event = self.part.spill(event, call, step, self._seq)
            if event.spilled is not None:
                self.row.spilled_results += 1
                self.regrets.hidden.add(step.source)
        return event

    def _cut(self, step: Step, attached: Attached, content: tuple[Block, ...]) -> Attached:
        """Return an attachment with the part held back that is held back of a result."""
        result = ToolResult("", attached.tool_name, content, details=attached.details)
        call = ToolUse("", attached.tool_name, dict(attached.input))
        return replace(attached, spilled=self._spilled(step, result, call).spilled)

    def _answered(self, step: Step, event: AssistantMessage) -> None:
        if not is_answer(event):
            self._record(step, event)
            return
        event = self._scaled(event)
        usage = self._billed(step, event)
        self._asked = None
        self._record(step, replace(event, usage=usage, model=self.part.name_of(event.model)))
        if not self._calls and not self.script.numbered:
            self._seq += 1  # replaces the record of the run's end

    def _scaled(self, event: AssistantMessage) -> AssistantMessage:
        """Return an answer with its reported tokens as this play's model would count them: results are counted by
        that model too."""
        factor_of = self.part.factor_of
        ratio = factor_of(self.part.name_of(event.model)) / factor_of(event.model)
        if ratio == 1.0:
            return event
        thinking = event.thinking_tokens
        return replace(
            event,
            usage=replace(event.usage, output_tokens=round(ratio * event.usage.output_tokens)),
            thinking_tokens=None if thinking is None else round(ratio * thinking),
        )

    def _ask(self, model: str) -> Asked:
        """Send a request to a recorded model, after the edits before it."""
        name = self.part.name_of(model)
        if name != self._model:
            self._model = name
            self._add(SettingChanged("model.name", name))
        terms = self._terms_of(model)
        pruned, self._early = [*self._early, *self._pruned(terms)], []
        at = self._now
        self.cache.lay_out(self.context, name)
        broke = bool(pruned) and self.cache.breaks(at)
        if pruned:
            self.row.cache_breaks += broke
            self.row.thinking_breaks += self.cache.changed
            self.row.edits_in_round += self.cache.changed and in_tool_round(self.context)
        wire = self.context.wire
        breaks = self.part.cache in ("breakpoints", "paid")
        marks = cache_marks(self.context, len(wire), terms.policy.cut(self.context)) if breaks else ()
        self._add(RequestSent(name, self.cache.tokens, "", marks), at)
        earlier = self._asked.before if self._asked else ()
        self._asked = Asked(model, at, terms, broke, (*earlier, *pruned))
        return self._asked

    def _billed(self, step: Step, event: AssistantMessage | AttemptBilled) -> Usage:
        """Return the usage of the last request, or of one sent now, to which a model responded."""
        asked, model = self._asked or self._ask(event.model), event.model
        terms = asked.terms if model == asked.model else self._terms_of(model)
        rates = terms.rates(self.cache.tokens)
        answered = max(step.at, self._now)
        usage = self.cache.sent(asked.at, answered, event.usage.output_tokens, self.context.cache.marks)
        cost = rates.cost(usage)
        self.row.sent(usage, cost)
        self.regrets.answered(step, usage, rates)
        if self._judge:
            self._judge.answered(step)
        if self._watch:
            self._watch(self, Sent(asked.at, step, usage, rates, cost, asked.broke, asked.before))
        return usage

    def _terms_of(self, recorded: str) -> ReplayConfig:
        if recorded not in self._terms:
            self._terms[recorded] = self.part.terms(recorded)
        return self._terms[recorded]

    def _summary(self, step: Step, event: AttemptBilled | CompactionApplied) -> None:
        """Record a summary and its request. If the user did not ask for it, the edits that are due come first."""
        prunes: list[PrunApplied] = []
        if event.usage.prompt_tokens:  # else another program made it, and does not say how
            terms, sent, answered = self._terms_of(event.model), self._now, max(step.at, self._now)
            if self._idle:
                sent = answered
            else:
                self._early += self._pruned(terms, summary=True)
            here = self.context, self.cache, self.part.name_of(event.model), terms.policy.at(sent)
            event = replace(event, usage=summarized(event, *here, sent, answered))
            if isinstance(event, CompactionApplied):
                prunes = terms.policy.at(answered).prunes_of_kept(self.context, event)
        self._summarized_at = last_word(self.context)
        for prune in prunes:
            self._add(prune)
            self._hide(prune)
        self._early += prunes
        self._record(step, event)

    def _instead(self, policy: Policy) -> list[PrunApplied]:
        """Return the edits that make a due compaction unnecessary."""
        plan = policy.compact(self.context) if policy.compaction.enabled else None
        if plan is None or self._summarized_at >= last_word(self.context):
            return []
        return policy.instead_of(self.context, plan)

    def _pruned(self, terms: ReplayConfig, *, summary: bool = False) -> list[PrunApplied]:
        """Return the edits before a request, made by the program's own code, and play the summaries that are due."""
        found: list[PrunApplied] = []
        while True:
            if not terms.policy.enabled:
                break
            policy = terms.policy.at(self._now)
            events = policy.prunes(self.context) or self._instead(policy)
            if not events and self._is_summarized(terms):
                continue
            if not events and not summary:
                events = policy.relief(self.context)
            if not events:
                break
            for event in events:
                self._add(event)
                self._hide(event)
            found += events
        return found

    def _is_summarized(self, terms: ReplayConfig) -> bool:
        """Play a summary that the recording does not have, if one is due now; return whether it was made."""
        if not self.part.summary_tokens or self._summarized_at >= last_word(self.context):
            return False
        plan = terms.policy.at(self._now).compact(self.context)
        return plan is not None and self.summarize(plan, terms)

    def summarize(self, plan: CompactionPlan, terms: ReplayConfig) -> bool:
        """Play a summary of the expected size and its request, unless it would not make the context smaller."""
        context, now = self.context, self._now
        self._summarized_at = last_word(context)
        event = plan.expected(context, self.part.summary_tokens)
        if event.tokens_after >= event.tokens_before:
            return False
        usage = Usage() if plan.ready else _paid(self, event, terms, now)
        for head in (item for item in context.items if covers(event, item) and item.kind != "user"):
            parts = head.exchange.entries if head.exchange else [head]
            self.regrets.hidden.update(self.sources[one.seq] for one in parts if one.seq in self.sources)
        self._add(replace(event, model=self._model, usage=usage))
        return True

    def _hide(self, event: PrunApplied) -> None:
        """Record what an edit keeps out of the context."""
        for edit in event.edits:
            entry = self.context.entries[edit.seq]
            parts = entry.exchange.entries if edit.kind == "drop" and entry.exchange else [entry]
            self.row.dropped_answers += edit.kind == "drop"
            self.row.cut_inputs += edit.kind == "cut"
            if edit.kind in ("drop", "clear", "trim", "cut"):
                self._pruned_results.update(part.seq for part in parts if part.kind == "result")
                self.regrets.hidden.update(self.sources[part.seq] for part in parts)

    def _record(self, step: Step, event: Event) -> None:
        self.places[step.source] = self._seq
        self.sources[self._seq] = step.source
        self._add(event, step.at)

    def _add(self, event: Event, at: int = 0) -> None:
        self._now = next_timestamp(at, self._now)
        self.context.apply(Record(self._seq, self._now, event))
        self._seq += 1


def _paid(player: Replayer, event: CompactionApplied, terms: ReplayConfig, at: int) -> Usage:
    """Play the request for a summary at a time in unix ms, and bill it with its output."""
    model, policy = player.context.requested, terms.policy.at(at)
    usage = summarized(event, player.context, player.cache, model, policy, at, at)
    rates = terms.rates(player.cache.tokens)
    player.row.summarized(usage, rates.cost(usage) + usage.output_tokens * rates.output / 1e6)
    return usage


def _prepare(player: Replayer, until: int) -> None:
    """Play the summary that is prepared before the cache expires, if nobody said anything until this time."""
    context, used = player.context, player.context.last_response
    if not (player.part.summary_tokens and used) or at_rest(context) is None:
        return
    terms = player._terms_of(context.last_model)
    at = used + terms.policy.market.ttl_ms - AHEAD_MS
    found = ahead(terms.policy.at(at), context) if at < until else None
    if found:
        event = found.plan.expected(context, player.part.summary_tokens)
        usage, sha256 = _paid(player, event, terms, at), summarized_sha256(context, found.plan)
        ready = replace(event, model=context.requested, usage=Usage())
        player._add(AttemptBilled(context.requested, usage, "summary", None, ready, sha256), at)


def summarized(
    event: AttemptBilled | CompactionApplied,
    context: Context,
    cache: PrefixCache,
    model: str,
    policy: Policy,
    sent: int,
    answered: int,
) -> Usage:
    """Send the request for the summary that an event records, and return its usage without the question.

    `sent` and `answered` are in unix ms.
    """
    wire = context.wire
    if cut := _cut(event, context, policy):
        marks, items = compaction_marks(context, cut, policy.market), wire.items_before(cut)
    else:
        asks_in_last = len(wire) > 0 and wire.role(len(wire) - 1) == "user"
        marks = () if cold(context, policy.market) else cache_marks(context, len(wire) - asks_in_last)
        items = len(context.items)
    cache.lay_out(context, model)
    ends = [wire.items_before(at + 1) for at in marks]
    usage = cache.sent(sent, answered, event.usage.output_tokens, ends or (0,))
    behind = cache.tokens - round(cache.totals[items])
    cache.forget_layout()
    return replace(usage, input_tokens=max(0, usage.input_tokens - behind))


def _cut(event: AttemptBilled | CompactionApplied, context: Context, policy: Policy) -> int:
    """Return the number of messages that the endpoint summarizes; 0 if the model writes the summary.

    A summary that was of no use is taken for one by the endpoint if the model supports this.
    """
    if isinstance(event, CompactionApplied):
        is_known = event.tail_start in context.entries  # else the log is damaged
        return group_of(context, event.tail_start) if event.block and is_known else 0
    plan = policy.plan_compaction(context, "")
    return plan.cut(context) if plan and plan.by_endpoint else 0
