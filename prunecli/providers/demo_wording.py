"""How the demo model words calls and results: short Markdown that claims nothing which is not there."""

import re
from collections.abc import Sequence

from prunecli.model.messages import ToolUse
from prunecli.providers.demo_conversation import Answered, Call
from prunecli.providers.demo_phrases import EVERYTHING

WHO = "I am prunecli's demo model: a script, not a language model."
REAL_MODEL = "For a real model run `prunecli login` or set `ANTHROPIC_API_KEY`."

PRUNING = ("prun", "prun_with_memo")
"""The tools that prune."""

_SHOWN_LINES = 8
_LINE_CHARS = 160
_CODE_CHARS = 80
_EXIT = r"\[((?:exit code \d|timed out|killed by|ended from outside)[^\n]*)\]"
_NOTE = (
    r"\[(?:exit code \d|timed out|killed by|ended from outside|\d+ (?:background )?process|run by sh|OUTPUT TRUNC"
    r"|lines \d+-|the first |stopped after|empty f|\d+ more; |\d+ ignored: |. stands for)[^\n]*\]"
)
"""What our tools say at the end of a result about the result; anything else in brackets is the file's own."""

_COUNTED = {
    "read": ("line", "lines"),
    "grep": ("matching line", "matching lines"),
    "find": ("path", "paths"),
    "ls": ("entry", "entries"),
    "recall": ("line", "lines"),
}


def code(text: object) -> str:
    """The text as inline code: one line, cut, whatever back-ticks it holds."""
    line = " ".join(str(text).split())
    line = line if len(line) <= _CODE_CHARS else line[: _CODE_CHARS - 1] + "…"
    longest = max((len(run) for run in re.findall("`+", line)), default=0)
    marks = "`" * (longest + 1)
    return f"{marks} {line} {marks}" if longest else f"{marks}{line}{marks}"


def fenced(lines: Sequence[str], language: str = "") -> str:
    """The lines as a block of code, each cut at 160 characters."""
    cut = [line if len(line) <= _LINE_CHARS else line[: _LINE_CHARS - 1] + "…" for line in lines]
    longest = max((len(run) for line in cut for run in re.findall("`{3,}", line)), default=2)
    marks = "`" * (longest + 1)
    return "\n".join([marks + language, *cut, marks])


def quoted(text: str) -> str:
    """The text as a quotation."""
    return "\n".join(f"> {line}" for line in text.splitlines())


def count(number: int, one: str, many: str = "") -> str:
    """The number with its noun."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def doing(call: Call | ToolUse) -> str:
    """What a call does, to be put after "I'll"."""
    given = call.input
    match call.name:
        case "read":
            first = given.get("offset")
            limit = given.get("limit")
            lines = f"lines {first} to {first + limit - 1} of " if first and limit else ""
            return f"read {lines}{_given(call, 'path')}"
        case "grep":
            return f"search for {_given(call, 'pattern')}{_inside(call)}"
        case "find":
            return f"look for files like {_given(call, 'pattern')}{_inside(call)}"
        case "ls":
            return f"list {_given(call, 'path')}"
        case "bash":
            return f"run {_given(call, 'command')}"
        case "edit" | "write":
            return f"{call.name} {_given(call, 'path')}"
        case "prun" | "prun_with_memo":
            tokens = int(given.get("tokens", 1))
            what = "all that can go" if tokens >= EVERYTHING else f"at least {count(tokens, 'token')}"
            return f"prune {what}" + (" and leave a memo" if call.name == "prun_with_memo" else "")
        case "recall":
            return f"recall entry {given.get('entry', '?')}"
        case other:
            return f"call {code(other)}"


def doing_all(calls: Sequence[Call | ToolUse]) -> str:
    """What calls do, as one clause."""
    *most, last = [doing(call) for call in calls]
    return f"{', '.join(most)} and {last}" if most else last


def outcome(answered: Answered) -> str:
    """What came back of a call."""
    call, text = answered.call, answered.text
    if answered.interrupted:
        return f"The call to {doing(call)} was interrupted; it may have partly run."
    if call.name == "bash":
        return _ran(answered)
    if answered.is_error:
        return f"I could not {doing(call)}: {_first_line(text)}"
    if call.name in PRUNING:
        return pruned(answered)
    if call.name not in _COUNTED:
        return _first_line(text)
    lines, notes = _body(text)
    if not lines:
        return f"{_subject(call)}: {' '.join(notes) or '(no output)'}"
    if len(lines) == 1 and lines[0].startswith(("No matches", "Nothing found")):
        return " ".join([f"{_subject(call)}: {lines[0].lower()}", *notes])
    shown = fenced(lines[:_SHOWN_LINES], _language(call))
    more = ", the first of them:" if len(lines) > _SHOWN_LINES else ":"
    found = f"{_subject(call)}: {count(len(lines), *_COUNTED[call.name])}{more}\n\n{shown}"
    return f"{found}\n\n{' '.join(notes)}" if notes else found


def _ran(answered: Answered) -> str:
    command = _given(answered.call, "command")
    lines, notes = _body(answered.text)
    ended = re.fullmatch(_EXIT, notes[-1]) if notes and answered.is_error else None
    if answered.is_error and not ended:
        return f"I could not run {command}: {_first_line(answered.text)}"
    state = f"failed ({ended[1]})" if ended else "ended with exit code 0"
    if not lines or lines == ["(no output)"]:
        return f"{command} {state} and printed nothing."
    more = (
        f"; it printed {count(len(lines), 'line')}, the last of them:" if len(lines) > _SHOWN_LINES else ":"
    )
    rest = " ".join(note for note in notes if ended is None or note != ended[0])
    found = f"{command} {state}{more}\n\n{fenced(lines[-_SHOWN_LINES:])}"
    return f"{found}\n\n{rest}" if rest else found


def pruned(answered: Answered) -> str:
    """What a prune did: its plan was applied before this request was sent."""
    text = _first_line(answered.text)
    return text.replace("Will remove", "Removed", 1).replace(", before the next turn", "", 1)


def has_pruned(answered: Answered) -> bool:
    """Whether something was removed."""
    return not answered.is_error and answered.text.startswith("Will remove")


def _body(text: str) -> tuple[list[str], list[str]]:
    """The lines of a result, and the tool's own notes in brackets at its end."""
    lines, notes = text.splitlines(), list[str]()
    while lines and re.fullmatch(_NOTE, lines[-1]):
        notes.insert(0, lines.pop())
    return lines, notes


def _subject(call: ToolUse) -> str:
    if call.name in ("grep", "find"):
        return f"{_given(call, 'pattern')}{_inside(call)}"
    if call.name == "recall":
        return f"Entry {call.input.get('entry', '?')}"
    return _given(call, "path")


def _given(call: Call | ToolUse, key: str) -> str:
    return code(call.input.get(key, "?"))


def _inside(call: Call | ToolUse) -> str:
    return f" in {code(call.input['path'])}" if call.input.get("path") else ""


def _language(call: ToolUse) -> str:
    ending = str(call.input.get("path", "")).rpartition(".")[2] if call.name == "read" else ""
    return ending if ending.isalnum() and len(ending) <= 6 else ""


def _first_line(text: str) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "(no output)")
    return line if len(line) <= 300 else line[:299] + "…"
