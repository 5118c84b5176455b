"""Completion at the cursor, and the menu's suggestions."""

import re
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from prunecli.util.lazy import lazy
from prunecli.util.paths import has_feature
from prunecli.util.sanitize import one_line

if TYPE_CHECKING:
    from prunecli.front.presentation import fuzzy
    from prunecli.tools.searching import walk
else:
    fuzzy = lazy("prunecli.front.presentation.fuzzy")
    walk = lazy("prunecli.tools.searching.walk")

Topic: TypeAlias = Literal["command", "argument", "file", "history"]

_MOST_OFFERS = 50
SEARCHED_CHARS = 2_000
"""Maximum characters of a history prompt that are searched and shown."""

MOST_FILES = 250_000
MOST_SECONDS = 3.0
MADE_BY_TOOLS = frozenset(
    "__pycache__ node_modules .venv .tox .nox .hypothesis .mypy_cache .pytest_cache .ruff_cache .hg .svn".split()  # noqa: SIM905
)
"""Names left out even if no .gitignore lists them."""

LEAVING = ("exit", "quit", ":q")
"""Lines that leave the program, like /quit."""

_COMMAND = re.compile(r"/([A-Za-z0-9_-]*|[\w.@+~-]+:[^\s/]*)")
_ARGUMENT = re.compile(r"/([A-Za-z][A-Za-z0-9_-]* (?:\S+ )*)(\S*)")
_AGENT = re.compile(r"/resume @\S*")
_FILE = re.compile(r"""(?:^|(?<=[\s(\[{"'`,]))@(?:"([^"\n]*)|([^\s@"]*))$""")


class Wanted(NamedTuple):
    """The word to complete: its topic, the typed letters, and the first column to replace."""

    topic: Topic
    query: str
    start: int


class Offer(NamedTuple):
    """A menu row: inserted text, label, detail, and the positions of the matched letters."""

    value: str
    label: str
    detail: str = ""
    marks: tuple[int, ...] = ()


def wanted(line: str, column: int, *, alone: bool) -> Wanted | None:
    """Return what can be completed at a column: a file after `@`, a command that is the whole line, or its argument.

    The query of an argument is the line after the slash. `/resume @` names an agent, not a file.
    """
    before = line[:column]
    if alone and (command := _COMMAND.fullmatch(before)):
        return Wanted("command", command[1], 0)
    if (file := _FILE.search(before)) and not (alone and _AGENT.fullmatch(before)):
        return Wanted("file", file[1] or file[2] or "", file.start())
    if alone and (argument := _ARGUMENT.fullmatch(before)):
        return Wanted("argument", before[1:], argument.start(2))
    return None


def last_mention(text: str) -> Wanted | None:
    """Return the `@` word at the end of a prompt, or None. `start` counts from the beginning of the prompt."""
    found = None if _AGENT.fullmatch(text) else _FILE.search(text)
    query = (found[1] or found[2]) if found else ""
    return Wanted("file", query, found.start()) if found and query else None


def is_command(text: str) -> bool:
    """Return whether a prompt is a slash command: a word after the slash that is not a path, or `server:prompt`."""
    return re.match(r"/([A-Za-z][A-Za-z0-9_:-]*|[\w.@+~-]+:[^\s/]+)(\s|$)", text) is not None


def is_memory(text: str) -> bool:
    """Return whether a prompt is a line to remember: one line that begins with `# `. Text with several lines is a
    prompt, since it may begin with a heading."""
    return text.startswith("# ") and len(text.strip().splitlines()) <= 1 and has_feature("skills_and_memory")


def as_command(text: str) -> str:
    """Return the slash command that a prompt stands for, "" if it is for the model or the shell. `exit` alone leaves,
    as in any shell, and `tour` starts the tour."""
    if text.strip() in LEAVING:
        return "/quit"
    if text.strip().lower() == "tour":
        return "/tour"
    return text if is_command(text) else f"/memory add {text[2:]}" if is_memory(text) else ""


def command_offers(query: str, commands: Iterable[tuple[str, str, Sequence[str]]]) -> list[Offer]:
    """Return the matching commands (name, help, aliases); an alias leads to its command."""
    by_word: dict[str, tuple[str, str]] = {}
    for name, text, aliases in commands:
        for word in (name, *aliases):
            by_word.setdefault(word, (name, text))
    offers: dict[str, Offer] = {}
    for word in fuzzy.best(query, sorted(by_word) if query else [w for w in by_word if by_word[w][0] == w]):
        name, text = by_word[word]
        label = f"/{name}" if word == name else f"/{name} ({word})"
        marks = tuple(1 + at for at in fuzzy.spans(query, word) or ()) if word == name else ()
        offers.setdefault(name, Offer(f"/{name} ", label, text, marks))
    return list(offers.values())


def argument_offers(query: str, words: Iterable[tuple[str, str]]) -> list[Offer]:
    last = query.rpartition(" ")[2]
    details = dict(words)
    found = fuzzy.best(last, list(details)) if last else list(details)
    return [Offer(word, word, details[word], fuzzy.spans(last, word) or ()) for word in found]


def file_offers(
    query: str, paths: Iterable[str], most: int = _MOST_OFFERS, *, resources: Sequence[str] = ()
) -> list[Offer]:
    """Return the matching paths, except one already typed in full, and then resources as `server:uri`.

    Before anything is typed, only names without a folder match. Resources come first once a server is typed.
    """
    if not query:
        paths = (path for path in paths if "/" not in path[:-1])
    found = [path for path in fuzzy.best(query, paths, most + 1) if path != query][:most]
    files = [Offer(_path_value(path), path, marks=fuzzy.spans(query, path) or ()) for path in found]
    named = (
        [one for one in fuzzy.best(query, resources, most + 1) if one != query][:most] if resources else []
    )
    others = [Offer(f"@{one} ", one, marks=fuzzy.spans(query, one) or ()) for one in named]
    return [*others, *files] if ":" in query else [*files, *others]


def _path_value(path: str) -> str:
    """Format a path for the prompt: quoted if it has a space, with a space after a file.

    The quotes of a folder stay open, so that its contents are offered next.
    """
    if " " in path:
        return f'@"{path}' if path.endswith("/") else f'@"{path}" '
    return f"@{path}" if path.endswith("/") else f"@{path} "


def history_offers(query: str, entries: Sequence[str]) -> list[Offer]:
    query = query.lower()
    whole, rest = list[Offer](), list[Offer]()
    for entry in reversed(entries):
        label = " ".join(entry[:SEARCHED_CHARS].split())
        marks = fuzzy.spans(query, label)
        if marks is not None:
            (whole if query in label.lower() else rest).append(Offer(entry, label, marks=marks))
    return [*whole, *rest][:_MOST_OFFERS]


def listed(root: str, stop: Callable[[], bool] = lambda: False) -> tuple[list[str], bool]:
    """List what `@` offers: paths relative to an absolute folder that git would not ignore, and whether that is all.

    Folders end with a slash. Names with control characters are left out. Reads the disk: call it in a thread.
    """

    found: list[str] = []
    until = time.monotonic() + MOST_SECONDS
    for number, (path, kind) in enumerate(walk.walk(root, MADE_BY_TOOLS)):
        if number % 200 == 199 and (time.monotonic() > until or stop()):
            return found, False
        if len(found) >= MOST_FILES:
            return found, False
        if one_line(path) == path:
            found.append(path + "/" if kind == walk.FOLDER else path)
    return found, True
