"""Hides secrets again that are saved anew while a command runs: an editor writes another file and gives it the name,
and the mount on the old file goes with it.

The kernel says when that happens (inotify); a short-lived program then enters the namespaces of bubblewrap and mounts
/dev/null on the new file. Until it has, a few hundredths of a second, the command can read it.
"""

import asyncio
import ctypes
import os
import re
import struct
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from prunecli.tools.processes.command import start_words

_CREATED, _MOVED_TO = 0x100, 0x80
_HEAD = struct.Struct("=iIII")
_PID = re.compile(rb'"child-pid": (\d+)')


@contextmanager
def covered(paths: Sequence[str]) -> Iterator[int | None]:
    """Cover these files again whenever one is replaced. Call it in the event loop.

    Yield the descriptor for bubblewrap's --info-fd, None if there is nothing to do.
    """
    files = [path for path in paths if os.path.isfile(path)]
    if not files:
        yield None
        return
    library = ctypes.CDLL(None, use_errno=True)
    watching = library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    if watching < 0:
        yield None
        return
    for folder in {os.path.dirname(path) for path in files}:
        library.inotify_add_watch(watching, os.fsencode(folder), _CREATED | _MOVED_TO)
    names = {os.fsencode(os.path.basename(path)) for path in files}
    told, tell = os.pipe()
    os.set_blocking(told, False)
    loop, pid, running = asyncio.get_running_loop(), "", list[subprocess.Popen[bytes]]()

    def look() -> None:
        nonlocal pid
        with suppress(BlockingIOError):
            pid = pid or "".join(found.decode() for found in _PID.findall(os.read(told, 4096)))
        if pid and names & set(_named(watching)):
            words = [*start_words(str(Path(__file__).parent), "covering_start"), pid, *files]
            running.append(subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    loop.add_reader(watching, look)
    try:
        yield tell
    finally:
        loop.remove_reader(watching)
        loop.run_in_executor(None, os.close, watching)  # the kernel takes up to 20 ms for it
        for descriptor in (told, tell):
            os.close(descriptor)
        for process in running:
            process.wait()


def _named(watching: int) -> Iterator[bytes]:
    with suppress(BlockingIOError):
        data, at = os.read(watching, 65_536), 0
        while at < len(data):
            length = _HEAD.unpack_from(data, at)[3]
            yield data[at + _HEAD.size : at + _HEAD.size + length].rstrip(b"\0")
            at += _HEAD.size + length
