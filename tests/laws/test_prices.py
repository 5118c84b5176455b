"""What the gate says of a prune, and /cost of a session, held against an exact endpoint."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prunecli.config.effective import Config
from prunecli.config.references import chosen
from prunecli.context.compaction import Options
from prunecli.context.economics import cold
from prunecli.context.impact import Impact, impact
from prunecli.context.ledger import prun_applied
from prunecli.context.prun import plan_edits, plan_prun
from prunecli.context.spending import balance
from prunecli.context.state import Context
from prunecli.context.tokens import Chars4, TokenCounter
from prunecli.context.view import View
from prunecli.model.events import (
    AssistantMessage,
    BilledReason,
    PrunApplied,
    PrunReverted,
    Record,
    Rewound,
    SessionStarted,
    ToolResult,
    UserMessage,
)
from prunecli.model.messages import Block, Text, ToolUse, Usage
from prunecli.providers.models import ModelTable, cost, token_factor
from prunecli.providers.tokenizer import SHIPPED
from prunecli.runtime.choices import Choices
from prunecli.session.importers.source import read_source
from prunecli.util.paths import Places
from tests.golden.requests import SESSIONS
from tests.laws.exact import Piece, Played, play, png, whole
from tests.sessions import COMPLETE

TABLE = ModelTable.load(Places.of({"HOME": "/nonexistent"}).shipped_data, {})
TTLS = {"5m": 300_000, "1h": 3_600_000}
MODELS = [("claude-sonnet-4-5", 1.23), ("claude-sonnet-4-5", 1.45), ("claude-opus-5-5", 1.4)]
"""Models with the tokens that the endpoint really counts for one of o200k_base's: 1.23 and 1.6 are expected."""
BOUND = [("claude-opus-5-5", 1.4, True), ("claude-haiku-5-5", 1.7, True)]
"""Models that bind thinking to what stands before it, one with prices that depend on the length of the prompt."""
OTHERS = ["claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5"]
"""Models to change to. They count alike, and not all of them can read the others' thinking."""
NOTHING = 0.004
"""US dollars below which nobody decides otherwise."""
SMALL = 250
"""Tokens behind an edit below which its price is next to nothing: then a few tokens are a large part of it."""


def strategy(name: str, **options: int):  # type: ignore[no-untyped-def]
    config = Config()
    for key, value in options.items():
        config = config.with_value(f"{name}.{key}", str(value))
    return chosen(config, name)


PI = strategy("pi", prune_minimum=1_500, prune_protect=4_000, protected_turns=0)
SUPERSEDED = strategy("superseded")


@dataclass(frozen=True, slots=True)
class Books:
    """Figures of one session: (predicted, exact) of each prune's cost and gain; the net as /cost has it, the exact
    one, and the bill."""

    costs: list[tuple[float, float]]
    gains: list[tuple[float, float]]
    net: float
    exact: float
    bill: float


def booked(
    records: Sequence[Record],
    model: str,
    factor: float,
    ttl: str,
    seed: int = 1,
    *,
    thinks: bool = False,
    acts: bool = False,
    summaries: bool = False,
    counter: TokenCounter = SHIPPED,
) -> Books:
    """Plays a session with prunes now and then: a strategy's, or the model's own. Some are undone, and some requests
    are cut or stopped. With `thinks`, its answers have thinking, which the prunes make stale. With `acts`, half of
    its prompts are sent again from an earlier point or follow an earlier answer, and the model changes, and more
    prunes are undone in part or as a whole, and redone. With `summaries`, the model summarizes the middle of the
    session now and then."""
    rng, costs, gains = random.Random(seed), list[tuple[float, float]](), list[tuple[float, float]]()
    undone: list[PrunApplied] = []
    config = Config().with_value("model.cache_ttl", ttl)

    def price(name: str, usage: Usage) -> float:
        return cost(usage, TABLE.info(name), ttl) or 0.0  # type: ignore[arg-type]

    def before(played: Played) -> None:
        if summaries and rng.random() < 0.08:
            played.summarize(Options(keep_first_turns=1, keep_recent_turns=1))
        if acts and isinstance(said := played.records[-1].event, UserMessage):
            if rng.random() < 0.5:
                ends = [one.seq for one in played.context.items if one.exchange and not one.exchange.calls]
                again = rng.choice(played.context.user_turns) - 1
                played.add(Rewound(rng.choice([again, *ends])))
                played.add(said)
            if model in OTHERS and rng.random() < 0.3:
                played.use(rng.choice(OTHERS))
        if rng.random() > 0.3:
            return
        if event := act(played.context):
            priced(played, event)

    def act(context: Context) -> PrunApplied | PrunReverted | None:
        """An undo, a restore or a redo now and then, or a prune."""
        view, prunes = View(context, 200_000, recall=True), context.live_pruns()
        if prunes and rng.random() < (0.4 if acts else 0.15):
            one = rng.choice(prunes)
            targets = [edit.seq for edit in one.event.edits if edit.kind != "memo"]  # type: ignore[union-attr]
            undone.append(one.event)  # type: ignore[arg-type]
            return PrunReverted((rng.choice([one.seq, *targets]) if acts else one.seq,))
        match rng.choice(["pi", "pi", "superseded", "prun", *["redo"] * len(undone[-1:] * acts)]):
            case "redo":
                edits = [
                    edit
                    for edit in undone.pop().edits
                    if edit.seq in context.entries and view.shows(context.entries[edit.seq])
                ]
            case "prun":
                memo, order = rng.choice([None, "the gist of it"]), rng.choice(["newest", "oldest"])
                plan = plan_prun(view, rng.choice([500, 3_000, 10_000]), memo, order=order)  # type: ignore[arg-type]
                edits = plan_edits(view, plan)
            case name:
                edits = (PI if name == "pi" else SUPERSEDED).propose(view).edits
        return prun_applied(view, "strategy", edits) if edits else None

    def priced(played: Played, event: PrunApplied | PrunReverted) -> None:
        """Applies an act, and compares its price as stated with the one that the endpoint will take."""
        context = played.context
        market = Choices(config, {"model.name": played.model}, TABLE.info).policy_at(played.now).market
        warm, change = not cold(context, market), impact(context, [event], market).change
        without = played.endpoint.upcoming(context)
        played.add(event)
        pruned = played.endpoint.upcoming(context)
        if not warm or change is None or change.cost is None or change.gain is None:
            return
        lost = played.endpoint.cached(without, played.now) - played.endpoint.cached(pruned, played.now)
        saved = whole(without) - whole(pruned)
        gain = all_read(played, without) - all_read(played, pruned)
        true = gain + next_one(played, pruned) - next_one(played, without)
        if lost - max(0, saved) > SMALL and true > 0 and not undone and isinstance(event, PrunApplied):
            costs.append((change.cost, true))
        if abs(saved) > SMALL:
            gains.append((change.gain, gain))

    def figures(context: Context, now: int) -> list[Impact]:
        market = Choices(config, {"model.name": context.requested}, TABLE.info).policy_at(now).market
        return [impact(context, [PrunReverted((one.seq,))], market) for one in context.live_pruns()]

    def asked(played: Played) -> None:
        if rng.random() > 0.1:
            return
        reason: BilledReason = rng.choice(["cut", "stopped"])
        played.attempt(reason)
        if reason == "stopped":
            before(played)
            played.ask()

    def all_read(played: Played, pieces: Sequence[Piece]) -> float:
        return price(played.model, Usage(0, 0, round(whole(pieces)), 0))

    def next_one(played: Played, pieces: Sequence[Piece]) -> float:
        read = round(played.endpoint.cached(pieces, played.now))
        return price(played.model, Usage(0, 0, read, round(whole(pieces)) - read))

    played = play(records, model, factor, token_factor, TTLS[ttl], before, asked, counter, thinks=thinks)
    if acts:
        resumed = Context(counter, token_factor)
        for record in played.records:
            resumed.apply(record)
        assert figures(resumed, played.now) == figures(played.context, played.now)
    books = balance(played.records, played.context, price)
    assert books.net is not None
    exact = sum(price(name, bare) - price(name, pruned) for name, pruned, bare in played.usages)
    return Books(
        costs, gains, books.net, exact, sum(price(name, pruned) for name, pruned, _ in played.usages)
    )


@dataclass(frozen=True, slots=True)
class Bounds:
    """How wrong the gate's prices may be, in the median and in 95 of 100, and by which part of the bill the net of
    /cost. Prices of undos, and of prunes in a session with an undo, are not held: the endpoint may then have more in
    its cache than is known."""

    middle: float = 0.05
    most: float = 0.15
    of_bill: float = 0.01


ROUGH = Bounds(0.05, 0.22, 0.025)
"""With chars4, which takes all text for equally dense: what was sent is known by the prompts, what will be is not."""


def held(found: Sequence[Books], bounds: Bounds = Bounds()) -> None:
    """The gate's prices and the net of /cost are within the bounds."""
    for pairs in ([one.costs for one in found], [one.gains for one in found]):
        errors = sorted(abs((said - true) / true) for costs in pairs for said, true in costs)
        assert len(errors) >= 5
        assert median(errors) <= bounds.middle
        assert errors[int(0.95 * len(errors))] <= bounds.most
    for one in found:
        assert abs(one.net - one.exact) <= max(bounds.of_bill * one.bill, NOTHING)


def all_books(
    paths: Sequence[Path], model: str, factor: float, *, thinks: bool, counter: TokenCounter = SHIPPED
) -> list[Books]:
    return [
        booked(read_source(path).records, model, factor, ttl, thinks=thinks, counter=counter)
        for path in paths
        for ttl in TTLS
    ]


SOME = [path for path in SESSIONS if 60_000 < path.stat().st_size < 200_000][::5]
large = pytest.mark.skipif(not COMPLETE, reason="the large sessions are not in a source distribution")


@large
@pytest.mark.parametrize("thinks", [False, True])
def test_prices_and_savings_are_those_of_an_exact_endpoint(thinks: bool) -> None:
    held(all_books(SOME, *MODELS[2], thinks=thinks))


@large
@pytest.mark.parametrize("paths", [SOME, pytest.param(SESSIONS, marks=pytest.mark.long)])
def test_the_rough_estimator_knows_what_was_saved(paths: Sequence[Path]) -> None:
    held(all_books(paths, *MODELS[2], thinks=False, counter=Chars4()), ROUGH)


@pytest.mark.long
@large
@pytest.mark.parametrize(("model", "factor", "thinks"), [*((*one, False) for one in MODELS), *BOUND])
def test_prices_and_savings_are_those_of_an_exact_endpoint_in_every_session(
    model: str, factor: float, thinks: bool
) -> None:
    held(all_books(SESSIONS, model, factor, thinks=thinks))


WORDS = [
    "file",
    "the quick brown fox",
    "结果已经写入文件",
    "漢字かな交じり文",
    "Привет, мир",
    "αβγ δεζ",
    "👩‍👩‍👧 ok",
    "0xdead",
    "é\u0301",
]


@st.composite
def talks(draw: st.DrawFn) -> list[Record]:
    """Sessions in many scripts, with idle times before some answers."""
    found: list[Record] = []
    at, calls = 1_700_000_000_000, 0

    def add(event: object) -> None:
        found.append(Record(len(found), at, event))  # type: ignore[arg-type]

    def words(most: int) -> str:
        one, other = draw(st.sampled_from(WORDS)), draw(st.sampled_from(WORDS))
        return f"{one} {other}\n" * draw(st.integers(1, most))

    add(SessionStarted("0" * 26, "/w", "m"))
    for _ in range(draw(st.integers(2, 4))):
        at += draw(st.sampled_from([1_000, 60_000, 400_000, 4_000_000]))
        add(UserMessage((Text(words(8)),)))
        for _ in range(draw(st.integers(4, 12))):
            at, calls = at + 2_000, calls + 1
            call = ToolUse(f"t{calls}", "read", {"path": draw(st.sampled_from(["a.py", "b.py", "文件.py"]))})
            add(AssistantMessage((Text(words(10)), call), "m", "tool_use"))
            shown: list[Block] = [Text(words(300))]
            if draw(st.integers(0, 7)) == 0:
                shown = [Text("shot.png"), png(*draw(st.sampled_from([(200, 100), (1568, 700), (750, 750)])))]
            add(ToolResult(call.id, "read", tuple(shown)))
        at += 2_000
        add(AssistantMessage((Text(words(10)),), "m", "end_turn"))
    return found


def over_talks(
    examples: int, *, acts: bool = False, summaries: bool = False, bounds: Bounds = Bounds()
) -> None:
    found: list[Books] = []

    models = [(one, 1.4) for one in OTHERS] if acts else MODELS

    @given(talks(), st.sampled_from(models), st.sampled_from(list(TTLS)), st.integers(0, 99), st.booleans())
    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    def collect(records: list[Record], model: tuple[str, float], ttl: str, seed: int, thinks: bool) -> None:
        bound = thinks and "5-5" in model[0]
        found.append(booked(records, *model, ttl, seed, thinks=bound, acts=acts, summaries=summaries))

    run: Callable[[], None] = collect
    run()
    held(found, bounds)


SLOW = (pytest.param(500, False, marks=pytest.mark.long), pytest.param(500, True, marks=pytest.mark.long))


@pytest.mark.parametrize(("examples", "acts"), [(20, False), (20, True), *SLOW])
def test_prices_and_savings_hold_in_every_script(examples: int, acts: bool) -> None:
    over_talks(examples, acts=acts, bounds=Bounds(most=9, of_bill=0.06))


@pytest.mark.parametrize("examples", [20, pytest.param(500, marks=pytest.mark.long)])
def test_savings_hold_across_summaries(examples: int) -> None:
    """What follows the kept beginning is written anew with each summary, with prunes and without them. How much of
    what was pruned stood in the replaced turns is only estimated."""
    over_talks(examples, summaries=True, bounds=Bounds(most=9, of_bill=0.1))
