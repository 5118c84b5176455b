"""A start of the program in which one system call fails, once.

`python -m tests.faults.failing_calls all` fails every call with every error, one after the other, and prints each end
that is not one clear line.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tests import preloaded

ERRORS = ("EACCES", "EROFS", "ENOSPC", "EPERM")
SECONDS = 10
WORDS = ("-p", "run echo hi", "--model", "demo", "--trust")
NEVER = {
    *("exit", "exit_group", "rt_sigreturn", "restart_syscall"),
    *("futex", "rseq", "set_robust_list", "set_tid_address", "arch_prctl"),
    "brk",  # on failure the kernel returns the old break, never an error; libc takes an injected one for an address
    *("getpid", "getppid", "gettid", "getuid", "geteuid", "getgid", "getegid", "umask"),
}
"""Calls that do not return, those after which libc ends the process, and calls that can't fail."""


class Call(NamedTuple):
    """The n-th call of this name, counted in each thread and process."""

    name: str
    number: int


class Ended(NamedTuple):
    """How a run ended; the code is None for one that hung."""

    code: int | None
    out: str
    err: str


def made(folder: Path) -> dict[str, str]:
    """New folders for a run; its environment."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("home", "temp", "work"):
        (folder / name).mkdir(parents=True)
    return {"PATH": os.environ["PATH"], "HOME": str(folder / "home"), "TMPDIR": str(folder / "temp")}


def traced(folder: Path, options: list[str], seconds: float = SECONDS) -> Ended:
    """Run the program under strace with these options."""
    environ = made(folder)
    with (
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
        open(os.devnull, "rb") as nothing,
    ):
        streams = (nothing.fileno(), out.fileno(), err.fileno())
        process = preloaded.start(WORDS, cwd=folder / "work", env=environ, streams=streams, stopped=True)
        while Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
            time.sleep(0.001)
        watcher = subprocess.Popen(
            ["strace", "-f", "-p", str(process.pid), *options], stderr=subprocess.PIPE, text=True
        )
        assert watcher.stderr is not None
        said = watcher.stderr.readline()
        assert said.endswith("attached\n"), said
        os.kill(process.pid, signal.SIGCONT)
        try:
            code: int | None = process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
            process.kill()
        try:
            watcher.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:  # a bubblewrap whose parent failed waits for ever
            for pid in traced_by(watcher.pid):
                os.kill(pid, signal.SIGKILL)
            watcher.communicate()
        out.seek(0)
        err.seek(0)
        return Ended(code, out.read().decode(), err.read().decode())


def traced_by(tracer: int) -> list[int]:
    """The processes that this one traces."""
    line, found = f"TracerPid:\t{tracer}\n", list[int]()
    for name in filter(str.isdecimal, os.listdir("/proc")):
        with suppress(OSError):
            if line in Path(f"/proc/{name}/status").read_text():
                found.append(int(name))
    return found


def calls_of(folder: Path) -> list[Call]:
    """Every call of a start."""
    log = folder.with_suffix(".strace")
    done = traced(folder, ["-o", str(log)], 6 * SECONDS)
    assert done.code == 0, done
    counts = Counter[tuple[str, str]]()
    for line in log.read_text(errors="replace").splitlines():
        if found := re.match(r"(\d+) +([a-z0-9_]+)\(", line):
            counts[found.groups()] += 1
    most: dict[str, int] = {}
    for (_, name), count in counts.items():
        most[name] = max(count, most.get(name, 0))
    return [
        Call(name, number + 1)
        for name, count in sorted(most.items())
        if name not in NEVER
        for number in range(count)
    ]


def failing(folder: Path, call: Call, error: str) -> Ended:
    """A start in which this call fails with this error. What does not end in time gets more, for a busy machine."""
    inject = f"inject={call.name}:error={error}:when={call.number}"
    options = ["-o", "/dev/null", "-e", f"trace={call.name}", "-e", inject]
    done = traced(folder, options)
    return traced(folder, options, 6 * SECONDS) if done.code is None else done


def flaw(done: Ended) -> str:
    """What is wrong with an end, or ""."""
    if done.code is None:
        return f"hangs: {done.err}"
    if "Traceback" in done.err + done.out:
        return f"traceback: {done.err}"
    if done.code not in (0, 2, 4):
        return f"exit code {done.code}: {done.err}"
    if done.code and not done.err.strip():
        return f"exit code {done.code}, and nothing is said"
    return ""


def main(which: str) -> None:
    """`which` is all, or I/N for a part that one of N processes does."""
    part, _, parts = which.partition("/")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        faults = [(call, error) for call in calls_of(folder / "first") for error in ERRORS]
        codes = Counter[int | None]()
        for call, error in faults[int(part) :: int(parts)] if parts else faults:
            done = failing(folder / "run", call, error)
            codes[done.code] += 1
            if said := flaw(done):
                print(*call, error, said, flush=True)
        print(f"{codes.total()} of {len(faults)} starts; exit codes {dict(codes)}")


if __name__ == "__main__":
    main(sys.argv[1])
