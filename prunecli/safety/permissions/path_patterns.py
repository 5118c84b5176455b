"""The patterns of paths: those of permission rules, and the globs of a command line.

A rule's pattern is `src/**`, `~/.ssh/**`, `.env`, `*.pem`.

`~/` starts at home, `/` at the root, anything else at the workspace; `*`, `?` and `[...]` stay within a component,
`**` spans any number. A pattern without a slash matches at any depth. Deny and ask rules match as widely as any file
system could (ignoring case, everything below, at any place); allow rules match exactly.
"""

import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from prunecli.safety.permissions.places import Place, TooMany, Unresolvable, real_path, starts_programs
from prunecli.tools.files.secret_paths import folded, looks_secret
from prunecli.tools.searching.glob import without_backtracking
from prunecli.tools.searching.names import is_folder

_MAX_SEARCHED = 5000
"""Maximum directory entries to check for another hard link of a denied file."""
_MAX_BELOW = 20_000
"""Maximum files to check for a denied one below a searched folder."""


def flaw(pattern: str) -> str:
    """Return the error in a pattern, or ""."""
    if not pattern.isprintable():
        return "its path contains a control or invisible character"
    if ".." in pattern.split("/"):
        return "its path contains .."
    if pattern.startswith("$") or (pattern.startswith("~") and not (pattern + "/").startswith("~/")):
        return "variables and other users' homes are not expanded"
    try:
        for part in pattern.split("/"):
            re.compile(_component(part))
    except re.error:
        return "its bracket range is reversed"
    return ""


def matches(pattern: str, place: Place, workspace: Path, home: Path) -> bool | None:
    """Return whether a deny or ask rule matches the place under any of its spellings.

    A file with several hard links matches if any of its names does; None if there are too many to check.
    """
    regexes = _wide(pattern, workspace, home)
    if any(regex.fullmatch(_folded_path(spelling)) for regex in regexes for spelling in place.spellings):
        return True
    answers = [_has_named_twin(end, pattern, regexes, workspace, home) for end in place.ends]
    return True if True in answers else None if None in answers else False


def namer(patterns: Sequence[str], workspace: Path, home: Path) -> Callable[[str], bool]:
    """Return a test whether deny rules match a path by its text alone, as widely as `matches` does."""
    regexes = [regex for pattern in patterns for regex in _wide(pattern, workspace, home)]
    return lambda path: any(regex.fullmatch(_folded_path(path)) for regex in regexes)


def fixed_path(pattern: str, workspace: Path, home: Path) -> str:
    """Return the one path that a pattern names, with or without everything below it; "" for patterns with other
    wildcards."""
    bases = _anchored(pattern, workspace, home)
    return bases[0][0] if bases and bases[0][1] in ([], ["**"]) else ""


def allows(pattern: str, place: Place, workspace: Path, home: Path, sensitive: bool) -> bool:
    """Return whether an allow rule, matched exactly as spelled, covers everything that the place leads to.

    A sensitive place (a secret, or one from which programs start) needs a rule that names its sensitive part:
    `edit(**)` does not cover `.git/config`, but `edit(.git/**)` and `edit(.git/config)` do.
    """
    bases = _anchored(pattern, workspace, home)
    if sensitive and not (looks_secret(pattern) or starts_programs(pattern)):
        fixed = {base for base, parts in bases if not parts}
        return fixed.issuperset(place.ends)
    below = "" if is_glob(pattern.rstrip("/").rpartition("/")[2]) else "(?:/.*)?"
    regexes = [_compiled(re.escape(base) + _tail(parts, "/.+") + below) for base, parts in bases]
    return all(any(regex.fullmatch(end) for regex in regexes) for end in place.ends)


def named_below(pattern: str, place: Place, workspace: Path, home: Path) -> bool:
    """Return whether a denied file lies below the place, so that a search there could show it.

    Return True as well if there are too many files to check. Search tools leave out files whose own names look
    secret.
    """
    if looks_secret(pattern) and not is_glob(pattern):
        return False
    named = namer([pattern], workspace, home)
    left = _MAX_BELOW
    for base, _ in _anchored(pattern, workspace, home):
        fixed = _folded_path(base) + "/"
        for end in place.ends:
            folder = _folded_path(end).rstrip("/") + "/"
            if not fixed.startswith(folder) and not folder.startswith(fixed):
                continue
            for path in _files(base if fixed.startswith(folder) else end):
                left -= 1
                if left < 0 or (named(path) and not looks_secret(path)):
                    return True
    return False


def _folded_path(path: str) -> str:
    return "/".join(map(folded, path.split("/")))


def is_glob(text: str) -> bool:
    """Return whether the text has a character that may make it a glob."""
    return any(character in text for character in "*?[")


def _anchored(pattern: str, workspace: Path, home: Path) -> list[tuple[str, list[str]]]:
    """Return the pattern as (fixed folder, components from the first wildcard on), both as written and with links
    followed."""
    written = pattern.rstrip("/")
    if written == "~" or written.startswith("~/"):
        root, written = str(home), written[1:]
    elif pattern.startswith("/"):
        root = ""
    else:
        root = str(workspace)
        if "/" not in written:
            written = "**/" + written
    parts = [part for part in written.split("/") if part not in ("", ".")]
    count = next((index for index, part in enumerate(parts) if is_glob(part)), len(parts))
    base = "/".join([root.rstrip("/"), *parts[:count]])
    bases = {base}
    try:
        bases.add(real_path(Path(base or "/")).rstrip("/"))
    except Unresolvable:
        pass  # The place itself was already resolved before this; a rule's folder may be unreadable.
    return [(text, parts[count:]) for text in sorted(bases)]


def _wide(pattern: str, workspace: Path, home: Path) -> list[re.Pattern[str]]:
    texts = [
        re.escape(_folded_path(base)) + _tail(list(map(folded, parts)), "(?:/.*)?") + "(?:/.*)?"
        for base, parts in _anchored(pattern, workspace, home)
    ]
    if "/" not in pattern.rstrip("/"):
        texts.append("(?:/.*)?/" + _component(folded(pattern.rstrip("/"))) + "(?:/.*)?")
    return [_compiled(text) for text in texts]


@lru_cache(maxsize=1024)
def _compiled(text: str) -> re.Pattern[str]:
    return re.compile(text, re.DOTALL)


def _tail(parts: list[str], last: str) -> str:
    out = list[str]()
    for index, part in enumerate(parts):
        if part == "**":
            out.append(last if index == len(parts) - 1 else "(?:/[^/]+)*")
        else:
            out.append(f"/{_component(part)}(?![^/])")
    return without_backtracking(out, "(?:/[^/]+)*")


@lru_cache(maxsize=512)
def _component(text: str, *, wide: bool = False) -> str:
    """Return one component of a pattern as a regular expression; an unclosed bracket is a plain character.

    `wide`: it matches at least all that a shell's glob may match. A bracket ignores case, one with a range or a
    negation stands for any character, since they depend on the locale, and one in an unknown form for any rest.
    """
    out, at = list[str](), 0
    while at < len(text):
        character = text[at]
        negated = text[at + 1 : at + 2] in ("!", "^")
        end = text.find("]", at + 2 + negated) if character == "[" else -1
        inner = re.sub(r"([\\\[\]&~|^])", r"\\\1", text[at + 1 + negated : end]) if end > 0 else ""
        if character == "[" and wide and not _PLAIN_BRACKET.match(text, at):
            return without_backtracking(out, "[^/]*") + ".*"
        if end > 0:
            every = wide and (negated or "-" in inner)
            out.append("[^/]" if every else f"(?!/)(?{'i' * wide}:[{'^' * negated}{inner}])")
            at = end
        elif character == "*":
            out += ["[^/]*"] if out[-1:] != ["[^/]*"] else []
        elif character == "\\" and wide and at + 1 < len(text):
            at += 1
            out.append(re.escape(text[at]))
        else:
            out.append("[^/]" if character == "?" else re.escape(character))
        at += 1
    return without_backtracking(out, "[^/]*")


def _has_named_twin(
    end: str, pattern: str, regexes: list[re.Pattern[str]], workspace: Path, home: Path
) -> bool | None:
    try:
        status = os.stat(end)
    except OSError:
        return False
    if status.st_nlink < 2 or not stat.S_ISREG(status.st_mode):
        return False
    left = _MAX_SEARCHED
    for base, _ in _anchored(pattern, workspace, home):
        for path in _files(base or "/"):
            left -= 1
            if left < 0:
                return None
            if any(regex.fullmatch(_folded_path(path)) for regex in regexes) and _is_file(path, status):
                return True
    return False


def _is_file(path: str, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.lstat(path), status)
    except OSError:
        return False


def _files(base: str) -> Iterator[str]:
    if os.path.lexists(base) and not os.path.isdir(base):
        yield base
    for folder, _, names in os.walk(base):
        for name in names:
            yield os.path.join(folder, name)


# Globs and braces of a command line --------------------------------------------------------------------------

_MAX_MATCHES = 1000
_MAX_ENTRIES = 20_000
_MAX_BRACES = 64
_PLAIN_BRACKET = re.compile(r"\[[!^]?[\w.][\w.-]*\]", re.ASCII)


_SECRET_NAMES = (
    *(".env", ".env.local", "prod.env", "id_rsa", "id_ed25519", "server.pem", "server.key", ".netrc"),
    *(".npmrc", ".pypirc", ".git-credentials", "credentials.json", "secrets.yml", ".htpasswd"),
)
_OTHER_NAMES = (
    *("main.c", "app.py", "index.js", "README.md", "package.json", "config.yml", "setup.cfg", "a.toml"),
    "b.ini",
)


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
                if left < 0 or len(deeper) > _MAX_MATCHES:
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
    return re.compile(_component(part, wide=True), re.DOTALL)


def chooses_secrets(glob: str) -> bool:
    """Return whether a glob selects secrets: it looks like a secret's name, or matches such names but no
    everyday name."""
    for word in braces(glob.rstrip("/")):
        name = word.rpartition("/")[2]
        regex = component_regex(name)
        if looks_secret(word) or (
            any(map(regex.fullmatch, _SECRET_NAMES)) and not any(map(regex.fullmatch, _OTHER_NAMES))
        ):
            return True
    return False


def _names(folder: str) -> Iterator[tuple[str, bool]]:
    try:
        with os.scandir(folder or "/") as entries:
            for entry in entries:
                yield entry.name, is_folder(entry)
    except OSError:
        return
