"""/resume: open an earlier session."""

from collections.abc import Sequence
from datetime import datetime, tzinfo

from prunecli.commands.command import Choice, Choose, Effect, PickSession, Say, switched
from prunecli.errors import SessionLocked, SessionNotFound
from prunecli.runtime import Runtime


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Resume a session: /resume ID; --fork opens a copy, --view opens it read-only."""
    if runtime.running:
        return [Say("The agent is working. Esc to stop it.", "warning")]
    if arguments:
        wanted, _, how = arguments.rpartition(" ")
        if how not in ("--fork", "--view"):
            wanted, how = arguments, ""
        path, unheard = runtime.store.find(wanted), runtime.status().waiting
        try:
            runtime.resume(path, writable=how != "--view", fork=how == "--fork")
        except SessionLocked as locked:
            return [_offer(locked)]
        except OSError as error:
            raise SessionNotFound(f"{error.filename}: {error.strerror}") from error
        return switched(() if runtime.resuming else unheard)  # a long session gets them once it is loaded
    if all(path == runtime.session.path for path in runtime.store.paths()):
        return [Say("No earlier sessions.")]
    return [PickSession(lambda: _choose(runtime))]


def _local(milliseconds: int, zone: tzinfo | None) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000).astimezone(zone)


def _choose(runtime: Runtime) -> Choose:
    choices = tuple(
        Choice(
            one.id,
            one.label,
            f"{_local(one.changed, runtime.setup.zone):%Y-%m-%d %H:%M} · {one.size / 1024:.0f} KB",
        )
        for one in runtime.store.list(runtime.setup.cwd)
        if one.id != runtime.session.id and not one.is_task
    )
    return Choose("Sessions of this directory", "resume", choices)


def _offer(locked: SessionLocked) -> Choose:
    """Offer to copy or view a session that another process is writing to."""
    id_ = locked.path.stem
    return Choose(
        locked.message,
        "resume",
        (
            Choice(f"{id_} --fork", "Open a copy", "continue from here in a separate session"),
            Choice(f"{id_} --view", "View it", "read-only"),
        ),
    )
