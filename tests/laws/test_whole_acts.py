"""What the line before a summary, its undo, a rewind and another model says, held against an exact endpoint."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from prunecli.agent.assemble import ModelSettings, compaction_request, summary_request
from prunecli.agent.policy import Policy
from prunecli.agent.summaries import record_summary
from prunecli.commands.command import A_CENT
from prunecli.config.effective import Config
from prunecli.context.expectations import SUMMARY_TOKENS
from prunecli.context.impact import Impact
from prunecli.context.redo import undo_of_summary
from prunecli.context.state import Context
from prunecli.context.whole_acts import between, switching
from prunecli.model.events import Event, Record, Rewound
from prunecli.model.messages import Json, Usage
from prunecli.model.requests import COMPACTION
from prunecli.providers.models import cost, token_factor
from prunecli.providers.tokenizer import SHIPPED
from prunecli.runtime.choices import Choices
from prunecli.session.importers.source import read_source
from tests.golden.requests import SESSIONS
from tests.laws.exact import Played, Summary, play, whole
from tests.laws.test_prices import OTHERS, SOME, TABLE, TTLS
from tests.sessions import COMPLETE

FACTOR = 1.4
"""The tokens that the endpoint really counts for one of o200k_base's."""


class Told(NamedTuple):
    """A figure as the line had it, and as the endpoint took it."""

    act: str
    said: float
    true: float


class Acting:
    """Acts on a session played against an exact endpoint, and compares what was said of each before."""

    def __init__(self, ttl: str, seed: int, *, thinks: bool) -> None:
        self.chance, self.ttl, self.thinks = random.Random(seed), ttl, thinks
        self.config = Config().with_value("model.cache_ttl", ttl)
        for key, value in (("keep_first_turns", 1), ("keep_recent_turns", 1)):
            self.config = self.config.with_value(f"compaction.{key}", str(value))
        self.sizes, self.costs = list[Told](), list[Told]()

    def policy(self, played: Played, model: str = "") -> Policy:
        named = {"model.name": model or played.model}
        refused = frozenset(
            [COMPACTION] * self.thinks
        )  # the exact endpoint does not bind thinking to its summaries
        return Choices(self.config, named, TABLE.info, refused_by=lambda _: refused).policy_at(played.now)

    def usd(self, model: str, usage: Usage) -> float:
        return cost(usage, TABLE.info(model), self.ttl) or 0.0  # type: ignore[arg-type]

    def before(self, played: Played) -> None:
        acts = [self.summary, self.undo, self.rewind, self.model]
        if self.chance.random() < 0.3 and played.context.last_response:
            self.chance.choice(acts)(played)

    def summary(self, played: Played) -> None:
        policy, context = self.policy(played), played.context
        if (plan := policy.plan_compaction(context, "")) is None:
            return
        said, tokens = policy.summary(context, plan), min(SUMMARY_TOKENS, plan.likely_tokens(context))

        def act() -> float:
            text = f"{len(played.records)}" + "any " * round(tokens / FACTOR)
            block: dict[str, Json] | None = None
            settings = ModelSettings(played.model)
            request = summary_request(context, settings, plan)
            if plan.by_endpoint:
                request = compaction_request(context, settings, plan, policy.market)
                block = {"type": COMPACTION, "content": text, "signature": "s"}
            played.endpoint.marks = request.cache_marks
            pieces = played.endpoint.pieces(Summary(context.preamble, request.messages))
            usage = replace(played.endpoint.asked(pieces, played.now, played.now), output_tokens=tokens)
            if plan.by_endpoint:  # what it does not read is not stored either
                usage = replace(
                    usage, input_tokens=usage.cache_creation_input_tokens or 0, cache_creation_input_tokens=0
                )
            event = replace(plan.event(context, text, block), model=played.model, usage=usage)
            record_summary(Log(played), event, policy.prunes_of_kept(context, event))
            return self.usd(played.model, usage)

        self.compare("summary", played, said, act)

    def undo(self, played: Played) -> None:
        events = undo_of_summary(played.context, played.records)
        if events and (played.context.requests > 0):
            self.go("undo", played, events)

    def rewind(self, played: Played) -> None:
        ends = [one.seq for one in played.context.items if one.exchange and not one.exchange.calls]
        if ends:
            self.go("rewind", played, [Rewound(self.chance.choice(ends))])

    def go(self, name: str, played: Played, events: Sequence[Event]) -> None:
        later = Context(SHIPPED, token_factor)
        new = [Record(len(played.records) + at, played.now, one) for at, one in enumerate(events)]
        for record in (*played.records, *new):
            later.apply(record)
        said = between(played.context, later, self.policy(played).market)

        def act() -> float:
            for event in events:
                played.add(event)
            return 0.0

        self.compare(name, played, said, act)

    def model(self, played: Played) -> None:
        name = self.chance.choice(OTHERS)
        market, there = self.policy(played).market, self.policy(played, name).market
        said = switching(played.context, name, token_factor(name), market, there)

        def act() -> float:
            played.use(name)
            return 0.0

        self.compare("model", played, said, act)

    def compare(self, name: str, played: Played, said: Impact, act: Callable[[], float]) -> None:
        tokens, once, each = self.next_one(played)
        paid = act()
        later_tokens, later_once, later_each = self.next_one(played)
        self.sizes += [Told(name, said.before, tokens), Told(name, said.after, later_tokens)]
        if said.change and said.change.cost is not None:
            gain = each - later_each
            self.costs.append(Told(name, said.change.cost, max(0.0, paid + later_once - once + gain)))

    def next_one(self, played: Played) -> tuple[float, float, float]:
        """Tokens of the next request, its price, and its price if all of it were read from the cache."""
        pieces = played.endpoint.upcoming(played.context)
        tokens, read = round(whole(pieces)), round(played.endpoint.cached(pieces, played.now))
        usages = Usage(0, 0, read, tokens - read), Usage(0, 0, tokens, 0)
        once, each = (self.usd(played.model, usage) for usage in usages)
        return tokens, once, each


class Log:
    """A played session as the log in which a summary is recorded."""

    def __init__(self, played: Played) -> None:
        self.played, self.context = played, played.context

    def emit(self, event: Event) -> Record:
        return self.played.add(event)

    keep = emit


def acted(records: Sequence[Record], ttl: str, seed: int, *, thinks: bool) -> Acting:
    acting = Acting(ttl, seed, thinks=thinks)
    play(records, OTHERS[0], FACTOR, token_factor, TTLS[ttl], acting.before, thinks=thinks)
    return acting


def wrong(found: Sequence[Told], act: str, least: float) -> float:
    """The share of an act's figures that are off by more than 5 %, and by more than `least`."""
    figures = [one for one in found if one.act == act]
    off = [one for one in figures if abs(one.said - one.true) > max(0.05 * one.true, least)]
    return len(off) / len(figures)


@pytest.mark.skipif(not COMPLETE, reason="the large sessions are not in a source distribution")
@pytest.mark.parametrize("paths", [SOME, pytest.param(SESSIONS, marks=pytest.mark.long)])
def test_the_line_before_an_act_on_the_whole_context_is_true_afterwards(paths: Sequence[Path]) -> None:
    sessions = [(number, read_source(path).records) for number, path in enumerate(paths)]
    played = [
        acted(records, ttl, seed, thinks=thinks)
        for seed, records in sessions
        for ttl in TTLS
        for thinks in (False, True)
    ]
    for act in ("summary", "undo", "rewind", "model"):
        assert wrong([told for acting in played for told in acting.sizes], act, 0) <= 0.1, act
        assert wrong([told for acting in played for told in acting.costs], act, 2 * A_CENT) <= 0.05, act
