"""Find the providers, and define what a provider file contains.

A file's name is the provider's name. Listing imports nothing; a file is imported when its provider is asked for, and
imports its SDK only when a request is near.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, cast

from prunecli.errors import PrunecliError, Unauthorized
from prunecli.paths import PACKAGE, names_in
from prunecli.providers.provider import Provider

DEFAULT = "anthropic"
"""The provider that answers unless `[model] provider` names another."""

LISTING_SECONDS = 8.0
"""Time limit in seconds for listing models."""

State: TypeAlias = Literal["ok", "warning", "problem"]
Listed: TypeAlias = Callable[[], Sequence[tuple[str, int]]]
"""Gives what the endpoint offers, as `Provider.models` does. Raises ProviderError, or TimeoutError."""


@dataclass(frozen=True, slots=True)
class Keys:
    """Where a provider's credential comes from: the variable of a bearer token ("" for none), that of an API key, or
    the file that `prunecli login` writes. Name it NAME.key: tools ask before they open such a file."""

    key_variable: str
    file: str
    token_variable: str = ""

    @property
    def hint(self) -> str:
        """How to add a key."""
        return f"set {self.key_variable}, or run `prunecli login` (/login); --model demo needs none"


@dataclass(frozen=True, slots=True)
class Credentials:
    """A key or a token, or neither, hidden from `repr`. `source` is where it was found."""

    api_key: str | None = field(default=None, repr=False)
    auth_token: str | None = field(default=None, repr=False)
    source: str = "none"

    def __bool__(self) -> bool:
        return bool(self.api_key or self.auth_token)


@dataclass(frozen=True, slots=True)
class Connection:
    """What a provider is made from. `base_url` is "" for the provider's own address; `options` are the provider's
    `Options` with the configured values, None where it declares none."""

    base_url: str
    credentials: Credentials
    environ: Mapping[str, str] = field(repr=False)
    options: Any = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of `prunecli doctor`: the thing, its state, and how to fix it."""

    name: str
    state: State
    said: str
    hint: str = ""


class Definition(Protocol):
    """What the file of a provider defines. It may also have a frozen dataclass `Options`, which makes the keys of
    `[model.NAME]` (config/options.py shows the form)."""

    KEYS: Keys | None
    """Where its credential comes from; None for a provider that takes none."""

    def needs_key(self, base_url: str) -> bool:
        """Whether a request to this address ("" for its own) is refused without a credential."""
        ...

    def make(self, connection: Connection) -> Provider:
        """The provider. Raises ConfigError for a credential or address that can't be right."""
        ...

    def check(self, connection: Connection, listed: Listed) -> Finding:
        """The line `endpoint` of `prunecli doctor`. Raises nothing that a user can cause."""
        ...


class Providers(NamedTuple):
    """The providers of a folder, NAME.py each."""

    folder: Path = PACKAGE / "providers" / "available"
    importer: Callable[[str], Any] = lambda name: import_module(f"prunecli.providers.available.{name}")

    def names(self) -> tuple[str, ...]:
        """Every provider's name, without an import."""
        return names_in(self.folder, ".py")

    def answering(self, model: str, configured: str) -> str:
        """The provider that answers for a model: the one of the model's name (`--model demo`), or the configured."""
        return model if model in self.names() else configured

    def definition(self, name: str) -> Definition:
        """What the file of one of `names` defines."""
        return cast("Definition", self.importer(name))

    def keys(self, name: str) -> Keys:
        """Where its credential comes from. For one that takes none it is that of the default provider, for which
        a key can be entered meanwhile."""
        return self.definition(name).KEYS or cast("Keys", self.definition(DEFAULT).KEYS)

    def options_class(self, name: str) -> type | None:
        """Its `Options`, None where it declares none or there is no such provider."""
        return getattr(self.definition(name), "Options", None) if name in self.names() else None


SHIPPED = Providers()
"""The shipped providers."""


def check_address(address: str, keys: Keys, listed: Listed) -> Finding:
    """Ask an endpoint for its models and report the outcome."""
    try:
        models = listed()
    except Unauthorized as error:
        return Finding("endpoint", "problem", f"{address} refuses the key: {error.message}", keys.hint)
    except TimeoutError:
        hint = "check address, proxy and firewall; https_proxy and model.base_url are used"
        return Finding("endpoint", "problem", f"{address}: no answer in {LISTING_SECONDS:.0f} s", hint)
    except PrunecliError as error:
        named = error.message if address in error.message else f"{address}: {error.message}"
        return Finding("endpoint", "problem", named, error.hint)
    return Finding(
        "endpoint", "ok", f"{address} answers, {f'{len(models)} models' if models else 'lists no models'}"
    )
