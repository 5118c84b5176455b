"""/prune-config: show the pruning options and their sources, change one for the session, try another strategy."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from prunecli.commands.command import NEAR, Choice, Choose, Effect, InThread, Say, Table
from prunecli.config.keys import nearest, parse
from prunecli.config.references import import_own
from prunecli.config.save import save
from prunecli.config.typed import got
from prunecli.context.expectations import Caps
from prunecli.model.events import Record
from prunecli.runtime import Runtime
from prunecli.runtime.balance import payments
from prunecli.util.errors import UsageError
from prunecli.util.figures import money, share, short

if TYPE_CHECKING:
    from prunecli.features.replay.rows import Row
    from prunecli.features.replay.stage import Setting, Stage

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
    "The recorded answers are replayed, so this can't show what the model would have done differently. Compactions "
    "and prunes made to avoid one are left out. Costs are prompt costs; vs. none: compared with no pruning · "
    "+ rereads: with pruned content fetched again wherever an answer quotes it · breaks: requests that wrote cached "
    "content again · shortened: long results sent in part"
)


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Show pruning options; "pi.prune_protect 20000" sets one, "try pi" tries a strategy on this session."""
    words = arguments.split()
    if words[:1] == ["try"]:
        return _try(runtime, words[1:])
    keep = "--save" in words
    rest = " ".join(word for word in words if word != "--save")
    if not rest:
        return [_table(runtime)]
    key, _, text = rest.partition(" ")
    if not text:
        name = key.removeprefix("pruning.")
        if (of_table := _table(runtime, name)).rows:
            return [of_table]
        for option, shown, origin in _options(runtime):
            if option == name:
                return [Say(f"{key} = {shown}    ({origin})")]
        _check(runtime, key)
        value = runtime.config.displayed(parse(key) or ("",), runtime.config.value(key))
        return [Say(f"{key} = {json.dumps(value)}    ({runtime.config.origin(key)})")]
    _check(runtime, key)
    changed = runtime.config.with_value(key, text)
    import_own(changed)
    runtime.use_config(changed)
    shown = changed.displayed(parse(key) or ("",), changed.value(key))
    said = f"{key} = {json.dumps(shown)} for this session"
    if keep:
        note = save(runtime.setup.places, changed, key, text)
        said = f"{key} = {json.dumps(shown)}, saved" + (f"; {note}" if note else "")
    return [Say(said)]


def _check(runtime: Runtime, key: str) -> None:
    """Raise UsageError for an unknown option, with the nearest one of pruning and the options of this session."""
    name, known = key.removeprefix("pruning."), _known(runtime)
    if any(one.startswith(f"{name}.") for one in known):
        runtime.config.value(key)  # raises ConfigError with the keys of the table
    if runtime.config.has(key):
        return
    near = nearest(name, known, NEAR)
    names = ", ".join(name for name, *_ in _options(runtime))
    raise UsageError(
        f"no pruning option named {got(key)}" + (f" (did you mean pruning.{near}?)" if near else ""),
        f"options: {names}; /prune-config pi shows those of the strategy pi",
    )


def _known(runtime: Runtime) -> list[str]:
    config = runtime.config
    names = [one.key for one in config.items(config.strategies.names())]
    return [name.removeprefix("pruning.") for name in names if name.startswith("pruning.")]


def words(runtime: Runtime, before: str) -> Sequence[tuple[str, str]]:
    """Return the completions: "try", and the strategies after it, a table of options, or an option with its value."""
    if not before:
        tried = ("try", "See what another strategy would have cost so far")
        options = {name: value for name, value, _ in _options(runtime)}
        tables = dict.fromkeys(name.partition(".")[0] for name in _known(runtime) if "." in name)
        return [tried, *((name, "All of its options") for name in tables), *options.items()]
    if before != "try":
        return []
    now = "+".join(runtime.config.pruning.strategies)
    return [(name, "current" if name == now else "") for name in _tried(runtime)]


def _options(runtime: Runtime, table: str = "") -> tuple[tuple[str, str, str], ...]:
    also = [table] if table in runtime.config.strategies.names() else []
    names = dict.fromkeys((*runtime.config.pruning.strategies, *also))
    rows = tuple(
        _option(runtime, key.removeprefix("pruning."), value, origin)
        for key, value, origin in runtime.config.items(names)
        if key.startswith("pruning.")
    )
    if (on := runtime.choices.pruning) != runtime.config.pruning.enabled:
        toggled = ("enabled", json.dumps(on), "/prune-toggle")
        rows = tuple(toggled if row[0] == "enabled" else row for row in rows)
    return rows


def _option(runtime: Runtime, name: str, value: object, origin: str) -> tuple[str, str, str]:
    """Return the row of an option. A cap that is not set is shown with its value in effect."""
    if value is not None:
        return name, json.dumps(value), origin
    cap = getattr(runtime.choices.caps, name.removeprefix("spill."), 0) if name.startswith("spill.") else 0
    level = runtime.config.pruning.spill.level
    return (
        (name, str(cap), origin if level == "normal" else f"level {level}")
        if cap
        else (name, "unset", origin)
    )


def _table(runtime: Runtime, table: str = "") -> Table:
    note = (
        "/prune-config NAME VALUE sets an option for this session; --save keeps it · "
        "/prune-config try STRATEGY shows what a strategy would have cost so far"
    )
    begins = table and f"{table}."
    rows = tuple(row for row in _options(runtime, table) if row[0].startswith(begins))
    return Table("Pruning options", ("option", "value", "from"), rows, note=note)


def _try(runtime: Runtime, given: Sequence[str]) -> Sequence[Effect]:
    """Replay the session so far under another strategy, or offer the strategies."""
    config = runtime.config
    names = _tried(runtime)
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
    from prunecli.features.replay.stage import Trial

    trial = Trial(*_stage(runtime, wanted))

    def work() -> Sequence[Effect]:
        rows = trial.rows()
        note = _TRIAL_NOTE if trial.whole else f"The first {rows[0].requests:,} requests. {_TRIAL_NOTE}"
        if wanted != "+".join(config.pruning.strategies):
            value = json.dumps(wanted.split("+")) if "+" in wanted else wanted
            note += f". /prune-config strategy {value} selects it"
        note = ". ".join((*trial.notes, note))
        names, *figures = zip(_TRIED, *_rows(runtime, rows), strict=True)  # so that it fits 80 columns
        right = tuple(range(1, len(names)))
        return [Table(f"This session with {wanted}", names, tuple(figures), right, note)]

    return [InThread(f"Trying {wanted}", work, trial.stop)]


def _tried(runtime: Runtime) -> list[str]:
    """Return the strategies that can be tried: those that make edits of their own."""
    known = runtime.config.strategies
    return [name for name in known.names() if not hasattr(known.module(name), "context_edit")]


def _stage(runtime: Runtime, wanted: str) -> "tuple[Stage, Sequence[Record], list[Setting]]":
    """Return everything needed to replay this session: its model, options and cache, the records, and the settings of
    the current and the wanted strategy."""
    from prunecli.features.replay.rates import Table as Rates
    from prunecli.features.replay.stage import NO_PRUNING, Setting, Stage

    choices, config = runtime.choices, runtime.config
    now = "+".join(config.pruning.strategies) if choices.pruning else NO_PRUNING
    spills = choices.caps != Caps()
    tried = set(_tried(runtime))  # the endpoint's own edits can't be, and NO_PRUNING is always replayed
    settings = [
        Setting(name, config.pruning.gate, spills)
        for name in dict.fromkeys((now, wanted))
        if (spills or name != NO_PRUNING) and set(name.split("+")) <= tried
    ]
    rates = Rates(choices.info_of, runtime.model_name)
    stage = Stage(config, rates, (), choices.cache_ttl, runtime.expectations)
    return stage, runtime.session.records, settings


def _rows(runtime: Runtime, rows: "Sequence[Row]") -> tuple[tuple[str, ...], ...]:
    base = rows[0].cost
    played = [
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
    sent = [one for one in payments(runtime.session, runtime.choices) if one.kind == "answer"]
    if not sent or any(one.cost is None for one in sent):
        return tuple(played)
    prompts = [replace(one.usage, output_tokens=0) for one in sent]
    cost = sum(runtime.choices.price(one.model, usage) for one, usage in zip(sent, prompts, strict=True))
    sizes = [usage.prompt_tokens for usage in prompts]
    was = ("as reported", f"{len(sent):,}", short(sum(sizes)), short(max(sizes)), money(cost), *[""] * 5)
    return (*played, was)
