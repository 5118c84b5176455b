"""A start on a machine that fails, or that has little: it works, or says in a line why it can't."""

import os
import random
import resource
import shutil
import subprocess
import sys
import zipapp
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.disks import can_mount
from tests.faults.failing_calls import ERRORS, Call, calls_of, failing, flaw

ROOT = Path(__file__).parents[2]
PROGRAM = (sys.executable, "-m", "prunecli", "-p", "hi", "--model", "demo", "--trust")
RUNS = tuple("run echo hi" if word == "hi" else word for word in PROGRAM)
"""A sandbox, and the temporary folder that it needs, is made with the first command only."""
DOSE = 20
DRAWN = (
    *("newfstatat", "openat", "read", "write", "readlink", "getdents64", "mkdir", "unlink", "rmdir", "fcntl"),
    *("flock", "fdatasync", "fsync", "statfs", "pipe2", "epoll_create1", "epoll_ctl", "socketpair", "clone3"),
    *("vfork", "wait4", "dup2", "ioctl", "lseek", "memfd_create"),
)
"""The calls of the dose; the machines of others may lack some."""


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_any_system_call_that_fails_costs_a_line_at_most(tmp_path: Path) -> None:
    """A dose. `python -m tests.faults.failing_calls all` is the full run."""
    draw = random.Random(39)
    by_name: dict[str, list[int]] = {}
    for call in calls_of(tmp_path / "first"):
        by_name.setdefault(call.name, []).append(call.number)
    for name in draw.sample([name for name in DRAWN if name in by_name], DOSE):
        call, error = Call(name, draw.choice(by_name[name])), draw.choice(ERRORS)
        assert not flaw(failing(tmp_path / "run", call, error)), (call, error)


def started(
    folder: Path,
    *words: str,
    under: tuple[str, ...] = (),
    before: Callable[[], None] | None = None,
    **environ: str,
) -> "subprocess.CompletedProcess[str]":
    (folder / "work").mkdir(exist_ok=True)
    return subprocess.run(
        [*under, *(words or PROGRAM)],
        cwd=folder / "work",
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
            "HOME": str(folder / "home"),
        }
        | environ,
        preexec_fn=before,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


ALL_READ_ONLY = "mount --bind / /; mount -o remount,bind,ro /"
NO_TEMP = "mount -t tmpfs none /mnt; export HOME=/mnt; cd /mnt; mount -t tmpfs -o ro none /tmp; " + (
    "for one in /var/tmp /usr/tmp; do [ ! -d $one ] || mount -t tmpfs -o ro none $one; done"
)
FULL = "mount -t tmpfs -o size=8k none /mnt; export HOME=/mnt; head -c 8k /dev/zero > /mnt/x || true"
NO_SESSION = 'set -- "$@" --no-session'
SET_TMPDIR = "no temporary folder is writable; set TMPDIR"


@pytest.mark.skipif(not can_mount() or shutil.which("unshare") is None, reason="makes poor machines as root")
@pytest.mark.parametrize(
    ("lines", "code", "said"),
    [
        ([ALL_READ_ONLY], 4, "make the folder writable, or start with --no-session"),
        ([ALL_READ_ONLY, NO_SESSION], 0, SET_TMPDIR),
        ([NO_TEMP], 0, SET_TMPDIR),
        ([FULL], 4, "No space left on device"),
        (["export HOME=/nonexistent"], 4, "this user has no home folder; set HOME"),
        (["export HOME=/nonexistent", NO_SESSION], 0, ""),
    ],
    ids=["read-only", "read-only, no session", "no temp", "full disk", "no home", "no home, no session"],
)
def test_a_poor_machine_gets_one_clear_line(tmp_path: Path, lines: list[str], code: int, said: str) -> None:
    if NO_TEMP in lines and sys.prefix.startswith(("/tmp/", "/var/tmp/")):
        pytest.skip("the program itself is in a temporary folder")
    under = ("unshare", "-m", "bash", "-ec", "; ".join([*lines, 'exec "$@"']), "bash")
    told(started(tmp_path, *RUNS, under=under), code, said)
    assert not os.path.lexists("/nonexistent")


def test_a_user_without_a_name_and_home_can_start(tmp_path: Path) -> None:
    under = ("unshare", "--map-user=54321", "--map-group=54321", "env", "--unset=HOME")
    if subprocess.run([*under, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user namespace can be had here")
    told(started(tmp_path, under=under), 4, "this user has no home folder; set HOME")
    told(started(tmp_path, under=under, PRUNECLI_HOME=str(tmp_path / "data")), 0, "")


@pytest.mark.parametrize("size", [26, 42, 58, 74])
def test_little_memory_costs_one_clear_line(tmp_path: Path, size: int) -> None:
    limit = size * 1_000_000
    done = started(tmp_path, before=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    told(done, done.returncode, "")


def told(done: "subprocess.CompletedProcess[str]", code: int, said: str) -> None:
    """The program ended with this code, a line that says this, and no traceback."""
    assert done.returncode in (0, 2, 4), done.stderr
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) <= 3, done.stderr


def test_a_zip_application_finds_its_data_and_starts_its_helpers(tmp_path: Path) -> None:
    package = tmp_path / "app" / "prunecli"
    shutil.copytree(ROOT / "prunecli", package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "themes", package / "themes")
    zipapp.create_archive(tmp_path / "app", tmp_path / "app.pyz", main="prunecli.__main__:main")
    (tmp_path / "temp").mkdir()
    words = (sys.executable, str(tmp_path / "app.pyz"), "-p", "run echo hi", "--model", "demo", "--trust")
    done = started(tmp_path, *words, PYTHONPATH="", TMPDIR=str(tmp_path / "temp"))
    assert (done.returncode, "    hi" in done.stdout) == (0, True), done
    assert not list((tmp_path / "temp").iterdir())


UNHANDLED = """
import asyncio, gc, os, sys, threading
from prunecli import __main__ as program
from prunecli.util import errors
sys.argv[1:] = ["--version"]
program.end = lambda code: None
program.main()

async def fails():
    raise ValueError("in a\\ntask")

async def begins():
    asyncio.get_running_loop().set_exception_handler(errors.report_unawaited)
    asyncio.ensure_future(fails())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    before = set(sys.modules)
    gc.collect()
    assert set(sys.modules) == before, set(sys.modules) - before

asyncio.run(begins())
thread = threading.Thread(target=lambda: {}["in a thread"])
thread.start()
thread.join()
raise PermissionError(13, "Permission denied", "/x")
"""


def test_what_nothing_handles_is_one_line_and_imports_nothing(tmp_path: Path) -> None:
    done = started(tmp_path, sys.executable, "-c", UNHANDLED)
    assert [line.partition(" (")[0] for line in done.stderr.splitlines()] == [
        "prunecli: internal error: ValueError: in a task",
        "prunecli: internal error: KeyError: 'in a thread'",
        "prunecli: /x: Permission denied",
        "check the disk, its permissions and the limits",
    ]
