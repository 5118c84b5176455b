"""The user's changes to instruction files: `# text` adds a line, `/memory edit` opens $EDITOR.

Files are written atomically under a lock and keep their encoding and line endings, as with the tools. The directory
stays trusted, because the user made the change. A notice tells the model.
"""

import os
import threading
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from prunecli.agent.instructions import INSTRUCTION_FILES, Instructions
from prunecli.agent.system_prompt import as_text
from prunecli.model.events import UserMessage
from prunecli.model.notes import notice_parts
from prunecli.runtime.instruction_notices import TITLE, changed_notice
from prunecli.safety.project_settings import down_to, leads_outside
from prunecli.tools.files.atomic_write import create_file, locked, replace_content
from prunecli.tools.files.diff import change
from prunecli.tools.files.encoding import encoding_of, has_only_crlf, is_binary
from prunecli.tools.files.workspace import Place, opened_place
from prunecli.util.errors import ConfigError, PrunecliError, ToolError, UsageError
from prunecli.util.frozen import frozen
from prunecli.util.lazy import lazy
from prunecli.util.private_file import make_private
from prunecli.util.regular import read_regular
from prunecli.util.sanitize import one_line

if TYPE_CHECKING:
    import difflib

    from prunecli.runtime.host import Host
else:
    difflib = lazy("difflib")

Scope: TypeAlias = Literal["project", "user"]

_ADDED = "The user added to these instructions:"
_EDITED = "The user changed these instructions:"
MOST_CHARS = 2_000
"""Maximum characters of an added line."""
_MOST_BYTES = 4_000_000
_AT_ONCE = threading.Event()
_AT_ONCE.set()
"""Set from the start, so that a locked file is an error at once: the user is waiting at the keyboard."""


@frozen
class _Before:
    """A file before a change: its bytes, and its text in the form for the model; None for no file."""

    data: bytes | None
    text: str | None


class Memories:
    """The instruction files that the user of a host may change."""

    def __init__(self, host: "Host") -> None:
        self._host = host
        self._editing: dict[Path, _Before] = {}

    # The files -----------------------------------------------------------------------------------------------

    def scopes(self) -> tuple[Scope, ...]:
        """Return the files that can be changed: in a read-only directory, only the user's own."""
        return ("project", "user") if self._host.gatekeeper.trusted else ("user",)

    def path(self, scope: Scope) -> Path:
        """Return the loaded file of the project's root or of the user's folder, else AGENTS.md there."""
        folder = down_to(self._host.setup.cwd)[0] if scope == "project" else self._host.setup.places.config
        paths = [folder / name for name in INSTRUCTION_FILES]
        return next((path for path in paths if os.path.lexists(path)), paths[0])

    def _checked(self, scope: Scope) -> Path:
        """Return the file. Raises UsageError for an untrusted project or a link out of the project."""
        path, cwd = self.path(scope), self._host.setup.cwd
        if scope not in self.scopes():
            raise UsageError("this directory is read-only, so its instructions are not used", "/trust first")
        if scope == "project" and (end := leads_outside(path, cwd)):
            raise UsageError(f"{path} is a link to {end}, outside the project", "edit that file yourself")
        return path

    def _opened(self, path: Path) -> AbstractContextManager[Place]:
        """Return the file's real path. Raises PrunecliError if its folder can't be created."""
        real = Path(os.path.realpath(path))
        try:
            make_private(real.parent)
        except OSError as error:
            raise PrunecliError(f"cannot make {real.parent}: {error.strerror}") from error
        return opened_place(str(real), real.parent, real.parent)

    def _before(self, path: Path) -> _Before:
        try:
            data = read_regular(path) if os.path.lexists(path) else None
        except OSError as error:
            raise PrunecliError(f"cannot read {path}: {error.strerror}") from error
        return _Before(data, self._text(path))

    def _text(self, path: Path) -> str | None:
        places, cwd = self._host.setup.places, self._host.setup.cwd
        found = Instructions(cwd, places.config, places.home, trusted=True).of(path.parent)
        return as_text(*found[0]) if found and found[0][0] == path else None

    # Adding a line -------------------------------------------------------------------------------------------

    def add(self, scope: Scope, text: str) -> Path:
        """Append a line to a file. Raises PrunecliError and leaves the file unchanged."""
        path, line = self._checked(scope), bullet(text)
        before = self._before(path)
        try:
            with self._opened(path) as place:
                if place.stat() is None:
                    old, new = None, f"{line}\n".encode()
                    create_file(place, new, _AT_ONCE)
                else:
                    with locked(place, _AT_ONCE) as current:
                        old, new = current.data, with_line(current.data, line)
                        replace_content(place, current, new, _AT_ONCE)
        except ToolError as error:
            raise PrunecliError(str(error)) from error
        self._changed(path, _Before(old, before.text), new, _ADDED, line)
        return path

    # Editing -------------------------------------------------------------------------------------------------

    def open(self, scope: Scope) -> Path:
        """Note a file before the user edits it. Raises PrunecliError if that can't be done."""
        path = self._checked(scope)
        self._editing[path] = self._before(path)
        with self._opened(path):
            return path

    def edited(self, scope: Scope) -> str:
        """Keep the directory trusted after an edit, and tell the model. Return a message for the user."""

        path = self.path(scope)
        before = self._editing.pop(path, None)
        if before is None:
            raise UsageError("nothing is being edited", f"/memory edit {scope}")
        now = self._before(path)
        if now.data == before.data:
            return f"{path} is unchanged."
        old, new = (one.decode("utf-8", "replace") if one else "" for one in (before.data, now.data))
        diff = change(old, new)
        lines = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=1)
        body = "\n".join(list(lines)[2:])
        whole = len(body) > len(new) // 2
        heard = self._changed(path, before, now.data, "" if whole else _EDITED, body)
        return f"Saved {path} (+{diff.added} −{diff.removed} lines). {heard}".rstrip()

    # Afterwards ----------------------------------------------------------------------------------------------

    def _changed(self, path: Path, before: _Before, new: bytes | None, what: str, body: str) -> str:
        """Keep the directory trusted and tell the model. Return a message for the user.

        Without a description of the change or an earlier text, the model gets the whole text with the next prompt.
        """
        host = self._host
        try:
            host.setup.trust_store.follow(path, before.data, new)
        except ConfigError:
            pass  # the trust question is asked again and shows the change
        after = self._text(path)
        if not host.session.context.preamble.system or host.session.read_only:
            return ""
        if after is None or after == before.text or not what:
            return "The model gets the new text with your next prompt."
        host.mailbox.notices.append(changed_notice(str(path), what, body, before.text, after))
        self.deliver()
        return "The model gets a notice."

    def deliver(self) -> None:
        """Record the pending notices. A working agent takes them itself after its current calls."""
        host, waiting = self._host, list(filter(_is_ours, self._host.mailbox.notices))
        if waiting and not host.running:
            for message in waiting:
                host.session.emit(message)
            host.mailbox.taken(tuple(waiting))


def _is_ours(message: UserMessage) -> bool:
    parts = notice_parts(message)
    return parts is not None and parts[0].startswith(TITLE)


def bullet(text: str) -> str:
    """Return the line to add for the text. Raises UsageError if it is blank, too long or has several lines."""
    line = text.strip()
    if not line:
        raise UsageError("nothing to remember", "type # followed by text")
    if len(line.splitlines()) > 1 or one_line(line) != line:
        raise UsageError("a line to remember can't have line breaks or control characters", "/memory edit")
    if len(line) > MOST_CHARS:
        raise UsageError(f"a line to remember can have at most {MOST_CHARS:,} characters", "/memory edit")
    return line if line.startswith(("- ", "* ")) else f"- {line}"


def with_line(data: bytes, line: str) -> bytes:
    """Return the file's bytes with one line added, in the file's encoding and line endings. A missing final newline
    is not added.

    A blank line precedes the new line unless the file ends with a list. Raises ToolError if the file is not text.
    """
    if is_binary(data) or len(data) > _MOST_BYTES:
        raise ToolError("the file is too large or not text; it was not changed.")
    encoding = encoding_of(data)
    text = encoding.decode(data)
    end = "\r\n" if has_only_crlf(text) else "\n"
    last = text.rstrip().rpartition("\n")[2].lstrip()
    gap = "" if not text.strip() or last.startswith(("- ", "* ", "+ ")) else end
    ends = text.endswith("\n")
    lead = "" if ends or not text else end
    return data + encoding.encode(f"{lead}{gap}{line}{end if ends or not text else ''}")
