"""Commands: Markdown files whose text becomes a prompt, in Claude Code's format.

`$ARGUMENTS` stands for the text typed after the name, `$1` to `$9` or `$ARGUMENTS[0]` to `$ARGUMENTS[8]` for its
words, and ``!`command` `` for the output of a shell command. The text is split before arguments are filled in, and
in a shell command they are quoted, so an argument cannot become a command.
"""

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from prunecli.agent.front_matter import items, read, text
from prunecli.runtime.claude_code import OURS
from prunecli.runtime.definition_folders import Found, Owner
from prunecli.util.errors import ConfigError
from prunecli.util.frozen import frozen
from prunecli.util.paths import is_name
from prunecli.util.sanitize import one_line

MAX_HELP = 200
_SHELL = re.compile(r"(?:^|(?<=\s))!`([^`\n]+)`", re.MULTILINE)
_ARGUMENT = re.compile(r"\$(?:ARGUMENTS(?:\[(\d)\])?(?!\w)|([1-9])(?!\d))")
_QUOTES = re.compile(r"""\\.|\$\(|["'()]""")
_TOOLS = {theirs.lower(): ours for theirs, ours in OURS.items()}


@frozen
class Shell:
    """A shell command in a prompt, which its output replaces."""

    command: str


@frozen
class CustomCommand:
    """One command. `name` has a colon for each folder: `git:commit`. `body` is its text with placeholders.

    `rules` are the permission rules of `allowed-tools`; `hint` names its arguments.
    """

    name: str
    help: str
    hint: str
    body: str
    rules: tuple[str, ...]
    model: str
    path: Path
    owner: Owner

    def pieces(self, arguments: str) -> Iterator[str | Shell]:
        values = split(arguments)

        def value(found: re.Match[str]) -> Value:
            at = int(found[1]) if found[1] else int(found[2]) - 1 if found[2] else None
            one = values[at] if at is not None and at < len(values) else ""
            return (arguments, values) if at is None else (one, [one] if one else [])

        yield from pieces_of(self.body, _ARGUMENT, value)
        if arguments and not _ARGUMENT.search(self.body):
            yield f"\n\nArguments: {arguments}"


Value: TypeAlias = tuple[str, Sequence[str] | None]
"""What replaces a placeholder: a text, and its words for a shell command; None for text that stays as it is there."""


def pieces_of(
    body: str, place: re.Pattern[str], value: Callable[[re.Match[str]], Value]
) -> Iterator[str | Shell]:
    """Yield the texts of a body and the shell commands between them, with the values of their placeholders."""
    at = 0
    for found in _SHELL.finditer(body):
        yield place.sub(lambda one: value(one)[0], body[at : found.start()])
        yield Shell(_in_shell(found[1], place, value))
        at = found.end()
    yield place.sub(lambda one: value(one)[0], body[at:])


def _in_shell(command: str, place: re.Pattern[str], value: Callable[[re.Match[str]], Value]) -> str:
    """Return a shell command with the values as words, quoted for the place where each stands."""
    parts, at, quotes = list[str](), 0, [""]
    for found in place.finditer(command):
        before = command[at : found.start()]
        _follow(quotes, before)
        text, words = value(found)
        if words is None:
            quoted = text
        elif quotes[-1] == "'":
            quoted = text.replace("'", "'\\''")
        elif quotes[-1] == '"':
            quoted = re.sub(r'([\\"$`])', r"\\\1", text)
        else:
            quoted = shlex.join(words)
        parts += (before, quoted)
        at = found.end()
    return "".join((*parts, command[at:]))


def _follow(quotes: list[str], text: str) -> None:
    """Update the stack of open quotes, with "" for each parenthesis, by a part of a shell command."""
    for found in _QUOTES.finditer(text):
        mark, inner = found[0], quotes[-1]
        if inner == "'":
            if mark.endswith("'"):
                quotes.pop()
        elif mark == inner or (mark == ")" and not inner and len(quotes) > 1):
            quotes.pop()
        elif mark == "$(" or (not inner and mark == "("):
            quotes.append("")
        elif mark == '"' or (not inner and mark == "'"):
            quotes.append(mark)


def command_of(found: Found) -> CustomCommand:
    """Return the command defined in a Markdown file. Raises a ConfigError that names the file."""
    shown = one_line(str(found.path))
    if not all(is_name(part) for part in found.parts) or not found.parts[0][0].isalpha():
        raise ConfigError(
            f"{shown}: invalid command name: use letters, digits, - and _, starting with a letter"
        )
    fields, body = read(found.path)
    if not body:
        raise ConfigError(f"{shown}: the file has no text")
    first = body.lstrip("# ").partition("\n")[0]
    return CustomCommand(
        ":".join(found.parts),
        _in_one_line(text(fields, "description") or first),
        _in_one_line(text(fields, "argument-hint")),
        body,
        tuple(map(rule_of, items(fields, "allowed-tools"))),
        text(fields, "model"),
        found.path,
        found.folder.owner,
    )


def rule_of(allowed: str) -> str:
    """Convert an allowed tool in Claude Code's form to a permission rule: `Bash(git add:*)`, `mcp__x__y`,
    `WebFetch(domain:python.org)`."""
    name, bracket, body = allowed.partition("(")
    if match := re.fullmatch(r"mcp__(.+?)(?:__(.+))?", name):
        return f"mcp({match[1]}:{match[2] or '*'})"
    return _TOOLS.get(name.lower(), name.lower()) + bracket + body.removeprefix("domain:")


def split(arguments: str) -> Sequence[str]:
    """Return the words of typed arguments, with quotes as in a shell."""
    try:
        return shlex.split(arguments)
    except ValueError:  # a quote without its end
        return arguments.split()


def _in_one_line(words: str) -> str:
    return one_line(" ".join(words.split()))[:MAX_HELP]
