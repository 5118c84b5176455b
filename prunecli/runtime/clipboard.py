"""The image in the clipboard, read by a helper program because terminals cannot provide it.

The image is saved in a file of mode 0600, so that drafts, queued messages and the prompt history can refer to it.
"""

import asyncio
import binascii
import os
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from prunecli.errors import PrunecliError
from prunecli.programs import find_outside
from prunecli.tools.files.image import header_of
from prunecli.tools.files.media import MAX_SOURCE
from prunecli.tools.processes.environment import child_environment

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
_DISPLAYS = {"wl-paste": "WAYLAND_DISPLAY", "xclip": "DISPLAY", "powershell.exe": "WSL_DISTRO_NAME"}
"""The variable that shows whether a helper can reach a clipboard."""
_BASE64 = re.compile(rb"\s*(iVBOR[0-9A-Za-z+/]+={0,2})\s*")
_APPLE = re.compile(rb"\s*\xc2\xabdata PNGf([0-9A-Fa-f]+)\xc2\xbb\s*")


class Clipping(NamedTuple):
    """An image from the clipboard: its file and its size in pixels."""

    path: Path
    width: int
    height: int


def helpers(env: Mapping[str, str], cwd: Path) -> list[tuple[str, ...]]:
    """Return the commands of installed programs that print the image in the clipboard."""
    found: list[tuple[str, ...]] = []
    for name, arguments in _HELPERS:
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
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / f"{sha256(data).hexdigest()[:16]}.png"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(descriptor, "wb") as file:
        file.write(data)
    for other in folder.glob("*.png"):
        with suppress(OSError):
            if time.time() - other.stat().st_mtime > KEPT_SECONDS:
                other.unlink()
    return path
