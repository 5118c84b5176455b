"""Notices that tell the model of instruction files that the user changed during the session.

A notice has the change and short fingerprints of the text before and after. So the context alone shows whether the
model knows the current text; if a notice of that chain is missing, the whole text is sent again (`preamble.py`).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256

from prunecli.context.state import Context
from prunecli.model.events import UserMessage
from prunecli.model.messages import Block, Text
from prunecli.model.notes import CHANGED, DELETED, notice, notice_parts
from prunecli.util.sanitize import one_line

TITLE = "memory: "
_STATE = re.compile(r"^\[([0-9a-f]{8}|new) -> ([0-9a-f]{8})\]$", re.MULTILINE)
_FILE = re.compile(r'^<instructions file="([^"\n]*)">\n(.*?)\n</instructions>$', re.MULTILINE | re.DOTALL)


def files_in(texts: Iterable[str]) -> dict[str, str]:
    """Return the instruction files in system texts or a note: their whole texts by path."""
    return {found[1]: found[0] for text in texts for found in _FILE.finditer(text)}


def changed_notice(path: str, what: str, body: str, before: str | None, after: str) -> UserMessage:
    """Return the notice of a change. `before` and `after` are the texts in the form for the model, None for no
    file."""
    state = f"[{_mark(before)} -> {_mark(after)}]"
    return notice(f"{TITLE}{one_line(path)}", f"{what}\n{body}\n{state}", kept=True)


def known(context: Context, recorded: Sequence[str]) -> dict[str, str]:
    """Return fingerprints of the newest texts of instruction files that the model knows, by path.

    `recorded` are the system texts of the session.
    """
    start = {path: _mark(text) for path, text in files_in(recorded).items()}
    marks = dict(start)
    for item in context.items:
        event = item.event
        if not isinstance(event, UserMessage):
            continue
        parts = notice_parts(event)
        if parts and parts[0].startswith(TITLE) and (state := _STATE.search(parts[1])):
            path = parts[0].removeprefix(TITLE)
            marks[path] = state[2] if marks.get(path, "new") == state[1] else "?"
        elif note := _note(event.content):
            files = files_in([note])
            gone = {path for path, text in files.items() if text.split("\n")[1:-1] == [DELETED]}
            marks = {**(marks if files else start), **{path: _mark(text) for path, text in files.items()}}
            marks = {path: mark for path, mark in marks.items() if path not in gone}
    return marks


def as_known(marks: Mapping[str, str], now: Sequence[str], before: Mapping[str, str]) -> list[str]:
    """Return the current system texts, with the earlier text of each file whose current text the model knows.

    `before` are the full texts in the recorded prompt or the newest note.
    """
    found: list[str] = []
    for text in now:
        ((path, _),) = files_in([text]).items() or (("", ""),)
        if path and before.get(path) != text and marks.get(path) == _mark(text):
            found += [before[path]] if path in before else []
        else:
            found.append(text)
    return found


def _mark(text: str | None) -> str:
    return "new" if text is None else sha256(text.encode("utf-8", "replace")).hexdigest()[:8]


def _note(content: Sequence[Block]) -> str:
    texts = (block.text for block in content if isinstance(block, Text))
    return next((text for text in texts if text.startswith(CHANGED)), "")
