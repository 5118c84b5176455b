"""A command in the background below the runtime: its kept output, its end, and what goes wrong on the way."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from prunecli.tools.processes.background import Child, KeptOutput, stop_detached
from prunecli.tools.processes.command import Ended, Moved, run_movable
from prunecli.tools.processes.supervise import Kept
from tests.tools.calling import processes_with
from tests.waiting import until, wait_until


def mark() -> str:
    return f"mark{os.urandom(6).hex()}"


async def moved(
    folder: Path, line: str, *, cap: int = 1_000_000, order: Callable[[KeptOutput], bytes] | None = None
) -> tuple[KeptOutput, Child]:
    """A command that goes to the background at once, with what it has printed by then."""
    output, printed = KeptOutput(folder), bytearray()

    def take(data: bytes) -> bool:
        printed.extend(data)
        return True

    def kept() -> bytes:
        return output.order(bytes(printed), len(printed), printed.count(b"\n"), 0.0, cap)

    moving = asyncio.get_running_loop().create_future()
    moving.set_result(None)
    done = await run_movable(
        ["/bin/sh", "-c", line],
        cwd=folder.parent,
        env={"PATH": os.environ["PATH"]},
        take=take,
        time_limit=60,
        grace=1.0,
        descriptors=(),
        moving=moving,
        order=lambda: order(output) if order else kept(),
    )
    assert isinstance(done, Moved)
    return output, Child(done, output)


async def over(child: Child) -> Ended:
    def looked() -> Ended | None:
        child.look()
        return child.over

    await until(looked)
    assert child.over
    return child.over


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "job"
    made.mkdir()
    return made


def test_the_newest_output_stays_in_two_files_with_counts(folder: Path) -> None:
    kept = Kept(str(folder), 100, 0, 0)
    lines = [b"%05d\n" % number for number in range(100)]
    for line in lines:
        kept.add(line)
    output, whole = KeptOutput(folder), b"".join(lines)
    assert len([name for name in os.listdir(folder) if name.startswith("out.")]) == 2
    part = output.part(0)
    assert whole.endswith(part.data)
    assert 50 <= len(part.data) <= 106
    assert part.end == len(whole)
    assert part.start == len(whole) - len(part.data)
    assert part.first_line == part.start // 6 + 1
    assert output.part(len(whole) - 12).data == lines[98] + lines[99]
    assert output.part(len(whole) - 12).first_line == 99
    nothing = output.part(len(whole))
    assert (nothing.data, nothing.start, nothing.end) == (b"", 600, 600)
    assert output.tail(8) == whole[-8:]
    assert output.tail(1_000) == part.data
    assert output.last_line() == "00099"
    assert output.supervisor() == 0, "a lock of this process is none of another's"


def test_what_was_printed_before_the_move_comes_first(folder: Path) -> None:
    output = KeptOutput(folder)
    words = output.order(b"two\nthr", 11, 2, 1.5)
    assert words.startswith(b"B" + os.fsencode(folder) + b"\0")
    assert words.endswith(b"\x001.5\x0011\x002\n")
    assert (folder / "out.4.1").read_bytes() == b"two\nthr"
    part = output.part(0)
    assert (part.data, part.first_line, part.start, part.end) == (b"two\nthr", 2, 4, 11)
    with pytest.raises(OSError, match="exists"):
        output.order(b"two\nthr", 11, 2, 0)


def test_a_folder_without_anything_is_no_error(tmp_path: Path) -> None:
    output = KeptOutput(tmp_path / "none")
    assert (output.part(0).data, output.tail(5), output.last_line()) == (b"", b"", "")
    assert output.noted_end() is None
    assert output.supervisor() == 0
    assert stop_detached(output, 1.0)
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "end").write_text("x")
    (broken / "pid").write_text("")
    assert KeptOutput(broken).noted_end() is None
    assert KeptOutput(broken).supervisor() == 0


async def test_the_end_is_noted_with_all_output(folder: Path) -> None:
    go_on = folder.with_name("go-on")
    output, child = await moved(folder, f"until [ -e '{go_on}' ]; do sleep 0.02; done; seq 5; exit 3")
    go_on.touch()
    assert (await over(child)).exit_code == 3
    noted = output.noted_end()
    assert noted
    assert noted.exit_code == 3
    assert output.part(0).data == b"1\n2\n3\n4\n5\n"
    assert output.supervisor() == 0


async def test_a_folder_that_cannot_be_written_ends_the_command(folder: Path) -> None:
    word = mark()

    def lost(output: KeptOutput) -> bytes:
        order = output.order(b"", 0, 0, 0.0)
        os.rmdir(folder)
        return order

    _, child = await moved(folder, f"setsid sh -c 'sleep 1000; : {word}' & sleep 1000; : {word}", order=lost)
    assert (await over(child)).exit_code != 0
    await until(lambda: not processes_with(word))


_STOPPED = [code for number in (signal.SIGTERM, signal.SIGKILL) for code in (-number, 128 + number)]
"""Exit codes of a stopped shell: by the signal, or for a command of its that the signal ended."""


async def test_stopping_what_ends_just_now_does_no_harm(folder: Path) -> None:
    for number in range(10):
        place = folder / str(number)
        place.mkdir()
        os.mkfifo(place / "go")
        go = os.open(place / "go", os.O_RDWR)
        _, child = await moved(place, f"read x < {number}/go; sleep 0.0{number}")
        os.write(go, b"\n")
        child.stop()
        child.stop(now=True)
        child.detach()
        ended = await over(child)
        os.close(go)
        assert ended.exit_code in (0, *_STOPPED, None)
        child.stop()


@pytest.mark.skipif(sys.platform != "linux", reason="needs a parent-death signal")
async def test_a_killed_supervisor_takes_the_command_with_it(folder: Path) -> None:
    word = mark()
    output, child = await moved(folder, f"echo hi; exec sh -c 'while :; do sleep 0.05; done; : {word}'")
    await until(output.supervisor)
    await until(lambda: output.last_line() == "hi")
    os.kill(output.supervisor(), signal.SIGKILL)
    assert (await over(child)).exit_code is None
    assert output.noted_end() is None
    await until(lambda: not processes_with(word))


async def test_term_ends_a_detached_command_and_only_a_detached_one(folder: Path) -> None:
    word = mark()
    output, child = await moved(
        folder, f"trap 'echo bye; exit 0' TERM; while :; do sleep 0.01; done; : {word}"
    )
    await until(output.supervisor)
    os.kill(output.supervisor(), signal.SIGTERM)
    assert not output.was_detached
    child.detach()
    await until(lambda: output.was_detached)
    await until(lambda: processes_with(word))  # it may not have become bash yet
    assert await asyncio.to_thread(stop_detached, output, 30.0)
    wait_until(lambda: not processes_with(word))
    assert output.last_line() == "bye"
    await over(child)
