"""Explains in one line what the sandbox blocked, judging by a failed command's output. Pure.

Only the system's own error messages are recognized, so that the model does not ask to leave the sandbox for a command
that fails anyway.
"""

import re
from collections.abc import Callable, Collection, Sequence

from prunecli.tools.files.secret_paths import looks_secret
from prunecli.tools.processes.sandboxing import NOTHING, Blocked
from prunecli.util.sanitize import one_line

_ASK = "to run it outside, set outside=true and give a reason"
_CLOSED = "the workspace can't be written here: it belongs to another user or is read-only"
_READ_ONLY = re.compile(r"read-only file ?system|\bEROFS\b|errno 30\b", re.IGNORECASE)
_KEPT = re.compile(rf"{_READ_ONLY.pattern}|device or resource busy|\bEBUSY\b", re.IGNORECASE)
"""The errors for a read-only file, including attempts to replace it, which fail because of the mount."""
_NO_NETWORK = re.compile(
    r"network is unreachable|temporary failure in name resolution|could not resolve (?:host|proxy)"
    r"|name or service not known|\bE(?:NETUNREACH|AI_AGAIN|NOTFOUND)\b|address family not supported"
    r"|failed to lookup address information|no such host",
    re.IGNORECASE,
)
_HOST = re.compile(
    r"(?:host(?:name)?:? ?=?|address:? for|lookup|ENOTFOUND|EAI_AGAIN|https?://|git@|resolve|reach)\s*['\"]?"
    r"((?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}|\d{1,3}(?:\.\d{1,3}){3})"
)
"""The host in an error of curl, git, ssh, npm, pip, Go or Cargo."""
CHANGES = "changes files of the workspace"
_NETWORK = "needs network: {}"
_REFUSED = re.compile(r"permission denied|\bEACCES\b|errno 13\b", re.IGNORECASE)
_SEARCHED = re.compile(r"(?:[efz]?grep|rg|ag|find|ls|du|tree|wc): |\S+: Permission denied \(os error 13\)$")
"""The beginning of an error of a program that goes on with the other files, so nobody is asked about this one."""
_REPOSITORY = re.compile(r"\.git/|\.git\b.*read-only|index\.lock|refs/", re.IGNORECASE)
_WORD = re.compile(
    r"""'([^'\n]+)'|"([^"\n]+)"|‘([^’\n]+)’|(?:^|(?<=[\s=:(`]))([~./][^\s'"`:;,|&<>()]*)""",
    re.MULTILINE,
)
"""A word that may be a path, without its quotes."""
_MOST_WORDS = 200
_NOT_SET_UP = re.compile(r"\Abwrap: (.+)")
_PROTECTED = re.compile(r"\.prunecli\b", re.IGNORECASE)


def explain(
    output: str,
    *,
    hidden: Sequence[str] = (),
    obeyed: Sequence[str] = (),
    network: bool = False,
    refused: Sequence[str] = (),
    unset: Collection[str] = (),
    landlock: bool = False,
    closed: bool = False,
    command: str = "",
    reached: Callable[[str], str] = lambda _: "",
) -> Blocked:
    """Return what the sandbox blocked, and how to continue; `NOTHING` if the output does not point to the sandbox.

    `hidden` are the paths that can't be opened, and `obeyed` the read-only files that control other programs.
    `network`: the network is not restricted. `refused` are the hosts that the proxy refused, and `unset` the
    variables that the command did not get. `landlock`: the sandbox is Landlock, whose errors look like those of any
    file system. `closed`: the workspace can't be written in the sandbox, whatever is allowed. `reached` returns the
    folder to open for a path in the hidden part of the home folder, "" for others; the `command` is searched for such
    paths too.
    """
    if failed := _NOT_SET_UP.match(output):
        return Blocked(
            f"the sandbox can't be set up here: {one_line(failed[1])}; {_ASK}",
            "runs outside the sandbox, which can't be set up here",
            outside=True,
        )
    if refused:
        host = one_line(refused[-1])
        return _blocked(
            f"the network reaches listed hosts only, not {host}", _NETWORK.format(host), network=True
        )
    for path in obeyed:
        if any(_names(_last(path), line) for line in output.splitlines() if _KEPT.search(line)):
            why = f"{_last(path)} is read-only, because it controls other programs"
            return _blocked(why, f"changes {_last(path)}, which controls other programs")
    if line := _line_with(_READ_ONLY, output):
        is_ours = not closed or _REPOSITORY.search(line)
        return _blocked(*_place(line), outside=True) if is_ours else Blocked(_CLOSED)
    if not network and (line := _line_with(_NO_NETWORK, output)):
        return _blocked(
            "the network is off", _NETWORK.format(_host(output) or "the sandbox has none"), network=True
        )
    if (found := reached_for(f"{output}\n{command}", reached)).line:
        return found
    if (found := _secret(output, hidden)).line:
        return found
    if _REFUSED.search(output) and (closed or landlock):
        why = "writing outside the workspace or in its top folder"
        return Blocked(_CLOSED) if closed else _blocked(why, "writes where the sandbox can't", outside=True)
    if name := next((name for name in sorted(unset) if _names(name, output)), ""):
        return _blocked(f"only an approved command gets the variable {name}", f"reads the variable {name}")
    return NOTHING


def _secret(output: str, hidden: Sequence[str]) -> Blocked:
    """Return the first hidden file that the system refused to open."""
    refused = [line for line in output.splitlines() if _REFUSED.search(line)]
    for path in hidden if refused else ():
        name = _last(path)
        if lines := [line for line in refused if _names(name, line)]:
            why, harm = (
                f"{name} may contain secrets and is hidden",
                f"reads {name}, which may contain secrets",
            )
            is_needed = any(not _SEARCHED.match(line) for line in lines)
            return _blocked(why, harm if is_needed else "", reads=(path,))
    return NOTHING


def wrote(output: str, *, landlock: bool = False) -> Blocked:
    """Return what the sandbox blocked if a command tried to write to a workspace that is read-only for it."""
    if not (_READ_ONLY.search(output) or (landlock and _REFUSED.search(output))):
        return NOTHING
    return Blocked(
        "blocked by the sandbox: the workspace is read-only until the user allows the command", CHANGES
    )


def _blocked(
    why: str, harm: str, *, network: bool = False, reads: tuple[str, ...] = (), outside: bool = False
) -> Blocked:
    return Blocked(f"blocked by the sandbox: {why}; {_ASK}", harm, network, reads, outside)


def reached_for(text: str, reached: Callable[[str], str]) -> Blocked:
    """Return the first hidden folder that a text names, and how the user opens it, or `NOTHING`."""
    for count, word in enumerate(_WORD.finditer(text)):
        path = next(filter(None, word.groups()))
        if count < _MOST_WORDS and (folder := reached(path)):
            shown = one_line(folder)
            if looks_secret(folder):
                why, harm = (
                    f"{shown} may contain secrets and is hidden",
                    f"reads {shown}, which may contain secrets",
                )
                return _blocked(why, harm, reads=(folder,))
            way = f'the user can open it with [sandbox] readable = ["{shown}"]'
            why = f"{shown} is hidden, like most of the home folder; {way}"
            return _blocked(why, f"reads {shown}, which the sandbox hides", reads=(folder,))
    return NOTHING


def _host(output: str) -> str:
    """Return the host that a command could not reach, as far as its output tells."""
    lines = (line for line in output.splitlines() if _NO_NETWORK.search(line))
    return next((found[1].lower() for line in lines if (found := _HOST.search(line))), "")


def _line_with(pattern: re.Pattern[str], output: str) -> str:
    return next((line for line in reversed(output.splitlines()) if pattern.search(line)), "")


def _place(line: str) -> tuple[str, str]:
    """Return the read-only place that a line of the output means, and what a command does that writes there."""
    if _PROTECTED.search(line):
        return ".prunecli is read-only", "changes .prunecli"
    if _REPOSITORY.search(line):
        return "the git repository is read-only", "changes the git repository"
    return "writing outside the workspace", "writes outside the workspace"


def _last(path: str) -> str:
    return path.rpartition("/")[2]


def _names(name: str, line: str) -> bool:
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", line) is not None
