"""Finds the providers, and defines the contents of a provider file.

A file's name is the provider's name. Listing imports nothing; a file is imported when its provider is first used, and
imports its SDK only before a request.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias, cast

from prunecli.plugins.app import Brought
from prunecli.plugins.foreign import ForeignFailed, called
from prunecli.providers.models import ALIASES, Offer
from prunecli.util.errors import ConfigError, PrunecliError, Unauthorized
from prunecli.util.frozen import frozen
from prunecli.util.paths import PACKAGE, names_in

if TYPE_CHECKING:
    from prunecli.providers.endpoints import Endpoint
    from prunecli.providers.provider import Provider

DEFAULT = "anthropic"
"""The default of `[model] provider`."""

LISTING_SECONDS = 8.0
"""Time limit in seconds for listing models."""

Transport: TypeAlias = Literal["http", "sdk"]
Cloud: TypeAlias = Literal["aws", "google"]
State: TypeAlias = Literal["ok", "warning", "problem"]
Listed: TypeAlias = Callable[[], Sequence[Offer]]
"""A function that lists the endpoint's models, like `Provider.models`. Raises ProviderError or TimeoutError."""


@frozen
class Keys:
    """The sources of a provider's credential: the variable of an API key, the file that `prunecli login` writes, and
    the variable of a bearer token ("" for none). Name the file NAME.key, because tools ask before they open such a
    file. `bearer`: the key is sent as a bearer token. `required`: requests without a key are rejected."""

    key_variable: str
    file: str
    token_variable: str = ""
    bearer: bool = False
    required: bool = False

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(filter(None, (self.key_variable, self.token_variable)))

    @property
    def hint(self) -> str:
        return f"set {self.key_variable}, or run `prunecli login` (/login); --model demo needs none"


@frozen
class Credentials:
    """A key, a token or neither, hidden from `repr`. `source` tells where it was found."""

    api_key: str | None = field(default=None, repr=False)
    auth_token: str | None = field(default=None, repr=False)
    source: str = "none"

    def __bool__(self) -> bool:
        return bool(self.api_key or self.auth_token)


@frozen
class Connection:
    """The parameters of a provider. `base_url` is "" for the provider's own address; `options` are its `Options` with
    the configured values, None if it declares none. `keys` are the sources of the credential, None for the provider's
    own. `transport` is the library that sends requests to a server of the Messages API, and `wire` the protocol of a
    provider that has several, "" for its default. `cloud` is the one whose credentials do instead of a key."""

    base_url: str
    credentials: Credentials
    environ: Mapping[str, str] = field(repr=False)
    options: Any = None
    keys: Keys | None = None
    transport: Transport = "http"
    wire: str = ""
    cloud: Cloud | None = None


@frozen
class Finding:
    """One line of `prunecli doctor`: the subject, its state, and the fix."""

    name: str
    state: State
    said: str
    hint: str = ""


class Definition(Protocol):
    """The contents of a provider file. It may also define a frozen dataclass `Options` for the keys of `[model.NAME]`
    (in the form of config/options.py), `ENDPOINTS`, a mapping of known endpoints by name, and `endpoint_of(model)`,
    the name of the endpoint that serves a model if nothing else is configured, "" for none."""

    KEYS: Keys | None
    """The sources of the provider's credential; None for a provider without one."""

    def needs_key(self, base_url: str) -> bool:
        """Return whether this address ("" for the provider's own) rejects requests without a credential."""

    def make(self, connection: Connection) -> "Provider":
        """Make the provider. Raises ConfigError for an invalid credential or address."""

    def check(self, connection: Connection, listed: Listed) -> Finding:
        """Check the endpoint, for `prunecli doctor`. Problems on the user's side never raise."""


class Providers(NamedTuple):
    """The providers in a folder, each in a file NAME.py, and those that plugins brought."""

    folder: Path = PACKAGE / "providers" / "available"
    importer: Callable[[str], Any] = lambda name: import_module(f"prunecli.providers.available.{name}")
    brought: Mapping[str, Brought] = MappingProxyType({})

    def names(self) -> tuple[str, ...]:
        """Return the names of all providers, found without imports."""
        return (*names_in(self.folder, ".py"), *self.brought)

    def endpoints(self, name: str) -> "Mapping[str, Endpoint]":
        """Return the known endpoints of a provider. Raises ConfigError as `definition` does."""
        return getattr(self.definition(name), "ENDPOINTS", {}) if name in self.names() else {}

    def endpoint(self, name: str, provider: str = "") -> "tuple[str, Endpoint] | None":
        """Return a known endpoint with its provider: the given one, else the first that knows the name."""
        for one in (provider,) if provider else (DEFAULT, *self.brought):
            if (found := self.endpoints(one).get(name)) is not None:
                return one, found
        return None

    def vendor(self, model: str) -> "tuple[str, Endpoint] | None":
        """Return the endpoint of the vendor that a plain model name belongs to, with its provider."""
        if model.lower() in ALIASES or "claude" in model.lower():
            return None
        for one in self.brought:
            endpoint_of = getattr(self.definition(one), "endpoint_of", None)
            if endpoint_of is not None and (name := endpoint_of(model)):
                return self.endpoint(name, one)
        return None

    def definition(self, name: str) -> Definition:
        """Return the definition of one of `names`. Raises ConfigError if a plugin's cannot be imported."""
        if name not in self.brought:
            return cast("Definition", self.importer(name))
        try:
            return cast("Definition", called(self.brought[name].load))
        except ForeignFailed as error:
            raise ConfigError(f"cannot import the provider {name}: {error}", "fix the plugin") from error

    def keys(self, name: str) -> Keys:
        """Return the sources of a provider's credential. For a provider without one, return those of the default
        provider, so that a key can be entered."""
        return self.definition(name).KEYS or cast("Keys", self.definition(DEFAULT).KEYS)

    def all_keys(self, used: Iterable[str]) -> Iterator[Keys]:
        """Yield the sources of the credentials of all known endpoints, and of the providers that are used. A plugin's
        provider that cannot be imported has none."""
        for name in dict.fromkeys((DEFAULT, *self.brought, *used)):
            with suppress(ConfigError):
                one = self.definition(name)
                yield from (endpoint.keys for endpoint in getattr(one, "ENDPOINTS", {}).values())
                if one.KEYS is not None:
                    yield one.KEYS

    def options_class(self, name: str) -> type | None:
        """Return a provider's `Options`; None if it declares none or does not exist."""
        return getattr(self.definition(name), "Options", None) if name in self.names() else None


SHIPPED = Providers()
"""The shipped providers."""


def check_address(address: str, keys: Keys, listed: Listed) -> Finding:
    """Ask an endpoint for its models and report the outcome."""
    try:
        models = listed()
    except Unauthorized as error:
        why = error.message.removeprefix(f"{address}: ")
        return Finding("endpoint", "problem", f"{address} rejects the key: {why}", keys.hint)
    except TimeoutError:
        hint = "check address, proxy and firewall; https_proxy and model.base_url are used"
        return Finding("endpoint", "problem", f"{address}: no answer in {LISTING_SECONDS:.0f} s", hint)
    except PrunecliError as error:
        named = error.message if address in error.message else f"{address}: {error.message}"
        return Finding("endpoint", "problem", named, error.hint)
    return Finding(
        "endpoint", "ok", f"{address} answers, {f'{len(models)} models' if models else 'lists no models'}"
    )
