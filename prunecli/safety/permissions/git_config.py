"""Checks whether read-only git commands can run in a folder without starting a program chosen by the repository.

Two safeguards: `neutral_git_environment` overrides settings with a fixed name (fsmonitor, hooks, pagers). The
repository chooses the names of filters, textconv and external diffs, and no setting turns all of them off. So
`repository_doubt` reads the configuration that git would read, and rejects every key that is not known to be plain
data.
"""

import os
import re
import stat
from pathlib import Path

from prunecli.util.regular import read_regular

_MAX_CONFIG = 1_000_000
_MAX_INDEX = 100_000_000
_GITLINK = (0o160000).to_bytes(4, "big")
"""The mode of a submodule's entry, as stored in every version of the index."""

_HEADER = re.compile(r'\[([A-Za-z0-9-]+)(?:[ \t]+"([^"\\]*)")?\]')
_KEY = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=[^\\]*)?")
_DATA = {
    "core": "repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf "
    "eol safecrlf longpaths untrackedcache quotepath abbrev commitgraph multipackindex preloadindex protecthfs "
    "protectntfs trustctime checkstat sharedrepository hookspath excludesfile whitespace "
    "sparsecheckout sparsecheckoutcone commentchar commentstring splitindex",
    "extensions": "objectformat worktreeconfig refstorage relativeworktrees preciousobjects noop",
    "remote": "url pushurl fetch push tagopt prune prunetags gh-resolved skipdefaultupdate skipfetchall",
    "submodule": "url active branch",
    "user": "name email signingkey",
    "init": "defaultbranch",
    "pull": "rebase ff",
    "push": "default autosetupremote followtags",
    "fetch": "prune prunetags",
    "rebase": "autosquash autostash",
    "rerere": "enabled autoupdate",
    "commit": "gpgsign",
    "tag": "gpgsign",
    "diff": "algorithm renames colormoved mnemonicprefix noprefix context",
    "status": "showuntrackedfiles short branch",
    "lfs": "repositoryformatversion access locksverify url pushurl fetchinclude fetchexclude concurrenttransfers",
    "filter": "clean smudge process required",
    "credential": "helper username usehttppath",
    "http": "sslverify proxy extraheader postbuffer sslcainfo version cookiefile",
    "merge": "ff conflictstyle driver name recursive tool renames log stat",
    "index": "version sparse threads",
    "feature": "manyfiles experimental",
    "checkout": "defaultremote guess workers",
    "blame": "ignorerevsfile date coloring",
    "log": "date decorate follow abbrevcommit",
    "gpg": "format",
    "help": "autocorrect",
    "safe": "directory",
    "maintenance": "auto strategy",
}
"""Keys whose values git never runs, includes or follows in commands that only read, with or without a subsection.

Settings for hooks (as written by husky), git-lfs and credential helpers do name programs; `git_settings` switches
them off.
"""
_ANY_KEY = frozenset(
    {"branch", "color", "advice", "gui", "gc", "pack", "gitflow", "husky", "vscode-merge-base"}
)
_SUBSECTIONS = frozenset(
    {"remote", "submodule", "branch", "color", "credential", "http", "merge", "lfs", "gitflow"}
)
_OVERRIDDEN_FILTERS = frozenset({"lfs"})

_FILES = frozenset({".gitconfig", "gitconfig", ".gitmodules", "config.worktree"})
_GIT_FOLDER = re.compile(r"/\.?git/", re.IGNORECASE)
_SYSTEM = (Path("/etc/gitconfig"), Path("/usr/local/etc/gitconfig"), Path("/opt/homebrew/etc/gitconfig"))
_INCLUDED = re.compile(r'(?:^|\])[ \t]*path[ \t]*=[ \t]*"?([^"\n]+)', re.MULTILINE | re.IGNORECASE)
_CREDENTIALS = r"""(?ix)
    ://[^/\s@]*:[^/\s@]*@ | https?://(?![a-z][\w.-]{0,17}@)[^/\s@]+@
    | [?&][\w-]*(?:token|key|secret|pass|auth)[\w-]*=
    | (?:token|(?<!ask)pass|secret|extraheader|api-?key)[\w-]*\s*=\s*\S
    | gh[pousr]_\w{16} | github_pat_\w | glpat-\w | xox[abp]-\w | AKIA[0-9A-Z]{12}"""
"""A URL with a password, or with a user name so long that it may be a token; settings and values that are secrets."""

_OVERRIDES = {
    "core.fsmonitor": "false",
    "core.pager": "cat",
    "core.alternateRefsCommand": "false",
    "diff.autoRefreshIndex": "false",
    "diff.submodule": "short",
    "gc.auto": "0",
    "log.showSignature": "false",
    "maintenance.auto": "false",
    "safe.bareRepository": "explicit",
    "status.submoduleSummary": "false",
    "submodule.recurse": "false",
}


_READING = {
    "credential.helper": "",
    "filter.lfs.clean": "",
    "filter.lfs.process": "",
    "filter.lfs.required": "false",
    "filter.lfs.smudge": "",
}
"""Settings that turn off programs needed only for writing or reaching a server. An empty filter passes content
unchanged."""


def neutral_git_environment(*, hooks: bool = False) -> dict[str, str]:
    """Return environment variables that keep git from starting programs that a repository names under a fixed key.

    Add them to an environment without other GIT_ variables. `hooks` keeps the repository's hooks, for commands that
    the user has approved.
    """
    return {
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_PAGER": "cat",
        "GIT_TERMINAL_PROMPT": "0",
        **git_settings(hooks=hooks),
    }


def git_settings(*, hooks: bool = False, reading: bool = False) -> dict[str, str]:
    """Return the variables that override settings of a repository. `reading`: the command only reads."""
    overrides = {**_OVERRIDES, **(_READING if reading else {})}
    if not hooks:
        overrides["core.hooksPath"] = "/dev/null"
    variables = {"GIT_CONFIG_COUNT": str(len(overrides))}
    for index, (key, value) in enumerate(overrides.items()):
        variables[f"GIT_CONFIG_KEY_{index}"] = key
        variables[f"GIT_CONFIG_VALUE_{index}"] = value
    return variables


def repository_doubt(start: Path, *, reads_worktree: bool) -> str:
    """Return why a git command that only reads might start a program of the repository, or "".

    `start` is a real path. Every folder above is checked, not only the first repository, since git skips repositories
    that look damaged. `reads_worktree`: the command also enters submodules, which have their own configuration.
    """
    for folder in (start, *start.parents):
        if folder.name.lower() == ".git":
            return "it runs inside a .git folder"
        bare = os.path.lexists(folder / "objects") and os.path.lexists(folder / "refs")
        if os.path.lexists(folder / "HEAD") and (bare or os.path.lexists(folder / "commondir")):
            return f"git may take {folder} for a bare repository"
        if os.path.lexists(folder / ".git") and (doubt := _git_doubt(folder / ".git", reads_worktree)):
            return doubt
    return ""


def config_doubt(text: str) -> str:
    """Return the first key of a git configuration that is not known to be plain data, or ""."""
    section = subsection = None
    for number, line in enumerate(text.split("\n"), 1):
        content = line.strip(" \t\r")
        if not content or content[0] in "#;":
            continue
        if header := _HEADER.fullmatch(content):
            section, subsection = header[1].lower(), header[2]
            if section not in _DATA and section not in _ANY_KEY:
                return f"the section [{section}] may start programs"
            if section == "filter" and subsection in _OVERRIDDEN_FILTERS:
                continue
            if section == "filter" or (subsection is not None and section not in _SUBSECTIONS):
                return f'the section [{section} "{subsection}"] may start programs'
            continue
        key = _KEY.fullmatch(content)
        if not key or section is None:
            return f"line {number} can't be checked"
        if section not in _ANY_KEY and key[1].lower() not in _DATA[section].split():
            return f"{section}.{key[1]} may start programs"
    return ""


def holds_credentials(path: str) -> bool:
    """Return whether a path is a configuration file of git with a password or token, as in `https://user:x@host`, or
    the folder with such a file."""
    name = os.path.basename(path).lower()
    if name == ".git":
        return holds_credentials(os.path.join(path, "config"))
    if name not in _FILES and not (name == "config" and _GIT_FOLDER.search(path)):
        return False
    try:
        return re.search(_CREDENTIALS, _read(Path(path))) is not None
    except (OSError, ValueError):
        return os.path.isfile(path)


def printed_credentials(start: Path, home: Path) -> str:
    """Return the first configuration file with credentials that git reads in a folder, or "".

    Raises OSError or ValueError for a file that can't be read.
    """
    pending = [*_SYSTEM, home / ".gitconfig", home / ".config/git/config"]
    pending.append(Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "git/config")
    git = next((up / ".git" for up in (start, *start.parents) if os.path.lexists(up / ".git")), None)
    if git:
        folder, common = _git_folders(git)
        pending += [common / "config", folder / "config.worktree", common / "config.worktree"]
    seen = set[Path]()
    while pending:
        path = pending.pop()
        if path in seen or not os.path.exists(path):
            continue
        seen.add(path)
        text = _read(path)
        if re.search(_CREDENTIALS, text):
            return str(path)
        pending += [path.parent / re.sub("^~/", f"{home}/", name.strip()) for name in _INCLUDED.findall(text)]
    return ""


def _git_folders(git: Path) -> tuple[Path, Path]:
    """Return the folder that `.git` stands for, and the one that its repository shares among work trees."""
    folder = common = git_folder(git)
    if _exists(folder / "commondir"):
        common = _folder(folder / _read(folder / "commondir").rstrip("\r\n"))
    return folder, common


def _git_doubt(git: Path, reads_worktree: bool) -> str:
    try:
        folder, common = _git_folders(git)
        for path in (common / "config", folder / "config.worktree", common / "config.worktree"):
            if _exists(path) and (doubt := config_doubt(_read(path))):
                return f"{path}: {doubt}"
        if _exists(common / "hooks" / "post-index-change"):
            return f"{common}/hooks has a post-index-change hook"
        if reads_worktree and _has_submodules(folder):
            return "the repository has submodules, each with its own configuration"
    except (OSError, ValueError) as error:
        return f"{git}: {getattr(error, 'strerror', None) or error}"
    return ""


def git_folder(git: Path) -> Path:
    """Return the folder that `.git` stands for: the path itself, or the folder named in a file as `gitdir: PATH`.

    Raises ValueError, OSError.
    """
    if os.path.isdir(git):
        return git
    text = _read(git)
    if not text.startswith("gitdir: "):
        raise ValueError("neither a folder nor a gitdir file")
    return _folder(git.parent / text.removeprefix("gitdir: ").rstrip("\r\n"))


def _folder(path: Path) -> Path:
    if not stat.S_ISDIR(os.stat(path).st_mode):
        raise ValueError(f"{path} is not a folder")
    return path


def _exists(path: Path) -> bool:
    """Return whether the path exists, broken links included. Raises OSError if that cannot be determined."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return False
    return True


def _has_submodules(folder: Path) -> bool:
    """Return whether the index may contain a submodule: it has the bytes of the mode, or is split or too large."""
    if any(name.startswith("sharedindex.") for name in os.listdir(folder)):
        return True
    index = folder / "index"
    if not _exists(index):
        return False
    if index.stat().st_size > _MAX_INDEX:
        return True
    return _GITLINK in read_regular(index)


def _read(path: Path) -> str:
    """Return the text of a small regular file. Raises ValueError for anything else, OSError as usual."""
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_CONFIG:
        raise ValueError("not a small regular file")
    return path.read_bytes().decode("utf-8", "surrogateescape")
