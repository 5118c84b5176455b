"""The notices of a run as lines, for the screen and for headless runs."""

from pathlib import Path
from typing import TYPE_CHECKING

from prunecli.context.labels import prune_in_words, tokens_pruned_by
from prunecli.model.codec import well_formed
from prunecli.model.events import PrunApplied, Record, RunEnded, UserMessage
from prunecli.model.notes import change_in_words
from prunecli.model.signals import FileMoved, Notice, SessionEvent
from prunecli.runtime.preamble import tool_changes
from prunecli.session.session import Session

if TYPE_CHECKING:
    from prunecli.runtime.runtime import Runtime


def opening_notices(runtime: "Runtime", *, sandbox: bool = True) -> list[str]:
    """Return the notices before a headless run, about the configuration, the sandbox and the session."""
    walls = sandbox_notices(runtime) if sandbox else []
    return [*runtime.notices, *walls, *session_notices(runtime, runtime.session)]


def sandbox_notices(runtime: "Runtime") -> list[str]:
    """Return the line on a sandbox that is wanted but does not work, and the one on what earlier commands left. Waits
    until it was tried, some 30 ms."""
    sandbox = runtime.sandbox
    unwalled = sandbox.wanted and sandbox.state() == "none"
    return [*([sandbox.line()] if unwalled else []), *filter(None, [sandbox.left])]


def session_notices(runtime: "Runtime", session: Session) -> list[str]:
    """Return the notices about an opened session: another directory, unreadable parts, and changed tools."""
    belongs, setup = session.started.cwd, runtime.setup
    elsewhere = belongs and belongs != well_formed(str(setup.cwd))
    shown = setup.places.shown(Path(belongs))
    found = [f"This session belongs to {shown}; the agent now works in this folder."] if elsewhere else []
    return [*found, *session.notices, *tool_changes(session.context, runtime.tools)]


def notice_of(event: SessionEvent, runtime: "Runtime") -> str:
    match event:
        case Notice(text):
            return text
        case FileMoved(why, path):
            return f"The session file {why}. Now writing to {runtime.setup.places.shown(path)}."
        case Record(seq, _, PrunApplied() as prune):
            return prune_in_words(prune, tokens_pruned_by(runtime.session.context, seq) or 0)
        case Record(_, _, UserMessage(content)):
            return change_in_words(content)
        case Record(_, _, RunEnded("interrupted")):
            return "Interrupted."
        case _:
            return ""
