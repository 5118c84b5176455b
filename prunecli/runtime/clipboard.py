"""The clipboard: text is copied and an image is read by a helper program.

Terminals copy text too (OSC 52), but many ignore that without an answer, and none gives an image. An image is
saved in a file of mode 0600, so that drafts, queued messages and the prompt history can refer to it.
"""

import asyncio
import binascii
import os
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from enum import Enum, auto
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from prunecli.tools.files.image import header_of
from prunecli.tools.files.media import MAX_SOURCE
from prunecli.tools.processes.environment import child_environment
from prunecli.util.errors import PrunecliError
from prunecli.util.private_file import make_private
from prunecli.util.programs import find_outside

SECONDS = 5.0
KEPT_SECONDS = 30 * 24 * 3600
"""Seconds that an image is kept after its last use; the session's log has its own copy."""

_WINDOWS = (
    "$i = Get-Clipboard -Format Image; if ($i) { $m = New-Object IO.MemoryStream; "
    "$i.Save($m, [Drawing.Imaging.ImageFormat]::Png); [Convert]::ToBase64String($m.ToArray()) }"
)
"""The script for Windows PowerShell, run from WSL. It prints base64 because standard output would change other
bytes."""
_HELPERS = (
    ("wl-paste", ("--no-newline", "--type", "image/png")),
    ("xclip", ("-selection", "clipboard", "-t", "image/png", "-o")),
    ("pngpaste", ("-",)),
    ("osascript", ("-e", "get the clipboard as «class PNGf»")),
    ("powershell.exe", ("-NoProfile", "-NonInteractive", "-STA", "-Command", _WINDOWS)),
)
_COPIERS = (
    ("wl-copy", ()),
    ("xclip", ("-selection", "clipboard", "-in")),
    ("xsel", ("--clipboard", "--input")),
    ("pbcopy", ()),
    ("clip.exe", ()),
)
_TMUX = (("tmux", ("load-buffer", "-w", "-")), ("tmux", ("load-buffer", "-")))
"""Since version 3.2, tmux also passes its buffer on to the terminal."""
_DISPLAYS = {
    "wl-paste": "WAYLAND_DISPLAY",
    "wl-copy": "WAYLAND_DISPLAY",
    "xclip": "DISPLAY",
    "xsel": "DISPLAY",
    "powershell.exe": "WSL_DISTRO_NAME",
    "clip.exe": "WSL_DISTRO_NAME",
    "tmux": "TMUX",
}
"""The variable that shows whether a helper can reach a clipboard."""
_BASE64 = re.compile(rb"\s*(iVBOR[0-9A-Za-z+/]+={0,2})\s*")
_APPLE = re.compile(rb"\s*\xc2\xabdata PNGf([0-9A-Fa-f]+)\xc2\xbb\s*")


class Clipping(NamedTuple):
    """An image from the clipboard: its file and its size in pixels."""

    path: Path
    width: int
    height: int


class Copied(Enum):
    """Where copied text is for certain."""

    CLIPBOARD = auto()
    TMUX = auto()
    UNKNOWN = auto()

    @property
    def hint(self) -> str:
        """A few words for the line above the prompt."""
        places = {Copied.CLIPBOARD: "copied", Copied.TMUX: "copied to tmux's buffer"}
        return places.get(self, "sent to the terminal's clipboard")

    def told(self, what: str, size: str) -> str:
        """Return the line that says so."""
        match self:
            case Copied.CLIPBOARD:
                return f"Copied {what}: {size}."
            case Copied.TMUX:
                return f"Copied {what} to tmux's buffer: {size}. The terminal may have put it in the clipboard too."
        return (
            f"Sent {what} to the terminal: {size}. It may not have put it in the clipboard; to be certain, allow "
            f"OSC 52 in its settings, or install wl-copy, xclip or xsel."
        )


async def copied(text: str, env: Mapping[str, str], cwd: Path) -> Copied:
    """Copy by the helper programs of this machine; over ssh, its clipboard is not the user's."""
    found = Copied.UNKNOWN
    is_remote = env.get("SSH_CONNECTION") or env.get("SSH_TTY")
    for programs, place in ((_TMUX, Copied.TMUX), (() if is_remote else _COPIERS, Copied.CLIPBOARD)):
        for command in await asyncio.to_thread(helpers, env, cwd, programs):
            encoding = "utf-16" if command[0].endswith(".exe") else "utf-8"
            if await _takes(command, text.encode(encoding, "replace"), child_environment(env), cwd):
                found = place
                break
    return found


async def _takes(command: tuple[str, ...], data: bytes, env: Mapping[str, str], cwd: Path) -> bool:
    """Return whether a helper took this. It may stay in the background, to serve the clipboard."""
    pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    own = {**env, "LC_CTYPE": "UTF-8"} if command[0].endswith("/pbcopy") else env
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=nothing, stderr=nothing, env=own, cwd=cwd, start_new_session=True
        )
    except OSError:
        return False
    try:
        async with asyncio.timeout(SECONDS):
            await process.communicate(data)
    except TimeoutError:
        process.kill()
        await process.wait()
    return process.returncode == 0


def helpers(
    env: Mapping[str, str], cwd: Path, programs: Sequence[tuple[str, tuple[str, ...]]] = _HELPERS
) -> list[tuple[str, ...]]:
    """Return the commands of installed programs that can reach a clipboard, by default to print its image."""
    found: list[tuple[str, ...]] = []
    for name, arguments in programs:
        if name in _DISPLAYS and not env.get(_DISPLAYS[name]):
            continue
        if program := find_outside(env.get("PATH", ""), name, str(cwd)):
            found.append((program, *arguments))
    return found


async def clipped(env: Mapping[str, str], cwd: Path, folder: Path) -> Clipping | None:
    """Save the image in the clipboard to this folder; return None without an image.

    Raises PrunecliError if no helper is installed, and OSError.
    """
    commands = await asyncio.to_thread(helpers, env, cwd)
    if not commands:
        names = ", ".join(name for name, _ in _HELPERS[:3])
        raise PrunecliError("no program to read an image from the clipboard", f"install one of {names}")
    for command in commands:
        data = await _printed(command, child_environment(env), cwd)
        try:
            if apple := _APPLE.fullmatch(data):
                data = binascii.unhexlify(apple[1])
            elif windows := _BASE64.fullmatch(data):
                data = binascii.a2b_base64(windows[1])
            header = header_of(data)
        except ValueError:
            continue
        return Clipping(await asyncio.to_thread(_kept, data, folder), header.width, header.height)
    return None


async def _printed(command: tuple[str, ...], env: Mapping[str, str], cwd: Path) -> bytes:
    """Return the output of a helper; empty if it fails, hangs or prints too much."""
    pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=nothing, stdout=pipe, stderr=nothing, env=env, cwd=cwd
        )
    except OSError:
        return b""
    assert process.stdout is not None  # noqa: S101  # a pipe was asked for
    data = bytearray()
    try:
        async with asyncio.timeout(SECONDS):
            while len(data) <= MAX_SOURCE and (more := await process.stdout.read(1 << 16)):
                data += more
            code = await process.wait() if len(data) <= MAX_SOURCE else 1
    except TimeoutError:
        code = 1
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    return b"" if code else bytes(data)


def _kept(data: bytes, folder: Path) -> Path:
    """Write the image to the folder and remove images unused for a long time. Raises OSError."""
    make_private(folder)
    path = folder / f"{sha256(data).hexdigest()[:16]}.png"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(descriptor, "wb") as file:
        file.write(data)
    for other in folder.glob("*.png"):
        with suppress(OSError):
            if time.time() - other.stat().st_mtime > KEPT_SECONDS:
                other.unlink()
    return path
