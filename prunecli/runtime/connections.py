"""The providers of one runtime and its tasks, one for each model."""

from collections.abc import Callable

from prunecli.providers.models import ModelInfo
from prunecli.providers.provider import Provider


class Connections:
    """Makes providers by model name and keeps them. `info_of` finds a model by name or alias."""

    def __init__(self, provider_for: Callable[[str], Provider], info_of: Callable[[str], ModelInfo]) -> None:
        self.provider_for = provider_for
        self.info_of = info_of
        self._made: dict[str, Provider] = {}
        self._retired: list[Provider] = []

    def of(self, model: str) -> Provider:
        """The provider of a model. Raises PrunecliError if it has none."""
        if model not in self._made:
            self._made[model] = self.provider_for(model)
        return self._made[model]

    def check(self, name: str) -> None:
        """Raises PrunecliError if a model has no provider."""
        self.provider_for(self.info_of(name).name)

    def renew(self) -> None:
        """Make new providers from now on: address and key may have changed."""
        self._retired += self._made.values()
        self._made = {}

    async def close(self) -> None:
        """Close all providers."""
        for provider in (*self._retired, *self._made.values()):
            await provider.close()
