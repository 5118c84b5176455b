"""What a killed edit or write left in files, cleared when its session is taken up again (EXE-16)."""

from pathlib import Path

from prunecli.errors import ToolError
from prunecli.model.events import AssistantMessage, ToolResult, ToolStarted
from prunecli.model.touches import named
from prunecli.session.session import Session
from prunecli.tools.files.saving import clear_leftovers


def clear_half_done(session: Session, cwd: Path) -> None:
    """Removes temporary files, and undoes half-written ones, of calls that never answered. What can't be cleared
    is among the session's notices. Nothing is touched for a session that is only looked at."""
    for given in () if session.read_only else _half_done(session):
        try:
            clear_leftovers(given, cwd, cwd)
        except ToolError as error:
            session.notices.append(str(error))


def _half_done(session: Session) -> list[str]:
    """The paths that edits and writes of the last turn were given which never answered."""
    cut: set[str] = set()
    found: list[str] = []
    for record in reversed(session.records):
        match record.event:
            case ToolResult(tool_use_id, details={"interrupted": True}):
                cut.add(tool_use_id)
            case ToolStarted(tool_use_id, name, given, touches) if tool_use_id in cut:
                touches = touches or named(name, given)
                found += touches.changes if touches else ()
            case AssistantMessage():
                break
            case _:
                pass
    return found
