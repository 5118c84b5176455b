"""Hooks as processes: what they get, and that none of them can hold anything up."""

import asyncio
import json
import os
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from prunecli.features.hooks.replies import Ran
from prunecli.features.hooks.runs import MAX_OUTPUT, run_hook
from prunecli.features.hooks.settings import Hook
from tests.waiting import until

ENV = {"PATH": "/usr/bin:/bin"}


async def ran(folder: Path, command: str, given: dict[str, Any] | None = None, limit: float = 30.0) -> Ran:
    hook = Hook("Stop", command, timeout=limit)
    return await run_hook(hook, given or {}, cwd=folder, env=ENV)


async def test_it_gets_json_and_both_outputs_are_kept_apart(tmp_path: Path) -> None:
    given = {"prompt": "ä\u2028\ud800 'quoted' $HOME", "large": "x" * 300_000}
    done = await ran(tmp_path, "cat > given; pwd; echo no >&2; exit 2", given)
    assert json.loads((tmp_path / "given").read_text()) == given
    assert (done.exit_code, done.stdout, done.stderr, done.problem) == (2, f"{tmp_path}\n", "no\n", "")


async def test_one_that_never_reads_its_input_ends_well(tmp_path: Path) -> None:
    done = await ran(tmp_path, "echo hi", {"large": "x" * 300_000})
    assert (done.exit_code, done.stdout) == (0, "hi\n")


@pytest.mark.parametrize("stream", ["", ">&2"])
async def test_a_flood_is_read_and_bounded(tmp_path: Path, stream: str) -> None:
    done = await ran(tmp_path, f"head -c 100000000 /dev/zero {stream}; exit 2")
    assert done.exit_code == 2
    assert len(done.stdout) + len(done.stderr) <= 2 * MAX_OUTPUT


async def test_the_loop_turns_while_a_hook_floods(tmp_path: Path) -> None:
    task = asyncio.ensure_future(ran(tmp_path, "yes", limit=1.0))
    turns = 0
    while not task.done():
        await asyncio.sleep(0)
        turns += 1
    assert turns > 20
    assert (await task).problem == "no answer within 1 s, so it was stopped"


async def test_a_hang_ends_with_its_time_limit_and_its_processes_too(tmp_path: Path) -> None:
    done = await ran(tmp_path, "trap '' TERM; sleep 600 & echo $! > child; wait", limit=0.5)
    assert done.problem == "no answer within 0.5 s, so it was stopped"
    assert done.exit_code is None
    child = (tmp_path / "child").read_text().strip()
    await until(lambda: not _runs(child))


def _runs(pid: str) -> bool:
    """Whether a process runs; one that is dead but not yet waited for has no command line."""
    try:
        return bool(Path(f"/proc/{pid}/cmdline").read_bytes())
    except OSError:
        return False


async def test_a_process_left_behind_does_not_hold_the_answer_up(tmp_path: Path) -> None:
    begun = monotonic()
    done = await ran(tmp_path, "sleep 600 & echo done")
    assert (done.exit_code, done.stdout) == (0, "done\n")
    assert monotonic() - begun < 20


async def test_a_cancellation_ends_it(tmp_path: Path) -> None:
    task = asyncio.ensure_future(ran(tmp_path, "echo $$ > pid; exec sleep 600"))
    while not (tmp_path / "pid").exists():
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("./plain", 126),
        ("./missing", 127),
        ("kill -9 $$", -9),
        ("(", None),
        ("exit 255", 255),
    ],
)
async def test_one_that_dies_or_cannot_run_has_an_exit_code(
    tmp_path: Path, command: str, code: int | None
) -> None:
    (tmp_path / "plain").write_text("echo hi\n")
    done = await ran(tmp_path, command)
    assert not done.problem
    assert done.exit_code == code if code is not None else done.exit_code not in (0, None)


async def test_a_folder_that_is_gone_is_a_problem_in_one_line(tmp_path: Path) -> None:
    done = await ran(tmp_path / "gone", "echo hi")
    assert done.problem.startswith("could not be started: ")
    assert "\n" not in done.problem


async def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    await ran(tmp_path, "true")
    before = len(os.listdir("/dev/fd"))
    for _ in range(5):
        await ran(tmp_path, "echo hi; echo no >&2")
    assert len(os.listdir("/dev/fd")) == before
