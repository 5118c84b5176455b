"""Choose the model of a session: from the command line, its log, or the resumed session."""

from collections.abc import Callable

from prunecli.config import Config
from prunecli.model.requests import IMPORTED
from prunecli.providers.models import ModelInfo
from prunecli.session.session import Session


class SessionModel:
    """The model that the command line or a resumed session asks for.

    `asked` is the model named on the command line; it takes precedence over that of a resumed session and is recorded
    there. `kept` is the model that a resumed session was started with. Both are "" for none.
    """

    def __init__(self, info_of: Callable[[str], ModelInfo]) -> None:
        self.asked = ""
        self.kept = ""
        self._info_of = info_of

    def resumed(self, session: Session, config: Config) -> None:
        """Take the model of a resumed session. A notice names a model that cannot be kept.

        The demo model is not kept, because it only replaces a model without a key. Neither is an unknown model,
        unless the endpoint is the user's own and the session is not imported from another agent.
        """
        context, self.kept = session.context, ""
        name = (context.started.model if context.started else "") or context.last_model
        if config.model.name == "demo" or name in ("", "demo") or context.settings.get("model.name"):
            return
        own = config.model.base_url and IMPORTED not in context.settings
        if self._info_of(name).context_window or own:
            self.kept = name
        elif not self.asked:
            answers = self._info_of(config.model.name).name
            session.notices.append(
                f"This session used {name}, which is unknown here: it continues with {answers}"
            )

    def unrecorded(self, session: Session) -> str:
        """The model of the command line if the log names another one, else ""."""
        recorded = str(session.context.settings.get("model.name") or session.started.model)
        same = not self.asked or self._info_of(self.asked).name == self._info_of(recorded).name
        return "" if same else self.asked
