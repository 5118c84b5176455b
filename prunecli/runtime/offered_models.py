"""The models that an endpoint lists, for `/model` and for context windows and prices that no table has.

Prices are recorded in the sessions that use them, because a list is forgotten after a while.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace

from prunecli.model.events import Record, SettingChanged
from prunecli.model.messages import Json
from prunecli.providers.model_list import usable_price
from prunecli.providers.models import ModelInfo, Offer, Prices
from prunecli.providers.provider import Provider
from prunecli.runtime.refusals import LASTS_MS, bare, recall, remember
from prunecli.runtime.setup import Setup
from prunecli.session.session import Session
from prunecli.util.errors import PrunecliError

FRESH_MS = 10 * 60 * 1000
"""Milliseconds after which a list is requested again."""

ASKING_SECONDS = 3.0
"""Time limit in seconds of a request for `/model`, since the user is waiting."""

PRICES = "model.prices"
"""The setting of a session with the prices that its endpoint listed, by model."""

_UNKNOWN = Prices()
_SECTION = "models"
_MOST = 2_000
"""Maximum models stored for one endpoint."""

Rows = Sequence[Offer]


class OfferedModels:
    """The models that endpoints list. `address` returns the URL of a model's endpoint, by default the configured one;
    `info_of` finds a model in the tables."""

    def __init__(
        self, setup: Setup, address: Callable[[str], str], info_of: Callable[[str], ModelInfo]
    ) -> None:
        self._path, self._clock = setup.places.endpoints_file, setup.clock
        self.address = address
        self._info_of = info_of
        self._offers: dict[str, dict[str, Offer]] = {}

    def info(self, name: str) -> ModelInfo:
        """Return the model of this name, with the endpoint's context window and prices if no table has them."""
        info = self._info_of(name)
        if info.context_window and info.prices != _UNKNOWN:
            return info
        offer = self._known(info.name).get(info.name)
        return offered(info, offer) if offer else info

    def kept(self, within_ms: int = FRESH_MS) -> Rows | None:
        return self._kept(bare(self.address("")), within_ms)

    def _kept(self, address: str, within_ms: int) -> Rows | None:
        one = recall(self._path, _SECTION).get(address)
        when, rows = (one.get("when"), one.get("rows")) if isinstance(one, dict) else (None, None)
        if type(when) is not int or not self._clock() - within_ms < when <= self._clock():
            return None
        return tuple(offer for row in rows if (offer := _offer(row))) if isinstance(rows, list) else None

    def keep(self, rows: Rows, address: str = "") -> None:
        """Store the list of an endpoint, by default the current one."""
        address, since = bare(address or self.address("")), self._clock() - LASTS_MS
        before = recall(self._path, _SECTION)
        young = {
            key: one for key, one in before.items() if isinstance(one, dict) and one.get("when", 0) > since
        }
        mine = {"when": self._clock(), "rows": [_row(row) for row in rows[:_MOST]]}
        remember(self._path, _SECTION, {**young, address: mine})
        self._offers[address] = {row.name: row for row in rows}

    def ask(self, provider: Provider) -> Rows:
        """Request and store the list of an endpoint. Call it in a thread. Raises ProviderError and TimeoutError."""
        rows = asked(provider, ASKING_SECONDS)
        self.keep(rows)
        return rows

    def _known(self, model: str) -> dict[str, Offer]:
        address = bare(self.address(model))
        if address not in self._offers:
            self._offers[address] = {one.name: one for one in self._kept(address, LASTS_MS) or ()}
        return self._offers[address]


def offered(info: ModelInfo, offer: Offer) -> ModelInfo:
    """Return a model's data, completed with values that an endpoint lists. Values in the tables take precedence."""
    if not info.context_window:
        info = replace(info, context_window=offer.window)
    if info.prices == _UNKNOWN and offer.prices != _UNKNOWN:
        info = replace(info, prices=offer.prices, told_prices=True)
    return info


def record_prices(session: Session, info: ModelInfo) -> None:
    """Record a model's prices in the session if they come from the endpoint and are not recorded yet."""
    known, row = session.context.settings.get(PRICES), _prices_row(info.prices)
    known = known if isinstance(known, dict) else {}
    if info.told_prices and known.get(info.name) != row:
        session.emit(SettingChanged(PRICES, {**known, info.name: row}))


def recorded_prices(records: Iterable[Record]) -> dict[str, Prices]:
    changes = [
        record.event
        for record in records
        if isinstance(record.event, SettingChanged) and record.event.key == PRICES
    ]
    return listed_prices(changes[-1].value if changes else {})


def listed_prices(value: Json) -> dict[str, Prices]:
    return {name: _prices(row) for name, row in value.items()} if isinstance(value, dict) else {}


def with_prices(info: ModelInfo, recorded: Mapping[str, Prices]) -> ModelInfo:
    """Return a model's data, with its recorded prices if no table has them."""
    prices = recorded.get(info.name)
    return info if prices is None else offered(info, Offer(info.name, 0, prices))


def asked(provider: Provider, seconds: float) -> Rows:
    """Request the models of an endpoint with `Provider.models`, and close the provider.

    Blocks, so call it in a thread. Raises ProviderError, and TimeoutError after `seconds`.
    """

    async def ask() -> Rows:
        try:
            async with asyncio.timeout(seconds):
                return await provider.models()
        finally:
            await provider.close()

    return asyncio.run(ask())


def reason(error: PrunecliError | TimeoutError) -> str:
    return error.message if isinstance(error, PrunecliError) else f"no answer in {ASKING_SECONDS:.0f} s"


def _row(offer: Offer) -> list[Json]:
    prices = [_prices_row(offer.prices)] if offer.prices != _UNKNOWN else []
    return [offer.name, offer.window, *prices]


def _offer(row: object) -> Offer | None:
    match row:
        case [str(name), int(window), *more] if not isinstance(window, bool) and len(more) <= 1:
            return Offer(name, window, _prices(more[0] if more else []))
    return None


def _prices_row(prices: Prices) -> list[Json]:
    return [getattr(prices, item.name) for item in fields(Prices)]


def _prices(row: object) -> Prices:
    given = row[: len(fields(Prices))] if isinstance(row, list) else []
    prices = Prices(*map(usable_price, given))
    return _UNKNOWN if prices.input is None or prices.output is None else prices
