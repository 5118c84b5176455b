"""How a session is taken up again after whatever ended it: loaded, and what a killed edit left in files cleared."""

from pathlib import Path

from prunecli.context.state import Context
from prunecli.errors import ToolError
from prunecli.model.events import AssistantMessage, ToolResult, ToolStarted
from prunecli.runtime.setup import Setup
from prunecli.session.session import Session
from prunecli.tools.files.saving import clear_leftovers


def taken_up(path: Path, context: Context, setup: Setup, *, writable: bool) -> Session:
    """The session of a file. Raises SessionError, OSError.

    One that is to be continued leaves no temporary file and no half-written one of a call that was killed
    (EXE-16).
    """
    session = Session.load(path, context, writable=writable, clock=setup.clock)
    if not session.read_only:
        for given in _half_done(session):
            try:
                clear_leftovers(given, setup.cwd, setup.cwd)
            except ToolError as error:
                session.notices.append(str(error))
    return session


def _half_done(session: Session) -> list[str]:
    """The paths that edits and writes of the last turn were given which never answered."""
    cut: set[str] = set()
    found: list[str] = []
    for record in reversed(session.records):
        match record.event:
            case ToolResult(tool_use_id, details={"interrupted": True}):
                cut.add(tool_use_id)
            case ToolStarted(tool_use_id, "edit" | "write", {"path": str(given)}) if tool_use_id in cut:
                found.append(given)
            case AssistantMessage():
                break
            case _:
                pass
    return found
