"""Formats a call and its result as HTML: the input, the diff of a change, and the size of the output."""

import json
from collections.abc import Mapping
from html import escape

from prunecli.context.exchange import Entry
from prunecli.figures import counted
from prunecli.lexing import language_of
from prunecli.model.events import ToolResult
from prunecli.model.messages import Json, ToolUse
from prunecli.sanitize import one_line, shortened
from prunecli.session.exporters.html_code import MOST_CHARS, Colors, diff, is_diff, plain
from prunecli.session.exporters.report import argument, task_words

_OPEN_LINES = 3
"""Results up to this many lines are unfolded."""
_OPEN_DIFF = 60
"""Diffs up to this many lines are unfolded."""
_LONGEST_HEAD = 120


def heading(call: ToolUse, result: Entry | None) -> str:
    """Return one line: the tool, its main argument, and the outcome."""
    first, _, rest = argument(dict(call.input)).strip().replace("\t", " ").partition("\n")
    short = shortened(one_line(first + (" …" if rest else "")), _LONGEST_HEAD)
    return f"<code>{escape(one_line(call.name))}</code> {escape(short)} · {_ended(call, result)}"


def _ended(call: ToolUse, result: Entry | None) -> str:
    """Return the size of the change or output, and whether the call failed."""
    if result is None:
        return "no result"
    change, lines = _change(call, result).split("\n"), _lines(result.whole)
    size = counted(lines, "line")
    if len(change) > 1:
        added, removed = (sum(line.startswith(sign) for line in change) for sign in "+-")
        size = f"+{added} −{removed}"
    if task := task_words(result):
        size += f" · {escape(task)}"
    return f"{size} · failed" if result.is_error else size


def asked(call: ToolUse, result: Entry | None, colors: Colors) -> tuple[str, bool]:
    """Return a call's input ("" if the heading shows all of it), and whether to unfold the call."""
    change = _change(call, result)
    if change:
        return diff(change), _lines(change) <= _OPEN_DIFF
    is_open = result is not None and _lines(result.whole) <= _OPEN_LINES
    given = dict(call.input)
    said, path = argument(given), given.get("path")
    content = given.get("content")
    if isinstance(path, str) and isinstance(content, str) and len(content) <= MOST_CHARS:
        return colors.code(content, language_of(path)), is_open
    if given == {"command": said} or set(given) == {"command", "description"}:
        return (colors.code(said, "bash") if "\n" in said or len(said) > _LONGEST_HEAD else ""), is_open
    others = [value for name, value in given.items() if value != said]
    if not others and "\n" not in said and len(said) <= _LONGEST_HEAD:
        return "", is_open
    return f"<pre>{plain(_named(given))}</pre>", is_open


def printed(text: str, held: tuple[int, int] = (0, 0)) -> str:
    """Return the output of a tool or command; the part that was held back from the model is marked."""
    if not text.strip():
        return ""
    start, stop = held
    if stop > start:
        between = f'<span class="held" title="not sent to the model">{plain(text[start:stop])}</span>'
        return f"<pre>{plain(text[:start])}{between}{plain(text[stop:])}</pre>"
    return diff(text) if is_diff(text) else f"<pre>{plain(text)}</pre>"


def _change(call: ToolUse, result: Entry | None) -> str:
    """Return the diff of an edit: the recorded one, else one made from its arguments; "" for other calls."""
    made = result.event.details.get("diff") if result and isinstance(result.event, ToolResult) else None
    if isinstance(made, str) and made:
        return made
    given = call.input
    patch = given.get("patch")
    if isinstance(patch, str) and patch.startswith("*** Begin Patch"):
        return patch
    edits = given.get("edits")
    pieces = [_edited(one) for one in edits] if isinstance(edits, list) else [_edited(dict(given))]
    return "".join(pieces)


def _edited(given: Json) -> str:
    """Return the diff between the two texts of an edit."""
    from prunecli.tools.files.diff import change

    names = (("old_string", "new_string"), ("oldText", "newText"))
    for old, new in names if isinstance(given, dict) else ():
        before, after = given.get(old), given.get(new)
        if isinstance(before, str) and isinstance(after, str) and len(before) + len(after) <= MOST_CHARS:
            return change(*(text if text.endswith("\n") else f"{text}\n" for text in (before, after))).diff
    return ""


def _named(given: Mapping[str, Json]) -> str:
    if all(isinstance(value, str) for value in given.values()):
        return "\n".join(f"{name}: {value}" for name, value in given.items())
    return json.dumps(given, ensure_ascii=False, indent=1)


def _lines(text: str) -> int:
    return text.rstrip("\n").count("\n") + 1 if text else 0
