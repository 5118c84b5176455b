"""/fork: continue in a copy of this session."""

from collections.abc import Sequence

from prunecli.commands.command import WORKING, Effect, FillPrompt, Say, switched
from prunecli.model.events import UserMessage
from prunecli.model.notes import typed
from prunecli.plugins.features import available
from prunecli.runtime import Runtime
from prunecli.runtime.user_shell import is_busy
from prunecli.util.errors import SessionNotFound, UsageError

NOT_IN = {
    "headless": "use --fork with -c or -r ID",
    "editor": "Start prunecli in a terminal to fork a session.",
}


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Continue in a copy of this session, optionally up to an entry: /fork 17."""
    if is_busy(runtime):
        return [WORKING]
    session = runtime.session
    if not session.records or session.path is None:
        return [Say("Nothing to copy: this session is empty or not saved.", "warning")]
    if arguments and not arguments.isdigit():
        raise UsageError(f"/fork {arguments}: expected an entry number", available("/context lists them"))
    at, again = int(arguments) if arguments else None, ""
    record = next((one for one in session.records if one.seq == at), None)
    if (
        record
        and isinstance(record.event, UserMessage)
        and record.event.origin not in ("command", "attachment")
    ):
        at, again = record.seq - 1, typed(record.event)
    unheard = runtime.status().waiting
    try:
        runtime.open_session(session.path, fork=True, at=at)
    except OSError as error:
        raise SessionNotFound(f"{error.filename}: {error.strerror}") from error
    said = [*switched(unheard), Say("Forked. /tree to switch back.")]
    return [*said, FillPrompt(again)] if again else said
