"""Model data: window, limits and prices; the table ships in data/models.json, expectations.json beside it.

Names are matched exactly, by alias, without a provider's prefix, and dated names by the longest name they
extend. An unknown model has no window (0) and no prices (None), so that nothing is computed from a guess.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal, Protocol, TypeAlias

from prunecli.context.expectations import Expectations
from prunecli.errors import ConfigError
from prunecli.model.claude import SHORT_NAMES, claude_version, is_bound
from prunecli.model.messages import Json, Usage
from prunecli.model.requests import CacheTtl
from prunecli.paths import Places

ALIASES: Mapping[str, str] = MappingProxyType({**SHORT_NAMES, "demo": "demo"})
"""Short names: the newest of each family, and the demo."""

Binding: TypeAlias = Literal["", "conversation", "account"]

UNKNOWN_MAX_OUTPUT = 8_192
"""Tokens of one response asked of a model that the table does not know."""

_MILLION = 1_000_000
_NEWER = re.compile(r"claude-([a-z]+)-\d{1,2}(?:[-.]\d{1,2})?(?:[-@](?:\d{6,8}|latest|v\d).*|[:@\[].*)?")
_EXTENSION = re.compile(r"[-@](?:\d{6,8}|latest|v\d)|[:@\[]")


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars for a million tokens; None if unknown."""

    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write_5m: float | None = None
    cache_write_1h: float | None = None


class Overrides(Protocol):
    """`[models."X"]`: what the user knows better than the table; what is None comes from there."""

    @property
    def context_window(self) -> int | None:
        """Tokens."""
        ...

    @property
    def prices(self) -> object:
        """Something with the five fields of `Prices`."""
        ...


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """One model. `context_window` and `max_output` are tokens; a window of 0 is not known.

    `bands` are the prices of requests with a longer prompt, the longest last: (above so many tokens, prices).
    `thinking_types` are those of `thinking` that it takes, `efforts` the values of `output_config.effort`, both None
    where that is not known. `binding`: thinking is bound to the conversation before it, or to the account as well.
    `assumed` names the model whose window and limits stand in for those of a newer one.
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

    def prices_for(self, prompt_tokens: int) -> Prices:
        """The prices of a request with so many prompt tokens."""
        found = [prices for above, prices in self.bands if prompt_tokens > above]
        return found[-1] if found else self.prices


_DEMO = ModelInfo("demo", 200_000, UNKNOWN_MAX_OUTPUT, Prices(0.0, 0.0, 0.0, 0.0, 0.0))


class ModelTable:
    """The models that ship with the program, with the user's overrides laid over them."""

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
        """The table in this folder. Raises ConfigError for a file that is missing or damaged."""
        path = folder / "models.json"
        try:
            rows = json.loads(path.read_bytes())
            return ModelTable({name: _info(name, row) for name, row in rows.items()}, overrides)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ConfigError(f"{path}: not a model table: {error}", "reinstall prunecli") from error

    def resolve(self, name: str) -> str:
        """The name to send to the endpoint: an alias becomes its model."""
        return ALIASES.get(name.strip().lower(), name.strip())

    def info(self, name: str) -> ModelInfo:
        """What is known about the model of this name or alias; its `name` is the one that was asked for."""
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
        """A model that is newer than all of its family here: the newest one's limits, and no price."""
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
        """All names of the table and of the overrides, for a menu."""
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
    """What to expect of results: the user's `own` file, if there is one, else the shipped one in `folder`.

    Raises ConfigError for a file that is missing or damaged.
    """
    users = own is not None and own.is_file()
    path = own if own and users else folder / "expectations.json"
    way = "fit it again with `prunecli replay --fit`, or delete it" if users else "reinstall prunecli"
    try:
        return Expectations.of(json.loads(path.read_bytes()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{path}: not a table of expectations: {error}", way) from error


def expectations_of(places: Places) -> Expectations:
    """The expectations of a user. Raises ConfigError."""
    return load_expectations(places.shipped_data, places.expectations_file)


def cost(usage: Usage, info: ModelInfo, ttl: CacheTtl, prompt_tokens: int | None = None) -> float | None:
    """What a request cost in US dollars, its cache written for `ttl`; None where a price is not known.

    Where an endpoint has no price of its own for cached tokens they cost what input costs. The band of prices is
    that of the request's prompt; `prompt_tokens` names it for a usage that is a part or a sum of requests.
    """
    prices = info.prices_for(usage.prompt_tokens if prompt_tokens is None else prompt_tokens)
    write = prices.cache_write_1h if ttl == "1h" else prices.cache_write_5m
    total = 0.0
    for tokens, price in (
        (usage.input_tokens, prices.input),
        (usage.output_tokens, prices.output),
        (
            usage.cache_read_input_tokens or 0,
            prices.input if prices.cache_read is None else prices.cache_read,
        ),
        (usage.cache_creation_input_tokens or 0, prices.input if write is None else write),
    ):
        if tokens and price is None:
            return None
        total += tokens * (price or 0.0)
    return total / _MILLION


def token_factor(name: str) -> float:
    """The model's tokens for one of o200k_base's, by family, measured over agent text.

    1.23 for Claude up to 4.6 and Haiku 4.5, 1.6 for newer ones, 1.0 for others.
    """
    resolved = ALIASES.get(name, name).lower()
    if "claude" not in resolved:
        return 1.0
    version = claude_version(resolved)
    return 1.23 if version is not None and version <= (4, 6) else 1.6


def _bare(name: str) -> str:
    """The name in lower case without what providers put before it: `deepseek/`, `us.anthropic.`."""
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
