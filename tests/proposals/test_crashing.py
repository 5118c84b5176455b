"""Applying that is cut off, or meets a full disk, at each of its steps: all of it or nothing."""

import errno
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from prunecli.safety.proposals.apply import apply
from prunecli.safety.proposals.recovery import recover
from prunecli.safety.sandbox.sandbox import Chosen
from prunecli.util.errors import ToolError
from tests.proposals.laying import Trial, tree, trial
from tests.proposals.test_applying import filled

COMMAND = """
echo more >> one; echo b >> a; rm d/x; rm -r d/sub; mkdir -p n/m; echo f > n/m/f; chmod 500 n/m
chmod 700 ro; echo new > ro/new; rm ro/f; chmod 555 ro; ln -s a l; mv a e; mkdir a
"""


class Killed(BaseException):
    """Stands for kill -9: nothing is cleaned up."""


def at(count: int, error: BaseException) -> Callable[[], None]:
    """What raises the error when it is called for the `count`th time."""
    calls = 0

    def tick() -> None:
        nonlocal calls
        calls += 1
        if calls == count:
            raise error

    return tick


async def tried(one: Trial) -> None:
    filled(one.workspace)
    await one.run(COMMAND)


@pytest.fixture(params=["same disk", "other disk"])
def layers(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Where layers are."""
    if request.param == "same disk":
        yield tmp_path / "layers"
        return
    elsewhere = Path("/dev/shm")
    if not os.access(elsewhere, os.W_OK) or elsewhere.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("needs another disk")
    folder = elsewhere / f"prunecli-test-{os.getpid()}-{tmp_path.parent.name}"
    yield folder
    folder.rmdir()


async def wanted(folder: Path, chosen: Chosen) -> dict[str, tuple[object, ...]]:
    with trial(folder, chosen) as other:
        filled(other.workspace)
        other.direct(COMMAND)
        return tree(other.workspace)


async def test_a_program_that_is_killed_at_any_step_leaves_all_or_nothing(
    tmp_path: Path, chosen: Chosen, layers: Path
) -> None:
    after, seen = await wanted(tmp_path / "done", chosen), set[bool]()
    for count in range(1, 60):
        with trial(tmp_path / str(count), chosen, layers=layers) as one:
            await tried(one)
            before = tree(one.workspace)
            try:
                apply(one.freeze(), at(count, Killed()))
                break
            except Killed:
                one.abandon()
            lines = recover(layers)
            found = tree(one.workspace)
            is_applied = found == after
            assert is_applied or found == before, count
            assert os.listdir(layers) == []
            if lines:
                assert lines[0].endswith("it is done now" if is_applied else "nothing was changed"), count
            seen.add(is_applied)
    else:
        raise AssertionError("has no end")
    assert count > 20
    assert seen == {False, True}


async def test_kill_minus_nine_leaves_all_or_nothing(tmp_path: Path, chosen: Chosen) -> None:
    """A real one, of a process that shares the layer, at every fourth step."""
    after, seen = await wanted(tmp_path / "done", chosen), set[bool]()
    for count in range(1, 60, 4):
        layers = tmp_path / "layers"
        with trial(tmp_path / str(count), chosen, layers=layers) as one:
            await tried(one)
            before, frozen = tree(one.workspace), one.freeze()
            if killed(lambda: apply(frozen, dying(count))):  # noqa: B023  # it is called at once
                one.abandon()
                recover(layers)
            found = tree(one.workspace)
            assert found in (before, after), count
            seen.add(found == after)
    assert seen == {False, True}


def dying(count: int) -> Callable[[], None]:
    """What kills the process when it is called for the `count`th time."""
    calls = iter(range(1, count))
    return lambda: None if next(calls, 0) else os.kill(os.getpid(), signal.SIGKILL)


def killed(work: Callable[[], object]) -> bool:
    """Do something in a child process; return whether it was killed."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


async def test_a_full_disk_at_any_step_leaves_everything_as_before(
    tmp_path: Path, chosen: Chosen, layers: Path
) -> None:
    after = await wanted(tmp_path / "done", chosen)
    for count in range(1, 60):
        with trial(tmp_path / str(count), chosen, layers=layers) as one:
            await tried(one)
            before = tree(one.workspace)
            try:
                apply(one.freeze(), at(count, OSError(errno.ENOSPC, "No space left on device")))
            except ToolError as error:
                assert "No space left on device" in str(error)  # noqa: PT017  # it need not fail
                assert tree(one.workspace) == before, count
                continue
            except OSError:  # while what is left is removed: the next program does it
                one.abandon()
                recover(layers)
            assert tree(one.workspace) == after, count
            if count > 50:
                return


async def test_the_layer_of_a_living_program_is_left_alone(one: Trial) -> None:
    await one.run("echo x > new")
    assert recover(Path(one.layer.folder).parent) == []
    assert one.freeze().changes
