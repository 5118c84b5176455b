"""/prune-config try: what another strategy would have sent and cost in the session that is open."""

import json
from collections.abc import Sequence

from prunecli.commands.command import Choice, Choose, Effect, InThread, Table
from prunecli.features.replay.rates import Table as Rates
from prunecli.features.replay.replay import NO_PRUNING, Setting, Stage
from prunecli.features.replay.rows import Row
from prunecli.features.replay.trial import Bill, Trial
from prunecli.runtime import Runtime
from prunecli.runtime.balance import billed
from prunecli.util.errors import UsageError
from prunecli.util.figures import money, share, short

_TRIED = (
    "",
    "requests",
    "tokens",
    "largest",
    "cost",
    "vs. none",
    "+ rereads",
    "breaks",
    "pruned",
    "shortened",
)
_TRIAL_NOTE = (
    "The recorded answers are replayed, so this can't show what the model would have done differently. Costs are "
    "those of the whole session, as in /cost; vs. none: compared with no pruning · "
    "+ rereads: with pruned content fetched again wherever an answer quotes it · breaks: requests that wrote cached "
    "content again · shortened: long results sent in part"
)


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Show what another strategy would have cost so far."""
    config, given = runtime.config, arguments.split()
    names = tried_by(runtime)
    if not given:
        now = "+".join(config.pruning.strategies)
        choices = tuple(Choice(f"try {name}", name, current=name == now) for name in names)
        return [Choose("Try a strategy on this session", "prune-config", choices)]
    wanted = given[0]
    for name in wanted.split("+"):
        if name not in names:
            known = name in config.strategies.names()
            why = "a trial can't show what the endpoint clears itself" if known else "no such strategy"
            raise UsageError(f"/prune-config try {name or wanted}: {why}", f"choose from {', '.join(names)}")
    if len(given) > 1:
        raise UsageError(
            f"/prune-config try: one strategy at a time, got {' '.join(given)}",
            "a+b runs one after the other",
        )
    trial = trial_of(runtime, wanted)

    def work() -> Sequence[Effect]:
        rows = trial.rows()
        note = _TRIAL_NOTE if trial.whole else f"The first {rows[0].requests:,} requests. {_TRIAL_NOTE}"
        if wanted != "+".join(config.pruning.strategies):
            value = json.dumps(wanted.split("+")) if "+" in wanted else wanted
            note += f". /prune-config strategy {value} selects it"
        note = ". ".join((*trial.notes, note))
        names, *figures = zip(_TRIED, *_figures(rows, trial.bill), strict=True)  # so that it fits 80 columns
        right = tuple(range(1, len(names)))
        return [Table(f"This session with {wanted}", names, tuple(figures), right, note)]

    return [InThread(f"Trying {wanted}", work, trial.stop)]


def words(runtime: Runtime, before: str) -> Sequence[tuple[str, str]]:
    if before:
        return []
    now = "+".join(runtime.config.pruning.strategies)
    return [(name, "current" if name == now else "") for name in tried_by(runtime)]


def tried_by(runtime: Runtime) -> list[str]:
    """Return the strategies that can be tried: those that make edits of their own."""
    known = runtime.config.strategies
    return [name for name in known.names() if not hasattr(known.module(name), "context_edit")]


def trial_of(runtime: Runtime, *wanted: str) -> Trial:
    """Return a trial of the configured strategy and of these: with this session's model, options, cache and bill."""
    choices, config = runtime.choices, runtime.config
    now = "+".join(config.pruning.strategies) if config.pruning.enabled else NO_PRUNING
    spills = config.pruning.enabled and config.pruning.spill.enabled
    tried = set(tried_by(runtime))  # the endpoint's own edits can't be, and NO_PRUNING is always replayed
    settings = [
        Setting(name, config.pruning.gate, spills)
        for name in dict.fromkeys((now, *wanted))
        if (spills or name != NO_PRUNING) and set(name.split("+")) <= tried
    ]
    rates = Rates(choices.info_of, runtime.model_name)
    stage = Stage(config, rates, (), choices.cache_ttl, runtime.expectations)
    session = runtime.session
    scale, responses = session.context.counts.scale, billed(session, choices)
    return Trial(stage, session.records, settings, scale, responses, choices.known_price)


def _figures(rows: Sequence[Row], bill: Bill) -> list[tuple[str, ...]]:
    base = rows[0].cost
    played: list[tuple[str, ...]] = [
        (
            row.name,
            f"{row.requests:,}",
            short(row.tokens),
            short(row.peak),
            money(row.cost),
            *((share(row.cost / base), share(row.cost_with_any_rereads / base)) if base else ("-", "-")),
            str(row.cache_breaks),
            str(row.pruned_results),
            str(row.spilled_results),
        )
        for row in rows
    ]
    if not bill.requests or bill.cost is None:
        return played
    tokens = f"{bill.requests:,}", short(bill.tokens), short(bill.largest)
    return [*played, ("as billed", *tokens, money(bill.cost), *[""] * 5)]
