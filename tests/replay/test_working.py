"""Many sessions in several processes, some of which end too soon."""

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from prunecli.features.replay.working import Outcome, each_session
from prunecli.util.errors import PrunecliError, SessionLocked

ROOT = Path(__file__).parents[2]
PATHS = [Path(name) for name in ("one", "two", "three", "four", "five", "six")]


def replayed(make: Any, job: Any, paths: list[Path] = PATHS) -> list[Outcome[Any]]:
    """The outcomes by path, from two processes."""
    return sorted(each_session(paths, make, job, processes=2))


def ends(how: int, names: tuple[str, ...], stage: object, path: Path) -> int:
    """A job that kills its own process at some of the paths."""
    if path.name in names:
        os.kill(os.getpid(), how)
    return os.getpid()


def fails(stage: object, path: Path) -> str:
    if path.name == "two":
        raise ValueError("a defect")
    return path.name


def locked() -> Path:
    raise SessionLocked(Path("config"), 7)


def broken() -> Path:
    raise ValueError("a defect")


def killed(folder: Path, *, once: bool) -> Path:
    """Kill the process that starts, or only the first one."""
    try:
        (folder / "killed").touch(exist_ok=not once)
    except FileExistsError:
        return folder
    os.kill(os.getpid(), signal.SIGKILL)
    return folder


def test_a_process_that_is_killed_costs_only_its_session() -> None:
    names = ("one", "four", "five")  # more than there are processes
    outcomes = replayed(Path, partial(ends, signal.SIGKILL, names))
    assert [one.path for one in outcomes] == sorted(PATHS)
    assert [one.problem for one in outcomes if one.result is None] == [
        f"{name}: the process that replayed it was ended (signal 9), perhaps because memory ran out"
        for name in sorted(names)
    ]
    assert len([one for one in outcomes if one.result]) == 3


def test_another_signal_is_named_without_a_guess() -> None:
    outcomes = replayed(Path, partial(ends, signal.SIGTERM, ("two",)))
    assert [one.problem for one in outcomes if one.problem] == [
        "two: the process that replayed it was ended (signal 15)"
    ]


def test_it_ends_even_if_every_process_is_killed() -> None:
    outcomes = replayed(Path, partial(ends, signal.SIGKILL, tuple(map(str, PATHS))))
    assert [one.path for one in outcomes if one.problem] == sorted(PATHS)


def test_a_defect_costs_only_its_session_and_is_shown(capfd: pytest.CaptureFixture[str]) -> None:
    outcomes = replayed(Path, fails)
    assert [one.problem for one in outcomes if one.problem] == [
        "two: the process that replayed it failed (exit code 1)"
    ]
    assert len([one for one in outcomes if one.result]) == 5
    assert "ValueError: a defect" in capfd.readouterr().err


def test_a_process_that_cannot_start_is_an_error(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(PrunecliError, match="config is in use by process 7") as refused:
        replayed(locked, fails)
    assert "--fork" in refused.value.hint
    assert capfd.readouterr().err == ""
    with pytest.raises(PrunecliError, match=r"a process .* failed \(exit code 1\) while it started"):
        replayed(broken, fails)
    assert "ValueError: a defect" in capfd.readouterr().err


def test_the_others_go_on_without_a_process_that_was_killed_while_it_started(tmp_path: Path) -> None:
    outcomes = replayed(partial(killed, tmp_path, once=True), partial(ends, 0, ()))
    assert [one.path for one in outcomes if one.result] == sorted(PATHS)
    assert len({one.result for one in outcomes}) == 1
    with pytest.raises(PrunecliError, match=r"was ended \(signal 9\) while it started"):
        replayed(partial(killed, tmp_path, once=False), fails)


def abandoned(stage: object, path: Path) -> None:
    """A job that kills the program that started it, then never ends."""
    os.kill(os.getppid(), signal.SIGKILL)
    signal.pause()


def test_processes_end_with_the_one_that_started_them() -> None:
    program = (
        "from pathlib import Path; from tests.replay.test_working import abandoned, replayed;"
        "replayed(Path, abandoned)"
    )
    # This reads until all processes have ended, because they share the output.
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == -signal.SIGKILL
    assert (done.stdout, done.stderr) == ("", "")
