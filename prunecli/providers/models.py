"""Model data: window, limits and prices, shipped in data/models.json; and expectations of results, in
expectations.json.

Names match exactly, as an alias, or without a provider's prefix; a dated name matches the longest name it extends. An
unknown model has no window (0) and no prices (None), so that nothing is computed from a guess.
"""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, cast

from prunecli.context.expectations import Expectations
from prunecli.model.claude import SHORT_NAMES, claude_version, is_bound
from prunecli.model.codec import strict_loads
from prunecli.model.messages import Json, Usage
from prunecli.model.requests import TTL_MS, CacheTtl
from prunecli.plugins.features import features
from prunecli.util.errors import ConfigError
from prunecli.util.frozen import frozen
from prunecli.util.paths import Places

ALIASES: Mapping[str, str] = MappingProxyType({**SHORT_NAMES, "demo": "demo"})
"""Short names for the newest model of each family, and the demo."""

CacheKind: TypeAlias = Literal["", "breakpoints", "automatic", "paid", "none"]
"""How an endpoint caches prompts. `breakpoints`: written for a price where a request says so, and kept for minutes
(Anthropic). `automatic`: by itself, written for nothing, with a discount to read and an uncertain lifetime (OpenAI up
to GPT-5.5, DeepSeek, Gemini). `paid`: with paid writes and a known lifetime (GPT-5.6 and newer). `none`: not at all.
"" is unknown."""

AUTOMATIC_MS = 10 * 60 * 1000
"""The assumed lifetime of an automatic cache in ms, until a session shows a longer or a shorter one. OpenAI's guide
says five to ten minutes without use; many endpoints keep prefixes for hours."""

Binding: TypeAlias = Literal["", "conversation", "account"]

UNKNOWN_MAX_OUTPUT = 8_192
"""Maximum response tokens to request from a model that is not in the table."""

_MILLION = 1_000_000
_NEWER = re.compile(r"claude-([a-z]+)-\d{1,2}(?:[-.]\d{1,2})?(?:[-@](?:\d{6,8}|latest|v\d).*|[:@\[].*)?")
_EXTENSION = re.compile(r"[-@](?:\d{6,8}|latest|v\d)|[:@\[]")


@frozen
class Prices:
    """US dollars per million tokens; None if unknown."""

    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write_5m: float | None = None
    cache_write_1h: float | None = None

    def cache_write(self, ttl: CacheTtl) -> float | None:
        """Return the price of writing to the cache for this lifetime."""
        return self.cache_write_1h if ttl == "1h" else self.cache_write_5m


class Offer(NamedTuple):
    """A model that an endpoint lists: its name, its window in tokens (0 if not given), and the listed prices."""

    name: str
    window: int = 0
    prices: Prices = Prices()


class Overrides(Protocol):
    """`[models."X"]`: the user's values, which override the table; None keeps the table's value."""

    @property
    def context_window(self) -> int | None:
        """Tokens."""

    @property
    def prices(self) -> object:
        """An object with the five fields of `Prices`."""


@frozen
class ModelInfo:
    """One model. `context_window` and `max_output` are in tokens; a window of 0 is unknown.

    `bands` are the prices of requests with longer prompts, in ascending order: (lower bound in tokens, prices).
    `thinking_types` are the types of `thinking` that the model accepts, and `efforts` the values of
    `output_config.effort`; both are None if unknown. `binding` tells whether thinking is bound to the conversation
    before it, or also to the account. `assumed` names the model whose window and limits are assumed for a newer one.
    `vision`: the model accepts images, None if unknown. `told_prices`: the prices are those that the endpoint lists.
    `cache_kind` is "" if the prices tell it; `cache_minutes` is the lifetime of a prefix, 0 for the one requested.
    """

    name: str
    context_window: int = 0
    max_output: int = UNKNOWN_MAX_OUTPUT
    prices: Prices = Prices()
    thinking: bool = False
    bands: tuple[tuple[int, Prices], ...] = ()
    thinking_types: tuple[str, ...] | None = None
    efforts: tuple[str, ...] | None = None
    binding: Binding = ""
    assumed: str = ""
    vision: bool | None = None
    provider: str = ""
    told_prices: bool = False
    cache_kind: CacheKind = ""
    cache_minutes: float = 0

    @property
    def cache(self) -> CacheKind:
        """How the model's prompts are cached, as far as known."""
        prices = self.prices
        if self.cache_kind or prices.input is None:
            return self.cache_kind
        if prices.cache_read is None:
            return "none"
        return "breakpoints" if prices.cache_write_5m else "automatic"

    def lifetime_ms(self, ttl: CacheTtl) -> int:
        """Return how long a cached prefix is kept, in ms, if requests ask for `ttl`."""
        if self.cache_minutes:
            return round(self.cache_minutes * 60_000)
        return AUTOMATIC_MS if self.cache == "automatic" else TTL_MS[ttl]

    @property
    def assumption(self) -> str:
        """The notice on a model newer than the table: what is assumed and what is unknown; "" for other models."""
        if not self.assumed:
            return ""
        no_price = "" if self.prices.input is not None else ", price unknown"
        return f"{self.name} is newer than this version: window of {self.assumed} assumed{no_price}."

    def prices_for(self, prompt_tokens: int) -> Prices:
        """Return the prices for a request with this many prompt tokens."""
        bands = [prices for above, prices in self.bands if prompt_tokens > above]
        return bands[-1] if bands else self.prices


_DEMO = ModelInfo(
    "demo", 200_000, UNKNOWN_MAX_OUTPUT, Prices(0.0, 0.0, 0.0, 0.0, 0.0), cache_kind="breakpoints"
)


class ModelTable:
    """The shipped models with the user's overrides."""

    def __init__(
        self, rows: Mapping[str, ModelInfo], overrides: Mapping[str, Overrides] | None = None
    ) -> None:
        self._rows = dict(rows)
        self._overrides = dict(overrides or {})
        self._found: dict[str, ModelInfo] = {}
        self._by_key: dict[str, str] = {}
        for name in sorted(self._rows, key=len, reverse=True):
            self._by_key[_bare(name)] = name
        self._by_key.update({name.lower(): name for name in self._rows})

    @staticmethod
    def load(folder: Path, overrides: Mapping[str, Overrides] | None = None) -> "ModelTable":
        """Load the table in this folder. Raises ConfigError if the file is missing or damaged."""
        path = folder / "models.json"
        try:
            rows = json.loads(path.read_bytes())
            return ModelTable({name: _info(name, row) for name, row in rows.items()}, overrides)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ConfigError(f"{path}: not a model table: {error}", "reinstall prunecli") from error

    def resolve(self, name: str) -> str:
        """Return the name to send to the endpoint: an alias becomes its model."""
        return ALIASES.get(name.strip().lower(), name.strip())

    def info(self, name: str) -> ModelInfo:
        """Return the data of the model with this name or alias; its `name` is the given one."""
        if (found := self._found.get(name)) is None:
            found = self._found[name] = self._find(name)
        return found

    def _find(self, name: str) -> ModelInfo:
        resolved = self.resolve(name)
        known = self._rows.get(self._key(resolved)) or self._newer(resolved)
        found = replace(_DEMO if resolved == "demo" else known, name=resolved)
        for key in (name, resolved):
            if (facts := self._overrides.get(key)) is not None:
                return _overridden(found, facts)
        return found

    def _newer(self, name: str) -> ModelInfo:
        """Return the data of a model newer than all known ones of its family: the limits of the newest known one, and
        no price."""
        made = _NEWER.fullmatch(_bare(name))
        version = claude_version(name)
        family = [row for row in self._rows if made and row.startswith(f"claude-{made[1]}-")]
        newest = max(family, key=lambda row: claude_version(row) or (0, 0), default="")
        if version is None or version <= (claude_version(newest) or version):
            return ModelInfo(name)
        binding: Binding = "conversation" if is_bound(name) else ""
        known = self._rows[newest]
        return replace(known, prices=Prices(), bands=(), binding=known.binding or binding, assumed=newest)

    def names(self) -> tuple[str, ...]:
        """Return all names of the table and of the overrides, for a menu."""
        return tuple(dict.fromkeys((*self._rows, *(self.resolve(name) for name in self._overrides))))

    def _key(self, name: str) -> str:
        for wanted in dict.fromkeys((name.lower(), _bare(name))):
            if wanted in self._by_key:
                return self._by_key[wanted]
            starts = [key for key in self._by_key if wanted.startswith(key)]
            for key in sorted(starts, key=len, reverse=True):
                if _EXTENSION.match(wanted, len(key)):
                    return self._by_key[key]
        return ""


def load_expectations(folder: Path, own: Path | None = None) -> Expectations:
    """Return the expectations of results from the user's `own` file if it exists, else from the shipped file in
    `folder`.

    Raises ConfigError for a file that is missing or damaged.
    """
    users = own is not None and os.path.isfile(own)
    path = own if own and users else folder / "expectations.json"
    again = (
        "fit it again with `prunecli replay --fit`, or " if "replay" in features().of("subcommand") else ""
    )
    way = f"{again}delete it" if users else "reinstall prunecli"
    try:
        data = path.read_bytes()
    except OSError as error:
        why = error.strerror or str(error)
        raise ConfigError(
            f"cannot read {path}: {why}", "check its permissions" if users else "reinstall prunecli"
        ) from error
    try:
        return Expectations.of(cast("Mapping[str, Any]", strict_loads(data)))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{path}: not a table of expectations: {_why(error)}", way) from error


def _why(error: Exception) -> str:
    match error:
        case KeyError():
            return f"no {error.args[0]!r}"
        case TypeError() | AttributeError():
            return "a value has the wrong type"
        case _:
            return str(error)


def expectations_of(places: Places) -> Expectations:
    """Return the expectations of a user. Raises ConfigError."""
    return load_expectations(places.shipped_data, places.expectations_file)


SEARCH_USD = 0.01
"""The price of each search with Anthropic's web_search tool, for any model: $10 for 1,000."""


def cost(usage: Usage, info: ModelInfo, ttl: CacheTtl, prompt_tokens: int | None = None) -> float | None:
    """Return the cost of a request in US dollars; None if a price is unknown.

    If the endpoint does not report how long it keeps what it wrote to its cache, that is `ttl`. Cached tokens without
    their own price, or written for nothing, cost the same as input. The length of the prompt selects the price band;
    pass `prompt_tokens` if the usage is a part or a sum of requests.
    """
    prices = info.prices_for(usage.prompt_tokens if prompt_tokens is None else prompt_tokens)
    read, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
    hour = usage.cache_1h_input_tokens
    if hour is None:
        hour = written if ttl == "1h" else 0
    total = 0.0
    for tokens, price, instead in (
        (usage.input_tokens, prices.input, None),
        (usage.output_tokens, prices.output, None),
        (read, prices.cache_read, prices.input),
        (written - min(hour, written), prices.cache_write_5m or prices.input, None),
        (min(hour, written), prices.cache_write_1h or prices.input, None),
    ):
        each = instead if price is None else price
        if tokens and each is None:
            return None
        total += tokens * (each or 0.0)
    return total / _MILLION + (usage.web_search_requests or 0) * SEARCH_USD


def cache_prices(prices: Prices, ttl: CacheTtl) -> tuple[float | None, float | None]:
    """Return the prices of reading and writing cached tokens with the lifetime `ttl`; None if unknown.

    Without a price of their own, both cost the same as input: reading where nothing is cached, writing where it is
    free."""
    read = prices.input if prices.cache_read is None else prices.cache_read
    return read, prices.cache_write(ttl) or prices.input


def token_factor(name: str) -> float:
    """Return the model's tokens per token of o200k_base, by family, measured on the sessions of agents.

    The factor is 1.23 for Claude up to 4.6 and Haiku 4.5, 1.6 for newer Claude models and the demo model, which plays
    one, and 1.0 for other models.
    """
    resolved = ALIASES.get(name, name).lower()
    if "claude" not in resolved and resolved != "demo":
        return 1.0
    version = claude_version(resolved)
    return 1.23 if version is not None and version <= (4, 6) else 1.6


def _bare(name: str) -> str:
    """Return the name in lower case without a provider's prefix, such as `deepseek/` or `us.anthropic.`."""
    last = name.lower().rpartition("/")[2]
    return last[max(0, last.find("claude-")) :]


def _info(name: str, row: Mapping[str, Json]) -> ModelInfo:
    return ModelInfo(
        name,
        int(row["context_window"]),
        int(row["max_output"]),
        _prices(row),
        bool(row["thinking"]),
        tuple((int(band["above"]), _prices(band)) for band in row.get("bands", ())),
        _texts(row.get("thinking_types")),
        _texts(row.get("efforts")),
        row.get("binding", ""),
        vision=row.get("vision"),
        provider=str(row.get("provider", "")),
        cache_kind=row.get("cache", ""),
        cache_minutes=float(row.get("cache_minutes", 0)),
    )


def _prices(row: Mapping[str, Json]) -> Prices:
    given = {item.name: row.get(item.name) for item in fields(Prices)}
    return Prices(**{key: None if price is None else float(price) for key, price in given.items()})


def _texts(value: Json) -> tuple[str, ...] | None:
    return None if value is None else tuple(map(str, value))


def _overridden(info: ModelInfo, facts: Overrides) -> ModelInfo:
    given = {item.name: getattr(facts.prices, item.name) for item in fields(Prices)}
    known = {key: price for key, price in given.items() if price is not None}
    prices = replace(info.prices, **known)
    bands = tuple((above, replace(band, **known)) for above, band in info.bands)
    window = info.context_window if facts.context_window is None else facts.context_window
    return replace(info, context_window=window, prices=prices, bands=bands)
