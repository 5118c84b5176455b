"""Stores the optional request fields that an endpoint rejects, by address and model.

They are kept for thirty days, in the file of endpoint_memory.py.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from prunecli.model.messages import Json
from prunecli.runtime.endpoint_memory import LASTS_MS, bare, recall, remember
from prunecli.session.completing import Clock

_SECTION = "refused"


class Refusals:
    """The rejected fields of all endpoints; `address` returns the endpoint in use, "" for the default API."""

    def __init__(self, path: Path, clock: Clock, address: Callable[[], str]) -> None:
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
        return f"{bare(self._address())} {model}"


def _fields(value: Mapping[str, Json]) -> dict[str, int]:
    return {field: when for field, when in value.items() if type(when) is int}
