"""What the user is shown of a call before it may run: everything that would happen, with nothing hidden in it."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from prunecli.agent.execute import Asked
from prunecli.model.messages import Json
from prunecli.model.touches import Touches
from prunecli.sanitize import one_line, visible
from prunecli.tools.files.workspace import seen_from, seen_in
from prunecli.tui.transcript.entries import Diff

NO_NEWLINE = "\\ No newline at end of file"
"""Below a last line without a line feed, as in any diff."""

_IN_DIFF = frozenset({"path", "content", "old_string", "new_string", "replace_all"})
MOST_BESIDE = 60

ReadText = Callable[[str], str | None]
"""The text of a file as the call would find it; None where there is none or it is no text."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """The question: `text` is what will run, escaped line by line; a change is shown as a `diff` instead. `beside` is
    what goes with a command and is no line of it, such as its timeout."""

    title: str
    text: str
    diff: Diff | None
    reason: str
    rule: str
    beside: str = ""


def sheet_of(asked: Asked, read: ReadText, cwd: Path) -> Sheet:
    """The sheet of a call. Paths below the working directory are shown relative to it."""
    given = _seen(asked.call.input, cwd)
    diff, beside = _diff(asked, read, str(given.get("path"))), ""
    if asked.touches and asked.touches.runs:
        commands = asked.touches.runs
        text = "\n".join(map(visible, commands))
        beside = _fields({key: value for key, value in given.items() if value not in commands})
        if len(beside) > MOST_BESIDE or "\n" in beside or len(commands) > 1:
            text, beside = f"{text}\n{beside}".rstrip("\n"), ""  # all of it can be read there
    else:
        text = _path_line(given) + _flaw(asked.call.input, read) if diff else _fields(given)
    return Sheet(
        _title(asked), text, diff, one_line(seen_in(asked.reason, cwd)), one_line(asked.rule), beside
    )


def _title(asked: Asked) -> str:
    touches = asked.touches or Touches()
    if touches.runs:
        return "Run this command?"
    if touches.changes:
        return "Change this file?" if len(touches.changes) == 1 else "Change these files?"
    return "Read this?" if not touches.is_nothing else f"Allow {one_line(asked.call.name)}?"


def _seen(given: Mapping[str, Json], cwd: Path) -> Mapping[str, Json]:
    """The input with its path as it is shown; one that goes up again is shown as it was given."""
    path = given.get("path")
    if not isinstance(path, str) or ".." in path.split("/"):
        return given
    return {**given, "path": seen_from(path, cwd)}


def _path_line(given: object) -> str:
    path = one_line(str(given["path"])) if isinstance(given, dict) and "path" in given else ""
    everywhere = isinstance(given, dict) and given.get("replace_all")
    return path + ("  (every place)" if everywhere else "")


def _flaw(given: Mapping[str, Json], read: ReadText) -> str:
    """What is to be known of an edit that can't be made as it is, "" for one that may be."""
    old = given.get("old_string")
    text = read(str(given.get("path"))) if isinstance(old, str) and old else None
    found = text is None or any(one in text for one in (str(old), str(old).replace("\n", "\r\n")))
    return "" if found else "  (the text to replace is not there: this edit fails)"


def _fields(given: object) -> str:
    """An input as `key: value`; a text of several lines below its key."""
    if not isinstance(given, dict):
        return visible(str(given))
    lines: list[str] = []
    for key, value in given.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        shown = visible(text)
        lines.append(f"{one_line(str(key))}:{chr(10) if chr(10) in shown else ' '}{shown}")
    return "\n".join(lines)


def _diff(asked: Asked, read: ReadText, shown: str) -> Diff | None:
    """What an edit or a write would change, in the file as it is; None for anything else, also where the input has
    something that a diff would not show. `shown` is how the path is shown."""
    given = asked.call.input
    path = given.get("path")
    changes = asked.touches.changes if asked.touches else ()
    if not isinstance(path, str) or changes != (path,) or given.keys() - _IN_DIFF:
        return None
    content, old, new = given.get("content"), given.get("old_string"), given.get("new_string")
    if isinstance(content, str):
        return _between(_lines(read(path) or ""), _lines(content), shown)
    if not isinstance(old, str) or not isinstance(new, str) or not old:
        return None
    before = read(path)
    if before is None or old not in before:
        return _between(_plain(old).split("\n"), _plain(new).split("\n"), shown)
    count = -1 if given.get("replace_all") else 1
    return _between(_lines(before), _lines(before.replace(old, new, count)), shown)


def _between(before: Sequence[str], after: Sequence[str], path: str) -> Diff:
    """The whole diff of these lines."""
    from difflib import unified_diff

    return Diff("\n".join(list(unified_diff(before, after, n=3, lineterm=""))[2:]), path)


def _lines(text: str) -> list[str]:
    """The lines of a whole file, their ends shown where they are other than a line feed: what is approved is what is
    seen."""
    lines = _plain(text).split("\n")
    last = lines.pop()
    return [*lines, f"{last}\n{NO_NEWLINE}"] if last else lines


def _plain(text: str) -> str:
    """Nothing acts or hides in it; tabs stay, the transcript lays them out."""
    return "\t".join(map(visible, text.split("\t")))
