"""Decides which files a sandboxed command can write, only read, or not see. Reads the disk, never writes."""

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from prunecli.safety.sandbox.git_folders import inner, may_be_written, parts, settings_in, shared_with
from prunecli.safety.sandbox.home import secret_at_home, shown_at_home
from prunecli.safety.sandbox.placeholders import is_free
from prunecli.safety.sandbox.real_folders import end_of
from prunecli.safety.sandbox.scan import MAX_DEPTH, Found, SecretScan
from prunecli.safety.sandbox.sockets import unix_sockets
from prunecli.tools.files.secret_paths import looks_secret
from prunecli.tools.processes.command import INTERPRETER
from prunecli.util.frozen import frozen

PROTECTED = (".git", ".prunecli", ".claude", ".mcp.json")
"""Files and folders that can start programs in the workspace: always read-only, and commands cannot create them."""
PRIVATE = ("/tmp", "/var/tmp", "/run", "/dev")  # noqa: S108  # only names
"""Folders that are replaced by private ones, which also hides the sockets of services in them."""

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


NO_RETRIES = {
    **dict.fromkeys(("npm_config_fetch_retries", "UV_HTTP_RETRIES", "CARGO_NET_RETRY"), "0"),
    **dict.fromkeys(("YARN_HTTP_RETRY", "BUNDLE_RETRY"), "0"),
    "PIP_RETRIES": "1",  # it names the cause only when it tries again
}
"""Package managers would try again for more than a minute where the network is off."""
_PACKAGE = os.path.dirname(os.path.dirname(__file__))
_NEEDED = tuple(os.path.realpath(path) for path in (sys.prefix, sys.base_prefix, INTERPRETER, _PACKAGE))
_OCTAL = re.compile(rb"\\([0-7]{3})")
_CERTIFICATES = frozenset({"cacert.pem", "cert.pem"})
"""Files of toolchains that only look like keys."""
_AT_HOME_DEPTH = 2
"""How deep toolchains and caches are searched for secrets."""


@cache
def _scan(folder: str, depth: int) -> SecretScan:
    return SecretScan(folder, looks_secret, depth=depth)


@frozen
class Layout:
    """The view of one command; all paths are absolute and real.

    `writable`: folders, the workspace first. `readable`: other folders that stay visible, even below `PRIVATE`.
    `kept`: paths in writable folders that are read-only; `reopened`: folders inside those that stay writable.
    `missing`: paths that must not be created. `obeyed`: files that control other programs, `kept` unless the user
    allowed the command. `hidden`: folders and files that can't be opened. `emptied`: files that programs read at
    startup, which appear empty. `home`: the home folder if it is hidden apart from `writable` and `readable` paths,
    else "". `links`: links in it to shown places, as (path, target). `found`: what the workspace
    held at that moment.
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
    home: str = ""
    links: tuple[tuple[str, str], ...] = ()

    def hides(self, path: str) -> bool:
        """Return whether a path is hidden because it lies in the home folder."""
        return bool(self.home) and lies_below(path, (self.home,)) and not self.shows(path)

    def shows(self, path: str) -> bool:
        """Return whether a path in the home folder is shown, or leads to something that is."""
        shown = (*self.writable, *self.readable)
        return lies_below(path, shown) or any(lies_below(one, (path,)) for one in shown)


@frozen
class Ground:
    """The inputs of a session's layouts: its folders, other paths to hide (`own`), and its secret files.

    `allows` returns whether a rule allows reading a secret of the workspace. `denied` returns other paths that rules
    hide, and `unix_sockets(home)` the system's sockets. `needed` are the folders of the start programs, which are
    never hidden. `added` are other folders that belong to the workspace, each with its secret files. `readable` are
    folders of the home folder that the user opened, and `scan(folder, depth)` finds the secrets in them. `doubt`
    returns why the text of a git configuration may name a program, or "".
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
    readable: tuple[str, ...] = ()
    scan: Callable[[str, int], SecretScan] = _scan

    @property
    def roots(self) -> tuple[str, ...]:
        """The workspace, and the added folders that exist."""
        return (self.workspace, *(path for path, _ in self.added() if os.path.isdir(path)))

    def found(self) -> Found:
        """Return what is found in the workspace and the added folders, and the secrets of other opened folders."""
        found = [self.secrets.files(), *(scan.files() for _, scan in self.added())]
        around = (path for root in self.roots for path in _repository(root))
        wanted = (*self.readable, *(path for path in around if not lies_below(self.home, (path,))))
        beside = [
            self.scan(path, MAX_DEPTH).files()
            for path in dict.fromkeys((*self.writable, *wanted))
            if not lies_below(path, self.roots)
        ]
        return Found(
            tuple(path for one in (*found, *beside) for path in one.paths),
            all(one.complete for one in (*found, *beside)),
            tuple(path for one in found for path in one.obeyed),
            tuple(path for one in found for path in one.bare),
        )


def overlaid(ground: Ground) -> tuple[str, ...]:
    """Return the folders that a command may write to, repositories of linked work trees included; none lies in
    another."""
    shared = filter(None, map(shared_with, ground.roots))
    found = list[str]()
    for path in sorted({*ground.roots, *ground.writable, *shared}):
        if os.path.isdir(path) and not lies_below(path, found):
            found.append(path)
    return tuple(found)


def mounted() -> Iterator[str]:
    """Yield where something is mounted; nothing where /proc can't be read."""
    with suppress(OSError), open("/proc/self/mountinfo", "rb") as file:
        for line in file:
            yield os.fsdecode(_OCTAL.sub(lambda found: bytes([int(found[1], 8)]), line.split()[4]))


def layout_for(
    ground: Ground, *, git: bool, granted: bool = False, reads: bool = False, overlays: bool = False
) -> Layout:
    """Return the layout of the next command; `git`: it may write to repositories; `granted`: it may write to files
    that control other programs; `reads`: it only reads, so nothing is writable; `overlays`: all that it changes goes
    elsewhere."""
    roots = ground.roots
    fixed = tuple(root for root in roots if not overlays and _must_stay(root))
    entries = (entry for root in roots for entry in (_entries(root) if root in fixed else (root,)))
    writable = overlaid(ground) if overlays else tuple(dict.fromkeys((*entries, *ground.writable)))
    home = (
        ""
        if any(lies_below(ground.home, (path,)) for path in (*roots, *ground.writable, *ground.readable))
        else ground.home
    )
    private = (*PRIVATE, home) if home else PRIVATE
    spelled = shown_at_home(home, ground.environ) if home else {ground.home: ground.home}
    readable = (*_visible_again(ground, roots, private, spelled.values()), *fixed)
    shown = (*writable, *readable)
    found = ground.found()
    kept, reopened, missing = _protected(roots, writable, git, found, granted)
    if overlays:  # what must not be made is refused later, so nothing is made to mount on
        kept = _settings(kept, reopened)
        reopened = missing = ()
    hidden = [path for path in found.paths if not ground.allows(path)]
    hidden += _secrets_at_home(ground, readable) if home else ()
    emptied = list[str]()
    for path in (*secret_at_home(ground.home), *_SYSTEM, *ground.own, *ground.denied()):
        for real in _apart_from(os.path.realpath(path), (*roots, *ground.needed)):
            (hidden if os.path.isdir(real) else emptied).append(real)
    opened = frozenset(ground.readable) - {*ground.own, *ground.denied()}
    hidden = [path for path in hidden if path not in opened]
    hidden += [*ground.unix_sockets(ground.home), *_named_sockets(ground.environ)]
    hidden_ends = _outermost(hidden, shown, private)
    emptied = [path for path in emptied if path not in opened and not lies_below(path, hidden_ends)]
    return Layout(
        writable=() if reads else writable,
        readable=shown if reads else readable,
        kept=() if reads else kept,
        reopened=() if reads else reopened,
        missing=() if reads else missing,
        obeyed=() if granted or reads else found.obeyed,
        hidden=hidden_ends,
        emptied=_outermost(emptied, shown, private),
        home=home,
        links=tuple(_links(spelled, ground, shown)) if home else (),
        found=found,
    )


def inner_environment(env: Mapping[str, str], *, network: bool = True) -> dict[str, str]:
    """Return the environment inside: without the session's sockets, with caches that must be writable in /tmp, and
    without `network`, with package managers that do not wait for it."""
    kept = {name: value for name, value in env.items() if name not in _SESSION_VARIABLES}
    if "TMPDIR" in kept:
        kept["TMPDIR"] = "/tmp"  # noqa: S108  # the sandbox's own
    for name, value in (*CACHES.items(), *(() if network else NO_RETRIES.items())):
        kept.setdefault(name, value)
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
    for folder in folders:
        if path.startswith(folder) and (path == folder or path.startswith(folder.rstrip("/") + "/")):
            return True
    return False


def _visible_again(
    ground: Ground, roots: tuple[str, ...], private: tuple[str, ...], at_home: Iterable[str]
) -> Iterator[str]:
    """Yield the paths needed below the private folders: the repository, those `at_home`, tools, name
    resolution. None contains the home folder if that is private."""
    wanted = [path for root in roots for path in _repository(root)]
    wanted += ground.environ.get("PATH", "").split(os.pathsep)
    wanted += ["/run/current-system", "/run/opengl-driver", os.path.realpath("/etc/resolv.conf")]
    done = list[str]()
    real_paths = {os.path.realpath(path) for path in wanted if os.path.isabs(path)}
    for path in sorted({*real_paths, *ground.readable, *ground.needed, *at_home}):
        inside = lies_below(path, private) and not any(lies_below(one, (path,)) for one in private)
        if inside and not lies_below(path, (*roots, *done)) and os.path.exists(path):
            done.append(path)
            yield path


def _secrets_at_home(ground: Ground, readable: Iterable[str]) -> Iterator[str]:
    """Yield the files in the shown toolchains and caches that look secret."""
    for path in readable:
        if lies_below(path, (ground.home,)) and not lies_below(path, (*ground.readable, *ground.needed)):
            found = ground.scan(path, _AT_HOME_DEPTH).files()
            yield from (one for one in found.paths if os.path.basename(one) not in _CERTIFICATES)


def _links(spelled: Mapping[str, str], ground: Ground, shown: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield the links in the hidden home folder that lead to shown paths, without those below another."""
    done, here = list[str](), ground.environ.get("PWD", "")
    for path, real in sorted({**spelled, here: os.path.realpath(here)}.items()):
        if real == path or not lies_below(path, (ground.home,)) or lies_below(path, (*shown, *done)):
            continue
        if lies_below(real, shown) or not lies_below(real, (ground.home, *PRIVATE)):
            done.append(path)
            yield path, real


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


def _settings(kept: tuple[str, ...], repositories: tuple[str, ...]) -> tuple[str, ...]:
    """Return the paths to keep if the repositories can be written apart from their settings."""
    within = (path for folder in repositories for path in settings_in(folder))
    paths = dict.fromkeys((*(path for path in kept if path not in repositories), *within))
    return tuple(path for path in paths if not os.path.islink(path))


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


def _outermost(paths: Iterable[str], shown: tuple[str, ...], private: tuple[str, ...]) -> tuple[str, ...]:
    """Return the paths that are visible and not below another of them, sorted. Of `private` folders, only what is
    `shown` is visible."""
    found = list[str]()
    for path in sorted(set(paths)):
        unseen = lies_below(path, private) and not lies_below(path, shown)
        if not unseen and not lies_below(path, found):
            found.append(path)
    return tuple(found)


def real(paths: Iterable[str | Path]) -> tuple[str, ...]:
    """Return the real paths, in order."""
    return tuple(dict.fromkeys(os.path.realpath(path) for path in paths))
