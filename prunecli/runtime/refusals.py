"""The file with data about endpoints: the optional request fields that they reject, and the models that they list.

It is a JSON object in the data folder, with a section for each subject. It can be deleted at any time. Failures to
read or write it are ignored.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from prunecli.model.codec import foreign_object
from prunecli.model.messages import Json
from prunecli.session.completing import Clock
from prunecli.util.private_file import make_private, write_private

LASTS_MS = 30 * 24 * 3600 * 1000
"""Milliseconds after which an entry expires, because gateways are updated."""
_SECTION = "refused"


class Refusals:
    """The rejected fields of all endpoints, kept for thirty days.

    `address` returns the endpoint of a model, "" for the default API.
    """

    def __init__(self, path: Path, clock: Clock, address: Callable[[str], str]) -> None:
        self._path = path
        self._clock = clock
        self._address = address
        self._known: dict[str, dict[str, int]] | None = None

    def of(self, model: str) -> frozenset[str]:
        """Return the fields that the endpoint in use rejects for this model."""
        if not self._all():  # the usual case; each step of a run calls this many times
            return frozenset()
        since = self._clock() - LASTS_MS
        return frozenset(
            field for field, when in self._all().get(self._key(model), {}).items() if when > since
        )

    def add(self, model: str, field: str) -> bool:
        """Store a rejected field. Returns True, since `of` includes the field even if the file cannot be written."""
        self._known = {**self._read(), **self._all()}
        self._known.setdefault(self._key(model), {})[field] = self._clock()
        remember(self._path, _SECTION, self._known)
        return True

    def drop(self, model: str, field: str) -> None:
        """Forget a rejected field, because the endpoint accepts it now."""
        self._known = {**self._read(), **self._all()}
        if self._known.get(self._key(model), {}).pop(field, None) is not None:
            remember(self._path, _SECTION, self._known)

    def _all(self) -> dict[str, dict[str, int]]:
        if self._known is None:
            self._known = self._read()
        return self._known

    def _read(self) -> dict[str, dict[str, int]]:
        pairs = recall(self._path, _SECTION).items()
        return {key: _fields(fields) for key, fields in pairs if isinstance(fields, Mapping)}

    def _key(self, model: str) -> str:
        return f"{bare(self._address(model))} {model}"


def _fields(value: Mapping[str, Json]) -> dict[str, int]:
    return {field: when for field, when in value.items() if type(when) is int}


def recall(path: Path, section: str) -> dict[str, Any]:
    value = _whole(path).get(section)
    return dict(value) if isinstance(value, dict) else {}


def remember(path: Path, section: str, value: Mapping[str, Json]) -> None:
    with suppress(OSError):
        make_private(path.parent)
        write_private(path, json.dumps({**_whole(path), section: value}, indent=1).encode())


def bare(address: str) -> str:
    """Return the URL of an endpoint without user name and password, for use as a key; Anthropic's URL for ""."""
    parts = urlsplit(address)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl() or "api.anthropic.com"


def _whole(path: Path) -> dict[str, Any]:
    try:
        return foreign_object(path.read_bytes())
    except OSError:
        return {}
