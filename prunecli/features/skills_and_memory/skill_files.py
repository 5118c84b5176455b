"""Skills: folders with a SKILL.md, in the format of agentskills.io, and the texts that tell the model about them.

A session begins with their names and descriptions; the model reads a SKILL.md when a task fits. Notices report later
changes, so that system prompt and tools stay unchanged.

As in Claude Code, a skill may have placeholders: `$ARGUMENTS`, `$ARGUMENTS[0]` or `$0`, `$NAME` for names listed in
`arguments`, `${CLAUDE_SKILL_DIR}`, and ``!`command` ``. If the user calls it, the prompt is its text with these
filled in.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from prunecli.agent.front_matter import flag, items, read, read_beginning, text
from prunecli.features.skills_and_memory.command_files import Shell, Value, pieces_of, rule_of, split
from prunecli.runtime.definition_folders import Found, Owner
from prunecli.util.errors import ConfigError
from prunecli.util.frozen import frozen
from prunecli.util.sanitize import one_line

MARKER = "SKILL.md"
MAX_DESCRIPTION = 1_024
MAX_TOKENS = 1_000
"""Maximum tokens of all names and descriptions together."""
OPENING = (
    "Skills are folders of instructions for certain tasks. When a task fits one, read its SKILL.md first and follow "
    "it. Paths in it start at its folder."
)
_CHANGED = "New or changed skills:"
_GONE = "Skills no longer there: "
_MORE = "Skills without room for a description (look into their folder): "
_AND = "and "
_OTHERS = ""
"""Stands for skills whose names did not fit either. It is not known which these are."""
_LINE = re.compile(r"- ([\w.-]{1,64}): (.*)", re.ASCII)
_SHORTEST = 40
_NAMES_CHARS = 1_200
_PLACE = r"ARGUMENTS(?:\[(\d{1,3})\])?(?!\w)|(\d{1,3})(?!\w)|\{(CLAUDE_SKILL_DIR)\}"
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,63}", re.ASCII)
_STRICT = re.compile(r"(?=.{1,64}$)[a-z0-9]+(-[a-z0-9]+)*")
_RULE = "use at most 64 lowercase letters, digits and single hyphens"
"""The format's rule for names. Many published skills break it, so `_NAME` decides."""


@frozen
class Skill:
    """One skill. `path` is its SKILL.md; `doubt` names the rule of the format that it breaks, or is "".

    `for_model`: the skill is in the list for the model. `for_user`: the user can call it as `/NAME`; the permission
    rules of `allowed-tools` (`rules`) then apply to that prompt.
    """

    name: str
    description: str
    path: Path
    owner: Owner
    doubt: str = ""
    for_model: bool = True
    for_user: bool = True
    rules: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        return self.path.parent

    def prompt(self, arguments: str) -> str:
        return f"Use the skill {self.name}: read {self.path} and follow it.\n\n{arguments}".strip()

    def pieces(self, arguments: str) -> Iterator[str | Shell]:
        """Yield the prompt that holds the skill's text, as texts and the shell commands between them; nothing if the
        text has no placeholders. Raises a ConfigError that names the file.

        As in Claude Code, an index without an argument stays as it is, a name without one becomes "", and a backslash
        keeps a placeholder.
        """
        fields, body = read(self.path)
        names, values = items(fields, "arguments"), split(arguments)
        choice = "|".join(map(re.escape, sorted(names, key=len, reverse=True))) or "(?!)"
        place = re.compile(rf"((?<!\\)\\)?\$(?:{_PLACE}|({choice})(?![\w-]))")

        def value(found: re.Match[str]) -> Value:
            escaped, at, number, folder, name = found.groups()
            index = at or number
            if escaped:
                return found[0][1:], None
            if index is not None and int(index) >= len(values):
                return found[0], None
            if not folder and not name and index is None:
                return arguments, values
            named = dict(zip(names, values, strict=False))
            one = str(self.folder) if folder else named.get(name, "") if name else values[int(index or 0)]
            return one, [one] if one else []

        pieces = list(pieces_of(body, place, value))
        found = [one for one in place.finditer(body) if not one[1]]
        if found or len(pieces) > 1:
            yield f"Follow the skill {self.name}, whose folder is {self.folder}:\n\n"
            yield from pieces
            if arguments and all(one[4] for one in found):
                yield f"\n\nARGUMENTS: {arguments}"


def skill_of(found: Found) -> Skill:
    """Return the skill defined in a SKILL.md. Raises a ConfigError that names the file."""
    fields, body = read_beginning(found.path)
    shown = one_line(str(found.path))
    folder = found.path.parent.name
    given = text(fields, "name") or folder
    name = next((one for one in (given, folder) if _NAME.fullmatch(one)), "")
    if not name:
        raise ConfigError(f"{shown}: name {one_line(given)[:80]!r}: {_RULE}")
    doubts = [f"name {one_line(given)[:80]!r}: {_RULE}"] if not _STRICT.fullmatch(given) else []
    if name != folder:
        doubts.append(f"name {name} differs from its folder")
    described = text(fields, "description")
    if not described:
        described = next((one for one in re.split(r"\n\s*\n", body) if not one.startswith("#")), "")
        doubts.append("description is missing; its first paragraph is used")
    description = one_line(" ".join(f"{described} {text(fields, 'when_to_use')}".split()))
    if not description:
        raise ConfigError(f"{shown}: description is missing")
    if len(description) > MAX_DESCRIPTION:
        doubts.append(f"description is longer than {MAX_DESCRIPTION:,} characters")
    return Skill(
        name,
        description[:MAX_DESCRIPTION],
        found.path,
        found.folder.owner,
        "; ".join(doubts),
        for_model=not flag(fields, "disable-model-invocation"),
        for_user=text(fields, "user-invocable").lower() not in ("false", "no"),
        rules=tuple(map(rule_of, items(fields, "allowed-tools"))),
    )


def listing(skills: Sequence[Skill], count: Callable[[str], int]) -> str:
    """Return the text about skills for the system prompt, in at most `MAX_TOKENS`; "" if there are none."""
    skills = [skill for skill in skills if skill.for_model]
    return _fitted(f"<skills>\n{OPENING}", skills, "\n</skills>", count) if skills else ""


def news(skills: Sequence[Skill], known: Mapping[str, str], count: Callable[[str], int]) -> str:
    """Return the news for the model: the changes since `known`, which comes from `told`; "" if there are none."""
    now = {skill.name: skill for skill in skills if skill.for_model}
    new = [skill for name, skill in now.items() if not _is_known(skill, known.get(name, known.get(_OTHERS)))]
    gone = [name for name in known if name not in now and name != _OTHERS]
    parts = [_fitted(f"{OPENING}\n{_CHANGED}" if not known else _CHANGED, new, "", count)] if new else []
    return "\n".join([*parts, *([_GONE + ", ".join(gone)] if gone else [])])


def told(texts: Iterable[str]) -> dict[str, str]:
    """Return the names and descriptions in listings and news, given oldest first. A cut description ends with …"""
    known: dict[str, str] = {}
    for each in texts:
        for line in each.split("\n"):
            if match := _LINE.fullmatch(line):
                known[match[1]] = match[2]
            elif line.startswith(_MORE):
                known |= dict.fromkeys([*_names(line, _MORE), *([_OTHERS] if _AND in line else [])], "…")
            elif line.startswith(_GONE):
                for name in _names(line, _GONE):
                    known.pop(name, None)
    return known


def _names(line: str, opening: str) -> list[str]:
    return [name for name in line.removeprefix(opening).split(", ") if _NAME.fullmatch(name)]


def _is_known(skill: Skill, known: str | None) -> bool:
    if known is None:
        return False
    return skill.description.startswith(known[:-1]) if known.endswith("…") else skill.description == known


def _fitted(opening: str, skills: Sequence[Skill], end: str, count: Callable[[str], int]) -> str:
    """Return the text, cutting the longest descriptions and then leaving names alone until it fits."""

    def fits(written: str) -> bool:
        return len(written) < MAX_TOKENS * 10 and count(written) <= MAX_TOKENS

    def written(cap: int, most: int) -> str:
        return f"{opening}\n{_lines(skills[:most], cap)}{_rest(skills[most:])}{end}"

    cap = _largest(_SHORTEST, MAX_DESCRIPTION, lambda cap: fits(written(cap, len(skills))))
    if cap >= _SHORTEST:
        return written(cap, len(skills))
    most = _largest(1, len(skills), lambda most: fits(written(_SHORTEST, most)))
    return written(_SHORTEST, max(most, 0))


def _largest(low: int, high: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number that fits, assuming that smaller numbers fit too; `low` - 1 if none fits."""
    if fits(high):
        return high
    below = low - 1
    while high - below > 1:
        middle = (below + high) // 2
        below, high = (middle, high) if fits(middle) else (below, middle)
    return below


def _lines(skills: Sequence[Skill], cap: int) -> str:
    """Return a line for each skill, below a line for each folder with skills."""
    lines, parent = [], None
    for skill in skills:
        if skill.folder.parent != parent:
            parent = skill.folder.parent
            lines.append(f"In {one_line(str(parent))}:")
        known = skill.description
        lines.append(f"- {skill.name}: {known if len(known) <= cap else known[: cap - 1] + '…'}")
        if skill.folder.name != skill.name:
            lines.append(f"  (folder {one_line(skill.folder.name)})")
    return "\n".join(lines)


def _rest(skills: Sequence[Skill]) -> str:
    """Return the names of skills whose descriptions do not fit, as many as fit."""
    if not skills:
        return ""
    names, length = list[str](), 0
    for skill in skills:
        length += len(skill.name) + 2
        if length > _NAMES_CHARS:
            break
        names.append(skill.name)
    more = [f"{_AND}{len(skills) - len(names):,} more"] if len(names) < len(skills) else []
    return f"\n{_MORE}{', '.join([*names, *more])}"
