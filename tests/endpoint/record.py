"""What happened here? Each request as it arrived and how it was judged.

`Barrier` lets a test wait until something has happened, with a deadline, instead of sleeping.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tests.endpoint.cache import Usage
from tests.endpoint.shape import Json

DEADLINE = 60.0
"""Seconds after which something counts as never met: many times what a busy machine takes."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the service refuses a request: the status, the error's type and its message."""

    status: int
    type: str
    message: str


@dataclass(frozen=True, slots=True)
class Recorded:
    """One request. `index` counts the requests to the same path; `arrived` is in seconds of the endpoint's clock;
    `refusal` is None when it was accepted; `usage` is what the prompt cost, None when it was refused or met an
    error in place of an answer; `transformations` and `applied_edits` are what the answer reported of it. Header
    names are in lower case."""

    index: int
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    arrived: float
    parsed: Json = None
    refusal: Refusal | None = None
    usage: Usage | None = None
    transformations: Sequence[Mapping[str, Json]] = ()
    applied_edits: Sequence[Mapping[str, Json]] = ()

    @property
    def dropped(self) -> list[str]:
        """Where thinking was left out of what the model saw."""
        return [one["path"] for one in self.transformations if one["type"] == "thinking_dropped"]

    @property
    def json(self) -> Json:
        """The body's JSON; raises ValueError when it is none."""
        return json.loads(self.body) if self.parsed is None else self.parsed

    @property
    def messages(self) -> list[dict[str, Json]]:
        """The messages of the body."""
        return list(self.json["messages"])


class Barrier:
    """Conditions on something that changes; `changed` looks at all of them again."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Callable[[], bool], asyncio.Future[None]]] = []

    def changed(self) -> None:
        """Wake those whose condition holds now."""
        for condition, future in self._waiting:
            if not future.done() and condition():
                future.set_result(None)
        self._waiting = [(condition, future) for condition, future in self._waiting if not future.done()]

    async def until(self, condition: Callable[[], bool], what: Callable[[], str], within: float) -> None:
        """Wait until the condition holds; AssertionError with what is so far after `within` seconds."""
        if condition():
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((condition, future))
        try:
            await asyncio.wait_for(future, within)
        except TimeoutError:
            raise AssertionError(f"not within {within:g} s: {what()}") from None
