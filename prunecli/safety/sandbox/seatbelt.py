"""The profile for macOS's sandbox-exec, as text. The tests compare it but do not run it.

In a profile the last matching rule decides, so rules that hide and protect come after rules that allow.
"""

from collections.abc import Iterable, Sequence

from prunecli.safety.sandbox.layout import Layout

PROGRAM = "/usr/bin/sandbox-exec"
_SERVICES = (
    "com.apple.system.opendirectoryd.libinfo",
    "com.apple.system.logger",
    "com.apple.SystemConfiguration.configd",
)
"""The services without which programs do not start; the keychain and the pasteboard are not among them."""


def profile(layout: Layout, tmp: str, *, network: bool) -> str:
    """Return the profile of one command. `tmp` is its private folder for temporary files."""
    lines = [
        "(version 1)",
        "(deny default)",
        "(allow process-fork process-exec)",
        "(allow signal (target same-sandbox))",
        "(allow process-info* (target same-sandbox))",
        "(allow sysctl-read)",
        "(allow file-read*)",
        f"(allow mach-lookup {_all('global-name', _SERVICES)})",
        f"(allow file-write* {_all('subpath', (*layout.writable, tmp))})",
        '(allow file-write* (literal "/dev/null") (literal "/dev/zero") (subpath "/dev/fd"))',
        '(allow file-ioctl (subpath "/dev/fd"))',
    ]
    if layout.home:
        lines.append(f"(deny file-read-data {_all('subpath', [layout.home])})")
        lines.append(f"(allow file-read-data {_all('subpath', (*layout.readable, *layout.writable, tmp))})")
    closed = (*layout.kept, *layout.missing)
    if closed:
        lines.append(f"(deny file-write* {_all('subpath', closed)})")
    if layout.reopened:
        lines.append(f"(allow file-write* {_all('subpath', layout.reopened)})")
        inner = [path for path in closed if any(path.startswith(one + "/") for one in layout.reopened)]
        if inner:
            lines.append(f"(deny file-write* {_all('subpath', inner)})")
    hidden = (*layout.hidden, *layout.emptied)
    if hidden:
        lines.append(f"(deny file-read* file-write* {_all('subpath', hidden)})")
    if network:
        lines.append("(allow network*)")  # "off" includes loopback, which is not the sandbox's own here
    return "\n".join(lines) + "\n"


def words(layout: Layout, tmp: str, command: Sequence[str], *, network: bool) -> list[str]:
    return [PROGRAM, "-p", profile(layout, tmp, network=network), *command]


def _all(kind: str, paths: Iterable[str]) -> str:
    return " ".join(f"({kind} {_quoted(path)})" for path in paths)


def _quoted(path: str) -> str:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
