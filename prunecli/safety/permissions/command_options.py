"""Splits a command's words into options and operands by a form that lists every allowed option.

Accepts only words that GNU, BSD and git read the same way. An unlisted or abbreviated option, or a value that looks
like an option, raises `Doubt`.
"""

import re
from functools import lru_cache

from prunecli.model.shell import Doubt, Glob
from prunecli.safety.permissions.harmless_commands import Form, Words
from prunecli.util.frozen import frozen

_VALUE = re.compile(r"(?!-)|-\d+$")
_SEARCHES = frozenset({"--json", "-c", "--count", "--count-matches"})
"""Options with which some versions of ripgrep search although `--files` is given."""


@frozen
class Given:
    """The options and operands of a command. `suspects` are options and values after the first operand, which some
    programs treat as paths."""

    options: frozenset[str]
    values: tuple[tuple[str, str], ...]
    operands: Words
    suspects: Words


@lru_cache(maxsize=256)
def _long_options(listed: str) -> dict[str, str]:
    """Map each option name to "" (no value), "=" (a value) or "?" (a value that can only be attached)."""
    table = {}
    for item in listed.split():
        kind = item[-1] if item[-1] in "=?" else ""
        table["--" + item.removesuffix(kind)] = kind
    return table


def read_options(form: Form, words: Words) -> Given:
    """Read the words after a command's name. Raises Doubt at the first unknown option.

    A `Glob` is one of its matches. Which one comes first depends on the locale, so none may be a
    pattern, a script or a value.
    """
    reader = _Reader(form, words)
    while reader.at < len(words):
        reader.step()
    options, operands = frozenset(reader.options), tuple(reader.operands)
    if form.operands == "text first" and not options & form.no_text and isinstance((*operands, "")[0], Glob):
        raise Doubt(f"the wildcard stands for a pattern or script, such as {operands[0]!r}")
    return Given(options, tuple(reader.values), operands, tuple(reader.suspects))


def check_counts(name: str, form: Form, given: Given) -> None:
    """Raise Doubt if there are too many or too few operands, an option is missing, or two contradict each other."""
    if form.needs and not form.needs & given.options:
        raise Doubt(f"`{name}` without {' or '.join(sorted(form.needs))} may do more than read")
    if given.options & form.no_contents and given.options & _SEARCHES:
        raise Doubt(f"`{name}` may search instead of listing files")
    if len(given.operands) > form.most:
        raise Doubt(f"`{name}` with {given.operands[form.most]!r} may do more than read")
    if len(given.operands) < form.least:
        raise Doubt(f"`{name}` needs more arguments")
    if form.ordered and given.suspects:
        raise Doubt(f"`{name}` reads {given.suspects[0]!r} as an operand, which it may write to")


class _Reader:
    def __init__(self, form: Form, words: Words) -> None:
        self.form = form
        self.words = words
        self.at = 0
        self.options: set[str] = set()
        self.values: list[tuple[str, str]] = []
        self.operands: list[str] = []
        self.suspects: list[str] = []
        self.only_operands = form.all_text

    def step(self) -> None:
        start = self.at
        word = self.words[start]
        self.at += 1
        if self.only_operands or word == "-" or not word.startswith("-"):
            self.operands.append(word)
            return
        if word == "--":
            self.only_operands = True
        elif word.startswith("--"):
            self._long(word)
        elif self.form.number and word[1:].isascii() and word[1:].isdigit():
            self.options.add("-1")
        else:
            self._cluster(word)
        if self.operands and word != "--":
            self.suspects.extend(self.words[start : self.at])

    def _long(self, word: str) -> None:
        name, attached, value = word.partition("=")
        kind = _long_options(self.form.long).get(name)
        if kind is None or (attached and not kind):
            raise Doubt(f"the option {word} may do more than read")
        self.options.add(name)
        if attached:
            self.values.append((name, value))
        elif kind == "=":
            self.values.append((name, self._next(word)))

    def _cluster(self, word: str) -> None:
        if self.form.apart and len(word) > 2 and not set(self.form.values).isdisjoint(word):
            raise Doubt(f"{self.words[0]!r} may interpret the option {word} differently")
        for index, letter in enumerate(word[1:], 1):
            name, rest = "-" + letter, word[index + 1 :]
            if letter in self.form.values:
                self.options.add(name)
                self.values.append((name, rest or self._next(word)))
                return
            if letter in self.form.optional:
                self.options.add(name)
                self.values.append((name, rest))
                return
            if letter not in self.form.flags:
                raise Doubt(f"the option {word} may do more than read")
            self.options.add(name)

    def _next(self, word: str) -> str:
        word_after = self.words[self.at] if self.at < len(self.words) else "--"
        if not _VALUE.match(word_after) or isinstance(word_after, Glob):
            raise Doubt(f"the option {word} needs a value")
        self.at += 1
        return word_after
