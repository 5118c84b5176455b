"""What could be completed where the cursor is, and what the menu offers for it."""

import re
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias

from prunecli.tui.prompting import fuzzy

Topic: TypeAlias = Literal["command", "file", "history"]

SEARCHED_CHARS = 2_000
"""How much of a prompt of the history is searched and shown."""

_COMMAND = re.compile(r"/([A-Za-z0-9_-]*)")
_FILE = re.compile(r"(?:^|(?<=[\s(\[{\"'`,]))@([^\s@]*)$")


class Wanted(NamedTuple):
    """What is being typed: its topic, the letters typed of it, and the column from which it would be replaced."""

    topic: Topic
    query: str
    start: int


class Offer(NamedTuple):
    """A line of the menu: what is inserted, what is shown, a word on it, and the places of the typed letters."""

    value: str
    label: str
    detail: str = ""
    marks: tuple[int, ...] = ()


def wanted(line: str, column: int, *, alone: bool) -> Wanted | None:
    """What could be completed at a column of a line: a file after `@`, a command where the line is all there is."""
    before = line[:column]
    if alone and (command := _COMMAND.fullmatch(before)):
        return Wanted("command", command[1], 0)
    if file := _FILE.search(before):
        return Wanted("file", file[1], file.start())
    return None


def last_mention(text: str) -> Wanted | None:
    """The `@` word at the end of a prompt, None where there is none; `start` counts from the beginning."""
    found = _FILE.search(text)
    return Wanted("file", found[1], found.start()) if found and found[1] else None


def is_command(text: str) -> bool:
    """Whether a prompt is a slash command: a word after the slash that is no path."""
    return re.match(r"/[A-Za-z][A-Za-z0-9_-]*(\s|$)", text) is not None


def command_offers(query: str, commands: Iterable[tuple[str, str, Sequence[str]]]) -> list[Offer]:
    """The commands (name, help, aliases) that a query means; an alias leads to its command."""
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


def file_offers(query: str, paths: Iterable[str], most: int = 50) -> list[Offer]:
    """The paths that a query means; one that is typed in full already is not offered again."""
    found = [path for path in fuzzy.best(query, paths, most + 1) if path != query][:most]
    return [Offer(_path_value(path), path, marks=fuzzy.spans(query, path) or ()) for path in found]


def _path_value(path: str) -> str:
    """A path as it goes into the prompt: one with a space in quotes, and a file's with a space behind it. A folder
    keeps its `@`: what is in it is offered next."""
    if " " in path:
        return f'"{path}"' + " " * (not path.endswith("/"))
    return f"@{path}" if path.endswith("/") else f"{path} "


def history_offers(query: str, entries: Sequence[str], most: int = 50) -> list[Offer]:
    """The prompts of the history that a query means, the latest first."""
    query = query.lower()
    whole, rest = list[Offer](), list[Offer]()
    for entry in reversed(entries):
        label = " ".join(entry[:SEARCHED_CHARS].split())
        marks = fuzzy.spans(query, label)
        if marks is not None:
            (whole if query in label.lower() else rest).append(Offer(entry, label, marks=marks))
    return [*whole, *rest][:most]
