"""/rename: name the session."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, Say, unquoted
from prunecli.model.events import SettingChanged
from prunecli.runtime import Runtime


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Name this session: /rename parser fix. An empty name in quotes removes the name."""
    if not arguments:
        return [Say(f"Session name: {runtime.session.name or runtime.session.id}.")]
    name = unquoted(arguments).strip()
    runtime.emit(SettingChanged("session.name", name))
    return [Say(f"Session renamed to {name}." if name else "Session name removed.")]
