"""Explains in one line what the sandbox blocked, judging by a failed command's output. Pure.

Only the system's own error messages are recognized, so that the model does not ask to leave the sandbox for a command
that fails anyway.
"""

import re
from collections.abc import Callable, Collection, Sequence

from prunecli.tools.files.secret_paths import looks_secret
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
_REFUSED = re.compile(r"permission denied|\bEACCES\b|errno 13\b", re.IGNORECASE)
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
) -> str:
    """Return what the sandbox blocked, and how to continue; "" if the output does not point to the sandbox.

    `hidden` are the paths that can't be opened, and `obeyed` the read-only files that control other programs.
    `network`: the network is not restricted. `refused` are the hosts that the proxy refused, and `unset` the
    variables that the command did not get. `landlock`: the sandbox is Landlock, whose errors look like those of any
    file system. `closed`: the workspace can't be written in the sandbox, whatever is allowed. `reached` returns the
    folder to open for a path in the hidden part of the home folder, "" for others; the `command` is searched for such
    paths too.
    """
    if failed := _NOT_SET_UP.match(output):
        return f"the sandbox can't be set up here: {one_line(failed[1])}; {_ASK}"
    if refused:
        return f"blocked by the sandbox: the network reaches listed hosts only, not {one_line(refused[-1])}; {_ASK}"
    for path in obeyed:
        if any(_names(_last(path), line) for line in output.splitlines() if _KEPT.search(line)):
            return f"blocked by the sandbox: {_last(path)} is read-only, because it controls other programs; {_ASK}"
    if line := _line_with(_READ_ONLY, output):
        is_ours = not closed or _REPOSITORY.search(line)
        return f"blocked by the sandbox: {_place(line)}; {_ASK}" if is_ours else _CLOSED
    if not network and _NO_NETWORK.search(output):
        return f"blocked by the sandbox: the network is off; {_ASK}"
    if found := reached_for(f"{output}\n{command}", reached):
        return found
    if _REFUSED.search(output):
        for path in hidden:
            name = _last(path)
            if any(_names(name, line) for line in output.splitlines() if _REFUSED.search(line)):
                return f"blocked by the sandbox: {name} may contain secrets and is hidden; {_ASK}"
        if closed or landlock:
            outside = f"blocked by the sandbox: writing outside the workspace or in its top folder; {_ASK}"
            return _CLOSED if closed else outside
    if name := next((name for name in sorted(unset) if _names(name, output)), ""):
        return f"blocked by the sandbox: only an approved command gets the variable {name}; {_ASK}"
    return ""


def reached_for(text: str, reached: Callable[[str], str]) -> str:
    """Return a line on the first hidden folder that a text names, and how the user opens it, or ""."""
    for count, word in enumerate(_WORD.finditer(text)):
        path = next(filter(None, word.groups()))
        if count < _MOST_WORDS and (folder := one_line(reached(path))):
            if looks_secret(folder):
                return f"blocked by the sandbox: {folder} may contain secrets and is hidden; {_ASK}"
            return (
                f"blocked by the sandbox: {folder} is hidden, like most of the home folder; the user can open it with"
                f' [sandbox] readable = ["{folder}"]; {_ASK}'
            )
    return ""


def _line_with(pattern: re.Pattern[str], output: str) -> str:
    return next((line for line in reversed(output.splitlines()) if pattern.search(line)), "")


def _place(line: str) -> str:
    if _PROTECTED.search(line):
        return ".prunecli is read-only"
    return "the git repository is read-only" if _REPOSITORY.search(line) else "writing outside the workspace"


def _last(path: str) -> str:
    return path.rpartition("/")[2]


def _names(name: str, line: str) -> bool:
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", line) is not None
