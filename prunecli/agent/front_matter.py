"""Markdown files that begin with front matter: YAML between two lines of `---`.

Every scalar is read as text, so `name: 123` and `model: yes` mean what they look like. Aliases are refused, because a
few of them can describe a value too large for memory. Deep nesting is refused too, because it overflows the stack of
the C parser.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from prunecli.model.messages import Json
from prunecli.util.errors import ConfigError
from prunecli.util.regular import open_regular
from prunecli.util.sanitize import one_line

MAX_BYTES = 1_000_000
"""Maximum bytes of one definition; a larger file is refused."""
MAX_FRONT_BYTES = 64_000
_MAX_DEPTH = 16
_DEEP = re.compile(rf"^[^\n\[{{]*:[ \t]*[\[{{]{{{_MAX_DEPTH + 1}}}", re.MULTILINE)
"""Brackets that libyaml 0.2.6 and newer refuse by themselves, before they report any event."""
_LINE = re.compile(r"([A-Za-z][\w-]*):[ \t]+(.+?)[ \t]*")


class Page(NamedTuple):
    """A file: its front matter, {} if there is none, and the text below, without blank lines around it."""

    fields: Mapping[str, Json]
    body: str


def read(path: Path, most: int = MAX_BYTES) -> Page:
    """Read a file. Raises a ConfigError that names file and line if the file is unreadable, too large or
    malformed."""
    try:
        with open_regular(path) as file:
            data = file.read(most + 1)
    except OSError as error:
        raise ConfigError(f"{_shown(path)}: {error.strerror or error}") from None
    if len(data) > most:
        raise ConfigError(f"{_shown(path)}: larger than {most // 1000:,} KB", "make it smaller")
    try:
        return parse(data.decode("utf-8-sig"), path)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{_shown(path)}: line {line}: not UTF-8") from None


def read_beginning(path: Path) -> Page:
    """Return the front matter and the beginning of the text below it, even if that text is long. Raises ConfigError
    as `read` does."""
    try:
        with open_regular(path) as file:
            data = file.read(MAX_FRONT_BYTES + 10)
    except OSError as error:
        raise ConfigError(f"{_shown(path)}: {error.strerror or error}") from None
    if b"\0" in data:
        raise ConfigError(f"{_shown(path)}: not UTF-8")
    return parse(data.decode("utf-8-sig", "replace"), path)


def parse(text: str, path: Path) -> Page:
    """Split a file's text. Raises a ConfigError that names `path` and the line."""
    text = text.replace("\r\n", "\n")
    first, _, rest = text.partition("\n")
    if first.rstrip() != "---":
        return Page({}, text.strip())
    end = re.search(r"^(---|\.\.\.)[ \t]*$", rest, re.MULTILINE)
    if end is None or end.start() > MAX_FRONT_BYTES:
        why = "has no closing ---" if end is None and len(rest) < MAX_FRONT_BYTES else "is too long"
        raise ConfigError(f"{_shown(path)}: line 1: the front matter {why}", "end it with a line of ---")
    return Page(_fields(rest[: end.start()], path), rest[end.end() :].strip())


def text(fields: Mapping[str, Json], key: str) -> str:
    """Return the text of a key, "" if it is missing; `[file] [words]`, a list in YAML, is meant as text."""
    value = fields.get(key)
    if isinstance(value, list):
        return " ".join(f"[{item}]" for item in value if isinstance(item, str))
    return value.strip() if isinstance(value, str) else ""


def flag(fields: Mapping[str, Json], key: str) -> bool:
    return text(fields, key).lower() in ("true", "yes", "on")


def items(fields: Mapping[str, Json], key: str) -> tuple[str, ...]:
    """Return the items of a key: a YAML list, or a text split at commas and spaces outside parentheses."""
    value = fields.get(key)
    if isinstance(value, list):
        return tuple(item.strip() for item in value if isinstance(item, str) and item.strip())
    return tuple(re.findall(r"(?:[^\s,()]|\([^()]*\))+", value)) if isinstance(value, str) else ()


@cache
def _yaml() -> tuple[Any, Any]:
    """Return PyYAML and its faster loader, if it has one. Deferred, since startup does not need them."""
    import yaml

    return yaml, getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def _fields(front: str, path: Path) -> Mapping[str, Json]:
    yaml, _ = _yaml()
    try:
        found = _load(front, path)
    except yaml.YAMLError:
        try:
            found = _load(_quoted(front), path)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
            why = getattr(error, "problem", None) or getattr(error, "reason", None) or "not YAML"
            raise _malformed(str(why), mark and mark.line, path) from None
    if found is None or found == "":
        return {}
    if not isinstance(found, dict):
        raise ConfigError(f"{_shown(path)}: line 2: the front matter is not a list of `key: value`")
    return {key: value for key, value in found.items() if isinstance(key, str)}


def _load(front: str, path: Path) -> Any:
    """Return the parsed front matter. Raises YAMLError for invalid YAML and aliases, which quotes may fix, and
    ConfigError for deep nesting."""
    yaml, loader = _yaml()
    if deep := _DEEP.search(front):
        raise _malformed("nested too deeply", front.count("\n", 0, deep.start()), path)
    depth = 0
    for event in yaml.parse(front, loader):
        depth += _deeper(type(event).__name__)
        if depth > _MAX_DEPTH:
            raise _malformed("nested too deeply", event.start_mark.line, path)
        if isinstance(event, yaml.AliasEvent):
            why = f"aliases such as *{event.anchor} are not supported"
            raise yaml.MarkedYAMLError(problem=why, problem_mark=event.start_mark)
    return yaml.load(front, loader)  # BaseLoader makes only strings, lists and mappings


def _deeper(event: str) -> int:
    return {"MappingStart": 1, "SequenceStart": 1, "MappingEnd": -1, "SequenceEnd": -1}.get(event[:-5], 0)


def _quoted(front: str) -> str:
    """Return the front matter with quotes around the values of lines that are not valid YAML.

    Files of other agents contain lines such as `argument-hint: [file] [words]` and `description: Use it like this:
    ...`.
    """
    return "\n".join(_quoted_lines(front))


def _quoted_lines(front: str) -> Iterator[str]:
    yaml, loader = _yaml()
    for line in front.split("\n"):
        match = _LINE.fullmatch(line)
        try:
            if match:
                list(yaml.parse(line, loader))
            yield line
        except yaml.YAMLError:
            yield f"{match[1]}: {json.dumps(match[2])}" if match else line


def _malformed(why: str, line: int | None, path: Path) -> ConfigError:
    """Return the error for front matter that is not YAML; its first line, number 0, is line 2 of the file."""
    where = f"line {line + 2}: " if line is not None else ""
    return ConfigError(f"{_shown(path)}: {where}{one_line(why)}", "fix the front matter")


def _shown(path: Path) -> str:
    return one_line(str(path))
