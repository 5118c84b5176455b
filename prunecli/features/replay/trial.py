"""Tries strategies on the session that is open: plays it under each, on the scale of its own reports.

The session as it was recorded, with its own prunes, is played too. What its endpoint reported, compared with that
play, scales the others. What is not played again, such as answers and summaries, is in each cost as it was billed. So
a strategy that ran all the time costs what /cost shows.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import monotonic

from prunecli.agent.assemble import cache_marks
from prunecli.context.spending import Paid
from prunecli.context.state import Context
from prunecli.context.tokens import Scale
from prunecli.features.replay.prefix import PrefixCache
from prunecli.features.replay.replay import NO_PRUNING, Setting, Stage
from prunecli.features.replay.replayer import Replayer, Sent
from prunecli.features.replay.rows import Row
from prunecli.features.replay.script import Script, is_answer, is_request, script_of
from prunecli.model.events import AssistantMessage, AttemptBilled, Record, RequestSent
from prunecli.model.messages import Usage
from prunecli.providers.models import token_factor
from prunecli.util.errors import UsageError
from prunecli.util.frozen import frozen

MOST_REQUESTS = 2_000
"""Maximum requests to try of a long session, so that a trial takes only seconds."""
MOST_SECONDS = 60.0
PLAYED = ("answer", "cut", "stopped")
"""The kinds of billed requests that a trial plays."""


class TrialStopped(UsageError):
    """The user stopped a trial, or it took too long."""


@frozen
class Bill:
    """What the played requests of a session were billed: their number, tokens and largest prompt, the USD of their
    prompts, and the USD of everything else. USD are None without known prices."""

    requests: int
    tokens: int
    largest: int
    prompts: float | None
    beside: float | None

    @property
    def cost(self) -> float | None:
        """All of it in USD, as in /cost."""
        return None if self.prompts is None or self.beside is None else self.prompts + self.beside


def bill_of(billed: Sequence[Paid], price: Callable[[str, Usage], float | None]) -> Bill:
    """Return the bill of these responses."""
    sent = [one for one in billed if one.kind in PLAYED]
    sizes = [one.usage.prompt_tokens for one in sent]
    costs = [price(one.model, replace(one.usage, output_tokens=0)) for one in sent]
    prompts = None if None in costs else sum(filter(None, costs))
    whole = None if any(one.cost is None for one in billed) else sum(one.cost or 0.0 for one in billed)
    beside = None if whole is None or prompts is None else whole - prompts
    return Bill(len(sent), sum(sizes), max(sizes, default=0), prompts, beside)


class Trial:
    """A trial that plays a session without pruning, and with other settings.

    `scale` is that of the session, `billed` its responses. `stop` ends the trial from another thread. `bill` is what
    was billed for the played requests. `notes` are the lines of `Stage.failures` and `Stage.assumptions`, once it is
    played.
    """

    def __init__(
        self,
        stage: Stage,
        records: Sequence[Record],
        settings: Sequence[Setting],
        scale: Scale,
        billed: Sequence[Paid],
        price: Callable[[str, Usage], float | None],
    ) -> None:
        self._stage = replace(stage, settings=tuple(dict.fromkeys(settings)))
        if scale.measured:
            by = scale.ratio / scale.factor
            fixed = round(scale.fixed)
            self._stage = replace(self._stage, fixed=fixed, factor_of=lambda model: by * token_factor(model))
        self._records, self.whole = _bounded(records)
        last = self._records[-1].seq if self._records else -1
        self.bill = bill_of([one for one in billed if one.seq <= last], price)
        self.notes: list[str] = []
        self._stopped = False
        self._until = 0.0

    def stop(self) -> None:
        """Stop at the next request."""
        self._stopped = True

    def rows(self, done: Callable[[Row], object] = lambda _: None) -> tuple[Row, ...]:
        """Return one row for each setting, the first without pruning. `done` gets each as soon as it is played.

        Raises TrialStopped.
        """
        self._until = monotonic() + MOST_SECONDS
        script = script_of(self._records, self._stage.counter)
        tokens, cost = self._as_recorded(script)
        bill = self.bill
        by = bill.tokens / tokens if tokens and bill.tokens else 1.0
        by_cost = bill.prompts / cost if cost and bill.prompts else by
        rows = []
        for row in self._stage.plays(script, self._watch):
            rows.append(_scaled(row, by, by_cost, bill.beside or 0.0))
            done(rows[-1])
        self.notes = [*self._stage.failures, *self._stage.assumptions(script)]
        return tuple(rows)

    def _as_recorded(self, script: Script) -> tuple[int, float]:
        """Play the session with its own prunes; return the tokens and the cost of its prompts."""
        part = self._stage.part(script, Setting(NO_PRUNING, "always", spill=False))
        context = Context(script.counter, part.factor_of, billed=False)
        cache = PrefixCache(part.fixed, part.ttl_ms, kind=part.cache)
        tokens, cost, now, sent = 0, 0.0, 0, -1
        for record in self._records:
            event = record.event
            if isinstance(event, RequestSent):
                cache.lay_out(context, part.name_of(event.model))
                sent = record.timestamp
            elif isinstance(event, AssistantMessage | AttemptBilled) and is_request(event):
                terms = part.terms(event.model)
                if sent < 0:  # another agent does not record its requests
                    name, sent = part.name_of(event.model), now
                    cache.lay_out(context, name)
                    marks = cache_marks(context, len(context.wire), terms.policy.cut(context))
                    context.apply(Record(record.seq, now, RequestSent(name, 0, "", marks)))
                usage = cache.sent(sent, record.timestamp, event.usage.output_tokens, context.cache.marks)
                if event.usage.prompt_tokens:
                    tokens, cost = tokens + usage.prompt_tokens, cost + terms.rates(cache.tokens).cost(usage)
                sent = -1 if isinstance(event, AssistantMessage) else sent
            context.apply(record)
            now = record.timestamp
        return tokens, cost

    def _watch(self, player: Replayer, sent: Sent) -> None:  # noqa: ARG002  # the signature of `Watch`
        if self._stopped:
            raise TrialStopped("stopped")
        if monotonic() > self._until:
            raise TrialStopped(
                f"stopped after {MOST_SECONDS:.0f} seconds", "`prunecli replay` has no time limit"
            )


def _scaled(row: Row, by: float, by_cost: float, beside: float) -> Row:
    return replace(
        row,
        tokens=round(by * row.tokens),
        peak=round(by * row.peak),
        cost=by_cost * row.cost + beside,
        cost_with_any_rereads=by_cost * row.cost_with_any_rereads + beside,
    )


def _bounded(records: Sequence[Record]) -> tuple[Sequence[Record], bool]:
    """Return the records of the first requests, and whether those are all records."""
    count = 0
    for at, record in enumerate(records):
        count += is_answer(record.event)
        if count > MOST_REQUESTS:
            return records[:at], False
    return list(records), True
