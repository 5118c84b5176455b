"""The address and credential of a provider, from the environment or a key file, never from TOML or a log."""

import stat
from collections.abc import Mapping

from prunecli.config.effective import Config
from prunecli.config.files import read_bytes, reason
from prunecli.config.options import Model
from prunecli.config.save import write
from prunecli.providers.provider import Provider
from prunecli.providers.registry import DEFAULT, Connection, Credentials, Definition, Keys
from prunecli.util.errors import ConfigError
from prunecli.util.paths import Places
from prunecli.util.private_file import make_private

MAX_KEY_BYTES = 4096


def connection_for(
    model: str, config: Config, environ: Mapping[str, str], places: Places
) -> tuple[Definition, Connection]:
    """Return the provider of a model, and its connection. Raises ConfigError as `credentials` does."""
    service, keys = config.service(model), keys_of(config, model)
    key, options = credentials(environ, places, keys), config.provider_options(service.provider)
    cloud = service.endpoint.cloud if service.endpoint else None
    parts = service.base_url, key, environ, options, keys, config.model.transport, service.wire, cloud
    return config.providers.definition(service.provider), Connection(*parts)


def keys_of(config: Config, model: str = "") -> Keys:
    """Return the sources of a credential: those of the endpoint in effect for a model, else the provider's own."""
    service = config.service(model)
    if service.endpoint is not None:
        return service.endpoint.keys
    if config.providers.definition(service.provider).KEYS is None and (wanted := _wanted(config)) != model:
        return keys_of(config, wanted)  # the demo model stands in for one without a key
    return config.providers.keys(service.provider)


def _wanted(config: Config) -> str:
    """Return the model that the user chose, even if another one stands in for it."""
    key = ("model", "name")
    names = [layer.values[key] for layer in config.layers if layer.kind != "session" and key in layer.values]
    return str(names[-1] if names else Model().name)


def lacks_key(config: Config, model: str, key: Credentials) -> bool:
    """Return whether requests for a model would be rejected because there is no credential."""
    service = config.service(model)
    if service.provider == DEFAULT and config.model.transport == "sdk" and not service.base_url:
        return False  # the SDK may find one
    needs_key = config.providers.definition(service.provider).needs_key
    return not key and (needs_key(service.base_url) or keys_of(config, model).required)


def misses_key(model: str, config: Config, environ: Mapping[str, str], places: Places) -> bool:
    """Return whether the endpoint of a model needs a key and there is none. Raises what `connection_for` raises."""
    _, connection = connection_for(model, config, environ, places)
    return lacks_key(config, model, connection.credentials)


def provider_for(model: str, config: Config, environ: Mapping[str, str], places: Places) -> Provider:
    """Return the provider of a model. Raises ConfigError, or UsageError for a malformed proxy variable."""
    definition, connection = connection_for(model, config, environ, places)
    return definition.make(connection)


def credentials(environ: Mapping[str, str], places: Places, keys: Keys) -> Credentials:
    """Return the credential: the token in the environment, else the key there, else the key file.

    Only one is returned: a gateway that expects a token must not see the account's key. Raises ConfigError for a key
    file that others can read and for a malformed key; the message never quotes it.
    """
    if token := environ.get(keys.token_variable, "").strip():
        return Credentials(auth_token=_checked(token, keys.token_variable), source=keys.token_variable)
    key, source = environ.get(keys.key_variable, "").strip(), keys.key_variable
    if key:
        key = _checked(key, source)
    elif kept := _read(places, keys):
        key, source = kept, places.shown(places.config / keys.file)
    if not key:
        return Credentials()
    return Credentials(auth_token=key, source=source) if keys.bearer else Credentials(key, source=source)


def save_key(places: Places, key: str, keys: Keys) -> str:
    """Write the key file with mode 0600 and return its name for display. Raises ConfigError."""
    checked, file = _checked(key.strip(), "the key"), places.config / keys.file
    try:
        make_private(places.config)
    except OSError as error:
        raise ConfigError(f"cannot create {places.config}: {reason(error)}") from error
    write(file, checked.encode() + b"\n")
    return places.shown(file)


def _read(places: Places, keys: Keys) -> str | None:
    file = places.config / keys.file
    name, anew = places.shown(file), "run `prunecli login` to replace it"
    found = read_bytes(file, name, MAX_KEY_BYTES + 2, anew)
    if found is None:
        return None
    data, mode = found
    if mode & 0o077:
        raise ConfigError(
            f"{name}: other users can read the key (mode {stat.S_IMODE(mode):04o})", f"run `chmod 600 {name}`"
        )
    try:
        return _checked(data.decode("ascii").strip(), name)
    except UnicodeDecodeError:
        raise ConfigError(f"{name}: not an API key", anew) from None


def _checked(key: str, source: str) -> str:
    """Return the key if it is valid in a header: one word of printable ASCII. Raises ConfigError."""
    if not key or len(key) > MAX_KEY_BYTES or not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigError(f"{source}: not an API key", "a key is one word of printable ASCII")
    return key
