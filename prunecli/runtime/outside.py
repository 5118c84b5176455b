"""Work outside the screen: opens the user's editor, finds the repository's branch, and reads files for a diff."""

import asyncio
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from prunecli.tools.processes.environment import child_environment
from prunecli.util.errors import PrunecliError
from prunecli.util.programs import find_program
from prunecli.util.regular import open_regular

MOST_READ = 2_000_000
_HEAD_BYTES = 4_096
OPEN_SECONDS = 5.0
"""Seconds after which a program that opens a page counts as the browser itself."""


def editor_words(env: Mapping[str, str]) -> Sequence[str]:
    """Return the editor command as words: $VISUAL, else $EDITOR, else vi. Raises PrunecliError if it is malformed."""
    text = env.get("VISUAL") or env.get("EDITOR") or "vi"
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise PrunecliError(f"cannot parse $EDITOR: {text!r}: {error}") from error
    return words or ["vi"]


async def edit_file(path: Path, env: Mapping[str, str], cwd: Path) -> None:
    """Open a file in the user's editor and wait until it closes.

    The editor's environment has none of prunecli's credentials. Raises PrunecliError if the editor cannot start or
    fails.
    """
    words = [*editor_words(env), str(path)]
    try:
        process = await asyncio.create_subprocess_exec(*words, cwd=cwd, env=child_environment(env))
    except OSError as error:
        raise PrunecliError(f"cannot start {words[0]}: {error.strerror}", "set $EDITOR") from error
    code = await process.wait()
    if code:
        raise PrunecliError(f"{words[0]} exited with {code}; changes were not applied")


async def edit_text(text: str, env: Mapping[str, str], cwd: Path) -> str:
    """Let the user edit text and return the result. Raises PrunecliError, OSError."""
    path = await asyncio.to_thread(_written, text)
    try:
        await edit_file(path, env, cwd)
        edited = await asyncio.to_thread(path.read_bytes)
    finally:
        path.unlink(missing_ok=True)  # at once, even when canceled
    shown = edited.decode("utf-8", "replace")
    return shown if text.endswith("\n") else shown.removesuffix("\n")


def _written(text: str) -> Path:
    """Write the text to a new file that only its owner can read."""
    descriptor, name = tempfile.mkstemp(prefix="prunecli-", suffix=".md")
    with open(descriptor, "w", encoding="utf-8", errors="replace", newline="") as file:
        file.write(text)
    return Path(name)


def branch_of(cwd: Path) -> str:
    """Return the checked-out branch, or the abbreviated commit; "" if there is none.

    Reads the files of .git directly: git itself can run programs configured in an untrusted directory.
    """
    for folder in (cwd, *cwd.parents):
        git = folder / ".git"
        try:
            if os.path.isfile(git):
                pointer = git.read_bytes()[:_HEAD_BYTES].decode("utf-8", "replace")
                git = folder / pointer.partition("gitdir:")[2].strip()
            if os.path.isdir(git):
                with open_regular(git / "HEAD") as file:
                    head = file.read(_HEAD_BYTES).decode("utf-8", "replace").strip()
                return head.removeprefix("ref: refs/heads/") if head.startswith("ref:") else head[:8]
        except OSError:
            return ""
    return ""


def is_missing(path: str, cwd: Path) -> bool:
    """Return whether the path does not exist, not even as a broken link. Call it in a thread."""
    try:
        return not os.path.lexists(cwd / os.path.expanduser(path))
    except ValueError:
        return False


def read_text(path: str, cwd: Path) -> str | None:
    """Return the text of a regular file of moderate size, else None. Call it in a thread."""
    try:
        full = cwd / os.path.expanduser(path)
        if not os.path.isfile(full) or full.stat().st_size > MOST_READ:
            return None
        return full.read_bytes().decode("utf-8")
    except (OSError, ValueError):
        return None


def open_page(address: str, env: Mapping[str, str], cwd: Path, platform: str = sys.platform) -> bool:
    """Open an address in the user's browser; return False if there is no program to do so. Call it in a thread.

    Never starts a browser that draws on the terminal.
    """
    graphical = platform == "darwin" or env.get("DISPLAY") or env.get("WAYLAND_DISPLAY")
    name = "open" if platform == "darwin" else "xdg-open"
    opener = find_program(env.get("PATH", os.defpath), name) if graphical else None
    if opener is None:
        return False
    quiet = subprocess.DEVNULL
    try:
        process = subprocess.Popen(
            [opener, address],
            stdin=quiet,
            stdout=quiet,
            stderr=quiet,
            env=dict(env),
            cwd=cwd,
            start_new_session=True,
        )
        process.wait(OPEN_SECONDS)
    except subprocess.TimeoutExpired:
        return True  # still running: this is the browser itself
    except OSError:
        return False
    return process.returncode == 0
