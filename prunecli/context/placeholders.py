"""Texts that stand in the context for pruned ones. A model copies what it sees, so it may write them to a file."""

import json
import re
from collections.abc import Callable, Iterable, Iterator

from prunecli.context.inputs import marks_in, written
from prunecli.context.state import Context
from prunecli.model.edits import Edit
from prunecli.model.events import PrunApplied
from prunecli.model.messages import ToolUse

_HANDLE = re.compile(r"recall \d+(?: input)?")
_LEAST_CHARS = 12
"""A shorter placeholder of a strategy of your own may be ordinary text."""
_HELD_BACK = re.compile(r"\[[^\[\]\n]{1,200} held back \| [^\[\]\n]{1,200}\]")
_TARGET = re.compile(r"(?:>|\btee(?:[ \t]+-a)?)[ \t]*(['\"]?)([^\s'\"|;&<>()]+)\1")


def copied(context: Context, call: ToolUse, *, changes_files: bool, holds: Callable[[str], bool]) -> str:
    """Return why a call must not run that would write a placeholder, or "". `holds` tells whether a file that it
    changes has this text already."""
    texts = written(call, changes_files=changes_files)
    for mark in (*_standing(context), *_held_back(context, texts)) if texts else ():
        if any(mark in text for text in texts) and not holds(mark):
            handle = _HANDLE.search(mark)
            way = f"get it with {handle[0]}" if handle else "read or recall it"
            return (
                f"Nothing was written: the new text contains {mark}, which only stands in this conversation for a "
                f"text that was left out. To write that text, {way} first."
            )
    return ""


def targets(command: str) -> tuple[str, ...]:
    """Return the files that a command's redirections and tee write, as far as they are named as they are."""
    return tuple(match[2] for match in _TARGET.finditer(command))


def _held_back(context: Context, texts: Iterable[str]) -> Iterator[str]:
    """Yield what these texts have of the notes that stand for the rest of long results."""
    for match in (one for text in texts for one in _HELD_BACK.finditer(text)):
        shortened = (one for one in context.live_results if one.spilled and not context.text_edit(one.seq))
        if any(one.spilled and match[0] in one.spilled.shown for one in shortened):
            yield match[0]


def _standing(context: Context) -> Iterator[str]:
    """Yield the placeholders that the next request contains."""
    for record in context.live_pruns():
        for edit in record.event.edits if isinstance(record.event, PrunApplied) else ():
            if context.in_force(record.seq, edit):
                yield from (mark for mark in _marks(edit) if len(mark) >= _LEAST_CHARS)


def _marks(edit: Edit) -> list[str]:
    text = edit.text or ""
    if edit.kind == "cut":
        return marks_in(json.loads(text))
    if edit.kind == "clear":
        return [text]
    last = text.rpartition("\n")[2]
    return [last] if edit.kind == "trim" and last.startswith("[recall ") else []
