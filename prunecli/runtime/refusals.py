"""Remember the optional request fields that an endpoint rejects, by address and model.

They are kept in a file in the data folder, for thirty days, because gateways are updated. Delete the file to forget
them. A file that cannot be read or written is ignored.
"""

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from prunecli.model.messages import Json
from prunecli.session.completing import Clock

LASTS_MS = 30 * 24 * 3600 * 1000
"""How long a rejected field is remembered."""


class Refusals:
    """The rejected fields of all endpoints; `address` returns the endpoint in use, "" for the default API."""

    def __init__(self, path: Path, clock: Clock, address: Callable[[], str]) -> None:
        self._path = path
        self._clock = clock
        self._address = address
        self._known: dict[str, dict[str, int]] | None = None

    def of(self, model: str) -> frozenset[str]:
        """The fields that the endpoint in use rejects for this model."""
        if not self._all():  # as a rule: each step of a run asks many times
            return frozenset()
        since = self._clock() - LASTS_MS
        return frozenset(
            field for field, when in self._all().get(self._key(model), {}).items() if when > since
        )

    def add(self, model: str, field: str) -> bool:
        """Remember a rejected field. Always True: `of` includes it even if the file cannot be written."""
        self._known = {**self._read(), **self._all()}
        self._known.setdefault(self._key(model), {})[field] = self._clock()
        beside = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            beside.write_text(json.dumps({"refused": self._known}, indent=1), encoding="utf-8")
            beside.replace(self._path)
        except OSError:
            with suppress(OSError):
                beside.unlink()
        return True

    def _all(self) -> dict[str, dict[str, int]]:
        if self._known is None:
            self._known = self._read()
        return self._known

    def _read(self) -> dict[str, dict[str, int]]:
        try:
            value = json.loads(self._path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        refused = value.get("refused") if isinstance(value, dict) else None
        pairs = refused.items() if isinstance(refused, dict) else ()
        return {key: _fields(fields) for key, fields in pairs if isinstance(fields, Mapping)}

    def _key(self, model: str) -> str:
        """Address and model, without a user name and password in the address."""
        parts = urlsplit(self._address())
        address = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
        return f"{address or 'api.anthropic.com'} {model}"


def _fields(value: Mapping[str, Json]) -> dict[str, int]:
    return {field: when for field, when in value.items() if type(when) is int}
