"""Expands the unquoted globs and braces of a command line.

Every answer includes at least bash's own expansion. A bracket ignores case, because its ranges depend on the locale.
A negated bracket stands for any character, and `?` and `[` also match a leading dot.
"""

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from prunecli.tools.files.secret_paths import looks_secret
from prunecli.tools.searching.glob import without_backtracking
from prunecli.tools.searching.names import is_folder

MAX_MATCHES = 1000
_MAX_ENTRIES = 20_000
_MAX_BRACES = 64
_BRACKET = re.compile(r"\[([!^]?)([^]\[/\\][^]\[/\\]*)\]")


_SECRET_NAMES = (
    *(".env", ".env.local", "prod.env", "id_rsa", "id_ed25519", "server.pem", "server.key", ".netrc"),
    *(".npmrc", ".pypirc", ".git-credentials", "credentials.json", "secrets.yml", ".htpasswd"),
)
_OTHER_NAMES = (
    *("main.c", "app.py", "index.js", "README.md", "package.json", "config.yml", "setup.cfg", "a.toml"),
    "b.ini",
)


class TooMany(Exception):
    """There are more files than this module examines."""


def is_glob(text: str) -> bool:
    """Return whether the text has a character that may make it a glob."""
    return any(character in text for character in "*?[")


def expand(pattern: str, cwd: Path, *, dots: bool = False) -> list[str]:
    """Return the existing paths that an unquoted glob may stand for, spelled as bash spells them.

    `dots`: a `*` also matches a leading dot. Raises TooMany.
    """
    parts = pattern.split("/")
    found, left = [""], _MAX_ENTRIES
    for index, part in enumerate(parts):
        last = index == len(parts) - 1
        if not is_glob(part):
            found = [path + part + ("" if last else "/") for path in found]
            found = [path for path in found if not last or os.path.lexists(os.path.join(cwd, path))]
            continue
        regex = component_regex(part)
        deeper: list[str] = []
        for path in found:
            for name, folder in _names(os.path.join(cwd, path)):
                left -= 1
                if left < 0 or len(deeper) > MAX_MATCHES:
                    raise TooMany
                if name.startswith(".") and part.startswith("*") and not dots:
                    continue
                if regex.fullmatch(name) and (last or folder):
                    deeper.append(path + name + ("" if last else "/"))
        found = deeper
    return found


def braces(text: str) -> list[str]:
    """Return the words that bash makes of `a{b,c}d`, leaving sequences alone; the text itself if there are too many
    words."""
    found, done = [text], False
    while not done:
        done = True
        for index, word in enumerate(found):
            match = re.search(r"\{([^{}]*,[^{}]*)\}", word)
            if match:
                made = [word[: match.start()] + part + word[match.end() :] for part in match[1].split(",")]
                found[index : index + 1] = made
                done = len(found) > _MAX_BRACES
                break
    return list(dict.fromkeys(found))


@lru_cache(maxsize=512)
def component_regex(part: str) -> re.Pattern[str]:
    """Return a pattern for everything that one component of a glob may match."""
    return re.compile(_regex(part, "[^/]*"), re.DOTALL)


@lru_cache(maxsize=512)
def path_regex(glob: str) -> re.Pattern[str]:
    """Return a pattern for a glob whose stars cross slashes, as git's do; it also matches everything below a
    match."""
    return re.compile(_regex(glob, ".*") + "(?:/.*)?", re.DOTALL)


def chooses_secrets(glob: str) -> bool:
    """Return whether a glob selects secrets: it looks like a secret's name, or matches such names but no
    everyday name."""
    for word in braces(glob.rstrip("/")):
        name = word.rpartition("/")[2]
        regex = path_regex(name)
        if looks_secret(word) or (
            any(map(regex.fullmatch, _SECRET_NAMES)) and not any(map(regex.fullmatch, _OTHER_NAMES))
        ):
            return True
    return False


def _regex(text: str, star: str) -> str:
    out, at = list[str](), 0
    while at < len(text):
        if bracket := _BRACKET.match(text, at):
            inner = re.sub(r"([\\&~|^\[])", r"\\\1", bracket[2])
            try:
                re.compile(f"[{inner}]")
            except re.error:
                inner = r"\w\W"
            out.append("[^/]" if bracket[1] else f"(?i:[{inner}])")
            at = bracket.end()
            continue
        character = text[at]
        if character == "*":
            out += [star] if out[-1:] != [star] else []
        elif character == "?":
            out.append("[^/]")
        elif character == "[":  # a bracket in an unknown form may match anything from here on
            return without_backtracking(out, star) + ".*"
        elif character == "\\" and at + 1 < len(text):
            at += 1
            out.append(re.escape(text[at]))
        else:
            out.append(re.escape(character))
        at += 1
    return without_backtracking(out, star)


def _names(folder: str) -> Iterator[tuple[str, bool]]:
    try:
        with os.scandir(folder or "/") as entries:
            for entry in entries:
                yield entry.name, is_folder(entry)
    except OSError:
        return
