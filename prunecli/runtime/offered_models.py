"""The models that an endpoint lists, for `/model` and for the context windows of unknown models."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from prunecli.errors import PrunecliError
from prunecli.providers.models import ModelInfo
from prunecli.providers.provider import Provider
from prunecli.runtime.endpoint_memory import LASTS_MS, bare, recall, remember
from prunecli.runtime.setup import Setup

FRESH_MS = 10 * 60 * 1000
"""Milliseconds that a list is used before it is requested again."""

ASKING_SECONDS = 3.0
"""Time limit of a request for `/model`: the user is waiting."""

_SECTION = "models"
_MOST = 2_000
"""The most models kept for one endpoint."""

Rows = Sequence[tuple[str, int]]
"""Name and context window in tokens (0 if unknown) of each model."""


class OfferedModels:
    """The models of the current endpoint, whose URL `address` returns. `info_of` finds a model in the tables."""

    def __init__(self, setup: Setup, address: Callable[[], str], info_of: Callable[[str], ModelInfo]) -> None:
        self._path, self._clock = setup.places.endpoints_file, setup.clock
        self._address = address
        self._info_of = info_of
        self._windows: dict[str, dict[str, int]] = {}

    def info(self, name: str) -> ModelInfo:
        """The model of this name, with the endpoint's context window if no table has one."""
        info = self._info_of(name)
        if info.context_window:
            return info
        window = self._known().get(info.name, 0)
        return replace(info, context_window=window) if window else info

    def kept(self, within_ms: int = FRESH_MS) -> Rows | None:
        """The list stored within this time; None if there is none."""
        one = recall(self._path, _SECTION).get(bare(self._address()))
        when, rows = (one.get("when"), one.get("rows")) if isinstance(one, dict) else (None, None)
        if type(when) is not int or not self._clock() - within_ms < when <= self._clock():
            return None
        return tuple((row[0], row[1]) for row in rows if _is_row(row)) if isinstance(rows, list) else None

    def keep(self, rows: Rows, address: str = "") -> None:
        """Store the list of an endpoint, by default the current one."""
        address, since = bare(address or self._address()), self._clock() - LASTS_MS
        before = recall(self._path, _SECTION)
        young = {
            key: one for key, one in before.items() if isinstance(one, dict) and one.get("when", 0) > since
        }
        mine = {"when": self._clock(), "rows": [list(row) for row in rows[:_MOST]]}
        remember(self._path, _SECTION, {**young, address: mine})
        self._windows[address] = dict(rows)

    def ask(self, provider: Provider) -> Rows:
        """Request and store the list of an endpoint. Call it in a thread. Raises ProviderError and TimeoutError."""
        rows = asked(provider, ASKING_SECONDS)
        self.keep(rows)
        return rows

    def _known(self) -> dict[str, int]:
        address = bare(self._address())
        if address not in self._windows:
            self._windows[address] = dict(self.kept(LASTS_MS) or ())
        return self._windows[address]


def asked(provider: Provider, seconds: float) -> Rows:
    """Request the models of an endpoint with `Provider.models`, and close the provider.

    Blocks, so call it in a thread. Raises ProviderError, and TimeoutError after that many seconds.
    """

    async def ask() -> Rows:
        try:
            async with asyncio.timeout(seconds):
                return await provider.models()
        finally:
            await provider.close()

    return asyncio.run(ask())


def reason(error: PrunecliError | TimeoutError) -> str:
    """A line with the reason that an endpoint did not list its models."""
    return error.message if isinstance(error, PrunecliError) else f"no answer in {ASKING_SECONDS:.0f} s"


def _is_row(row: object) -> bool:
    return isinstance(row, list) and len(row) == 2 and isinstance(row[0], str) and type(row[1]) is int
