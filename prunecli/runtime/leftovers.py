"""Clean up after a killed edit or write when its session is resumed."""

from pathlib import Path

from prunecli.errors import ToolError
from prunecli.model.events import AssistantMessage, ToolResult, ToolStarted
from prunecli.model.touches import named
from prunecli.session.session import Session
from prunecli.tools.files.atomic_write import clear_leftovers


def clear_half_done(session: Session, cwd: Path) -> None:
    """Remove temporary files, and undo half-written ones, of calls without a result. What can't be cleared
    is among the session's notices. Nothing is touched for a session that is only looked at."""
    for given in () if session.read_only else _half_done(session):
        try:
            clear_leftovers(given, cwd, cwd)
        except ToolError as error:
            session.notices.append(str(error))


def _half_done(session: Session) -> list[str]:
    """The paths of edits and writes in the last turn that have no result."""
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
