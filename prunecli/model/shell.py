"""A strict parser for the unambiguous part of bash: the simple commands of a line (`shell_script` adds compounds).

It accepts words of plain characters and quotes, joined by `|`, `&&`, `;`, `||` or a line break, and redirections to
/dev/null, all with the same meaning as in bash. A word without quotes may be a glob, which is kept as a `Glob`.
Anything else raises `Doubt`: variables, substitutions, here-documents, braces, tildes, history, comments, line breaks
in words, control characters.
"""

import re
import shlex
from dataclasses import field

from prunecli.util.frozen import frozen

MAX_LINE = 8192
"""Maximum characters of a line; a longer line raises `Doubt`."""
MAX_COMMANDS = 40

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+,./:=-^")
_BEFORE_TILDE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789^~")
"""A tilde expands at the start of a word and, in `name=~` and `name=a:~`, after `=` and `:`; never after these."""
_NOT_LITERAL = frozenset('$`!"\\')
_LITERAL_BEFORE = {"$": frozenset('" |)'), "!": frozenset('" =(')}
"""Characters that keep a preceding `$` or `!` literal in double quotes, even if bash expands history."""
_ESCAPABLE = frozenset("()!*?.[] ")
_ENDS_WORD = frozenset(" |&;\n")
_RESERVED = frozenset(
    {
        *("if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "in"),
        *("select", "function", "time", "coproc", "{", "}", "!", "[[", "]]"),
    }
)
_NAMES = {
    "$": "it uses a variable or substitution",
    "`": "it uses a substitution",
    "*": "it uses a wildcard",
    "?": "it uses a wildcard",
    "[": "it uses a wildcard",
    "{": "it uses braces",
    "}": "it uses braces",
    "(": "it uses a subshell",
    ")": "it uses a subshell",
    "<": "it uses a redirection",
    ">": "it redirects output to a file",
    "~": "it uses a tilde",
    "!": "it uses history expansion or negation",
    "#": "it contains a comment",
    "\\": "it contains a backslash",
    "\n": "it contains a line break",
}


_BRACKET = re.compile(r"\[[!^]?[A-Za-z0-9_.-]+\]")


_REFERENCE = re.compile(r"\{[A-Za-z0-9-]+\}")


class Glob(str):
    """A completely unquoted word that bash expands."""

    __slots__ = ()


class Value:
    """A part of a word that is known only when the line runs: a variable, or the output of commands."""


class Open(str):
    """A word that is known only when it runs: `$HOME/x`, `"$f"`, `$(ls)`. As a string, it is its source text."""

    __slots__ = ("parts",)
    parts: tuple[str | Value, ...]


class Doubt(Exception):
    """The line cannot be judged with certainty; `reason` is a clause such as "it uses a wildcard"."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@frozen
class Line:
    """The argument vectors that bash will run, in order, and the operators between them (one fewer).

    If the line is not `flat`, it has compound commands: some of its commands may not run, and some run in subshells.
    """

    commands: tuple[tuple[str, ...], ...]
    joins: tuple[str, ...] = ()
    flat: bool = True
    globs: tuple[tuple[int, int], ...] = field(init=False)
    """Which words of which commands are globs: `ls '*'` and `ls *` are different lines."""

    def __post_init__(self) -> None:
        found = (
            (row, at)
            for row, words in enumerate(self.commands)
            for at, word in enumerate(words)
            if isinstance(word, Glob)
        )
        object.__setattr__(self, "globs", tuple(found))

    def __str__(self) -> str:
        """Return the line in canonical quoting; parsing it returns the same value."""
        parts = [_written(self.commands[0])]
        for join, words in zip(self.joins, self.commands[1:], strict=True):
            parts.append(f"{'' if join == ';' else ' '}{join} {_written(words)}")
        return "".join(parts)


def _written(words: tuple[str, ...]) -> str:
    return " ".join(str(word) if isinstance(word, Glob | Open) else shlex.quote(word) for word in words)


def parse(text: str) -> Line:
    """Parse a line. Raises Doubt if bash could read it differently from this parser."""
    check_text(text)
    reader = Reader(text.strip(" \n"))
    commands: list[tuple[str, ...]] = []
    joins: list[str] = []
    while True:
        commands.append(checked(reader.command()))
        if len(commands) > MAX_COMMANDS:
            raise Doubt(f"it has more than {MAX_COMMANDS} commands")
        if reader.at_end():
            return Line(tuple(commands), tuple(joins))
        joins.append(reader.operator())


def check_text(text: str) -> None:
    """Raise Doubt if the text is too long or has a character that no line may have."""
    if len(text) > MAX_LINE:
        raise Doubt(f"it has more than {MAX_LINE} characters")
    for character in text:
        if not character.isprintable() and character != "\n":
            raise Doubt(named(character))


def checked(words: list[str]) -> tuple[str, ...]:
    """Return the words of a simple command. Raises Doubt if the first is not the plain name of a program."""
    if not words:
        raise Doubt("it contains an empty command")
    if words[0] in _RESERVED:
        raise Doubt(f"it uses the shell keyword {words[0]!r}")
    if "=" in words[0]:
        raise Doubt("it sets a variable")
    if isinstance(words[0], Glob | Open):
        raise Doubt(_NAMES["*" if isinstance(words[0], Glob) else "$"])
    return tuple(words)


def named(character: str) -> str:
    """Return the reason for a Doubt about a character."""
    if character in _NAMES:
        return _NAMES[character]
    shown = character if character.isprintable() else f"U+{ord(character):04X}"
    return f"it contains the character {shown}"


class Reader:
    """Reads the words of the text from the place `at` on."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def at_end(self) -> bool:
        """Return whether all of the text is read."""
        return self.at >= len(self.text)

    def command(self) -> list[str]:
        """Return the words up to the next operator or the end; redirections to /dev/null are skipped.

        A `!` that stands alone after the first word is an argument, as in `find . ! -name x`.
        """
        words: list[str] = []
        while True:
            while self.text.startswith(" ", self.at):
                self.at += 1
            if self.at_end() or self.text[self.at] in "|&;\n":
                return words
            if words and self.text.startswith("! ", self.at):
                words.append("!")
                self.at += 1
            elif not self._redirection():
                words.append(self._word())

    def operator(self) -> str:
        """Read an operator and the line breaks after it. Raises Doubt for one that is not known."""
        for operator in ("&&", "||", ";", "|", "\n"):
            if self.text.startswith(operator, self.at):
                self.at += len(operator)
                if operator in ("|", ";") and self.text.startswith("&", self.at):
                    raise Doubt("it uses a redirection")
                while self.text.startswith((" ", "\n"), self.at):
                    self.at += 1
                return ";" if operator == "\n" else operator
        raise Doubt("it runs a command in the background")

    def _redirection(self) -> bool:
        """Skip one of `2>&1`, `>/dev/null`, `1>/dev/null`, `2>/dev/null` at this place; return whether there was
        one."""
        at = self.at
        if self.text.startswith("2>&1", at):
            at += 4
        else:
            at += self.text.startswith(("1>", "2>"), at)
            if not self.text.startswith(">", at):
                return False
            at += 1
            while self.text.startswith(" ", at):
                at += 1
            if not self.text.startswith("/dev/null", at):
                raise Doubt(_NAMES[">"])
            at += len("/dev/null")
        if at < len(self.text) and self.text[at] not in " |;\n" and not self.text.startswith("&&", at):
            raise Doubt(_NAMES[">"])
        self.at = at
        return True

    def _word(self) -> str:
        parts: list[str] = []
        before, wild, begin = "", False, self.at
        while not self.at_end():
            character = self.text[self.at]
            if character in _ENDS_WORD:
                break
            if character == "'":
                parts.append(self._single_quoted())
                before = "'"
            elif character == '"':
                parts.append(self._double_quoted())
                before = '"'
            elif character == "\\":
                parts.append(self._escaped())
                before = character
            elif character in "[]" and self._stands_alone(begin):
                parts.append(character)
                self.at += 1
            elif character in "*?[":
                parts.append(self._wild(character))
                before, wild = character, True
            else:
                before = self._plain(before)
                parts.append(before)
        if not wild:
            return "".join(parts)
        if {"'", '"', "\\"} & set(self.text[begin : self.at]) or "~" in parts:
            raise Doubt(_NAMES["*"])
        return Glob("".join(parts))

    def _plain(self, before: str) -> str:
        """Return the next character, which stands for itself after the one before it."""
        if (
            self.text.startswith("{", self.at)
            and before == "@"
            and (match := _REFERENCE.match(self.text, self.at))
        ):
            self.at = match.end()
            return match[0]  # `HEAD@{1}`: bash expands nothing without a comma or two dots
        character = self.text[self.at]
        if character not in _PLAIN and not (character == "~" and before in _BEFORE_TILDE):
            raise Doubt(named(character))
        self.at += 1
        return character

    def _stands_alone(self, begin: int) -> bool:
        """Return whether the character here is a separate word, as in `[ -f x ]`."""
        return self.at == begin and (self.text[begin + 1 : begin + 2] or " ") in _ENDS_WORD

    def _wild(self, character: str) -> str:
        """Return a star, a question mark, or a whole bracket of plain characters, which bash reads in only one
        way."""
        found = _BRACKET.match(self.text, self.at) if character == "[" else None
        if character == "[" and not found:
            raise Doubt(_NAMES["["])
        text = found[0] if found else character
        self.at += len(text)
        if self.text.startswith("(", self.at):
            raise Doubt(_NAMES["("])
        return text

    def _escaped(self) -> str:
        """Return the character after a backslash, which stands for itself; operators and line breaks raise Doubt."""
        escaped = self.text[self.at + 1 : self.at + 2]
        if escaped not in _ESCAPABLE:
            raise Doubt(_NAMES["\\"])
        self.at += 2
        return escaped

    def _single_quoted(self) -> str:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            raise Doubt("it has an unclosed quote")
        inner = self.text[self.at + 1 : end]
        if "\n" in inner:
            raise Doubt(_NAMES["\n"])
        self.at = end + 1
        return inner

    def _double_quoted(self) -> str:
        """Return the text up to the closing double quote, as bash reads it (POSIX 2.2.3).

        Inside, bash keeps all characters except $ ` " \\ !. It removes a backslash before $ ` " \\ only.
        """
        inner = list[str]()
        self.at += 1
        while not self.closes():
            inner.append(self.in_quotes())
        return "".join(inner)

    def closes(self) -> bool:
        """Skip a closing double quote and return whether there was one. Raises Doubt at the end of the text."""
        if self.at_end():
            raise Doubt("it has an unclosed quote")
        found = self.text[self.at] == '"'
        self.at += found
        return found

    def in_quotes(self) -> str:
        """Return the next character in double quotes, with its backslash if bash keeps that."""
        text, at, kept = self.text, self.at, ""
        if text[at] == "\\":
            at += 1
            if at >= len(text) or text[at] in "!\n":
                raise Doubt(_NAMES["\\"])
            kept = "" if text[at] in _NOT_LITERAL else "\\"
        elif text[at] == "\n" or (
            text[at] in _NOT_LITERAL and text[at + 1 : at + 2] not in _LITERAL_BEFORE.get(text[at], ())
        ):
            raise Doubt(named(text[at]))
        self.at = at + 1
        return kept + text[at]
