"""Reads the answer to GET /v1/models, in Anthropic's form or in those of other servers.

OpenRouter and gateways like it list prices in dollars per token, as strings. LiteLLM lists them at another path,
DETAILS. A row with an invalid price has no price.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from prunecli.model.codec import foreign_object
from prunecli.model.messages import Json
from prunecli.providers.models import Offer, Prices

MAX_NAME = 200
"""Maximum characters of a model's name. Longer names are left out, as are names that a terminal can't show
unchanged."""

_WINDOW_KEYS = ("max_input_tokens", "context_window", "context_length", "max_model_len", "n_ctx")
_MAX_WINDOW = 1_000_000_000


_MAX_PRICE = 1.0
"""Dollars per token above which a price is a mistake."""
_PRICES = {
    "prompt": "input",
    "completion": "output",
    "input_cache_read": "cache_read",
    "input_cache_write": "cache_write_5m",
}
_LITELLM_PRICES = {
    "input_cost_per_token": "input",
    "output_cost_per_token": "output",
    "cache_read_input_token_cost": "cache_read",
    "cache_creation_input_token_cost": "cache_write_5m",
    "cache_creation_input_token_cost_above_1hr": "cache_write_1h",
}
_LONGER = re.compile(r"(?:in|out)put_cost_per_token_above_\d+k_tokens")
"""LiteLLM's keys for prices that depend on the length of the prompt."""
_MILLION = 1_000_000

DETAILS = "/v1/model/info"
"""The path of LiteLLM's windows and prices."""


class Page(NamedTuple):
    """The models of one answer and their owners. `last` is the last id if there are more models, else ""."""

    models: tuple[Offer, ...]
    last: str = ""
    owners: frozenset[str] = frozenset()

    @property
    def may_have_details(self) -> bool:
        """Return whether this may be LiteLLM's list, which names no owner, or OpenAI for each model, and no price."""
        return self.owners <= {"", "openai"} and all(model.prices == Prices() for model in self.models)


def page_of(body: bytes) -> Page:
    """Return the models in an answer. Invalid rows are left out; an invalid body gives an empty list."""
    value = foreign_object(body)
    rows = _rows(value)
    found = tuple(Offer(name, _window(row), _prices(row)) for row in rows if (name := _name(row)))
    last = value.get("last_id") if value.get("has_more") is True else ""
    owners = frozenset(str(row.get("owned_by") or "") for row in rows)
    return Page(found, last if isinstance(last, str) else "", owners)


def with_details(models: Mapping[str, Offer], body: bytes) -> dict[str, Offer]:
    """Return the models with the windows and prices from LiteLLM's answer to DETAILS.

    The answer has a row for each deployment. A price is unknown if the deployments of a model differ, or if it
    depends on the length of the prompt.
    """
    told: dict[str, list[Mapping[str, Json]]] = {}
    for row in _rows(foreign_object(body)):
        info = row.get("model_info")
        if isinstance(info, dict):
            told.setdefault(str(row.get("model_name")), []).append(info)
    return {name: _detailed(offer, told.get(name, ())) for name, offer in models.items()}


def _detailed(offer: Offer, told: Sequence[Mapping[str, Json]]) -> Offer:
    windows = [size for info in told if (size := _window(info))]
    prices = {_litellm_prices(info) for info in told}
    window = offer.window or min(windows, default=0)
    return Offer(offer.name, window, prices.pop() if len(prices) == 1 else Prices())


def _litellm_prices(info: Mapping[str, Json]) -> Prices:
    if any(value is not None and _LONGER.fullmatch(key) for key, value in info.items()):
        return Prices()
    return _whole({ours: _per_token(info.get(theirs)) for theirs, ours in _LITELLM_PRICES.items()})


def _rows(value: Mapping[str, Json]) -> list[dict[str, Json]]:
    data = value.get("data")
    return [row for row in data if isinstance(row, dict)] if isinstance(data, list) else []


def _name(row: Mapping[str, Json]) -> str:
    """Return the name if it is one line of printable characters, else "". llama.cpp may give the path of its file,
    and accepts any name."""
    value = row.get("id")
    if isinstance(value, str) and row.get("owned_by") == "llamacpp":
        value = value.rpartition("/")[2]
    usable = (
        isinstance(value, str) and len(value) <= MAX_NAME and value.isprintable() and value == value.strip()
    )
    return str(value) if usable else ""


def _window(row: Mapping[str, Json]) -> int:
    meta = row.get("meta")  # llama.cpp puts the window here
    places = (row, meta) if isinstance(meta, dict) else (row,)
    sizes = (place.get(key) for place in places for key in _WINDOW_KEYS)
    return next((size for size in sizes if type(size) is int and 0 < size <= _MAX_WINDOW), 0)


def _prices(row: Mapping[str, Json]) -> Prices:
    """Return the prices of a row. All are None unless input and output have prices and nothing else is billed."""
    given = row.get("pricing")
    if not isinstance(given, dict) or _per_token(given.get("request", 0)) != 0:
        return Prices()
    return _whole({ours: _per_token(given.get(theirs)) for theirs, ours in _PRICES.items()})


def _whole(found: Mapping[str, float | None]) -> Prices:
    """Return the prices per million tokens; all None unless those of input and output are known."""
    if found["input"] is None or found["output"] is None:
        return Prices()
    return Prices(**{name: usable_price(price and price * _MILLION) for name, price in found.items()})


def _per_token(value: Json) -> float | None:
    """Return the dollars per token; None if the value is not a price. -1 stands for a variable price."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        price = float(value)
    except (ValueError, OverflowError):
        return None
    return price if 0 <= price <= _MAX_PRICE else None


def usable_price(value: Json) -> float | None:
    """Return the dollars per million tokens; None if the value is not a price."""
    known = (
        isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _MAX_PRICE * _MILLION
    )
    return round(value + 0.0, 9) if known and isinstance(value, int | float) else None
