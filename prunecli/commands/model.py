"""/model: choose the model."""

from collections.abc import Iterator, Sequence

from prunecli.commands.command import Choice, Choose, Effect, InThread, Say
from prunecli.config.credentials import connection_for
from prunecli.config.keys import nearest
from prunecli.figures import short
from prunecli.model.events import SettingChanged
from prunecli.providers.models import ALIASES as MODEL_ALIASES
from prunecli.providers.models import ModelInfo, ModelTable
from prunecli.runtime import Runtime
from prunecli.runtime.checkup import offered, patient_of
from prunecli.runtime.entry_numbers import thinking_cost

_OFFERED = "--offered"


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Choose the model of this session: /model sonnet."""
    if arguments == _OFFERED:
        return [InThread("Asking the endpoint", lambda: _offered(runtime))]
    if arguments:
        thinking = thinking_cost(runtime, SettingChanged("model.name", arguments))
        info = runtime.set_model(arguments)
        known = f"{short(info.context_window)} tokens" if info.context_window else "window unknown"
        back = " They come back with the model before." if thinking.startswith(" Drops") else ""
        said = Say(
            f"Model: {info.name} ({known}). The next request starts with a cold cache.{thinking}{back}"
        )
        return [said, *(Say(doubt, "warning") for doubt in _doubts(runtime, info))]
    table = _table(runtime)
    choices = [_choice(runtime, table, alias, f"{alias} → {table.resolve(alias)}") for alias in MODEL_ALIASES]
    choices += [_choice(runtime, table, name, name) for name in table.names()]
    more = Choice(_OFFERED, "more …", "list the models of the endpoint")
    return [Choose("Model", "model", (*choices, more))]


def _offered(runtime: Runtime) -> Sequence[Effect]:
    """List the endpoint's models. Runs in a thread."""
    setup, config = runtime.setup, runtime.config
    patient = patient_of(setup.places, setup.cwd, setup.environ, lambda: config)
    try:
        found = offered(patient.provider(config))
    except TimeoutError:
        return [Say("The endpoint did not answer in time. Run /doctor.", "warning")]
    if not found:
        return [Say("The endpoint lists no models. Use any name with /model NAME.")]
    choices = tuple(
        Choice(name, name, f"{short(window)} tokens" if window else "", name == runtime.model_name)
        for name, window in found
    )
    return [Choose("Models of the endpoint", "model", choices)]


def _table(runtime: Runtime) -> ModelTable:
    return ModelTable.load(runtime.setup.places.shipped_data, runtime.config.models)


def _doubts(runtime: Runtime, info: ModelInfo) -> Iterator[str]:
    """Reasons why the model may not answer, as far as known without a request."""
    setup, config = runtime.setup, runtime.config
    if not info.context_window:
        near = nearest(info.name, [*MODEL_ALIASES, *_table(runtime).names()], 0.5)
        yield f"Unknown model name; it is sent as typed{near and f'. Did you mean {near}?'}"
    choices = runtime.choices
    if choices.wanted_effort and choices.wanted_effort not in choices.efforts:
        taken = f"it takes {', '.join(choices.efforts)}" if choices.efforts else "it has no effort setting"
        yield f"{info.name} does not support effort {choices.wanted_effort}: {taken}. Using its default."
    if info.assumed:
        yield f"{info.name} is newer than this version: window of {info.assumed} assumed, price unknown."
    definition, connection = connection_for(info.name, config, setup.environ, setup.places)
    if definition.needs_key(connection.base_url) and not connection.credentials:
        yield "No API key. /login to add one"


def _choice(runtime: Runtime, table: ModelTable, name: str, label: str) -> Choice:
    info = table.info(name)
    known = info.prices.input is not None and info.prices.output is not None
    price = f"${info.prices.input:g}/${info.prices.output:g} per M" if known else "price unknown"
    detail = f"{short(info.context_window)} tokens · {price}"
    return Choice(name, label, detail, info.name == runtime.model_name and name == label)
