"""/prune-config: show the pruning options and their sources; change one for the session."""

import json
from collections.abc import Sequence

from prunecli.commands.command import Effect, Say, Table
from prunecli.config.references import import_own
from prunecli.config.save import save
from prunecli.runtime import Runtime


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Show pruning options; "pi.prune_protect 20000" sets one for this session, --save keeps it."""
    words = arguments.split()
    keep = "--save" in words
    rest = " ".join(word for word in words if word != "--save")
    if not rest:
        return [_table(runtime)]
    key, _, text = rest.partition(" ")
    if not text:
        value = runtime.config.value(key)
        return [Say(f"{key} = {json.dumps(value)}    ({runtime.config.origin(key)})")]
    changed = runtime.config.with_value(key, text)
    import_own(changed)
    runtime.use_config(changed)
    said = f"{key} = {json.dumps(changed.value(key))} for this session"
    if keep:
        note = save(runtime.setup.places, changed, key, text)
        said = f"{key} = {json.dumps(changed.value(key))}, saved" + (f"; {note}" if note else "")
    return [Say(said)]


def _table(runtime: Runtime) -> Table:
    names = runtime.config.pruning.strategies
    rows = tuple(
        (key.removeprefix("pruning."), json.dumps(value), origin)
        for key, value, origin in runtime.config.items(names)
        if key.startswith("pruning.")
    )
    note = "/prune-config NAME VALUE sets an option for this session; --save keeps it"
    return Table("Pruning options", ("option", "value", "from"), rows, note=note)
