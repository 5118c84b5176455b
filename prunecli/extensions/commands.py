"""Commands: Markdown files whose text becomes a prompt, in Claude Code's format.

`$ARGUMENTS` stands for the text typed after the name, `$1` to `$9` or `$ARGUMENTS[0]` to `$ARGUMENTS[8]` for its
words, and ``!`command` `` for the output of a shell command. The text is split before arguments are filled in, so an
argument cannot become a command.
"""

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from prunecli.errors import ConfigError
from prunecli.extensions.definition_folders import Found, Owner
from prunecli.extensions.front_matter import items, read, text
from prunecli.extensions.hook_names import OURS
from prunecli.frozen import frozen
from prunecli.paths import is_name
from prunecli.sanitize import one_line

MAX_HELP = 200
_SHELL = re.compile(r"(?:^|(?<=\s))!`([^`\n]+)`", re.MULTILINE)
_ARGUMENT = re.compile(r"\$(?:ARGUMENTS(?:\[(\d)\])?(?!\w)|([1-9])(?!\d))")
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
        """Yield the prompt for these arguments, as texts and the shell commands between them."""
        values = split(arguments)
        yield from pieces_of(self.body, lambda piece: _filled(piece, arguments, values))
        if arguments and not _ARGUMENT.search(self.body):
            yield f"\n\nArguments: {arguments}"


def pieces_of(body: str, fill: Callable[[str], str]) -> Iterator[str | Shell]:
    """Yield the texts of a body and the shell commands between them, both with their arguments filled in."""
    at = 0
    for found in _SHELL.finditer(body):
        yield fill(body[at : found.start()])
        yield Shell(fill(found[1]))
        at = found.end()
    yield fill(body[at:])


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
    if found := re.fullmatch(r"mcp__(.+?)(?:__(.+))?", name):
        return f"mcp({found[1]}:{found[2] or '*'})"
    return _TOOLS.get(name.lower(), name.lower()) + bracket + body.removeprefix("domain:")


def split(arguments: str) -> Sequence[str]:
    """Return the words of typed arguments, with quotes as in a shell."""
    try:
        return shlex.split(arguments)
    except ValueError:  # a quote without its end
        return arguments.split()


def _filled(piece: str, arguments: str, values: Sequence[str]) -> str:
    def value(found: re.Match[str]) -> str:
        at = int(found[1]) if found[1] else int(found[2]) - 1 if found[2] else None
        return arguments if at is None else values[at] if at < len(values) else ""

    return _ARGUMENT.sub(value, piece)


def _in_one_line(words: str) -> str:
    return one_line(" ".join(words.split()))[:MAX_HELP]
