"""The model of a session, from the command line, its log or the resumed session; and the providers of models."""

from collections.abc import Callable

from prunecli.config.credentials import keys_of, misses_key
from prunecli.config.effective import Config, Service
from prunecli.model.requests import IMPORTED
from prunecli.providers.models import ModelInfo
from prunecli.providers.provider import Provider
from prunecli.providers.registry import DEFAULT
from prunecli.runtime.setup import Setup
from prunecli.session.session import Session


class SessionModel:
    """The model that the command line or a resumed session asks for.

    `asked` is the model named on the command line; it takes precedence over that of a resumed session and is recorded
    there. `kept` is the model that a resumed session was started with. Both are "" for none.
    """

    def __init__(self, info_of: Callable[[str], ModelInfo], setup: Setup) -> None:
        self.asked = ""
        self.kept = ""
        self._info_of = info_of
        self._setup = setup

    def resumed(self, session: Session, config: Config) -> None:
        """Use the model of a resumed session. A notice names a model that cannot be kept.

        The demo model is not kept, because it only replaces a model without a key. An unknown model is not kept
        either, unless the endpoint is the user's own and the session is not imported from another agent, nor is a
        model of a vendor that is not set up.
        """
        context, self.kept = session.context, ""
        name = (context.started.model if context.started else "") or context.last_model
        if config.model.name == "demo" or name in ("", "demo") or context.settings.get("model.name"):
            return
        if not (why := self._why_not(name, config, imported=IMPORTED in context.settings)):
            self.kept = name
        elif not self.asked:
            answers = self._info_of(config.model.name).name
            session.notices.append(f"This session used {name}, which {why}: it continues with {answers}")

    def _why_not(self, name: str, config: Config, *, imported: bool) -> str:
        """Return why a resumed session cannot go on with its model, "" if it can."""
        info, service, home = self._info_of(name), config.service(name), config.service()
        own = home.base_url and service == home and not imported
        if not (info.context_window or own):
            return "is unknown here"
        vendors = service == Service(DEFAULT) or (imported and service.provider == DEFAULT)
        if vendors and info.provider not in ("", DEFAULT):
            return f'needs an endpoint that has it ([models."{name}"] endpoint)'
        if service != home and misses_key(name, config, self._setup.environ, self._setup.places):
            return f"needs a key ({keys_of(config, name).key_variable})"
        return ""

    def unrecorded(self, session: Session) -> str:
        """Return the model of the command line if the log names another one, else ""."""
        recorded = str(session.context.settings.get("model.name") or session.started.model)
        same = not self.asked or self._info_of(self.asked).name == self._info_of(recorded).name
        return "" if same else self.asked


class Connections:
    """The providers of a runtime and its tasks, one for each model. `info_of` finds a model by name or alias."""

    def __init__(self, provider_for: Callable[[str], Provider], info_of: Callable[[str], ModelInfo]) -> None:
        self.provider_for = provider_for
        self.info_of = info_of
        self._made: dict[str, Provider] = {}
        self._retired: list[Provider] = []

    def of(self, model: str) -> Provider:
        """Return the provider of a model. Raises PrunecliError if it has none."""
        if model not in self._made:
            self._made[model] = self.provider_for(model)
        return self._made[model]

    def check(self, name: str) -> None:
        self.provider_for(self.info_of(name).name)

    def renew(self) -> None:
        """Discard the providers, so that new ones use the current address and key."""
        self._retired += self._made.values()
        self._made = {}

    async def close(self) -> None:
        for provider in (*self._retired, *self._made.values()):
            await provider.close()
