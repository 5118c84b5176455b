"""Parses the compound lines that agents write most, if bash can read them in only one way.

Beyond the plain lines of `shell`: known variables, `$(...)`, `<(...)`, input from a file, braces, comments, groups,
subshells, `!`, `[[ ]]`, `if`, and `for` over words. The result is flat: every simple command that may run, in order.
A loop over words is unrolled; in one over a glob, the words with its variable are `Open`. Input from a file is the
command `< FILE`. Anything else raises `Doubt`.
"""

import re

from prunecli.model.shell import (
    MAX_COMMANDS,
    Doubt,
    Glob,
    Line,
    Open,
    Value,
    check_text,
    checked,
    named,
)
from prunecli.model.words import WordReader, opened

_MAX_NESTING = 20
_FOR = re.compile(r"for +([a-z][a-z0-9]{0,15}) +in(?= )")
"""The names are short and lower case, so that no loop sets a variable with a meaning, such as PATH or http_proxy."""
_KEYWORD = re.compile(r"(?:then|elif|else|fi|do|done|\})(?=[ ;|&\n)<>]|$)")
_NO_OUTPUT = re.compile(r"(?:&>|[12]?>) *(?:/dev/null)(?=[ |;\n)]|&&|$)|(?:2>&1|1?>&2)(?=[ |;\n)]|&&|$)")


def parse_script(text: str) -> Line:
    """Parse a line with compound commands. Raises Doubt if bash could read it differently from this parser."""
    check_text(text)
    reader = _Script(text.strip(" \n"))
    reader.commands_until("")
    return Line(tuple(reader.commands), tuple(reader.joins), reader.flat)


class _Script(WordReader):
    """Collects the simple commands of the text. `join` is the operator before the next one."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.commands: list[tuple[str, ...]] = []
        self.joins: list[str] = []
        self.join = ";"
        self.flat = True
        self.depth = 0
        self.nesting = 0

    def commands_until(self, *ends: str) -> str:
        """Read commands up to one of the words, "" for the end of the text or a parenthesis. Return that word."""
        self.nesting += 1
        if self.nesting > _MAX_NESTING:
            raise Doubt("its commands are nested too deeply")
        end = self._commands_until(ends)
        self.nesting -= 1
        return end

    def _commands_until(self, ends: tuple[str, ...]) -> str:
        while True:
            self._blank(newlines=True)
            compound = self._element()
            self._blank()
            if self.at_end() or self.text[self.at] == ")":
                end = ")" if not self.at_end() else ""
                if end not in ends:
                    raise Doubt(named(")") if end else "it has an unclosed command")
                self.at += len(end)
                return end
            self.join = self.operator()
            if compound and self.join == "|":
                self.join = ";"  # more than the command before it may write to the pipe
            self._blank(newlines=True)
            if self.join != ";":
                continue
            match = _KEYWORD.match(self.text, self.at)
            if match and match[0] in ends:
                self.at = match.end()
                return match[0]
            if self.at_end() and "" in ends:
                return ""

    def _blank(self, *, newlines: bool = False) -> None:
        """Skip spaces, and lines that are comments."""
        while True:
            if self.text.startswith(" ", self.at) or (newlines and self.text.startswith("\n", self.at)):
                self.at += 1
            elif (
                not self.depth
                and self.text.startswith("#", self.at)
                and self.text[: self.at].rstrip(" ")[-1:] in ("", "\n")
            ):
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            else:
                return

    def _element(self) -> bool:
        """Read one command of a pipeline; return whether it is a compound one."""
        if self.text.startswith("! ", self.at) and self.join != "|":
            self.flat = False
            self._blank_after(1)
        rest = self.text[self.at : self.at + 3]
        if rest.startswith("(("):
            raise Doubt("it evaluates an arithmetic expression")  # which may set a variable or run a command
        if rest.startswith("("):
            self._group(")", 1)
        elif rest[:2] in ("{ ", "{\n"):
            self._group("}", 1)
        elif rest in ("if ", "if\n"):
            self._if()
        elif rest == "for":
            self._for()
        else:
            self._simple()
            return False
        self.join = ";"
        inputs: list[str] = []
        while self._redirected(inputs):
            pass
        for path in inputs:
            self._emit(("<", path))
        self._blank()
        if not self.at_end() and self.text[self.at] not in "|&;\n)":
            raise Doubt(named(self.text[self.at]))
        return True

    def _blank_after(self, count: int) -> None:
        self.at += count
        self._blank()

    def _group(self, end: str, begin: int) -> None:
        """Read the commands of a group, a subshell or a substitution, from after its first characters on."""
        self.flat = False
        self.join = ";"
        self.at += begin
        self.depth += end == ")"
        self.commands_until(end)
        self.depth -= end == ")"
        self.join = ";"

    def _if(self) -> None:
        self._group("then", 2)
        end = self.commands_until("elif", "else", "fi")
        while end == "elif":
            self.commands_until("then")
            end = self.commands_until("elif", "else", "fi")
        if end == "else":
            self.commands_until("fi")

    def _for(self) -> None:
        """Read a loop once for each of its words, with the variable bound to it."""
        match = _FOR.match(self.text, self.at)
        if not match:
            raise Doubt("it uses the shell keyword 'for'")
        self.flat = False
        self.join = ";"
        self._blank_after(len(match[0]))
        items: list[str] = []
        while not self.at_end() and self.text[self.at] not in ";\n":
            items += self.words()
            self._blank()
        if not items or self.at_end() or self.operator() != ";":
            raise Doubt("it uses the shell keyword 'for'")
        self._blank(newlines=True)
        if not (do := _KEYWORD.match(self.text, self.at)) or do[0] != "do":
            raise Doubt("it uses the shell keyword 'for'")
        body = do.end()
        for item in items:
            self.at, begin = body, len(self.commands)
            self.bound[match[1]] = Value() if isinstance(item, Glob | Open) else item
            self.commands_until("done")
            self.bound.pop(match[1], None)
            repeats = isinstance(item, Glob | Open) and any(
                words[0] == "cd" for words in self.commands[begin:]
            )
            if repeats:
                raise Doubt("it changes the working directory in a loop over files")

    def _simple(self) -> None:
        words: list[str] = []
        inputs: list[str] = []
        while True:
            self._blank()
            if not words and self.text.startswith("[[ ", self.at):
                words.append("[[")
                self.at += 2
                continue
            if self.at_end() or (self.text[self.at] in "|&;\n)" and not self.text.startswith("&>", self.at)):
                break
            found = re.compile(r"!=?(?= )").match(self.text, self.at) if words else None
            if found:
                words.append(found[0])
                self.at = found.end()
            elif self.text.startswith("<(", self.at):
                self._group(")", 2)
                words.append(opened("<(", [Value()]))
                self._ends_word()
            elif not self._redirected(inputs):
                words += self.words(test=words[:1] == ["[["])
        closed = words[:1] == ["[["] and words[-1] == "]]" and "]]" not in words[:-1]
        self.flat = self.flat and not closed
        command = tuple(words) if closed else checked(words)
        for path in inputs:
            self._emit(("<", path))
            self.join = "|"
        self._emit(command)

    def _emit(self, words: tuple[str, ...]) -> None:
        if self.commands:
            self.joins.append(self.join)
        self.commands.append(words)
        self.flat = self.flat and not any(isinstance(word, Open) for word in words)
        if len(self.commands) > MAX_COMMANDS:
            raise Doubt(f"it has more than {MAX_COMMANDS} commands")

    def _redirected(self, inputs: list[str]) -> bool:
        """Read a redirection at this place and return whether there was one. A file that is read joins `inputs`."""
        self._blank()
        if match := _NO_OUTPUT.match(self.text, self.at):
            self.at = match.end()
            return True
        if not self.text.startswith(("<", ">", "1>", "2>", "&>"), self.at):
            return False
        if not self.text.startswith("<", self.at):
            raise Doubt(named(">"))
        if self.text[self.at + 1 : self.at + 2] in ("<", "&", ">", "("):
            raise Doubt(named("<"))
        self.flat = False
        self._blank_after(1)
        words = self.words()
        if len(words) != 1 or isinstance(words[0], Glob):
            raise Doubt(named("<"))
        inputs += words
        return True

    def _ends_word(self) -> None:
        if not self.at_end() and self.text[self.at] not in " |;\n)&":
            raise Doubt(named(self.text[self.at]))

    def substituted(self) -> Value:
        """Read `$(...)` at this place; its commands come before the one that it is part of."""
        self._group(")", 2)
        return Value()
