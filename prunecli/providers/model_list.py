"""Reads the answer to GET /v1/models, in Anthropic's form or in those of other servers.

OpenRouter and gateways like it list prices in dollars per token, as strings. A row with an invalid price has no
price.
"""

import json
from collections.abc import Mapping
from typing import NamedTuple

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
_MILLION = 1_000_000


class Page(NamedTuple):
    """The models of one answer, and the last id if there are more, else ""."""

    models: tuple[Offer, ...]
    last: str = ""


def page_of(body: bytes) -> Page:
    """Return the models in an answer. Invalid rows are left out; an invalid body gives an empty list."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return Page(())
    if not isinstance(value, dict):
        return Page(())
    data = value.get("data")
    rows = [row for row in data if isinstance(row, dict)] if isinstance(data, list) else []
    found = tuple(Offer(name, _window(row), _prices(row)) for row in rows if (name := _name(row)))
    last = value.get("last_id") if value.get("has_more") is True else ""
    return Page(found, last if isinstance(last, str) else "")


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
    found = {ours: _per_token(given.get(theirs)) for theirs, ours in _PRICES.items()}
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
