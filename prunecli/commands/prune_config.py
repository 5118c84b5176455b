"""/prune-config: choose a strategy, and show and change the options of pruning."""

import json
from collections.abc import Sequence

from prunecli.commands.command import Effect, Say, ShowScreen, Table, words_brought
from prunecli.config.declared import choices
from prunecli.config.keys import nearest, parse
from prunecli.config.references import import_own
from prunecli.config.save import save
from prunecli.config.typed import expected, got
from prunecli.runtime import Runtime
from prunecli.util.errors import UsageError

TRY = "prune-config try"
"""The command of a feature whose module has `trial_of(runtime, *names)`: what each strategy would have cost."""

_NEAR = 0.6
"""Minimum similarity, 0 to 1, for suggesting an option: names are long, and people type their ends."""


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Choose a strategy and options; "gate always" sets one."""
    words = arguments.split()
    keep = "--save" in words
    rest = " ".join(word for word in words if word != "--save")
    if not rest:
        screen = "prunecli.tui.screens.strategies:StrategiesScreen"
        return [ShowScreen(screen, (runtime,), lambda: [_strategies(runtime), _table(runtime)])]
    key, _, text = rest.partition(" ")
    if not text:
        name = key.removeprefix("pruning.")
        if (of_table := _table(runtime, name)).rows:
            return [of_table]
        for option, shown, origin, _ in options(runtime):
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
    near = nearest(name, known, _NEAR)
    names = ", ".join(name for name, *_ in options(runtime))
    raise UsageError(
        f"no pruning option named {got(key)}" + (f" (did you mean pruning.{near}?)" if near else ""),
        f"options: {names}; /prune-config pi shows those of the strategy pi",
    )


def _known(runtime: Runtime) -> list[str]:
    config = runtime.config
    names = [one.key for one in config.items(config.strategies.names())]
    return [name.removeprefix("pruning.") for name in names if name.startswith("pruning.")]


def words(runtime: Runtime, before: str) -> Sequence[tuple[str, str]]:
    """Return the completions: a table of options or any option, or behind an option its values."""
    if not before:
        known = _known(runtime)
        shown = {name: value for name, value, *_ in options(runtime)}
        tables = dict.fromkeys(name.partition(".")[0] for name in known if "." in name)
        more = ((name, shown.get(name) or _meaning(runtime, name)) for name in known)
        return [*((name, "All of its options") for name in tables), *more]
    if " " in before or not runtime.config.has(before):
        return []
    value = runtime.config.value(before)
    now = value if isinstance(value, str) else json.dumps(value)
    known_values = dict.fromkeys(_values(runtime, before.removeprefix("pruning.")), "")
    if before.removeprefix("pruning.") == "strategy":
        known_values = {name: runtime.config.strategies.sentence(name) for name in known_values}
    return list({**({now: "current"} if value is not None else {}), **known_values, now: "current"}.items())


def _values(runtime: Runtime, name: str) -> tuple[str, ...]:
    if name == "strategy":
        return runtime.config.strategies.names()
    schema = runtime.config.schema
    item = schema.find(schema.resolve(parse(name) or ()))
    return () if item is None else ("true", "false") if item.type is bool else choices(item.type)


def options(runtime: Runtime, table: str = "") -> tuple[tuple[str, str, str, str], ...]:
    """Return the options of pruning, and of the strategies in use or the given one: name, value, origin, meaning."""
    also = [table] if table in runtime.config.strategies.names() else []
    names = dict.fromkeys((*runtime.config.pruning.strategies, *also))
    rows = tuple(
        (*_option(runtime, name := key.removeprefix("pruning."), value, origin), _meaning(runtime, name))
        for key, value, origin in runtime.config.items(names)
        if key.startswith("pruning.")
    )
    if (on := runtime.choices.pruning) != runtime.config.pruning.enabled:
        toggled = ("enabled", json.dumps(on), "/prune-toggle")
        rows = tuple((*toggled, row[3]) if row[0] == "enabled" else row for row in rows)
    return rows


def _option(runtime: Runtime, name: str, value: object, origin: str) -> tuple[str, str, str]:
    """Return an option with its value and origin. A cap that is not set is shown with its value in effect."""
    if value is not None:
        return name, json.dumps(value), origin
    cap = getattr(runtime.choices.caps, name.removeprefix("spill."), 0) if name.startswith("spill.") else 0
    level = runtime.config.pruning.spill.level
    return (
        (name, str(cap), origin if level == "normal" else f"level {level}")
        if cap
        else (name, "unset", origin)
    )


def _meaning(runtime: Runtime, name: str) -> str:
    """Return what an option means, and its range."""
    schema = runtime.config.schema
    item = schema.find(schema.resolve(parse(name) or ()))
    if item is None:
        return ""
    what = expected(item)
    return f"{item.doc} {what[0].upper()}{what[1:]}.".strip()


def _strategies(runtime: Runtime) -> Table:
    known, now = runtime.config.strategies, runtime.config.pruning.strategies
    rows = [("●" if name in now else "", name, known.sentence(name)) for name in known.names()]
    return Table("Pruning strategies", ("", "strategy", "what it does"), tuple(rows))


def _table(runtime: Runtime, table: str = "") -> Table:
    more = (f"/prune-config {word}: {said}" for word, said in words_brought("prune-config"))
    note = " · ".join(("/prune-config NAME VALUE sets an option for this session; --save keeps it", *more))
    begins = table and f"{table}."
    rows = tuple(row for row in options(runtime, table) if row[0].startswith(begins))
    return Table("Pruning options", ("option", "value", "from", "meaning"), rows, note=note)
