"""Reads the words of a compound line: known variables, substitutions and braces, besides those of a plain line."""

import re
from abc import ABC, abstractmethod
from itertools import product

from prunecli.model.shell import Doubt, Glob, Open, Reader, Value, named

_PLAIN = re.compile(r"[A-Za-z0-9_@%+,./:=-]+")
"""A value that stays one word without quotes."""
KNOWN = frozenset(
    {
        *(
            "HOME",
            "PWD",
            "USER",
            "LOGNAME",
            "SHELL",
            "PATH",
            "LANG",
            "TERM",
            "HOSTNAME",
            "HOSTTYPE",
            "OSTYPE",
        ),
        *("UID", "EUID", "RANDOM", "SECONDS", "BASH_VERSION", "TMPDIR", "VIRTUAL_ENV", "CI", "NODE_ENV"),
        *(
            "GOPATH",
            "GOROOT",
            "CARGO_HOME",
            "RUSTUP_HOME",
            "JAVA_HOME",
            "NVM_DIR",
            "PYENV_ROOT",
            "XDG_CONFIG_HOME",
        ),
    }
)
"""Variables that hold no secrets."""
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")
_SUM = re.compile(r"\$\(\([0-9 +*%-]+\)\)")
_LIST = re.compile(r"\{[\w.@%+/:-]+(?:,[\w.@%+/:-]+)+\}", re.ASCII)
_SEQUENCE = re.compile(r"\{(0|[1-9]\d{0,2})\.\.(0|[1-9]\d{0,2})\}", re.ASCII)
_MAX_WORDS = 100
"""Maximum words that the braces of one word stand for."""


class WordReader(Reader, ABC):
    """Reads words. `bound` holds the variables of the loops around this place."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.bound: dict[str, str | Value] = {}

    @abstractmethod
    def substituted(self) -> Value:
        """Read `$(...)` at this place."""

    def words(self, *, test: bool = False) -> list[str]:
        """Read one word, which stands for several if it has braces."""
        begin, parts, choices = self.at, list[str | Value](), list[tuple[int, list[str]]]()
        before, wild, quoted = "", False, False
        if test and (end := re.compile(r"\]\](?=[ ;|&\n)]|$)").match(self.text, self.at)):
            self.at = end.end()
            return ["]]"]
        while not self.at_end() and self.text[self.at] not in " |&;\n)":
            character = self.text[self.at]
            if character == "'":
                parts.append(self._single_quoted())
            elif character == '"':
                self._in_double_quotes(parts)
            elif character == "\\":
                parts.append(self._escaped())
            elif character == "$" and (value := self._value(quoted=False)) is not None:
                parts.append(value)
            elif character == "{" and (made := self._braces(before)):
                choices.append((len(parts), made))
                parts.append("")
            elif character in "[]" and self._stands_alone(begin):
                parts.append(character)
                self.at += 1
            elif character in "*?[":
                parts.append(self._wild(character))
                wild = True
            else:
                parts.append(self._plain(before))
            quoted = quoted or character in "'\"\\"
            before = '"' if character in "$'\"\\{" else self.text[self.at - 1]
        if self.at == begin:
            raise Doubt(named(self.text[self.at]) if not self.at_end() else "it contains an empty command")
        is_open = any(isinstance(part, Value) for part in parts)
        expands = "$" in self.text[begin : self.at] if choices else is_open  # `$f{a,b}` is `$fa $fb`
        if (wild or choices) and (quoted or expands or "~" in parts):
            raise Doubt(named("*" if wild else "{"))
        if is_open:
            return [opened(self.text[begin : self.at], parts)]
        words = _chosen([part for part in parts if isinstance(part, str)], choices)
        return [Glob(word) if wild else word for word in words]

    def _in_double_quotes(self, parts: list[str | Value]) -> None:
        self.at += 1
        parts.append("")
        while not self.closes():
            value = self._value(quoted=True) if self.text[self.at] == "$" else None
            parts.append(self.in_quotes() if value is None else value)

    def _value(self, *, quoted: bool) -> str | Value | None:
        """Read a variable or a substitution at a `$`; None if bash would leave the `$` alone or it is not known."""
        if found := _SUM.match(self.text, self.at):
            self.at = found.end()
            return Value()
        if self.text.startswith("$(", self.at) and not self.text.startswith("$((", self.at):
            return self.substituted()
        if self.text.startswith("$?", self.at):
            self.at += 2
            return Value()
        found = _VARIABLE.match(self.text, self.at)
        name = (found[1] or found[2]) if found else ""
        if not found or name not in KNOWN | self.bound.keys():
            return None
        self.at = found.end()
        bound = self.bound.get(name)
        if isinstance(bound, str) and not quoted and not _PLAIN.fullmatch(bound):
            raise Doubt("it uses a variable with special characters without quotes")
        return bound if isinstance(bound, str) else Value()

    def _braces(self, before: str) -> list[str]:
        """Read braces that stand for several words, or that bash leaves alone."""
        if self.text.startswith("{}", self.at):
            self.at += 2
            return ["{}"]
        if before == "@":
            return []
        match = _LIST.match(self.text, self.at)
        if match:
            self.at = match.end()
            return match[0][1:-1].split(",")
        match = _SEQUENCE.match(self.text, self.at)
        if not match:
            return []
        self.at = match.end()
        first, last = int(match[1]), int(match[2])
        step = 1 if first <= last else -1
        return [str(number) for number in range(first, last + step, step)]


def _chosen(parts: list[str], choices: list[tuple[int, list[str]]]) -> list[str]:
    """Return the words that bash makes of a word with braces. They must be parts of paths or of an option."""
    plain = all(text.isdigit() or text == "{}" for _, made in choices for text in made)
    if not plain and not {"/", ".", "="} & set("".join(parts)):
        raise Doubt(named("{"))
    words = []
    for chosen in product(*(made for _, made in choices)):
        for (at, _), text in zip(choices, chosen, strict=True):
            parts[at] = text
        words.append("".join(parts))
        if len(words) > _MAX_WORDS:
            raise Doubt(named("{"))
    return words


def opened(text: str, parts: list[str | Value]) -> Open:
    """Return a word with parts that are not known."""
    word = Open(text)
    word.parts = tuple(part for part in parts if part != "")
    return word
