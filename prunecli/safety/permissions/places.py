"""Classifies a path: inside the workspace or not, a secret, or a place whose files start programs.

A path is judged by every interpretation that a tool, a shell or the kernel could give it, and by where each really
leads. A path that cannot be resolved raises `Unresolvable`; it is never judged by its text.
"""

import os
import re
import stat
from pathlib import Path

from prunecli.tools.files.secret_paths import folded, looks_secret
from prunecli.util.frozen import frozen
from prunecli.util.regular import open_regular

_MAX_LINKS = 40
"""Linux's own limit on symbolic links in one path."""

SYSTEM_READABLE = (
    *("/usr/include", "/usr/local/include", "/usr/lib", "/usr/local/lib"),
    *("/opt/homebrew/include", "/opt/homebrew/lib"),
)
"""Folders outside the workspace that may be read without asking: installed packages, without user data."""


def set_of(words: str) -> frozenset[str]:
    return frozenset(words.split())


_STARTS_PROGRAMS = set_of(
    ".git git~1 .gitmodules .gitattributes .gitconfig .husky .githooks lefthook.yml lefthook.yaml "
    ".lefthook.yml .lefthook.yaml hgrc .prunecli .claude .cursor .codex .gemini .opencode .aider.conf.yml "
    ".mcp.json agents.md claude.md gemini.md .cursorrules .windsurfrules .clinerules .windsurf "
    "claude.local.md .agents .amazonq .continue .copilot .goosehints .junie .kiro .roo .rules opencode.json "
    "opencode.jsonc .vscode .idea .zed .fleet .devcontainer .vimrc .exrc .nvim.lua .dir-locals.el .envrc "
    ".direnv .tool-versions .mise.toml mise.toml .mise .editorconfig .python-version .node-version .nvmrc "
    ".ruby-version rust-toolchain rust-toolchain.toml .bashrc .bash_profile .bash_login .profile .zshrc "
    ".zshenv .zprofile .inputrc .bash_aliases .bash_logout .zlogin .zlogout .pdbrc .irbrc .pythonrc "
    "mise.local.toml .mise.local.toml azure-pipelines.yml bitbucket-pipelines.yml .drone.yml .buildkite "
    ".woodpecker .woodpecker.yml .gdbinit .lldbinit .config .ssh .circleci .gitlab-ci.yml jenkinsfile "
    ".travis.yml package.json .cargo .npmrc .yarnrc .yarnrc.yml .yarn .pnpmfile.cjs bunfig.toml .bazelrc "
    ".pre-commit-config.yaml .pre-commit-hooks.yaml sitecustomize.py usercustomize.py node_modules .venv venv "
    "site-packages .mvn .gradle pip.conf .pypirc"
)
"""Files and folders that control other programs: git, shells, editors, package managers, build servers, agents.

`package.json` is included because an install runs its lifecycle scripts.
"""
_BUILT = frozenset({"node_modules", ".venv", "venv", "site-packages", ".gradle"})
"""Folders that builds and tests write to frequently."""
_ONLY_AT_TOP = frozenset({"package.json"})
"""Files that builds copy to other folders."""
_OBEYED_PATHS = re.compile(
    r"(?:.*/)?\.(?:github|gitea|forgejo)/(?:workflows|actions|agents|hooks|instructions|prompts"
    r"|copilot-instructions\.md)(?:/.*)?|.*\.(?:pth|code-workspace)"
)
_PROC_LINK = re.compile(r"/+proc/+[^/]+(?:/+task/+[^/]+)?/+(cwd|root)(?=/|$)")
_GIT_CONFIGS = frozenset({".gitconfig", "gitconfig", ".gitmodules", "config.worktree"})
CREDENTIALS = r"""(?ix)
    ://[^/\s@]*:[^/\s@]*@ | https?://(?![a-z][\w.-]{0,17}@)[^/\s@]+@
    | [?&][\w-]*(?:token|key|secret|pass|auth)[\w-]*=
    | (?:token|(?<!ask)pass|secret|extraheader|api-?key)[\w-]*\s*=\s*\S
    | gh[pousr]_\w{16} | github_pat_\w | glpat-\w | xox[abp]-\w | AKIA[0-9A-Z]{12}"""
"""A URL with a password, or with a user name so long that it may be a token; settings and values that are secrets."""
_MAX_BYTES = 1_000_000


class TooMany(Exception):
    """There are more files than a judgment examines."""


class Unresolvable(Exception):
    """The path can't be resolved; `why` is the reason."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path!r}: {why}")
        self.path = path
        self.why = why


@frozen
class Place:
    """The places that a given path may lead to.

    `ends` are the real paths of all its interpretations (usually one). `spellings` are all its absolute paths: as
    written, the links on the way, and the ends. `by_name`: the path starts with `~` or `$`.
    """

    ends: tuple[str, ...]
    spellings: tuple[str, ...]
    by_name: bool

    @property
    def real(self) -> str:
        """The real path that the kernel finds for the path as written."""
        return self.ends[0]


def resolve(text: str, cwd: Path, home: Path) -> Place:
    """Return the place of a path that starts in `cwd`. Raises Unresolvable (links in a loop, no access, too long)."""
    readings = [os.path.join(cwd, text)]
    if text == "~" or text.startswith("~/"):
        readings.insert(0, str(home) + text[1:])
    elif text.startswith("~"):
        raise Unresolvable(text, "unknown home folder")
    if not text or "\0" in text:
        raise Unresolvable(text, "not a path")
    if match := _PROC_LINK.match(readings[0]):
        # For a child, /proc/self/cwd is the child's directory, not this process's.
        readings.append((str(cwd) if match[1] == "cwd" else "/") + readings[0][match.end() :])
    ends: list[str] = []
    spellings: list[str] = []
    for reading in readings:
        for path in _unique([reading, os.path.normpath(reading)]):
            end, passed = _follow(path)
            ends.append(end)
            spellings += [_normal(reading), *passed, end]
    return Place(_unique(ends), _unique(spellings), text[0] in "~$")


def real_path(path: Path) -> str:
    """Return the real path of an absolute path. Raises Unresolvable."""
    return _follow(str(path))[0]


def lies_in(path: str, folder: str) -> bool:
    """Return whether an absolute normal path is the folder or lies below it, comparing whole components."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def is_inside(place: Place, workspace: Path) -> bool:
    """Return whether every interpretation of the path leads into the workspace; one that starts with ~ or $ never
    does."""
    root = real_path(workspace)
    return not place.by_name and all(lies_in(end, root) for end in place.ends)


def is_secret(place: Place, secrets: tuple[Path, ...] = ()) -> bool:
    """Return whether any spelling is a usual location of credentials. `secrets` adds prunecli's own files and
    folders."""
    own = [real_path(path) for path in secrets]
    return any(
        looks_secret(spelling) or any(lies_in(spelling, path) for path in own) for spelling in place.spellings
    )


def holds_credentials(path: str) -> bool:
    """Return whether a path is a configuration file of git with a password or token, as in `https://user:x@host`, or
    the folder with such a file."""
    name = os.path.basename(path).lower()
    if name == ".git":
        return holds_credentials(os.path.join(path, "config"))
    if name not in _GIT_CONFIGS and not (name == "config" and re.search(r"(?i)/\.?git/", path)):
        return False
    try:
        return re.search(CREDENTIALS, small_text(Path(path))) is not None
    except (OSError, ValueError):
        return os.path.isfile(path)


def small_text(path: Path) -> str:
    """Return the text of a small regular file. Raises ValueError for a large one, OSError for anything else."""
    with open_regular(path) as file:
        if os.fstat(file.fileno()).st_size > _MAX_BYTES:
            raise ValueError("not a small regular file")
        return os.fsdecode(file.read())


def is_protected(place: Place, workspace: Path) -> bool:
    """Return whether the place controls other programs: `.git`, `AGENTS.md` and the like, ignoring case."""
    roots = {os.path.normpath(workspace), real_path(workspace)}
    return any(
        starts_programs(spelling[len(root) :])
        for spelling in place.spellings
        for root in roots
        if lies_in(spelling, root)
    )


def starts_programs(path: str) -> bool:
    """Return whether the file or a folder above it controls other programs."""
    parts = [folded(part) for part in path.split("/")]
    return not _STARTS_PROGRAMS.isdisjoint(parts) or _OBEYED_PATHS.fullmatch("/".join(parts)) is not None


def is_kept_inside(path: str) -> bool:
    """Return whether a sandbox keeps a path of the workspace read-only unless the user allowed the command.

    `path` is relative. The result is True for a file or folder that controls other programs, but not for the contents
    of the folder.
    """
    above, _, name = folded(path).rpartition("/")
    if name in _STARTS_PROGRAMS:
        return name not in _BUILT and not (above and name in _ONLY_AT_TOP)
    return bool(_OBEYED_PATHS.fullmatch(folded(path))) and not _OBEYED_PATHS.fullmatch(above)


def lies_in_kept(path: str) -> bool:
    """Return whether `is_kept_inside` is true for a relative path or a folder above it."""
    parts = path.removeprefix("./").split("/")
    return any(is_kept_inside("/".join(parts[:count])) for count in range(1, len(parts) + 1))


def is_system(place: Place) -> bool:
    """Return whether a place outside the workspace may be read without asking."""
    return not place.by_name and all(
        end == "/dev/null" or any(lies_in(end, folder) for folder in SYSTEM_READABLE) for end in place.ends
    )


def _follow(path: str) -> tuple[str, list[str]]:
    """Return the path with every link followed, and the spellings on the way. Missing parts stay as written."""
    pending = path.split("/")[::-1]
    done, links = "", 0  # the root is ""
    passed: list[str] = []
    while pending:
        part = pending.pop()
        if part in ("", "."):
            continue
        if part == "..":
            done = done.rpartition("/")[0]
            continue
        here = f"{done}/{part}"
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
            done = ""
        pending.extend(target.split("/")[::-1])
    return done or "/", passed


def _normal(path: str) -> str:
    """Return the path without `.`, `..` and doubled slashes, by text alone."""
    return "/" + os.path.normpath(path).lstrip("/")


def _unique(texts: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))
