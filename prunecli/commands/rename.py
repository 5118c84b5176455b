"""/rename: the session's name."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, Say
from prunecli.model.events import SettingChanged
from prunecli.runtime import Runtime


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Name this session: /rename parser fix."""
    if not arguments:
        return [Say(f"This session is called {runtime.session.name or runtime.session.id}.")]
    runtime.emit(SettingChanged("session.name", arguments))
    return [Say(f"This session is called {arguments}.")]
