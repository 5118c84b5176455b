"""Classifies a path: inside the workspace or not, a secret, or a place whose files start programs.

A path is judged by every interpretation that a tool, a shell or the kernel could give it, and by where each really
leads. A path that cannot be resolved raises `Unresolvable`; it is never judged by its text.
"""

import os
import re
import stat
import unicodedata
from dataclasses import dataclass
from pathlib import Path

_MAX_LINKS = 40
"""Linux's own limit on symbolic links in one path."""

SYSTEM_READABLE = (
    *("/usr/include", "/usr/local/include", "/usr/lib", "/usr/local/lib"),
    *("/opt/homebrew/include", "/opt/homebrew/lib"),
)
"""Readable without asking although outside the workspace: installed packages, without user data."""

_SECRET_FOLDERS = frozenset({".ssh", ".aws", ".gnupg", ".azure", ".kube", ".password-store", "keychains"})
_SECRET_NAMES = re.compile(
    r"""\.env.* | .*\.env | .*\.(pem|key|p12|pfx|jks|keystore|kdbx|ppk) | id_(rsa|dsa|ecdsa|ed25519).*
    | [._]netrc | \.(pgpass|npmrc|pypirc|git-credentials|htpasswd|vault-token|my\.cnf|boto|s3cfg|dockercfg)
    | \.(bash|zsh|sh|python|node_repl|psql|mysql)_history
    | \.?credentials(\.(json|toml|ya?ml|ini|xml|db|csv|txt))? | \.?secrets?\.(json|toml|ya?ml|ini)
    | service[-_]?account.*\.json | client_secrets?.*\.json | application_default_credentials\.json""",
    re.VERBOSE,
)
_NOT_SECRET = re.compile(r"\.env.*\.(example|sample|template|dist)")
_SECRET_PATHS = re.compile(
    r"""/proc/[^/]+(/task/[^/]+)?/(environ|mem|auxv|cmdline|fd|fdinfo)(/.*)? | /proc/kcore | /dev/k?mem
    | /etc/(g?shadow-?|sudoers|ssl/private)(/.*)? | /private/etc/(master\.passwd|sudoers)
    | .*/\.docker/config\.json | .*/\.config/(gcloud|gh|hub|op)(/.*)?""",
    re.VERBOSE,
)
_STARTS_PROGRAMS = frozenset(
    {
        *(".git", "git~1", ".gitmodules", ".prunecli", ".claude", ".cursor", ".codex", ".mcp.json", ".husky"),
        *(
            ".vscode",
            ".idea",
            ".devcontainer",
            ".envrc",
            ".direnv",
            ".tool-versions",
            ".mise.toml",
            "mise.toml",
        ),
        *(".python-version", ".node-version", ".ruby-version", "rust-toolchain", "rust-toolchain.toml"),
        *(".bashrc", ".bash_profile", ".bash_login", ".profile", ".zshrc", ".zshenv", ".zprofile"),
        *(".gitconfig", ".config", ".ssh"),
    }
)
"""Files and folders from which git, a shell, an editor, a version manager or an agent starts programs later."""
_PROC_LINK = re.compile(r"/+proc/+[^/]+(?:/+task/+[^/]+)?/+(cwd|root)(?=/|$)")


class Unresolvable(Exception):
    """The path can't be resolved; `why` is the reason."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path!r}: {why}")
        self.path = path
        self.why = why


@dataclass(frozen=True, slots=True)
class Place:
    """The places that a given path may lead to.

    `ends` are the real paths of all its interpretations (usually one), `spellings` all its absolute paths: as
    written, the links on the way, and the ends. `by_name`: it starts with `~` or `$`.
    """

    ends: tuple[str, ...]
    spellings: tuple[str, ...]
    by_name: bool

    @property
    def real(self) -> str:
        """The real path that the kernel finds for the path as written."""
        return self.ends[0]


def resolve(text: str, cwd: Path, home: Path) -> Place:
    """The place of a path that starts in `cwd`. Raises Unresolvable (links in a loop, no access, too long)."""
    readings = [os.path.join(cwd, text)]
    if text == "~" or text.startswith("~/"):
        readings.insert(0, str(home) + text[1:])
    elif text.startswith("~"):
        raise Unresolvable(text, "unknown home folder")
    if not text or "\0" in text:
        raise Unresolvable(text, "not a path")
    if found := _PROC_LINK.match(readings[0]):
        # For a child, /proc/self/cwd is the child's directory, not this process's.
        readings.append((str(cwd) if found[1] == "cwd" else "/") + readings[0][found.end() :])
    ends: list[str] = []
    spellings: list[str] = []
    for reading in readings:
        for path in (reading, os.path.normpath(reading)):
            end, passed = _follow(path)
            ends.append(end)
            spellings += [_normal(reading), *passed, end]
    return Place(_unique(ends), _unique(spellings), text[0] in "~$")


def real_path(path: Path) -> str:
    """The real path of an absolute path. Raises Unresolvable."""
    return _follow(str(path))[0]


def lies_in(path: str, folder: str) -> bool:
    """Whether an absolute normal path is the folder or below it, by whole components."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def is_inside(place: Place, workspace: Path) -> bool:
    """Whether every interpretation of the path leads into the workspace; one that starts with ~ or $ never does."""
    root = real_path(workspace)
    return not place.by_name and all(lies_in(end, root) for end in place.ends)


def is_secret(place: Place, secrets: tuple[Path, ...] = ()) -> bool:
    """Whether any spelling is a usual place of credentials; `secrets` adds prunecli's own files and folders."""
    own = [real_path(path) for path in secrets]
    return any(
        looks_secret(spelling) or any(lies_in(spelling, path) for path in own) for spelling in place.spellings
    )


def looks_secret(path: str) -> bool:
    """Whether the path is a usual place of credentials, ignoring case."""
    parts = [folded(part) for part in path.split("/") if part]
    if not parts:
        return False
    if not _SECRET_FOLDERS.isdisjoint(parts):
        return True
    if _SECRET_NAMES.fullmatch(parts[-1]) and not _NOT_SECRET.fullmatch(parts[-1]):
        return True
    return bool(_SECRET_PATHS.fullmatch("/" + "/".join(parts)))


def is_protected(place: Place, workspace: Path) -> bool:
    """Whether a file there could start a program later: `.git`, `.prunecli` and the like, ignoring case."""
    roots = {os.path.normpath(workspace), real_path(workspace)}
    return any(
        starts_programs(spelling[len(root) :])
        for spelling in place.spellings
        for root in roots
        if lies_in(spelling, root)
    )


def starts_programs(path: str) -> bool:
    """Whether a component of the path is a folder whose files start programs."""
    return any(folded(part) in _STARTS_PROGRAMS for part in path.split("/"))


def is_system(place: Place) -> bool:
    """Whether it is outside the workspace but may be read without asking."""
    return not place.by_name and all(
        end == "/dev/null" or any(lies_in(end, folder) for folder in SYSTEM_READABLE) for end in place.ends
    )


def reading_doubt(place: Place, workspace: Path, secrets: tuple[Path, ...] = ()) -> str:
    """Why reading there needs approval, such as "may contain secrets", or ""."""
    if is_secret(place, secrets):
        return "may contain secrets"
    if not is_inside(place, workspace) and not is_system(place):
        return "is outside the workspace"
    return ""


def folded(component: str) -> str:
    """A name as the most tolerant file system compares it: without case, invisible characters and trailing dots."""
    if component.isascii():
        text = component.lower()
    else:
        visible = "".join(part for part in component if unicodedata.category(part) != "Cf")
        text = unicodedata.normalize("NFC", visible.casefold())
    return text.rstrip(". ") or text


def _follow(path: str) -> tuple[str, list[str]]:
    """The path with every link followed, and the spellings on the way. Missing parts stay as written."""
    pending = path.split("/")[::-1]
    done, links = "/", 0
    passed: list[str] = []
    while pending:
        part = pending.pop()
        if part in ("", "."):
            continue
        if part == "..":
            done = os.path.dirname(done)
            continue
        here = os.path.join(done, part)
        try:
            target = os.readlink(here) if stat.S_ISLNK(os.lstat(here).st_mode) else None
        except (FileNotFoundError, NotADirectoryError):
            target = None
        except (OSError, ValueError) as error:
            raise Unresolvable(path, getattr(error, "strerror", None) or "not a path") from None
        if target is None:
            done = here
            continue
        links += 1
        if links > _MAX_LINKS:
            raise Unresolvable(path, "too many symbolic links")
        passed.append(_normal(os.path.join(here, *reversed(pending))))
        if target.startswith("/"):
            done = "/"
        pending.extend(target.split("/")[::-1])
    return done, passed


def _normal(path: str) -> str:
    """The path without `.`, `..` and doubled slashes, by text alone."""
    return "/" + os.path.normpath(path).lstrip("/")


def _unique(texts: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))
