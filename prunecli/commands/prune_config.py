"""/prune-config: show the pruning options and their sources, and change one for the session."""

import json
from collections.abc import Sequence

from prunecli.commands.command import NEAR, Effect, Say, Table, words_brought
from prunecli.config.keys import nearest, parse
from prunecli.config.references import import_own
from prunecli.config.save import save
from prunecli.config.typed import got
from prunecli.runtime import Runtime
from prunecli.util.errors import UsageError


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Show pruning options; "pi.prune_protect 20000" sets one."""
    words = arguments.split()
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
    """Return the completions: a table of options, or an option with its value."""
    if before:
        return []
    options = {name: value for name, value, _ in _options(runtime)}
    tables = dict.fromkeys(name.partition(".")[0] for name in _known(runtime) if "." in name)
    return [*((name, "All of its options") for name in tables), *options.items()]


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
    more = (f"/prune-config {word}: {said}" for word, said in words_brought("prune-config"))
    note = " · ".join(("/prune-config NAME VALUE sets an option for this session; --save keeps it", *more))
    begins = table and f"{table}."
    rows = tuple(row for row in _options(runtime, table) if row[0].startswith(begins))
    return Table("Pruning options", ("option", "value", "from"), rows, note=note)
