"""Reads the answer to GET /v1/models, in Anthropic's form or in those of other servers."""

import json
from collections.abc import Mapping
from typing import NamedTuple

from prunecli.model.messages import Json

MAX_NAME = 200
"""Characters of a model's name; longer ones are left out, as are names that a terminal can't show as they are."""

_WINDOW_KEYS = ("max_input_tokens", "context_window", "context_length", "max_model_len", "n_ctx")
_MAX_WINDOW = 1_000_000_000


class Page(NamedTuple):
    """The models of one answer as (name, window in tokens or 0), and the last id if there are more, else ""."""

    models: tuple[tuple[str, int], ...]
    last: str = ""


def page_of(body: bytes) -> Page:
    """The models in an answer. Rows that make no sense are left out; a body that makes none is an empty list."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return Page(())
    if not isinstance(value, dict):
        return Page(())
    data = value.get("data")
    rows = [row for row in data if isinstance(row, dict)] if isinstance(data, list) else []
    found = tuple((name, _window(row)) for row in rows if (name := _name(row)))
    last = value.get("last_id") if value.get("has_more") is True else ""
    return Page(found, last if isinstance(last, str) else "")


def _name(row: Mapping[str, Json]) -> str:
    """The name, if it is one line of printable characters. llama.cpp may give the path of its file, and takes any
    name."""
    value = row.get("id")
    if isinstance(value, str) and row.get("owned_by") == "llamacpp":
        value = value.rpartition("/")[2]
    usable = (
        isinstance(value, str) and len(value) <= MAX_NAME and value.isprintable() and value == value.strip()
    )
    return str(value) if usable else ""


def _window(row: Mapping[str, Json]) -> int:
    meta = row.get("meta")  # llama.cpp's place for the window
    places = (row, meta) if isinstance(meta, dict) else (row,)
    sizes = (place.get(key) for place in places for key in _WINDOW_KEYS)
    return next((size for size in sizes if type(size) is int and 0 < size <= _MAX_WINDOW), 0)
