"""/resume: an earlier session."""

from collections.abc import Sequence
from datetime import datetime

from prunecli.commands.command import Choice, Choose, Effect, PickSession, Say, SwitchSession
from prunecli.errors import SessionNotFound
from prunecli.runtime import Runtime


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Continue an earlier session: look through all of them, or name one: /resume ID."""
    if runtime.running:
        return [Say("The agent is working: Esc stops it.", "warning")]
    if arguments:
        try:
            runtime.resume(runtime.store.find(arguments))
        except OSError as error:
            raise SessionNotFound(f"{error.filename}: {error.strerror}") from error
        return [SwitchSession()]
    if all(path == runtime.session.path for path in runtime.store.paths()):
        return [Say("No earlier session.")]
    return [PickSession(lambda: _choose(runtime))]


def _choose(runtime: Runtime) -> Choose:
    choices = tuple(
        Choice(
            one.id,
            one.label,
            f"{datetime.fromtimestamp(one.changed / 1000).astimezone():%Y-%m-%d %H:%M} · {one.size / 1024:.0f} KB",
        )
        for one in runtime.store.list(runtime.setup.cwd)
        if one.id != runtime.session.id
    )
    return Choose("Sessions of this directory", "resume", choices)
