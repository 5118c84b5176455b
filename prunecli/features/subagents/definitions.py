"""Definitions of subagents: the built-in ones, and Markdown files with front matter.

The body is the system prompt. The front matter has Claude Code's fields: name, description, tools, disallowedTools,
model and maxTurns. Other fields are ignored, with a note.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from prunecli.agent.front_matter import items, read, text
from prunecli.runtime.claude_code import OURS, TOOLS
from prunecli.runtime.definition_folders import Found
from prunecli.util.errors import ConfigError
from prunecli.util.frozen import frozen
from prunecli.util.sanitize import one_line, shortened

INHERIT = "inherit"
SMALL = "small"
"""The small model of the session's model family, or else the session's model."""
MOST_CHARS = 6_000
"""Maximum characters of all names and descriptions that the model reads."""
HEADING = "Agents for task:"
_DESCRIPTION_CHARS = 400

_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,63}")
_READ_HERE = frozenset({"name", "description", "tools", "disallowedTools", "model", "maxTurns"})
_SILENT = frozenset({"color"})
"""Fields that have no meaning in prunecli and are ignored without a note."""
_HERE = frozenset({*TOOLS, "recall", "prun", "mcp", "jobs", "ask"}) - {"task"}
"""The tools that a subagent can have."""


@frozen
class Definition:
    """A subagent.

    `tools` are its tools by prunecli's names, None for all; tools in `without` are excluded. `model` is a name, an
    alias, INHERIT or SMALL. `origin` names the place of the definition, and `notes` list the parts of its file that
    have no effect.
    """

    name: str
    description: str
    body: str = ""
    tools: tuple[str, ...] | None = None
    without: tuple[str, ...] = ()
    model: str = INHERIT
    max_turns: int | None = None
    origin: str = "built in"
    notes: tuple[str, ...] = ()

    def takes(self, tool: str) -> bool:
        return (self.tools is None or tool in self.tools) and tool not in self.without


EXPLORE = Definition(
    "explore",
    "explores the project and answers questions about it; read-only, small model",
    "You explore a project to answer a question about it. You only read: search broadly first, then read what "
    "matters, and stop once you know. Calls that do not depend on each other go in one message.",
    ("read", "grep", "find", "ls"),
    model=SMALL,
)

GENERAL = Definition("", "the session's own tools and model")
"""The agent for a task that names none."""


def parse(found: Found) -> Definition:
    """Return the definition in a file. Raises a ConfigError that names the file and the key."""
    fields, body = read(found.path)
    where = one_line(str(found.path))
    name = text(fields, "name") or "-".join(found.parts)
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"{where}: name: invalid name {one_line(name)[:60]!r}; use letters, digits, . _ and -"
        )
    description = one_line(" ".join(text(fields, "description").split()))
    if not description:
        raise ConfigError(f"{where}: description: missing; the model needs it to choose this agent")
    if not body:
        raise ConfigError(f"{where}: no system prompt below the front matter")
    model = text(fields, "model") or INHERIT
    if not model.isprintable() or " " in model:
        raise ConfigError(f"{where}: model: {one_line(model)[:60]!r} is not a model")
    turns = text(fields, "maxTurns")
    if turns and not (turns.isdecimal() and int(turns[:9]) > 0):
        raise ConfigError(
            f"{where}: maxTurns: expected an integer of at least 1, got {one_line(turns)[:60]!r}"
        )
    names = items(fields, "tools")
    tools, unknown = _tools(names)
    without, unknown_too = _tools(items(fields, "disallowedTools"))
    every = not text(fields, "tools") or "*" in names
    return Definition(
        name,
        description,
        body,
        None if every else tools,
        without,
        model,
        int(turns) if turns else None,
        where,
        tuple(_notes(fields, (*unknown, *unknown_too))),
    )


def _tools(names: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the tools by prunecli's names, and the unknown names. Patterns such as `Bash(git:*)` stand for the tool,
    because the permission rules of the session apply to each call."""
    found, unknown = list[str](), list[str]()
    for name in names:
        plain = name.partition("(")[0]
        ours = "mcp" if plain.startswith("mcp__") else OURS.get(plain, plain)
        if ours in _HERE:
            found.append(ours)
        elif plain != "*":
            unknown.append(plain)
    return tuple(dict.fromkeys(found)), tuple(unknown)


def _notes(fields: Mapping[str, object], unknown: Sequence[str]) -> Iterable[str]:
    ignored = [one_line(key) for key in fields if key not in _READ_HERE | _SILENT]
    if ignored:
        yield f"ignored: {', '.join(ignored)}"
    if unknown:
        yield f"no such tools here: {', '.join(map(one_line, unknown))}"


def chosen(definitions: Iterable[Definition]) -> dict[str, Definition]:
    """Return the definitions by name. The first definition of a name wins; the built-in one comes last."""
    found: dict[str, Definition] = {}
    for one in (*definitions, EXPLORE):
        found.setdefault(one.name, one)
    return found


def listing(definitions: Mapping[str, Definition]) -> str:
    """Return the list of subagents for the model; "" for the built-in one, which the tool describes."""
    added = [definition for definition in definitions.values() if definition is not EXPLORE]
    if not added:
        return ""
    lines, size = list[str](), 0
    for one in added:
        line = f"- {one.name}: {shortened(one.description, _DESCRIPTION_CHARS)}"
        size += len(line)
        if size > MOST_CHARS:
            lines.append(
                f"({len(added) - len(lines)} more: {', '.join(o.name for o in added[len(lines) :])[:500]})"
            )
            break
        lines.append(line)
    return "\n".join([HEADING, *lines])
