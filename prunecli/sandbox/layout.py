"""Decides which files a sandboxed command can write, only read, or not see. Reads the disk, never writes."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from prunecli.frozen import frozen
from prunecli.sandbox.git_folders import inner, may_be_written, parts, shared_with
from prunecli.sandbox.placeholders import is_free
from prunecli.sandbox.real_folders import end_of
from prunecli.sandbox.scan import Found, SecretScan
from prunecli.sandbox.sockets import unix_sockets
from prunecli.tools.processes.command import INTERPRETER

PROTECTED = (".git", ".prunecli", ".claude", ".mcp.json")
"""Files and folders that can start programs in the workspace: always read-only, and commands cannot create them."""
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
    startup, which appear empty. `found`: what the workspace held at that moment.
    """

    writable: tuple[str, ...]
    readable: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    reopened: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    obeyed: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    emptied: tuple[str, ...] = ()
    found: Found = Found((), True)


@frozen
class Ground:
    """The inputs of a session's layouts: its folders, other paths to hide (`own`), and its secret files.

    `allows` returns whether a rule allows reading a secret of the workspace. `denied` returns other paths that rules
    hide, and `unix_sockets(home)` the system's sockets. `needed` are the folders of the start programs, which are
    never hidden. `added` are other folders that belong to the workspace, each with its secret files. `doubt` returns
    why the text of a git configuration may name a program, or "".
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
    doubt: Callable[[str], str] = lambda _: "it was not checked"

    @property
    def roots(self) -> tuple[str, ...]:
        """The workspace, and the added folders that exist."""
        return (self.workspace, *(path for path, _ in self.added() if os.path.isdir(path)))

    def found(self) -> Found:
        """Return the secret files of the workspace and the added folders."""
        found = [self.secrets.files(), *(scan.files() for _, scan in self.added())]
        return Found(
            tuple(path for one in found for path in one.paths),
            all(one.complete for one in found),
            tuple(path for one in found for path in one.obeyed),
            tuple(path for one in found for path in one.bare),
        )


def layout_for(ground: Ground, *, git: bool, granted: bool = False, reads: bool = False) -> Layout:
    """Return the layout of the next command; `git`: it may write to repositories; `granted`: it may write to files
    that control other programs; `reads`: it only reads, so nothing is writable."""
    roots = ground.roots
    fixed = tuple(root for root in roots if _must_stay(root))
    entries = (entry for root in roots for entry in (_entries(root) if root in fixed else (root,)))
    writable = tuple(dict.fromkeys((*entries, *ground.writable)))
    readable = (*_visible_again(ground, roots), *fixed)
    shown = (*writable, *readable)
    found = ground.found()
    kept, reopened, missing = _protected(roots, writable, git, found, granted)
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
        found=found,
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
    while is_free(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above
    yield folder
    if shared := shared_with(folder):
        yield shared


def _must_stay(root: str) -> bool:
    """Return whether only the entries of a folder may be writable, because nothing can be mounted at its `.git`.

    A link can't be covered. In a read-only folder of this user, nothing can be made until a command changes its mode.
    """
    try:
        is_closed = not os.access(root, os.W_OK) and os.stat(root).st_uid == os.geteuid()
        return is_closed or os.path.islink(os.path.join(root, ".git"))
    except OSError:
        return False


def _entries(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.path for entry in entries if not entry.is_symlink()]
    except OSError:
        return []


def _protected(
    roots: tuple[str, ...], writable: tuple[str, ...], git: bool, found: Found, granted: bool
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the protected paths of the workspace, whose folders are `roots`: (kept, reopened, missing)."""
    top = [os.path.join(root, name) for root in roots for name in PROTECTED]
    gits = dict.fromkeys(path for path in (*top, *found.obeyed) if os.path.basename(path).lower() == ".git")
    kept = [*top, *(gits if granted else found.obeyed)]
    missing = [path for path in top if is_free(path) and os.path.dirname(path) in writable]
    reopened = [path for path in gits if may_be_written(path)] if git else []
    reopened += [shared for root in roots if git and (shared := shared_with(root))]
    opened = list(reopened)
    # Mounted again, so that none can be moved away with the mounts in it.
    reopened += [path for folder in opened for path in inner(folder)]
    for folder in found.bare:
        needed = git or any(lies_below(path, (folder,)) for path in (*roots, *gits))
        if needed and may_be_written(folder):
            opened.append(folder)
        elif folder not in roots:
            kept.append(folder)
    for path in (part for folder in opened for part in parts(folder)):
        if os.path.basename(path) != "gitdir" and is_free(path):
            missing.append(path)
        kept.append(path)
    missing = [path for path in missing if os.access(os.path.dirname(path), os.W_OK)]
    # A link may lead to a place that is not writable, or hidden.
    ends = dict.fromkeys(end_of(path) for path in kept if path not in missing)
    kept = [end for end in ends if lies_below(end, (*writable, *reopened)) and os.path.lexists(end)]
    return tuple(kept), tuple(dict.fromkeys(reopened)), tuple(dict.fromkeys(missing))


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
