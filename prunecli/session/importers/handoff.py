"""Continues another agent's session: finds it by its name or id, imports it once, and reports what was left out.

`@claude` means the sessions of Claude Code in this directory, and `@claude:last` the newest one. `@claude:ID` selects
one by its id, a unique prefix of the id, or its name.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path

from prunecli.model.events import AssistantMessage, Record, ToolResult, UserMessage
from prunecli.session.importers.finding import listed
from prunecli.session.importers.known_agents import title_of
from prunecli.session.importers.source import Source, read_source
from prunecli.session.importers.store_import import SavedSession, save
from prunecli.session.store import Listed, Store
from prunecli.util.errors import SessionError, SessionNotFound, UsageError
from prunecli.util.frozen import frozen

LAST = "last"
"""Stands for the newest session of this directory."""
_IN_NAMES = 8
_MOST_NAMED = 8
_MOST_KINDS = 4
_CONVERSATION = re.compile(
    r"(subagent|unusable|encrypted|undone|results|context_edit|compactions|branches|file references|texts|error)"
    r"|.*(blocks|parts|items|messages)$"
)
"""Kinds of omitted items that belong to the conversation; all others are bookkeeping of the agent's program."""


@frozen
class HandedOver:
    """Another agent's session, imported into the store. `note` is one line for the user."""

    path: Path
    note: str


def find(wanted: str, environ: Mapping[str, str], cwd: Path) -> Listed:
    """Return the session that `@AGENT:ID` names, in any directory, or else the only or last one in this directory.

    Raises SessionNotFound, and UsageError if several match.
    """
    agent, _, given = wanted.partition(":")
    problems: list[str] = []
    if given in ("", LAST):
        here = listed(agent, environ, cwd, problems)
        found = list(islice(here, 1)) if given else list(here)
    else:
        # Most agents put the id into the file's name, so few files have to be read. A name may be in any file.
        found = _matching(given, listed(agent, environ, None, problems, given[:_IN_NAMES]))
        found = found or _matching(given, listed(agent, environ, None, problems))
    if not found:
        raise _none_found(agent, cwd, "" if given == LAST else given, problems)
    if len(found) == 1:
        return found[0]
    ids = ", ".join(one.id for one in found[:_MOST_NAMED]) + ", …" * (len(found) > _MOST_NAMED)
    what = "sessions match" if given else f"sessions of {title_of(agent)} in {cwd}"
    raise UsageError(
        f"{wanted}: {len(found)} {what}",
        f"use {agent}:{LAST} or {agent}:ID, newest first: {ids}; `prunecli sessions import {agent}` lists them",
    )


def _matching(given: str, sessions: Iterable[Listed]) -> list[Listed]:
    """Return the sessions with this id, else those whose ids begin with it, else those of this name."""
    found = list(sessions)
    exact = [one for one in found if one.id == given]
    return (
        exact
        or [one for one in found if one.id.startswith(given)]
        or [one for one in found if one.name == given]
    )


def check_some(agent: str, environ: Mapping[str, str], cwd: Path) -> None:
    """Check that an agent has a session in this directory. Raises SessionNotFound."""
    problems: list[str] = []
    if next(listed(agent, environ, cwd, problems), None) is None:
        raise _none_found(agent, cwd, "", problems)


def _none_found(agent: str, cwd: Path, given: str, problems: Sequence[str]) -> SessionNotFound:
    """Return the error for no session found, naming the first files that could not be read."""
    where = f"with id or name {given!r}" if given else f"in {cwd}"
    hint = f"`prunecli sessions import {agent}` lists those of this directory" if given else ""
    unread = [f"cannot read {problem}" for problem in problems[:3]]
    return SessionNotFound(f"no session of {title_of(agent)} {where}", "\n".join([*unread, hint]).strip())


def hand_over(path: Path, agent: str, store: Store, here: Path) -> HandedOver:
    """Import a session for this directory, or find its earlier import. Raises SessionError."""
    try:
        source = read_source(path, compactions=True)
        saved, *_ = save(source, store, here, moved=True)
    except OSError as error:
        raise SessionError(f"cannot read {path}: {error.strerror or error}", "check the file") from error
    return HandedOver(saved.path, _note(title_of(agent), source, saved))


def kept(records: Iterable[Record]) -> dict[str, int]:
    found = list(records)
    kinds = Counter(type(record.event) for record in found)
    others = "command", "attachment"
    written = sum(isinstance(one.event, UserMessage) and one.event.origin in others for one in found)
    return {
        "prompts": kinds[UserMessage] - written,
        "responses": kinds[AssistantMessage],
        "results": kinds[ToolResult],
        "commands and notices": written,
    }


def numbered(number: int, what: str) -> str:
    return f"{number} {what.replace(' and ', ' or ').replace('s ', ' ').removesuffix('s') if number == 1 else what}"


def _note(agent: str, source: Source, saved: SavedSession) -> str:
    """Return one line on the session: its origin, its contents and what was left out."""
    if not saved.made:
        return f"Opened the earlier import of this session; it has not changed in {agent} since"
    counts = ", ".join(numbered(number, what) for what, number in kept(source.records).items() if number)
    grown = f" (it has grown since the import {saved.outgrown}, which stays)" if saved.outgrown else ""
    said = {what: n for what, n in source.imported.left_out.items() if _CONVERSATION.match(what)}
    out = sorted(said.items(), key=lambda one: -one[1])
    parts = [f"{number} {what}" for what, number in out[:_MOST_KINDS]]
    parts += [f"{rest} others"] if (rest := sum(number for _, number in out[_MOST_KINDS:])) else []
    if own := sum(source.imported.left_out.values()) - sum(said.values()):
        parts.append(f"{numbered(own, 'records')} of the program itself")
    if branches := source.imported.branch_count:
        parts.append(f"{branches} other branch{'es' * (branches != 1)}")
    if source.notices:
        parts.append(f"{len(source.notices)} unreadable ({source.notices[0]})")
    return f"From {agent}: {counts}{grown}. Left out: {', '.join(parts) or 'nothing'}"
