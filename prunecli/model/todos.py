"""The to-do list as a value: the input of the `todo` tool, read leniently, and the words that show it.

Lists of imported sessions have the same form under other keys, and a call of a model may be malformed. So reading
never fails; parts that are not items are left out.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, get_args

from prunecli.model.messages import Json
from prunecli.util.frozen import frozen
from prunecli.util.sanitize import one_line, shortened

TOOL = "todo"
MOST = 100
"""Maximum items of a list."""
MOST_CHARS = 300
"""Maximum characters of an item that are shown or repeated."""

Status: TypeAlias = Literal["pending", "in_progress", "completed"]
STATUSES: tuple[Status, ...] = get_args(Status)
MARKS: Mapping[Status, str] = {"pending": "☐", "in_progress": "▸", "completed": "☑"}
_WORDS: Mapping[Status, str] = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}
_TEXTS = ("content", "step", "description")
"""The keys of an item's text: prunecli's and Claude Code's, Codex's, Gemini's."""


@frozen
class Todo:
    """An item of the list. `content` is one line without control characters."""

    content: str
    status: Status


Todos: TypeAlias = tuple[Todo, ...]


def todos_of(given: Mapping[str, Json]) -> Todos:
    """Return the items of a call's input; an unknown status counts as pending."""
    rows = given.get("todos")
    found = (_todo(row) for row in (rows if isinstance(rows, list | tuple) else ())[:MOST])
    return tuple(todo for todo in found if todo)


def _todo(row: Json) -> Todo | None:
    if not isinstance(row, Mapping):
        return None
    text = next((row[key] for key in _TEXTS if isinstance(row.get(key), str)), "")
    content = shortened(one_line(" ".join(text[: 4 * MOST_CHARS].split())), MOST_CHARS)
    status: Status = next((one for one in STATUSES if one == row.get("status")), "pending")
    return Todo(content, status) if content else None


def is_open(todos: Sequence[Todo]) -> bool:
    """Return whether any item is not completed."""
    return any(todo.status != "completed" for todo in todos)


def in_one_line(todos: Sequence[Todo]) -> str:
    """Return the list in one line: `2/5 · now: Fix the parser`."""
    if not todos:
        return "empty"
    count = progress(todos)
    for status, word in (("in_progress", "now"), ("pending", "next")):
        if found := [todo.content for todo in todos if todo.status == status]:
            more = f" (+{len(found) - 1})" if status == "in_progress" and len(found) > 1 else ""
            return f"{count} · {word}: {found[0]}{more}"
    return f"{count} · all done"


def progress(todos: Sequence[Todo]) -> str:
    """Return the completed items out of all: `2/5`."""
    return f"{sum(todo.status == 'completed' for todo in todos)}/{len(todos)}"


def in_lines(todos: Sequence[Todo], *, plain: bool = False) -> list[str]:
    """Return a line for each item; `plain` uses ASCII marks, as for the model."""
    marks = _WORDS if plain else MARKS
    return [f"{marks[todo.status]} {todo.content}" for todo in todos]
