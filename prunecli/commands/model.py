"""/model: which model answers."""

from collections.abc import Sequence

from prunecli.commands.command import Choice, Choose, Effect, Say
from prunecli.figures import short
from prunecli.providers.models import ALIASES as MODEL_ALIASES
from prunecli.providers.models import ModelTable
from prunecli.runtime import Runtime


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Choose the model of this session, or name it: /model sonnet."""
    if arguments:
        info = runtime.set_model(arguments)
        known = f"{short(info.context_window)} tokens" if info.context_window else "window unknown"
        return [Say(f"Model: {info.name} ({known}). The next request starts with a cold cache.")]
    table = ModelTable.load(runtime.setup.places.shipped_data, runtime.config.models)
    choices = [_choice(runtime, table, alias, f"{alias} → {table.resolve(alias)}") for alias in MODEL_ALIASES]
    choices += [_choice(runtime, table, name, name) for name in table.names()]
    return [Choose("Model", "model", tuple(choices))]


def _choice(runtime: Runtime, table: ModelTable, name: str, label: str) -> Choice:
    info = table.info(name)
    price = f"${info.prices.input:g}/${info.prices.output:g} per M" if info.prices else "price unknown"
    detail = f"{short(info.context_window)} tokens · {price}"
    return Choice(name, label, detail, info.name == runtime.model_name and name == label)
