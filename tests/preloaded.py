"""Starts the program without importing it anew: a process that has imported it forks for each start.

Importing and loading the vocabulary take most of the time of a short run. In every other respect each run is a
process of its own, with its own environment, directory, streams, signals and exit code. Tests of imports, of
arguments that are no text and of locales start `python -m prunecli` instead.

This module is both sides: `python -m tests.preloaded FD` is the process that forks.
"""

import atexit
import contextlib
import fcntl
import functools
import gc
import io
import json
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from prunecli.plugins.features import features
from prunecli.providers.tokenizer import SHIPPED
from prunecli.tools.registry import names

ROOT = Path(__file__).parents[1]
IMPORTED = (
    "anthropic.types.beta",
    "h11",
    "httpcore2",
    "prunecli.cli.config",
    "prunecli.features.inspector.inspect",
    "prunecli.cli.sessions",
    "prunecli.front.headless.stream",
    "prunecli.cli.launch",
    "prunecli.providers.messages_api",
    "prunecli.runtime.make",
    "prunecli.safety.sandbox.bubblewrap",
    "prunecli.tui.app",
    "truststore",
    *(f"prunecli.tools.{name}" for name in names() if name not in features().of("tool")),
)


_NUMBER = 16


def _number(value: int) -> bytes:
    """A number in as many bytes as are read: a process may end before its pid was read."""
    return str(value).ljust(_NUMBER).encode()


class Started:
    """A running program. What `subprocess.Popen` offers under the same names."""

    def __init__(self, pid: int, line: socket.socket) -> None:
        self.pid, self.returncode = pid, None
        self._line = line

    def poll(self) -> int | None:
        """The exit code; negative for a signal, None while it runs."""
        return self._read(0)

    def wait(self, timeout: float) -> int:
        """The exit code. Raises TimeoutExpired."""
        if (code := self._read(timeout)) is None:
            raise subprocess.TimeoutExpired("prunecli", timeout)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _read(self, timeout: float) -> int | None:
        if self.returncode is None:
            self._line.settimeout(timeout)
            with contextlib.suppress(TimeoutError, BlockingIOError):
                self.returncode = int(self._line.recv(_NUMBER))
                self._line.close()
        return self.returncode


def start(
    words: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    streams: tuple[int, int, int],
    terminal: bool = False,
    stopped: bool = False,
) -> Started:
    """Start the program with these three descriptors. With `terminal`, the first becomes its terminal.

    With `stopped`, it does nothing until it gets SIGCONT.
    """
    ours, theirs = socket.socketpair()
    given = {
        "words": list(words),
        "cwd": str(cwd),
        "env": dict(env),
        "terminal": terminal,
        "stopped": stopped,
    }
    data = json.dumps(given).encode("utf-8", "surrogateescape")
    socket.send_fds(_server(), [len(data).to_bytes(4, "big")], [*streams, theirs.fileno()])
    _server().sendall(data)
    theirs.close()
    return Started(int(ours.recv(_NUMBER)), ours)


def run(
    words: Sequence[str], *, cwd: Path, env: Mapping[str, str], given: str = "", timeout: float = 60
) -> "subprocess.CompletedProcess[str]":
    """Run the program to its end. `given` is its standard input. Kills it and raises TimeoutExpired if it hangs."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as put:
        put.write(given.encode())
        put.seek(0)
        process = start(words, cwd=cwd, env=env, streams=(put.fileno(), out.fileno(), err.fileno()))
        try:
            code = process.wait(timeout)
        finally:
            process.kill()
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(list(words), code, out.read().decode(), err.read().decode())


@contextlib.contextmanager
def piped(words: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Iterator[Any]:
    """The running program with pipes `stdin`, `stdout` and `stderr` for bytes; killed at the end if it still runs."""
    (given, write), (read, put), (read_error, put_error) = os.pipe(), os.pipe(), os.pipe()
    with (
        open(write, "wb", buffering=0) as stdin,  # closing never writes again what the program did not take
        open(read, "rb") as stdout,
        open(read_error, "rb") as stderr,
    ):
        process = start(words, cwd=cwd, env=env, streams=(given, put, put_error))
        for theirs in (given, put, put_error):
            os.close(theirs)
        try:
            yield SimpleNamespace(
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                pid=process.pid,
                wait=process.wait,
                kill=process.kill,
            )
        finally:
            process.kill()


@functools.cache
def _server() -> socket.socket:
    """The line to the process that forks; it ends when this side closes."""
    ours, theirs = socket.socketpair()
    words = [sys.executable, "-m", "tests.preloaded", str(theirs.fileno())]
    env = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    process = subprocess.Popen(words, cwd=ROOT, env=env, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
    theirs.close()

    @atexit.register
    def _end() -> None:
        ours.close()
        process.wait()

    return ours


# The process that forks ---------------------------------------------------------------------------------------


def _serve(line: socket.socket) -> None:
    """Fork for each request and report each end, until the other side closes. Returns in every child."""
    for name in IMPORTED:
        import_module(name)
    SHIPPED.count("the vocabulary")
    gc.collect()
    gc.freeze()
    running: dict[int, socket.socket] = {}
    woken, wakes = socket.socketpair()
    wakes.setblocking(False)
    signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    with selectors.DefaultSelector() as selector:
        selector.register(line, selectors.EVENT_READ)
        selector.register(woken, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is woken:
                    woken.recv(4096)
                    _report(running)
                    continue
                head, fds, _, _ = socket.recv_fds(line, 4, 4)
                if not head:
                    raise SystemExit(0)
                given = json.loads(
                    _exactly(line, int.from_bytes(head, "big")).decode("utf-8", "surrogateescape")
                )
                if (pid := os.fork()) == 0:
                    signal.set_wakeup_fd(-1)
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    for one in (line, woken, wakes, *running.values()):
                        one.close()
                    _become(given, fds)
                    return
                for fd in fds[:3]:
                    os.close(fd)
                running[pid] = socket.socket(fileno=fds[3])
                running[pid].sendall(_number(pid))


def _exactly(line: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        data += line.recv(size - len(data))
    return data


def _report(running: dict[int, socket.socket]) -> None:
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        with running.pop(pid) as line, contextlib.suppress(OSError):  # nobody may wait for it any more
            line.sendall(_number(os.waitstatus_to_exitcode(status)))


def _become(given: dict[str, Any], fds: Sequence[int]) -> None:
    """Make this process what `python -m prunecli` would be."""
    os.setsid()
    for number, fd in enumerate(fds[:3]):
        os.dup2(fd, number)
    for fd in fds:
        os.close(fd)
    if given["terminal"]:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.chdir(given["cwd"])
    os.environ.clear()
    os.environ.update(given["env"])
    time.tzset()
    sys.argv[1:] = given["words"]
    sys.path[0] = given["cwd"]
    modes = (("stdin", "r", "strict"), ("stdout", "w", "strict"), ("stderr", "w", "backslashreplace"))
    for number, (name, mode, errors) in enumerate(modes):
        file = io.open(number, mode, encoding="utf-8", errors=errors, closefd=False)  # noqa: SIM115, UP020
        setattr(sys, name, file)
        setattr(sys, f"__{name}__", file)
    if given["stopped"]:
        os.kill(os.getpid(), signal.SIGSTOP)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
    runpy.run_module("prunecli", run_name="__main__", alter_sys=True)
