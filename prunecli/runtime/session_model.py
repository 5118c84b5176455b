"""Choose the model of a session: from the command line, its log, or the resumed session."""

from collections.abc import Callable

from prunecli.config import Config
from prunecli.providers.models import ModelInfo
from prunecli.session.session import Session


class SessionModel:
    """What beside configuration and settings decides over the model.

    `asked` is the model that the command line names: it wins over that of a resumed session, and is recorded with it.
    `kept` is the one that the present session was begun with, where it was resumed. Both "" for none.
    """

    def __init__(self, info_of: Callable[[str], ModelInfo]) -> None:
        self.asked = ""
        self.kept = ""
        self._info_of = info_of

    def resumed(self, session: Session, config: Config) -> None:
        """This session is gone on with. A model that can't be kept is said among its notices.

        The demo model is not kept: it stands in for a model where there is no key. Neither is one that nothing is
        known of (another agent's session was imported), unless the endpoint is the user's own.
        """
        context, self.kept = session.context, ""
        name = (context.started.model if context.started else "") or context.last_model
        if config.model.name == "demo" or name in ("", "demo") or context.settings.get("model.name"):
            return
        if self._info_of(name).context_window or config.model.base_url:
            self.kept = name
        elif not self.asked:
            answers = self._info_of(config.model.name).name
            session.notices.append(
                f"This session used {name}, which is unknown here: {answers} goes on with it"
            )

    def unrecorded(self, session: Session) -> str:
        """The model of the command line if the log names another one, else ""."""
        recorded = str(session.context.settings.get("model.name") or session.started.model)
        same = not self.asked or self._info_of(self.asked).name == self._info_of(recorded).name
        return "" if same else self.asked
