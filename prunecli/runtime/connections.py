"""The providers of a runtime, each made when its model is first asked."""

from collections.abc import Callable

from prunecli.providers.provider import Provider


class Connections:
    """Providers by the name of the model. `make` returns a new one; raises PrunecliError if there is none.

    A task's runtime shares those of the runtime that started it, whose `to` is its `make`.
    """

    def __init__(self, make: Callable[[str], Provider]) -> None:
        self.make = make
        self._open: dict[str, Provider] = {}
        self._retired: list[Provider] = []

    def to(self, name: str) -> Provider:
        """The provider of a model. Raises PrunecliError if there is none."""
        if name not in self._open:
            self._open[name] = self.make(name)
        return self._open[name]

    def renew(self) -> None:
        """Make new providers from now on: address or key may have changed. A request under way keeps its own."""
        self._retired += self._open.values()
        self._open = {}

    async def close(self) -> None:
        """Close all connections."""
        for provider in (*self._retired, *self._open.values()):
            await provider.close()
