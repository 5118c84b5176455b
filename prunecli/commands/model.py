"""/model: choose the model."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from prunecli.commands.command import Choice, Choose, Effect, InThread, Say, unquoted, weighed
from prunecli.config.credentials import connection_for, lacks_key, misses_key, provider_for
from prunecli.config.keys import nearest
from prunecli.context.economics import cold
from prunecli.context.whole_acts import switching
from prunecli.model.events import SettingChanged
from prunecli.providers.models import ALIASES as MODEL_ALIASES
from prunecli.providers.models import ModelInfo, ModelTable, Offer, token_factor
from prunecli.runtime import Runtime
from prunecli.runtime.entry_numbers import thinking_cost
from prunecli.runtime.make import STAND_IN
from prunecli.runtime.offered_models import Rows, offered, reason
from prunecli.util.errors import PrunecliError, UsageError
from prunecli.util.figures import in_tokens

ALIASES = ("models",)
REFRESH = "--refresh"
"""The argument that asks the endpoint again although the stored list is still fresh."""

_UNKNOWN = "not known here"


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Choose the model of this session: /model sonnet. Without a name, list the endpoint's models."""
    arguments = unquoted(arguments)
    if len(arguments.split()) > 1 and arguments not in runtime.config.models:
        raise UsageError(f"no model named {arguments!r}", "/model lists models; /effort sets the effort")
    if arguments and arguments != REFRESH:
        return _set(runtime, arguments)
    setup, config = runtime.setup, runtime.config
    key = connection_for("", config, setup.environ, setup.places)[1].credentials
    if config.service().provider == STAND_IN or lacks_key(config, "", key):
        return [_choose(runtime, ())]
    rows = None if arguments else runtime.offered.kept()
    if rows is not None:
        return _listed(runtime, rows)
    return [InThread("Asking the endpoint for its models", lambda: _asked(runtime))]


def known(runtime: Runtime) -> Choose:
    return _choose(runtime, runtime.offered.kept() or ())


def _set(runtime: Runtime, name: str) -> Sequence[Effect]:
    """Switch to a model. Where something of the session is cached, say first what this costs."""
    runtime.connections.check(name)
    context, choices, now = runtime.session.context, runtime.choices, runtime.setup.clock()
    there = replace(choices, settings={**choices.settings, "model.name": name}, asked="")
    market, info = runtime.policy.market, there.model
    if info.name == runtime.model_name or cold(context, market):
        return _switch(runtime, name)
    policy, factor = there.policy_at(now), token_factor(info.name)
    effect = switching(context, info.name, factor, market, policy.market, tells=policy.tells)
    return weighed(runtime, effect, "Switch", lambda: _switch(runtime, name))


def _switch(runtime: Runtime, name: str) -> Sequence[Effect]:
    thinking, before = thinking_cost(runtime, SettingChanged("model.name", name)), runtime.model_name
    info = runtime.set_model(name)
    window = f"{in_tokens(info.context_window)}" if info.context_window else "window unknown"
    back = " They return if you switch back." if thinking.startswith(" Drops") else ""
    price = f", {_price(info)}" if info.told_prices else ""
    still = info.name != before and cold(runtime.session.context, runtime.policy.market)
    cache = " The next request starts with a cold cache." if still else ""
    said = Say(f"Model: {info.name} ({window}{price}).{cache}{thinking}{back}")
    return [said, *(Say(doubt, "warning") for doubt in _doubts(runtime, info))]


def _asked(runtime: Runtime) -> Sequence[Effect]:
    """Ask the endpoint for its models. Runs in a thread."""
    setup, config = runtime.setup, runtime.config
    try:
        rows = runtime.offered.ask(provider_for("", config, setup.environ, setup.places))
    except (PrunecliError, TimeoutError) as error:
        return [
            Say(f"The endpoint's list is not available: {reason(error)}", "warning"),
            _choose(runtime, ()),
        ]
    return _listed(runtime, rows)


def _listed(runtime: Runtime, rows: Rows) -> Sequence[Effect]:
    none = Say("The endpoint lists no models; these are the known ones. /model NAME takes any other.")
    return [_choose(runtime, rows)] if rows else [none, _choose(runtime, ())]


def _choose(runtime: Runtime, rows: Rows) -> Choose:
    """Return the models to choose from: those that the endpoint lists, or else those of the table."""
    table, offers = _table(runtime), {row.name: row for row in rows}
    names = list(offers) or list(table.names())
    names += [name for name in map(table.resolve, runtime.config.models) if name not in names]
    if runtime.model_name not in (*names, *MODEL_ALIASES):
        names.insert(0, runtime.model_name)
    aliases = [one for one in MODEL_ALIASES if not offers or table.resolve(one) in offers]
    choices = [
        _choice(runtime, table.info(alias), offers, alias, f"{alias} → {table.resolve(alias)}")
        for alias in aliases
        if alias != STAND_IN
    ]
    names = [*(name for name in names if name != STAND_IN), STAND_IN]
    choices += [_choice(runtime, table.info(name), offers, name, name) for name in names]
    return Choose("Model", "model", tuple(choices))


def _table(runtime: Runtime) -> ModelTable:
    return ModelTable.load(runtime.setup.places.shipped_data, runtime.config.models)


def _doubts(runtime: Runtime, info: ModelInfo) -> Iterator[str]:
    setup, config = runtime.setup, runtime.config
    if not info.context_window:
        near = nearest(info.name, [*MODEL_ALIASES, *_table(runtime).names()], 0.5)
        yield f"Unknown model name; it is sent as typed{near and f'. Did you mean {near}?'}"
    choices = runtime.choices
    if choices.wanted_effort and choices.wanted_effort not in choices.efforts:
        taken = f"it accepts {', '.join(choices.efforts)}" if choices.efforts else "it has no effort setting"
        yield f"{info.name} does not support effort {choices.wanted_effort}: {taken}. Using its default."
    if info.assumption:
        yield info.assumption
    if misses_key(info.name, config, setup.environ, setup.places):
        yield "No API key. /login to add one"


def _price(info: ModelInfo) -> str:
    """Return a model's price and its source, unless that is the table; "" if the price is unknown."""
    prices = info.prices
    if prices.input is None or prices.output is None:
        return ""
    return f"${prices.input:g}/${prices.output:g} per M{' by the endpoint' if info.told_prices else ''}"


def _choice(runtime: Runtime, info: ModelInfo, offers: Mapping[str, Offer], name: str, label: str) -> Choice:
    if info.name in offers:
        info = offered(info, offers[info.name])
    window, price = info.context_window, _price(info)
    known = bool(price)
    price = price or f"price {_UNKNOWN}"
    detail = f"{in_tokens(window)} · {price}" if window else f"window {_UNKNOWN} · {price}"
    if not window and not known:
        detail = _UNKNOWN
    return Choice(name, label, detail, info.name == runtime.model_name and name == label)
