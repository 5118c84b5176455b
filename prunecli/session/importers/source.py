"""Detects the format of a SOURCE file and reads its conversation.

Formats: prunecli's own sessions, Claude Code, pi, Codex, OpenCode (export), Gemini CLI, agent-session/1 and Anthropic
messages as JSON, each also packed with gzip or zstd; and sessions in OpenCode's database. The format is detected from
the content, never from the name.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from prunecli.model.events import AssistantMessage, Record, SessionStarted, UserMessage
from prunecli.model.messages import Json
from prunecli.session.blobs import Blobs
from prunecli.session.importers import (
    agent_session,
    anthropic_messages,
    claude_code,
    codex,
    gemini_cli,
    opencode,
    opencode_store,
    pi,
)
from prunecli.session.importers.codex_home import name_of, with_beginning
from prunecli.session.importers.json_rows import Row, Rows, content_of, rows_of, whole
from prunecli.session.importers.origin import Branch, Imported, Kind, Origin
from prunecli.session.log import read_lines
from prunecli.util.errors import SessionCorrupt, SessionError, UnknownFormat
from prunecli.util.frozen import frozen

if TYPE_CHECKING:
    from prunecli.session.importers.remote import SessionFile

_HEAD_ROWS = 50
_UNKNOWN = "unknown session format"
_HEAD_BYTES = 65_536
_BY_LINES: tuple[tuple[Callable[[Row], bool], Callable[[Rows], Imported]], ...] = (
    (gemini_cli.is_gemini_row, gemini_cli.read_rows),
    (codex.is_codex, codex.read),
    (pi.is_pi, pi.read),
    (claude_code.is_claude_code, claude_code.read),
)


@frozen
class Source:
    """A file's conversation. If it is `native`, it is prunecli's own, so its recorded edits apply."""

    imported: Imported
    notices: tuple[str, ...] = ()

    @property
    def kind(self) -> Kind:
        return self.imported.origin.kind

    @property
    def records(self) -> list[Record]:
        return self.imported.records

    @property
    def branches(self) -> tuple[Branch, ...]:
        """The other branches, built again on each access."""
        return tuple(self.imported.branches())

    @property
    def native(self) -> bool:
        return self.kind == "session"


def read_source(path: "SessionFile", *, compactions: bool = False) -> Source:
    """Read a file in any known format. Damaged lines are skipped and named in `notices`. One at a URL is read by
    itself, without what other agents keep beside it.

    `compactions` replaces messages of an agent-session with its summaries. Raises OSError, and SessionCorrupt that
    names the first bad line or message if nothing is usable.
    """
    if isinstance(path, Path) and opencode_store.in_store(path):
        return _with_messages(path, opencode.read(opencode_store.export_of(path)))
    data = content_of(path)
    if _is_native(data):
        return _native(path, data)
    try:
        value = whole(data)
    except ValueError as error:
        raise SessionCorrupt(path, 1, str(error)) from error
    imported = _of_one_value(path, value) if isinstance(value, dict | list) else None
    if imported is None:
        found = rows_of(data)
        found = with_beginning(path, found) if isinstance(path, Path) else found
        imported = _of_lines(found, compactions)
        if imported is None:
            if data.strip() and not any("seq" in row.value for row in found.rows):
                raise UnknownFormat(path, *_first_problem(found, value))
            return _native(path, data)
    if isinstance(path, Path):
        imported = _with_subagents(path, _placed(path, imported))
    return _with_messages(path, imported)


def opened(path: Path) -> Source:
    """Read a file in any known format, with its summaries. Raises SessionError."""
    try:
        return read_source(path, compactions=True)
    except OSError as error:
        raise SessionError(f"cannot read {path}: {error.strerror or error}", "check the file name") from error


def of_messages(path: Path, messages: Sequence[Mapping[str, Json]]) -> Source:
    """Return the conversation that a plugin read from a file, as messages of the Messages API. Raises
    SessionCorrupt."""
    imported = _of_one_value(path, {"messages": list(messages)})
    return _with_messages(path, imported or Imported(Origin("messages"), []))


def _with_messages(path: "SessionFile", imported: Imported) -> Source:
    """Return the source if it contains a conversation. Raises SessionCorrupt otherwise."""
    if not any(isinstance(record.event, UserMessage | AssistantMessage) for record in imported.records):
        line, _, why = (imported.damaged or ("line 1: no messages",))[0].partition(": ")
        number = line.rpartition(" ")[2]
        raise SessionCorrupt(
            path, int(number) if number.isdigit() else 1, f"{why} ({imported.origin.kind} file)"
        )
    return Source(imported, imported.damaged)


def _placed(path: Path, imported: Imported) -> Imported:
    """Add the name or the directory of a session, which some agents keep beside its file."""
    origin = imported.origin
    if origin.kind == "codex":
        return replace(imported, origin=replace(origin, name=name_of(path, origin.id)))
    if (
        origin.kind == "gemini-cli"
        and not origin.cwd
        and (folder := gemini_cli.folder_of(path)).startswith("/")
    ):
        first, *others = imported.records
        if isinstance(first.event, SessionStarted):
            first = Record(first.seq, first.timestamp, replace(first.event, cwd=folder))
        return replace(imported, origin=replace(origin, cwd=folder), records=[first, *others])
    return imported


def _with_subagents(path: Path, imported: Imported) -> Imported:
    """Add a note on files of subagents, which are separate sessions."""
    files = claude_code.subagent_files(path) if imported.origin.kind == "claude-code" else ()
    if not files:
        return imported
    folder = files[0].parent
    what = f"subagent files ({folder.parent.name}/{folder.name}; import each separately)"
    return replace(imported, left_out={**imported.left_out, what: len(files)})


def _of_one_value(path: "SessionFile", value: Json) -> Imported | None:
    """Read a file that is one JSON value; return None if it must be read line by line."""
    if isinstance(value, list):
        value = {"messages": value}
    if not isinstance(value.get("messages"), list):
        return None
    if opencode.is_opencode(value):
        return opencode.read(value)
    if gemini_cli.is_gemini_cli(value):
        return gemini_cli.read(value)
    try:
        records = anthropic_messages.records_of(value["messages"], value.get("model"))
        return Imported(Origin("messages"), records)
    except ValueError as error:
        raise SessionCorrupt(path, 1, str(error)) from error


def _of_lines(found: Rows, compactions: bool) -> Imported | None:
    """Read a JSON Lines file; return None if it can only be prunecli's own."""
    if found.rows and agent_session.is_agent_session(found.rows[0]):
        return agent_session.read(found, compactions=compactions)
    for row in found.rows[:_HEAD_ROWS]:
        for is_one, read in _BY_LINES:
            if is_one(row):
                return read(found)
    return None


def _first_problem(found: Rows, value: Json) -> tuple[int, str]:
    """Return the line and reason that best explain an unknown format. `value` is the file as JSON."""
    if found.rows or value is not None:
        return found.rows[0].line if found.rows else 1, _UNKNOWN
    line, _, why = (found.damaged or ("line 1: empty file",))[0].partition(": ")
    return int(line.removeprefix("line ")), f"{_UNKNOWN} ({why})"


def _is_native(data: bytes) -> bool:
    """Return whether one of the first lines looks like a prunecli record."""
    lines = data[:_HEAD_BYTES].split(b"\n")
    return any(line.startswith(b'{"seq":') and b',"crc":"' in line for line in lines)


def _native(path: "SessionFile", data: bytes) -> Source:
    loaded = read_lines(path, BytesIO(data))
    blobs = Blobs(path.parent / "blobs") if isinstance(path, Path) else path.blobs
    notices = list(map(str, loaded.bad))
    records = []
    for record in loaded.records:
        event, missing = blobs.resolved(record.event)
        notices += missing
        records.append(record if event is record.event else Record(record.seq, record.timestamp, event))
    return Source(Imported(_own(records), records), tuple(notices))


def _own(records: list[Record]) -> Origin:
    first = records[0]
    if isinstance(first.event, SessionStarted):
        started = first.event
        return Origin("session", started.id, "", started.cwd, started.model, first.timestamp)
    return Origin("session", started=first.timestamp)
