"""Decides which files a sandboxed command can write, only read, or not see. Reads the disk, never writes."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from prunecli.frozen import frozen
from prunecli.sandbox.scan import Found, SecretScan
from prunecli.sandbox.sockets import unix_sockets
from prunecli.tools.processes.command import INTERPRETER

PROTECTED = (".git", ".prunecli", ".claude", ".mcp.json")
"""Files and folders that can start programs in the workspace: always read-only, and commands cannot create them."""
GIT_STARTS_PROGRAMS = ("hooks", "config")
"""The parts of `.git` that stay read-only even for git commands that may write to `.git`."""
GIT_REDIRECTS = ("commondir", "config.worktree")
"""Files of a git folder that make git read more configuration, or another folder's: read-only, and removed if new."""
PRIVATE = ("/tmp", "/var/tmp", "/run", "/dev")  # noqa: S108  # only names
"""Folders that are replaced by private ones, which also hides the sockets of services in them."""

_HOME = (
    *(
        ".ssh",
        ".aws",
        ".gnupg",
        ".azure",
        ".kube",
        ".docker",
        ".oci",
        ".fly",
        ".password-store",
        ".terraform.d",
    ),
    *(".config/gcloud", ".config/gh", ".config/glab-cli", ".config/hub", ".config/op", ".config/doctl"),
    *(
        ".config/git/credentials",
        ".config/rclone",
        ".config/sops",
        ".config/heroku",
        ".config/github-copilot",
    ),
    *(".netrc", "_netrc", ".npmrc", ".yarnrc.yml", ".pypirc", ".git-credentials", ".pgpass", ".my.cnf"),
    *(".s3cfg", ".boto", ".dockercfg", ".vault-token", ".htpasswd", ".Xauthority", ".ICEauthority"),
    *(".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".composer/auth.json"),
    *(".config/composer/auth.json", ".nuget/NuGet/NuGet.Config", ".m2/settings-security.xml"),
    *(".huggingface/token", ".cache/huggingface/token", ".config/containers", ".colima", ".lima", ".rd"),
    *(".bash_history", ".zsh_history", ".python_history", ".node_repl_history", ".psql_history"),
    *(".mysql_history", ".local/share/fish/fish_history"),
    *(".local/share/keyrings", ".local/share/kwalletd", ".kde/share/apps/kwallet", ".cache/keyring"),
    *("Library/Keychains", "Library/Cookies", "Library/Safari"),
    *("Library/Application Support/Google/Chrome", "Library/Application Support/Firefox"),
    *(".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware"),
    *(
        ".config/microsoft-edge",
        ".config/vivaldi",
        ".config/opera",
        ".var/app",
        "snap/firefox",
        "snap/chromium",
    ),
    *(".claude", ".claude.json", ".codex", ".gemini", ".pi", ".qwen", ".cursor", ".copilot", ".continue"),
    *(".config/opencode", ".local/share/opencode", ".config/crush", ".local/share/crush", ".config/amp"),
    *(
        ".local/share/amp",
        ".config/goose",
        ".local/share/goose",
        ".aider",
        ".factory",
        ".codeium",
        ".windsurf",
    ),
)
"""Credentials, browser profiles, histories and other agents' folders, below the home folder."""
_SYSTEM = ("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/ssl/private")
_SOCKET_VARIABLES = (
    "SSH_AUTH_SOCK",
    "DOCKER_HOST",
    "DBUS_SESSION_BUS_ADDRESS",
    "GPG_AGENT_INFO",
    "XAUTHORITY",
)
_SESSION_VARIABLES = frozenset(
    {*_SOCKET_VARIABLES, "DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "TMUX", "STY", "SSH_AGENT_PID"}
)
"""Variables that lead to sockets of the user's session."""
CACHES = {"GOCACHE": "/tmp/go-build", "UV_CACHE_DIR": "/tmp/uv"}  # noqa: S108
"""Writable places for caches that programs need to start, since the user's caches are read-only."""


_NEEDED = tuple(os.path.realpath(path) for path in (sys.prefix, sys.base_prefix, INTERPRETER))


@frozen
class Layout:
    """The view of one command; all paths are absolute and real.

    `writable`: folders, the workspace first. `readable`: other folders that stay visible, even below `PRIVATE`.
    `kept`: paths in writable folders that are read-only; `reopened`: folders inside those that stay writable.
    `missing`: paths that must not be created. `obeyed`: files that control other programs, `kept` unless the user
    allowed the command. `hidden`: folders and files that can't be opened. `emptied`: files that programs read at
    startup, which appear empty.
    """

    writable: tuple[str, ...]
    readable: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    reopened: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    obeyed: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    emptied: tuple[str, ...] = ()


@frozen
class Ground:
    """The inputs of a session's layouts: its folders, other paths to hide (`own`), and its secret files.

    `allows` returns whether a rule allows reading a secret of the workspace. `denied` returns other paths that rules
    hide, and `unix_sockets(home)` the system's sockets. `needed` are the folders of the start programs, which are
    never hidden. `added` are other folders that belong to the workspace, each with its secret files.
    """

    workspace: str
    home: str
    own: tuple[str, ...]
    writable: tuple[str, ...]
    secrets: SecretScan
    environ: Mapping[str, str]
    allows: Callable[[str], bool] = lambda _: False
    denied: Callable[[], Iterable[str]] = lambda: ()
    unix_sockets: Callable[[str], Iterable[str]] = lambda home: unix_sockets(home)
    needed: tuple[str, ...] = _NEEDED
    added: Callable[[], tuple[tuple[str, SecretScan], ...]] = tuple

    @property
    def roots(self) -> tuple[str, ...]:
        """The workspace, and the added folders that exist."""
        return (self.workspace, *(path for path, _ in self.added() if os.path.isdir(path)))

    def found(self) -> Found:
        """Return the secret files of the workspace and the added folders."""
        parts = [self.secrets.files(), *(scan.files() for _, scan in self.added())]
        return Found(
            tuple(path for part in parts for path in part.paths),
            all(part.complete for part in parts),
            tuple(path for part in parts for path in part.obeyed),
        )


def layout_for(ground: Ground, *, git: bool, granted: bool = False, reads: bool = False) -> Layout:
    """Return the layout of the next command; `git`: it may write to repositories; `granted`: it may write to files
    that control other programs; `reads`: it only reads, so nothing is writable."""
    roots = ground.roots
    writable = tuple(dict.fromkeys((*roots, *ground.writable)))
    readable = tuple(_visible_again(ground, roots))
    shown = (*writable, *readable)
    found = ground.found()
    kept, reopened, missing = _protected(roots, writable, git, found.obeyed, granted)
    secrets = [path for path in found.paths if not ground.allows(path)]
    hidden, emptied = list[str](), list[str]()
    for path in (*_at_home(ground), *_SYSTEM, *ground.own, *ground.denied()):
        for real in _apart_from(os.path.realpath(path), (*roots, *ground.needed)):
            (hidden if os.path.isdir(real) else emptied).append(real)
    hidden += [*secrets, *ground.unix_sockets(ground.home), *_named_sockets(ground.environ)]
    if reads:
        return Layout(
            (),
            shown,
            hidden=_outermost(hidden, shown),
            emptied=_outermost(emptied, shown),
        )
    return Layout(
        writable=writable,
        readable=readable,
        kept=kept,
        reopened=reopened,
        missing=missing,
        obeyed=() if granted else found.obeyed,
        hidden=_outermost(hidden, shown),
        emptied=_outermost(emptied, shown),
    )


def inner_environment(env: Mapping[str, str]) -> dict[str, str]:
    """Return the environment inside: without the session's sockets, and with caches that must be writable in /tmp."""
    kept = {name: value for name, value in env.items() if name not in _SESSION_VARIABLES}
    if "TMPDIR" in kept:
        kept["TMPDIR"] = "/tmp"  # noqa: S108  # the sandbox's own
    for name, folder in CACHES.items():
        kept.setdefault(name, folder)
    return kept


def without_revisions(env: Mapping[str, str], layout: Layout) -> dict[str, str]:
    """Return the environment for a layout that mounts an empty folder where `.git` is missing.

    Go takes the folder for a repository and fails to read a revision from it.
    """
    if not any(os.path.basename(path) == ".git" for path in layout.missing):
        return dict(env)
    return {**env, "GOFLAGS": f"{env.get('GOFLAGS', '')} -buildvcs=false".strip()}


def lies_below(path: str, folders: Iterable[str]) -> bool:
    """Return whether a path is one of the folders or below one."""
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


def _visible_again(ground: Ground, roots: tuple[str, ...]) -> Iterator[str]:
    """Yield the paths needed below the private folders: the repository, the home folder, tools, name resolution."""
    wanted = [ground.home, *ground.needed]
    wanted += [path for root in roots for path in _repository(root)]
    wanted += ground.environ.get("PATH", "").split(os.pathsep)
    wanted += ["/run/current-system", "/run/opengl-driver", os.path.realpath("/etc/resolv.conf")]
    for path in dict.fromkeys(os.path.realpath(path) for path in wanted if os.path.isabs(path)):
        inside = lies_below(path, PRIVATE) and path not in PRIVATE
        if inside and not lies_below(path, roots) and os.path.exists(path):
            yield path


def _repository(workspace: str) -> Iterator[str]:
    """Yield the repository around the workspace, and the git folders of a linked worktree."""
    folder = workspace
    while not os.path.lexists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above
    yield folder
    yield from linked_git(folder)


def linked_git(folder: str) -> Iterator[str]:
    """Yield the folders that a `.git` file points to: the worktree's own and the shared one."""
    own = _first_line(os.path.join(folder, ".git")).removeprefix("gitdir:").strip()
    if own:
        own = os.path.realpath(os.path.join(folder, own))
        yield own
        if common := _first_line(os.path.join(own, "commondir")):
            yield os.path.realpath(os.path.join(own, common))


def _first_line(path: str) -> str:
    try:
        if not os.path.isfile(path):
            return ""
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline(4096).strip()
    except OSError:
        return ""


def _protected(
    roots: tuple[str, ...], writable: tuple[str, ...], git: bool, obeyed: Iterable[str], granted: bool
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the protected paths of the workspace, whose folders are `roots`: (kept, reopened, missing)."""
    kept, reopened, missing = list[str](), list[str](), list[str]()
    for path in (os.path.join(root, name) for root in roots for name in PROTECTED):
        (missing if is_free(path) else kept).append(path)
    nested = [path for path in obeyed if os.path.basename(path).lower() == ".git"]
    kept += nested if granted else obeyed
    own = [os.path.join(root, ".git") for root in roots]
    if git:
        missing = [path for path in missing if path not in own]  # `git init` was allowed
    for gitdir in dict.fromkeys((*own, *nested)) if git else ():
        if os.path.isdir(gitdir):
            reopened.append(os.path.realpath(gitdir))
        else:
            reopened += linked_git(os.path.dirname(gitdir))
    modules = [module for folder in reopened for module in _modules(folder)]
    for folder in (*reopened, *modules):
        for name in (*GIT_STARTS_PROGRAMS, *GIT_REDIRECTS):
            path = os.path.join(folder, name)
            if os.path.lexists(path):
                kept.append(path)
            elif name == "hooks":
                missing.append(path)
    ends = dict.fromkeys(
        map(os.path.realpath, kept)
    )  # a link may lead to a place that is not writable, or hidden
    kept = [end for end in ends if lies_below(end, (*writable, *reopened)) and os.path.lexists(end)]
    return tuple(kept), tuple(dict.fromkeys(reopened)), tuple(dict.fromkeys(missing))


def _modules(folder: str) -> Iterator[str]:
    """Yield the git folders of submodules in a git folder."""
    above = os.path.join(folder, "modules")
    try:
        yield from (os.path.join(above, name) for name in os.listdir(above))
    except OSError:
        return


def is_free(path: str) -> bool:
    """Return whether the path is missing, or an empty folder such as a killed command leaves as a mount point."""
    try:
        return not os.path.islink(path) and not os.listdir(path)
    except OSError:
        return not os.path.lexists(path)


def _at_home(ground: Ground) -> Iterator[str]:
    for name in _HOME:
        path = os.path.join(ground.home, name)
        if os.path.lexists(path):
            yield path


def _apart_from(path: str, shown: tuple[str, ...]) -> Iterator[str]:
    """Yield the path, or if it contains a folder that is shown, its other contents."""
    if not os.path.lexists(path):
        return
    if not any(lies_below(one, (path,)) for one in shown):
        yield path
    elif path not in shown:
        for name in os.listdir(path):
            yield from _apart_from(os.path.join(path, name), shown)


def _named_sockets(environ: Mapping[str, str]) -> Iterator[str]:
    for name in _SOCKET_VARIABLES:
        _, _, path = environ.get(name, "").rpartition("unix:")
        path = path.removeprefix("path=").partition(",")[0].removeprefix("//")
        if os.path.isabs(path) and os.path.exists(path):
            yield os.path.realpath(path)


def _outermost(paths: Iterable[str], shown: tuple[str, ...]) -> tuple[str, ...]:
    """Return the paths that are visible and not below another of them, sorted."""
    found = list[str]()
    for path in sorted(set(paths)):
        private = lies_below(path, PRIVATE) and not lies_below(path, shown)
        if not private and not lies_below(path, found):
            found.append(path)
    return tuple(found)


def real(paths: Iterable[str | Path]) -> tuple[str, ...]:
    """Return the real paths, in order."""
    return tuple(dict.fromkeys(os.path.realpath(path) for path in paths))
