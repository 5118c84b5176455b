"""kill -9 at system calls that touch the log: nothing acknowledged is lost, nothing runs twice, it goes on."""

import asyncio
import collections
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.session.log import read_log
from prunecli.session.session import Session
from tests.faults.playing import Play, played, traces

pytestmark = pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
ROOT = Path(__file__).parents[2]
DEADLINE = 60


def strace(folder: Path, play: Play, *options: str) -> tuple[int, list[tuple[int, str]]]:
    """Plays under strace; the exit status and what was acknowledged: (records, hash of their context)."""
    child = [sys.executable, "-m", "tests.faults.playing", str(folder), str(play.prompts), str(play.steps)]
    done = subprocess.run(
        ["strace", "-f", "-qq", "-P", str(folder / "s.jsonl"), *options, *child],
        cwd=ROOT,
        capture_output=True,
        timeout=DEADLINE,
        check=False,
    )
    lines = [line.split() for line in done.stdout.decode().splitlines()]
    return done.returncode, [(int(count), digest) for count, digest in lines]


def calls_on_the_log(folder: Path, play: Play) -> dict[str, int]:
    """How often each system call touches the log, in the thread that makes it most often."""
    folder.mkdir()
    output = folder / "calls"
    code, _ = strace(folder, play, "-o", str(output))
    assert code == 0
    counts: dict[tuple[str, str], int] = collections.Counter()
    for line in output.read_text("utf-8", "replace").splitlines():
        if found := re.match(r"(\d+)\s+(\w+)\(", line):
            counts[found[1], found[2]] += 1
    most: dict[str, int] = {}
    for (_, name), count in counts.items():
        most[name] = max(most.get(name, 0), count)
    return most


def killed(folder: Path, play: Play, call: str, number: int) -> list[tuple[int, str]] | None:
    """Kills at the n-th such call; what had been acknowledged, None where it ended before."""
    folder.mkdir()
    inject = f"inject={call}:signal=KILL:when={number}"
    code, acked = strace(folder, play, "-o", "/dev/null", "-e", f"trace={call}", "-e", inject)
    if code == 0:
        return None
    assert code in (-signal.SIGKILL, 128 + signal.SIGKILL), code
    return acked


def check(folder: Path, play: Play, acked: Sequence[tuple[int, str]]) -> None:
    """What was acknowledged is there once and gives the same context; the session goes on to its end."""
    path = folder / "s.jsonl"
    if path.exists() and path.stat().st_size:
        loaded = read_log(path)
        assert [one.seq for one in loaded.records] == list(range(len(loaded.records)))
        assert len(loaded.bad) <= 1  # the line that was being written
        context, digests = Context(Chars4()), {}
        reader = Session.load(path, Context(Chars4()), writable=False)
        for number, record in enumerate(reader.records, 1):
            context.apply(record)
            digests[number] = context.sha256()
        for count, digest in acked:
            assert digests.get(count) == digest, f"{count} records were acknowledged"
    else:
        assert not acked
    one = played(folder, play)
    asyncio.run(one.go_on())
    one.session.close()
    one.check_requests()
    ran = traces(folder)
    assert len(ran) == len(set(ran)), "a call ran twice"
    assert one.answered() == len(play.script)
    assert not read_log(path).bad or len(read_log(path).bad) == 1


def points(calls: dict[str, int], most: int | None) -> Iterator[tuple[str, int]]:
    """Every call, or so many of each kind: the first, the last, and some between."""
    for call, count in sorted(calls.items()):
        step = 1 if most is None else max(1, -(-count // most))
        yield from ((call, number) for number in range(1, count + 1, step))


def kill_everywhere(tmp_path: Path, play: Play, most: int | None) -> int:
    """Kills at the points; how many times it was killed."""
    kills = 0
    for call, number in points(calls_on_the_log(tmp_path / "dry", play), most):
        folder = tmp_path / f"{call}-{number}"
        acked = killed(folder, play, call, number)
        if acked is not None:
            kills += 1
            check(folder, play, acked)
        shutil.rmtree(folder)
    return kills


@pytest.mark.parametrize(
    ("play", "most", "kills"),
    [(Play(1, 0), 2, 10), pytest.param(Play(3, 5), None, 3 * 200, marks=pytest.mark.long)],
    ids=["dose", "every call of 200 records"],  # three calls or more for each record
)
def test_killed_at_system_calls_of_a_session_it_loses_nothing_and_runs_nothing_twice(
    tmp_path: Path, play: Play, most: int | None, kills: int
) -> None:
    assert kill_everywhere(tmp_path, play, most) >= kills


def test_what_is_checked_after_a_kill_finds_a_lost_record(tmp_path: Path) -> None:
    """The check itself: a record that was acknowledged and is missing, or another context, is found."""
    folder, play = tmp_path / "x", Play(1, 0)
    folder.mkdir()
    _, acked = strace(folder, play, "-o", "/dev/null")
    check(folder, play, acked)
    path = folder / "s.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: acked[-1][0] - 1]))
    with pytest.raises(AssertionError, match="were acknowledged"):
        check(folder, play, acked)
