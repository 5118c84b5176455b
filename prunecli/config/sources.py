"""The files, variables and flags that make up the configuration, and their order of precedence.

Built-in < config.toml < settings.toml < the project's files < environment < flags and --set.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from prunecli.config.effective import Config, config_of
from prunecli.config.files import read
from prunecli.config.layer import Kind, Layer, file_layer, text_layer
from prunecli.config.plugins import installed_for, switched_off
from prunecli.config.project_config import project_files
from prunecli.config.schema import Schema
from prunecli.config.strategies import Strategies
from prunecli.plugins.app import Installed
from prunecli.plugins.installing import DISABLED
from prunecli.providers.registry import DEFAULT, SHIPPED, Providers
from prunecli.util.errors import ConfigError
from prunecli.util.paths import Places, absolute

VARIABLES: Mapping[str, str] = {
    "ANTHROPIC_BASE_URL": "model.base_url",
    "PRUNECLI_MODEL": "model.name",
    "PRUNECLI_PROVIDER": "model.provider",
    "PRUNECLI_SANDBOX": "sandbox.mode",
    "PRUNECLI_STRATEGY": "pruning.strategy",
    "PRUNECLI_THEME": "ui.theme",
}
"""The environment variables that set a key; an empty variable sets nothing."""

_PROVIDER, _ENDPOINT, _ADDRESS = (("model", name) for name in ("provider", "endpoint", "base_url"))

FLAGS: Mapping[str, str] = {
    "--model": "model.name",
    "--effort": "model.effort",
    "--base-url": "model.base_url",
    "--theme": "ui.theme",
    "--permission-mode": "permissions.mode",
    "--sandbox": "sandbox.mode",
    "--allowed-tools": "permissions.allow",
    "--disallowed-tools": "permissions.deny",
}
"""The flags that set a key. Their values are text as for --set; lists are JSON."""


def load(
    places: Places,
    cwd: Path,
    environ: Mapping[str, str],
    *,
    flags: Mapping[str, str] | None = None,
    sets: Sequence[str] = (),
    config_file: Path | None = None,
    trusted: bool = False,
    strategies: Strategies | None = None,
    providers: Providers = SHIPPED,
    installed: Installed | None = None,
) -> Config:
    """Load the configuration for a directory.

    `flags` maps a flag ("--model") or a dotted key to its text; `sets` are the KEY=VALUE texts of --set in order.
    `config_file` (--config) replaces the user's config.toml and settings.toml and must exist. Without `trusted`,
    project files are not opened, and a notice mentions each one. `installed` is what is installed already; otherwise
    plugins are looked for. Raises ConfigError for any error in any source: prunecli does not start with half a
    configuration.
    """
    if installed is None:
        off = switched_off(user_files(places, config_file), sets)
        installed = installed_for(places, cwd, off, trusted=trusted)
    schema = schema_of(strategies or Strategies.of(places), providers, installed)
    if (home := environ.get("PRUNECLI_HOME")) and not absolute(home, places.home):
        raise ConfigError(f"PRUNECLI_HOME: expected an absolute path, got {home!r}")
    layers = list(_user_layers(places, config_file, schema))
    notices = list[str]()
    for path in project_files(cwd):
        if trusted:
            name = os.path.relpath(path, cwd.resolve())
            shipped = schema._replace(strategies=schema.strategies.only_shipped())
            layers += _layer("project", path, name, places, shipped)
        elif os.path.lexists(path):
            notices.append(
                f"{places.shown(path)} was not read: this directory is not trusted (run `prunecli trust`)"
            )
    layers.append(text_layer("environment", _from_environment(environ), schema))
    layers.append(text_layer("flag", _from_flags(flags or {}, sets), schema))
    notices += [*installed.problems, *_left_out(layers, installed)]
    provider = _last(layers, _PROVIDER)
    if _is_foreign(schema.providers, provider, _last(layers, _ENDPOINT)):
        layers = [one.without(_ADDRESS) if one.kind == "environment" else one for one in layers]
    layers = [_with_address(layer, environ, schema.providers, provider) for layer in layers if layer.values]
    return config_of(tuple(layers), schema, tuple(notices))


def schema_of(strategies: Strategies, providers: Providers, installed: Installed) -> Schema:
    """Return the valid keys with what is installed."""
    return Schema(
        strategies._replace(brought=installed.of("strategy")),
        providers._replace(brought=installed.of("provider")),
        installed,
    )


def _last(layers: Sequence[Layer], key: tuple[str, ...]) -> str:
    return next((str(one.values[key]) for one in reversed(layers) if key in one.values), "")


def _is_foreign(providers: Providers, provider: str, endpoint: str) -> bool:
    """Return whether requests go to another provider than the one that the address in the environment is for."""
    found = providers.endpoint(endpoint, provider) if endpoint else None
    return (found[0] if found else provider) not in ("", DEFAULT)


def _left_out(layers: Iterable[Layer], installed: Installed) -> Iterator[str]:
    """Yield a line for each section that is not used because it may belong to a plugin that is off, unless it has the
    name of one that the user switched off."""
    disabled = [plugin.name for plugin in installed.plugins if plugin.off == DISABLED]
    for layer in layers:
        for name in layer.left_out:
            if name not in disabled:
                off = ", ".join(installed.absent)
                yield f"{layer.label}: [{name}] is not used; it may belong to a plugin that is off ({off})."


def user_files(places: Places, config_file: Path | None) -> tuple[Path, ...]:
    """Return the user's files, existing or not, in ascending order of precedence."""
    return (config_file,) if config_file else (places.config_file, places.settings_file)


def assignment(text: str) -> tuple[str, str]:
    """Split KEY=VALUE at the first "=" into the key and the value's text."""
    key, equals, value = text.partition("=")
    if not equals:
        raise ConfigError(
            f"--set: expected KEY=VALUE, got {text[:60]!r}", "for example --set pruning.gate=always"
        )
    return key.strip(), value


def _user_layers(places: Places, config_file: Path | None, schema: Schema) -> Iterator[Layer]:
    if config_file:
        found = _layer("user", config_file, str(config_file), places, schema)
        if not found:
            raise ConfigError(f"{config_file}: no such file", "--config needs an existing file")
        yield from found
    else:
        yield from _layer("user", places.config_file, places.config_file.name, places, schema)
        yield from _layer("settings", places.settings_file, places.settings_file.name, places, schema)


def _layer(kind: Kind, path: Path, label: str, places: Places, schema: Schema) -> list[Layer]:
    text = read(path, label)
    return [] if text is None else [file_layer(kind, text, label, path, places.shown(path), schema)]


def _with_address(layer: Layer, environ: Mapping[str, str], providers: Providers, provider: str) -> Layer:
    """Return the layer with the addresses of the endpoints that it names, unless it sets one itself. Raises
    ConfigError."""
    for key, name in tuple(layer.values.items()):
        *table, last = key
        address = (*table, "base_url")
        if last != "endpoint" or table[0] not in ("model", "models") or not name or address in layer.values:
            continue
        of_table = str(layer.values.get((*table, "provider"), "" if len(table) > 1 else provider))
        found = providers.endpoint(name, of_table)
        try:
            url = found[1].address(environ) if found and name != DEFAULT else ""
        except ValueError as error:
            raise layer.error(key, str(error), f"or also set {'.'.join(address)}") from error
        layer = layer.with_value(address, url, f"endpoint {name}")
    return layer


def _from_environment(environ: Mapping[str, str]) -> Iterator[tuple[str, str, str, str]]:
    for name, key in VARIABLES.items():
        if text := environ.get(name):
            yield key, text, name, f"environment {name}"


def _from_flags(flags: Mapping[str, str], sets: Iterable[str]) -> Iterator[tuple[str, str, str, str]]:
    for name, text in flags.items():
        yield FLAGS.get(name, name), text, name, f"flag {name}"
    for given in sets:
        yield *assignment(given), "--set", "flag --set"
