"""The replay's prompt cache, held against the exact endpoint of the laws."""

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from prunecli.config.effective import Config
from prunecli.config.references import chosen
from prunecli.context.ledger import prun_applied
from prunecli.context.state import Context
from prunecli.context.view import View
from prunecli.features.replay.prefix import PrefixCache, blocks_of
from prunecli.features.replay.script import script_of
from prunecli.model.events import (
    AssistantMessage,
    Record,
    SessionStarted,
    SettingChanged,
    ToolResult,
    UserMessage,
)
from prunecli.model.messages import Usage
from prunecli.model.requests import PREAMBLE
from prunecli.providers.tokenizer import SHIPPED
from prunecli.session.importers.source import read_source
from tests.context.test_cuts import CALLS, cut_all, talked
from tests.laws.exact import SYSTEM, TOOLS, Endpoint, Piece, Played
from tests.sessions import SESSIONS

MODEL = "exact-1"
DROPPING = chosen(Config().with_value("keep_last_n_steps.n", "6"), "keep_last_n_steps")
CLEARING = chosen(Config().with_value("pi.prune_minimum", "500").with_value("pi.prune_protect", "1500"), "pi")


class Exact:
    """o200k_base, also for what the program would estimate from its bytes."""

    name = "chars4"

    def count(self, text: str) -> int:
        return SHIPPED.count(text)


class Requests(Endpoint):
    """The exact endpoint, storing only where a request ended, as for a log without breakpoints."""

    def asked(self, pieces: Sequence[Piece], sent: int, answered: int) -> Usage:
        chain, ends = 0, []
        for place, piece in enumerate(pieces):
            chain = hash((chain, piece.key))
            ends.append(place in (0, len(pieces) - 1) or chain in self._used)
        stored = [piece._replace(ends=end) for piece, end in zip(pieces, ends, strict=True)]
        return super().asked(stored, sent, answered)


def played(
    records: Sequence[Record], ttl_ms: int, seed: int, kind: type[Endpoint] = Endpoint
) -> list[tuple[Usage, Usage]]:
    """Of each request the usage of both caches, while strategies prune at random moments."""
    chance = random.Random(seed)
    found: list[tuple[Usage, Usage]] = []
    session = Played(kind(1.0, ttl_ms), kind(1.0, ttl_ms), Context(Exact()), Context(Exact()), MODEL)
    cache: PrefixCache | None = None
    for record in script_of(records, Exact()).steps:
        match record.event:
            case SessionStarted() as event:
                session.add(event, record.at)
                session.add(SettingChanged(PREAMBLE, {"system": SYSTEM, "tools": TOOLS}))
            case AssistantMessage() as event:
                for strategy in (CLEARING, DROPPING):
                    view = View(session.context, 200_000)
                    if chance.random() < 0.15 and (edits := strategy.propose(view).edits):
                        session.add(prun_applied(view, "strategy", edits, strategy=strategy.name))
                pieces = session.endpoint.pieces(session.context)
                cache = cache or PrefixCache(round(pieces[0].tokens), ttl_ms, minimum=0)
                cache.lay_out(session.context, MODEL)
                session.ask()
                marks = session.context.cache.marks if kind is Endpoint else ()
                ours = cache.sent(session.now, max(session.now, record.at), marks=marks)
                session.answer(event, record.at)
                found.append((ours, session.usages[-1][1]))
            case UserMessage() | ToolResult() as event:
                session.add(event, record.at)
            case _:
                pass
    return found


BY_SIZE = sorted(SESSIONS, key=lambda path: path.stat().st_size)


@pytest.mark.parametrize("ttl_ms", [300_000, 3_600_000])
@pytest.mark.parametrize(
    ("path", "seed"),
    [
        *((path, 1) for path in BY_SIZE[::8][:6]),
        *(pytest.param(path, 2, marks=pytest.mark.long) for path in BY_SIZE[::-8]),
    ],
    ids=lambda one: getattr(one, "name", str(one))[:40],
)
def test_it_reads_and_writes_what_the_exact_endpoint_does(path, seed: int, ttl_ms: int) -> None:  # type: ignore[no-untyped-def]
    pairs = played(read_source(path).records, ttl_ms, seed)
    assert [ours for ours, _ in pairs] == [exact for _, exact in pairs]


@pytest.mark.parametrize("path", BY_SIZE[8:40:16], ids=lambda one: one.name[:40])
def test_without_breakpoints_it_stores_what_a_request_read_and_the_request(path: Path) -> None:
    pairs = played(read_source(path).records, 300_000, 1, Requests)
    assert [ours for ours, _ in pairs] == [exact for _, exact in pairs]


def test_what_is_below_the_minimum_is_not_stored() -> None:
    context = Context(Exact())
    cache = PrefixCache(100, 300_000, minimum=1_024)
    context.apply(Record(0, 1, SessionStarted("a", "/", MODEL)))
    cache.lay_out(context, MODEL)
    assert cache.sent(10, 20) == Usage(100, 0, 0, 0)
    cache.lay_out(context, MODEL)
    assert cache.read(30) == (0, 0)


def test_another_model_shares_nothing_and_the_first_finds_its_prefix_again() -> None:
    context = Context(Exact())
    cache = PrefixCache(5_000, 300_000)
    context.apply(Record(0, 1, SessionStarted("a", "/", MODEL)))
    usages = []
    for now, model in ((10, MODEL), (20, "other"), (30, MODEL), (400_000, "other")):
        cache.lay_out(context, model)
        usages.append(cache.sent(now, now).cache_read_input_tokens)
    assert usages == [0, 0, 5_000, 0]


def test_a_cut_call_is_as_many_blocks_as_before() -> None:
    talk, head = talked(*CALLS)
    items = talk.context.counts.items
    before = blocks_of(items[head])
    cut_all(talk, head)
    assert blocks_of(items[head]) == before == 2 * len(CALLS)
