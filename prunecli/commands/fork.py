"""/fork: a copy of this session that goes its own way."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, FillPrompt, Say, switched
from prunecli.errors import SessionNotFound, UsageError
from prunecli.model.events import UserMessage
from prunecli.model.notes import typed
from prunecli.runtime import Runtime


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Continue in a copy of this session, from an entry's number on: /fork 17; a prompt is asked anew."""
    if runtime.running:
        return [Say("The agent is working: Esc stops it.", "warning")]
    session = runtime.session
    if not session.records or session.path is None:
        return [Say("Nothing to copy: this session is not kept, or nothing was said in it.", "warning")]
    if arguments and not arguments.isdigit():
        raise UsageError(f"/fork {arguments}: expected an entry's number", "/context shows them")
    at, again = int(arguments) if arguments else None, ""
    record = next((one for one in session.records if one.seq == at), None)
    if record and isinstance(record.event, UserMessage) and record.event.origin != "command":
        at, again = record.seq - 1, typed(record.event)
    before, unheard = session.id, runtime.status().waiting
    try:
        runtime.open_session(session.path, fork=True, at=at)
    except OSError as error:
        raise SessionNotFound(f"{error.filename}: {error.strerror}") from error
    said = [*switched(unheard), Say(f"A copy of {before}; /resume {before} goes back to it.")]
    return [*said, FillPrompt(again)] if again else said
