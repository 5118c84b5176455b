"""What the user is shown of a call before it may run: everything that would happen, with nothing hidden in it."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from prunecli.agent.execute import Asked
from prunecli.sanitize import one_line, visible
from prunecli.tui.transcript.entries import Diff

NO_NEWLINE = "\\ No newline at end of file"
"""Below a last line without a line feed, as in any diff."""

ReadText = Callable[[str], str | None]
"""The text of a file as the call would find it; None where there is none or it is no text."""

_TITLES = {"run": "Run this command?", "edit": "Change this file?", "read": "Read this?"}


@dataclass(frozen=True, slots=True)
class Sheet:
    """The question: `text` is what will run, escaped line by line; a change is shown as a `diff` instead."""

    title: str
    text: str
    diff: Diff | None
    reason: str
    rule: str


def sheet_of(asked: Asked, read: ReadText) -> Sheet:
    """The sheet of a call."""
    call = asked.call
    title = _TITLES.get(asked.tool.effect) or f"Allow {one_line(call.name)}?"
    command = call.input.get("command")
    diff = None
    if isinstance(command, str):
        extra = {key: value for key, value in call.input.items() if key != "command"}
        text = visible(command) + (f"\n{_fields(extra)}" if extra else "")
    else:
        diff = _diff(asked, read)
        text = _path_line(call.input) if diff else _fields(call.input)
    return Sheet(title, text, diff, one_line(asked.reason), one_line(asked.rule))


def _path_line(given: object) -> str:
    path = one_line(str(given["path"])) if isinstance(given, dict) and "path" in given else ""
    everywhere = isinstance(given, dict) and given.get("replace_all")
    return path + ("  (every place)" if everywhere else "")


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


def _diff(asked: Asked, read: ReadText) -> Diff | None:
    """What an edit or a write would change, in the file as it is; None for anything else."""
    given = asked.call.input
    path = given.get("path")
    if not isinstance(path, str):
        return None
    content, old, new = given.get("content"), given.get("old_string"), given.get("new_string")
    if isinstance(content, str):
        return _between(_lines(read(path) or ""), _lines(content), path)
    if not isinstance(old, str) or not isinstance(new, str) or not old:
        return None
    before = read(path)
    if before is None or old not in before:
        return _between(_plain(old).split("\n"), _plain(new).split("\n"), path)
    count = -1 if given.get("replace_all") else 1
    return _between(_lines(before), _lines(before.replace(old, new, count)), path)


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
