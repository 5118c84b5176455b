"""The values in effect: all layers merged, each value with its source.

A `Config` is immutable; a change for the session returns a new one, validated like everything else.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from prunecli.config.declared import Declared, Key, declared, is_mapping, is_table
from prunecli.config.keys import dotted, nearest, parse, shown
from prunecli.config.layer import KINDS, Kind, Layer, text_value
from prunecli.config.options import (
    SECTIONS,
    Compaction,
    Model,
    ModelFacts,
    Permissions,
    Plugins,
    Pruning,
    Sandbox,
    Tools,
    Ui,
    address_problem,
)
from prunecli.config.project_config import ADDED_UP, is_stricter
from prunecli.config.schema import Schema
from prunecli.config.strategies import Strategies
from prunecli.plugins.app import Installed, resolved
from prunecli.providers.endpoints import Endpoint
from prunecli.providers.registry import DEFAULT, Providers
from prunecli.tools.registry import default
from prunecli.util.errors import ConfigError

if TYPE_CHECKING:
    from prunecli.context.strategy import Chosen

_BROKEN_RULES = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What a rule between options raises: ValueError, and what a plugin's raises by mistake."""

SESSION = "session"
"""The origin of values set for this session only."""


class Found(NamedTuple):
    """A merged value and the layers that set it, in ascending order of precedence."""

    value: Any
    layers: tuple[Layer, ...]


class Service(NamedTuple):
    """Where a model is reached: its provider, the address ("" for the provider's own), the known endpoint whose key
    is used, None for the provider's, and the protocol, "" for the default."""

    provider: str
    base_url: str = ""
    endpoint: Endpoint | None = None
    wire: str = ""


class Item(NamedTuple):
    """One line of `config show`. `value` is None if unset."""

    key: str
    value: Any
    origin: str


@dataclass(frozen=True, slots=True, eq=False)
class Config:
    """The effective configuration. `Config()` holds the defaults.

    `notices` are lines for the user about files that were not read. `layers` are in ascending order of precedence.
    """

    model: Model = field(default_factory=Model)
    models: Mapping[str, ModelFacts] = field(default_factory=dict)
    tools: Tools = field(default_factory=Tools)
    pruning: Pruning = field(default_factory=Pruning)
    compaction: Compaction = field(default_factory=Compaction)
    permissions: Permissions = field(default_factory=Permissions)
    sandbox: Sandbox = field(default_factory=Sandbox)
    plugins: Plugins = field(default_factory=Plugins)
    ui: Ui = field(default_factory=Ui)
    notices: tuple[str, ...] = ()
    schema: Schema = field(default_factory=Schema, repr=False)
    layers: tuple[Layer, ...] = field(default=(), repr=False)
    found: Mapping[Key, Found] = field(default_factory=dict, repr=False)
    made: dict[str, "Chosen"] = field(default_factory=dict, init=False, repr=False, compare=False)
    """The strategies made so far, by name; `references.chosen` fills it, since each request asks for them."""
    built: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """The options of features and plugins built so far, by section."""
    services: dict[str, Service] = field(default_factory=dict, init=False, repr=False, compare=False)
    """The services looked up so far, by model."""

    @property
    def strategies(self) -> Strategies:
        return self.schema.strategies

    @property
    def providers(self) -> Providers:
        return self.schema.providers

    @property
    def installed(self) -> Installed:
        return self.schema.there

    def section(self, name: str) -> Any:
        """Return the options that a feature or plugin brought for a section, with the values in effect."""
        if name not in self.built:
            owner = self.schema.brought[name].load()
            self.built[name] = _build(owner, tuple(name.split(".")), self.found)
        return self.built[name]

    def strategy_options(self, name: str) -> Any:
        """Return the strategy's `Options` with the values in effect. Raises ConfigError for an unknown strategy."""
        return _build(self.strategies.options_class(name), ("pruning", name), self.found)

    def provider_options(self, name: str) -> Any:
        """Return the provider's `Options` with the values in effect; None if it declares none."""
        options = self.providers.options_class(name)
        return _build(options, ("model", name), self.found) if options else None

    def service(self, model: str = "") -> Service:
        """Return where a model is reached, by default the configured one: at the provider of its name (`demo`), as
        its `[models."X"]` says, as `[model]` says, or, if that names no place, at the vendor that its name tells."""
        name = model or self.model.name
        if name not in self.services:
            self.services[name] = self._service(name)
        return self.services[name]

    def _service(self, name: str) -> Service:
        if name in self.providers.names():
            return Service(name, self.model.base_url)
        facts = self.models.get(name)
        if facts and (facts.provider or facts.endpoint or facts.base_url):
            named = self.providers.endpoint(facts.endpoint, facts.provider) if facts.endpoint else None
            provider = named[0] if named else facts.provider or self._own.provider
            return self._at_home(Service(provider, facts.base_url, named[1] if named else None, facts.wire))
        own = self._own
        if own == Service(DEFAULT) and (vendor := self.providers.vendor(name)) is not None:
            provider, endpoint = vendor
            return Service(provider, endpoint.base_url, endpoint)
        return own

    @property
    def _own(self) -> Service:
        """What `[model]` says. Its endpoint's key is not for an address from a source of higher precedence."""
        provider, address = self.model.provider, self.model.base_url
        explicit = provider if ("model", "provider") in self.found else ""
        named = self.providers.endpoint(self.model.endpoint, explicit) if self.model.endpoint else None
        if named is None or named[1].name == DEFAULT:
            return self._at_home(Service(provider, address))
        above = self.found.get(("model", "base_url"))
        overridden = above and _rank(above) > _rank(self.found["model", "endpoint"])
        return Service(named[0], address, None if overridden else named[1])

    def _at_home(self, service: Service) -> Service:
        """Return a service with the address of the provider's own endpoint, if it has one and no other is given."""
        home = self.providers.endpoints(service.provider).get(service.provider)
        if service.base_url or service.provider == DEFAULT or home is None:
            return service
        return service._replace(base_url=home.base_url, endpoint=home)

    @property
    def key_variables(self) -> tuple[str, ...]:
        """The variables with the keys of all services that `/model` can reach."""
        used = (self.service(name).provider for name in (self.model.name, *self.models))
        return tuple(dict.fromkeys(name for one in self.providers.all_keys(used) for name in one.variables))

    def origin(self, key: str) -> str:
        """Return the source of a dotted key's value: "default", "~/.config/prunecli/config.toml:12",
        "environment PRUNECLI_MODEL", "flag --model", "session". Raises ConfigError for an unknown key."""
        return self._origin(self._key(key))

    def has(self, key: str) -> bool:
        """Return whether a dotted key, which may omit `pruning`, names a value. Raises ConfigError for a strategy
        that cannot be imported."""
        parts = parse(key)
        item = self.schema.find(self.schema.resolve(parts)) if parts else None
        return item is not None and not is_table(item.type) and not is_mapping(item.type)

    def value(self, key: str) -> Any:
        """Return the value of a dotted key, which may omit `pruning`. Raises ConfigError for an unknown key."""
        full = self._key(key)
        value, names = self._options(*full)
        for name in names:
            value = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
        return value

    def _options(self, section: str, name: str, *more: str) -> tuple[Any, Key]:
        """Return the options that hold a key, and what remains of the key."""
        if table := next((one for one in (f"{section}.{name}", section) if one in self.schema.brought), ""):
            owner = SECTIONS.get(section)
            if not (is_table(owner) and name in declared(owner)):
                return self.section(table), more if "." in table else (name, *more)
        if section == "pruning" and name not in declared(Pruning):
            return self.strategy_options(name), more
        if section == "model" and name not in declared(Model):
            return self.provider_options(name), more
        return getattr(self, section), (name, *more)

    def displayed(self, key: Key, value: Any) -> Any:
        """Return a value in a form that may be shown: without secrets."""
        brought = self.schema.brought.get(key[0])
        display = resolved(brought.facts["display"]) if brought else None
        return display(key, value) if display else value

    def with_value(self, key: str, text: str, label: str = "", origin: str = SESSION) -> "Config":
        """Return the configuration with one value changed for the session. The key may omit `pruning`.

        Raises ConfigError, prefixed with `label` if given, for an unknown key or an invalid value.
        """
        full, value = text_value(key, text, label, self.schema)
        return self._replaced("session", full, value, origin)

    @property
    def chosen(self) -> Mapping[Key, Any]:
        layers = [layer for layer in self.layers if layer.kind == "session"]
        return {
            key: value
            for layer in layers
            for key, value in layer.values.items()
            if layer.where(key) == SESSION
        }

    def keeping(self, chosen: Mapping[Key, Any]) -> "Config":
        """Return the configuration with these session values. Raises ConfigError if they no longer fit."""
        config = self
        for key, value in chosen.items():
            config = config._replaced("session", key, value, SESSION)
        return config

    def saved(self, key: Key, value: Any, place: str) -> "Config":
        """Return the configuration with a value saved in settings.toml (`place`), not for the session."""
        return self._replaced("settings", key, value, place)

    def items(self, strategies: Iterable[str] | None = None) -> Iterator[Item]:
        """Yield every value in effect, in the order of the sections.

        Includes the given strategies; by default, those that run and those that a layer configures.
        """
        on = self.installed.of("options")
        for section in self.schema.sections:
            if section in SECTIONS:
                yield from self._items((section,), SECTIONS[section], getattr(self, section))
            for name, one in on.items():
                if name.partition(".")[0] == section:
                    yield from self._items(tuple(name.split(".")), one.load(), self.section(name))
            if section == "pruning":
                for name in self._strategy_names() if strategies is None else strategies:
                    options = self.strategy_options(name)
                    yield from self._items(("pruning", name), type(options), options)
            if section == "model":
                for name in self._provider_names():
                    options = self.provider_options(name)
                    yield from self._items(("model", name), type(options), options)

    def _replaced(self, kind: Kind, key: Key, value: Any, place: str) -> "Config":
        """Set a value in the layer of a kind and remove it from session layers above, where it would be hidden."""
        layer = next((layer for layer in self.layers if layer.kind == kind), Layer(kind, {}))
        rest = [other.without(key) if other.kind == "session" else other for other in self.layers]
        rest = [other for other in rest if other.kind != kind]
        layers = sorted([*rest, layer.with_value(key, value, place)], key=lambda each: KINDS.index(each.kind))
        return config_of(tuple(layers), self.schema, self.notices)

    def _provider_names(self) -> Iterator[str]:
        configured = sorted({key[1] for key in self.found if key[0] == "model" and len(key) > 2})
        names = dict.fromkeys((self.model.provider, *configured))
        return (name for name in names if self.providers.options_class(name))

    def _strategy_names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.pruning.strategies, *_configured_strategies(self.found))))

    def _key(self, text: str) -> Key:
        key = parse(text)
        full = self.schema.resolve(key) if key else ()
        item = self.schema.find(full)
        if item is None or is_table(item.type) or is_mapping(item.type):
            known = [entry.key for entry in self.items()]
            inside = [
                name.removeprefix(f"{shown(full)}.") for name in known if name.startswith(f"{shown(full)}.")
            ]
            if item is not None and inside:
                keys = ", ".join(dict.fromkeys(name.partition(".")[0] for name in inside))
                raise ConfigError(f"{shown(key or (text,))}: a table with the keys {keys}")
            near = nearest(text, known)
            raise ConfigError(f"{shown(key or (text,))}: unknown key (did you mean {near}?)")
        return full

    def _origin(self, key: Key) -> str:
        found = self.found.get(key)
        return ", ".join(layer.where(key) for layer in found.layers) if found else "default"

    def _items(self, above: Key, owner: Any, value: Any) -> Iterator[Item]:
        if is_mapping(owner):
            for name in sorted(value):
                yield from self._items((*above, name), type(value[name]), value[name])
        elif is_table(owner):
            for item in declared(owner).values():
                yield from self._items((*above, item.name), item.type, getattr(value, item.name))
        else:
            yield Item(dotted(above), self.displayed(above, value), self._origin(above))


def _rank(found: Found) -> int:
    return KINDS.index(found.layers[-1].kind)


def config_of(layers: tuple[Layer, ...], schema: Schema, notices: tuple[str, ...]) -> Config:
    """Merge layers into a configuration; later layers take precedence.

    Raises ConfigError if values that are valid on their own do not fit together.
    """
    found = merged(layers)
    sections = {name: _build(owner, (name,), found) for name, owner in SECTIONS.items()}
    if ("tools", "enabled") not in found:
        sections["tools"] = replace(sections["tools"], enabled=default(schema.there))
    config = Config(**sections, notices=notices, schema=schema, layers=layers, found=found)
    for name in schema.brought:
        if any(key[: name.count(".") + 1] == tuple(name.split(".")) for key in found):
            config.section(name)
    for name in _configured_strategies(found):
        config.strategy_options(name)
    for name in {key[1] for key in found if len(key) > 2 and key[0] == "model"}:
        config.provider_options(name)
    _check_services(config)
    return config


def _check_services(config: Config) -> None:
    """Check the names and addresses of all services. Raises ConfigError."""
    known = config.providers
    own = config.model.provider if ("model", "provider") in config.found else ""
    tables: dict[Key, tuple[str, str, str]] = {("model",): (own, config.model.endpoint, "")}
    for name, facts in config.models.items():
        tables["models", name] = facts.provider, facts.endpoint, facts.base_url
    for table, (provider, endpoint, address) in tables.items():
        if provider and provider not in known.names():
            names = ", ".join(sorted(known.names()))
            raise _unfit(table, [(*table, "provider")], config.found, f"provider: expected one of {names}")
        if endpoint and known.endpoint(endpoint, provider) is None:
            providers = (provider,) if provider else (DEFAULT, *known.brought)
            names = ", ".join(dict.fromkeys(name for one in providers for name in known.endpoints(one)))
            what = f"endpoint: expected one of {names}, got {endpoint!r}"
            raise _unfit(table, [(*table, "endpoint")], config.found, what)
        if problem := address_problem(address, allow_http=config.model.allow_http):
            raise _unfit(table, [(*table, "base_url")], config.found, problem)


def _configured_strategies(found: Mapping[Key, Found]) -> list[str]:
    names = {key[1] for key in found if len(key) > 2 and key[0] == "pruning"}
    return sorted(names - declared(Pruning).keys())


def merged(layers: Iterable[Layer]) -> Mapping[Key, Found]:
    """Merge the values of all layers by key; later layers take precedence.

    Permission rules add up. For keys with an order of strictness, a project's value applies only if it is stricter.
    """
    found = dict[Key, Found]()
    for layer in layers:
        for key, value in layer.values.items():
            before = found.get(key)
            if key in ADDED_UP and before:
                both = tuple(dict.fromkeys((*before.value, *value)))
                found[key] = Found(both, (*before.layers, layer))
            elif layer.kind != "project" or is_stricter(key, value, _current(key, before)):
                found[key] = Found(value, (layer,))
    return found


def _current(key: Key, before: Found | None) -> Any:
    """Return the value below a layer: a merged one or the default."""
    if before:
        return before.value
    owner = SECTIONS.get(key[0])
    return declared(owner)[key[1]].default if is_table(owner) and key[1] in declared(owner) else None


def _build(owner: Any, above: Key, found: Mapping[Key, Found]) -> Any:
    """Build a table's value from the values found below a key; other fields keep their defaults."""
    below = {key for key in found if key[: len(above)] == above}
    if is_mapping(owner):
        names = sorted({key[len(above)] for key in below})
        inner = owner.__args__[1]
        return {name: _member(Declared(name, inner), (*above, name), found) for name in names}
    if not below:
        return owner()
    given = {
        item.name: _member(item, (*above, item.name), found)
        for item in declared(owner).values()
        if any(key[len(above)] == item.name for key in below)
    }
    try:
        return owner(**given)
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
    ) as error:  # a rule in the class's __post_init__
        raise _unfit(above, below, found, str(error)) from error


def _member(item: Declared, key: Key, found: Mapping[Key, Found]) -> Any:
    if is_table(item.type) or is_mapping(item.type):
        return _build(item.type, key, found)
    return found[key].value


def _unfit(above: Key, below: Iterable[Key], found: Mapping[Key, Found], what: str) -> ConfigError:
    """Return the error for values that do not fit together. `what` may start with a field."""
    name, colon, rest = what.partition(": ")
    parts = name.split(".")
    named = (*above, *parts)
    key, text = (named, rest) if colon and all(map(str.isidentifier, parts)) else (above, what)
    blamed = named if named in found else max(below)
    error = found[blamed].layers[-1].error(blamed, text)
    return ConfigError(error.message.replace(shown(blamed), shown(key)), error.hint)
