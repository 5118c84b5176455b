"""The bash tool: nothing that a command started is left when its call is over."""

import asyncio
import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from prunecli.tools.processes import command as running
from prunecli.util.errors import ToolError
from tests.tools.calling import Caller, processes_with
from tests.waiting import DEADLINE, until

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")


NEEDS_SETSID = pytest.mark.skipif(shutil.which("setsid") is None, reason="needs setsid")


@pytest.fixture
def mark() -> str:
    """A number of seconds that only this test's processes sleep."""
    return f"{random.randrange(100_000, 999_999)}.{os.getpid()}"


async def test_a_background_process_does_not_keep_the_call_waiting(tools: Caller, mark: str) -> None:
    """It holds the pipe for two days; the call is over long before its timeout."""
    text = await asyncio.wait_for(tools.text("bash", command=f"sleep {mark} & echo hi"), DEADLINE)
    assert text == f"hi\n[1 background process was ended: sleep {mark}]"
    assert processes_with(mark) == []


@pytest.mark.parametrize(
    "command",
    [
        "sleep {0} &",
        "nohup sleep {0} >/dev/null 2>&1 &",
        "sleep {0} & disown",
        pytest.param("setsid sleep {0} &", marks=NEEDS_SETSID),
        pytest.param("(setsid sh -c 'sleep {0} & sleep {0} & wait' &) ; (sleep {0} &)", marks=NEEDS_SETSID),
        pytest.param(
            "setsid sh -c \"trap '' TERM HUP; while :; do sleep {0}; done\" >/dev/null 2>&1 &",
            marks=NEEDS_SETSID,
        ),
        pytest.param("sh -c 'sleep {0} & exec setsid sleep {0}' & sleep 0.05", marks=NEEDS_SETSID),
        "sleep {0} & kill -STOP $!",
    ],
)
async def test_nothing_escapes_the_end_of_a_call(tools: Caller, mark: str, command: str) -> None:
    text = await tools.text("bash", command=command.format(mark))
    assert "ended: " in text
    assert processes_with(mark) == []


async def test_output_of_a_straggler_that_ends_soon_is_not_lost(tools: Caller) -> None:
    text = await tools.text("bash", command="echo a > >(cat)")
    assert text.splitlines()[0] == "a"


async def test_a_process_that_ignores_term_is_killed(tools: Caller, mark: str) -> None:
    command = f"trap '' TERM; echo begun; while :; do sleep {mark}; done"
    output = await tools.output("bash", command=command, timeout=0.3)
    assert output.details["timed_out"]
    assert processes_with(mark) == []


async def test_a_command_may_clean_up_when_its_time_is_up(tools: Caller, workspace: Path) -> None:
    """TERM comes first."""
    command = "trap 'echo cleaned > done; exit' TERM; while :; do sleep 0.01; done"
    await tools.output("bash", command=command, timeout=0.3)
    assert (workspace / "done").read_text() == "cleaned\n"


async def test_a_command_that_ends_its_supervisor_is_ended_too(tools: Caller, mark: str) -> None:
    output = await tools.output("bash", command=f"kill -KILL $PPID; sleep {mark}")
    assert output.is_error
    assert output.details["exit_code"] is None
    await until(lambda: processes_with(mark) == [])


async def test_a_supervisor_can_only_be_killed(tools: Caller) -> None:
    text = await tools.text(
        "bash", command="kill -TERM $PPID; kill -HUP $PPID; kill -INT $PPID; echo still here"
    )
    assert text == "still here\n"


async def _left(tools: Caller, mark: str, delay: float, command: str) -> list[int]:
    """The processes that are left of a command that is canceled after so many seconds."""
    call = asyncio.create_task(tools.output("bash", command=command))
    await asyncio.sleep(delay)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    return processes_with(mark)


_TREE = "sleep {0} & setsid sleep {0} & (sleep {0} &) ; sleep {0}"


@pytest.mark.parametrize(("times", "latest"), [(8, 0.06), pytest.param(200, 0.12, marks=pytest.mark.long)])
async def test_esc_ends_everything_whenever_it_comes(
    tools: Caller, mark: str, times: int, latest: float
) -> None:
    chance = random.Random(times)
    for _ in range(times):
        assert await _left(tools, mark, chance.uniform(0, latest), _TREE.format(mark)) == []


async def test_esc_twice_ends_what_ignores_term_as_well(tools: Caller, mark: str, workspace: Path) -> None:
    command = f"trap '' TERM; touch begun; while :; do sleep {mark}; done"
    call = asyncio.create_task(tools.output("bash", command=command))
    await until((workspace / "begun").exists)
    call.cancel()
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert processes_with(mark) == []


def _has_zombies() -> bool:
    """Whether a child has ended and nobody has asked how; living ones may be other tests'."""
    try:
        return os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return False


async def test_no_descriptor_and_no_zombie_is_left(tools: Caller, mark: str) -> None:
    await tools.text("bash", command="true")
    before = sorted(os.listdir("/proc/self/fd"))
    for command in ("true", f"sleep {mark} &", "exit 3"):
        await tools.text("bash", command=command)
    assert await _left(tools, mark, 0.02, _TREE.format(mark)) == []
    assert sorted(os.listdir("/proc/self/fd")) == before
    assert not _has_zombies()


AGENT = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.tools.calling import Caller
asyncio.run(Caller(Path({workspace!r})).output("bash", command={command!r}))
"""


def _started(source: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-c", source], start_new_session=True)


@NEEDS_SETSID
@pytest.mark.parametrize("ignores_term", [False, True])
async def test_a_killed_agent_takes_its_tools_with_it(mark: str, workspace: Path, ignores_term: bool) -> None:
    trap = "trap '' TERM HUP; " if ignores_term else ""
    command = f"{trap}{_TREE.format(mark)}"
    root = str(Path(__file__).parents[2])
    source = textwrap.dedent(AGENT).format(root=root, workspace=str(workspace), command=command)
    agent = _started(source)
    try:
        await until(lambda: sum("sleep" in _comm(pid) for pid in processes_with(mark)) == 4)
    finally:
        agent.send_signal(signal.SIGKILL)
        agent.wait()
    await until(lambda: processes_with(mark) == [])
    assert agent.returncode == -signal.SIGKILL


def _comm(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text()
    except OSError:
        return ""


async def test_running_calls_beside_each_other_do_not_end_each_other(tools: Caller, mark: str) -> None:
    texts = await asyncio.gather(
        tools.text("bash", command=f"sleep {mark} & echo one"),
        tools.text("bash", command="sleep 0.3; echo two"),
    )
    assert texts[1] == "two\n"
    assert processes_with(mark) == []


async def test_a_reader_that_has_enough_ends_the_command(workspace: Path, mark: str) -> None:
    ended = await running.run(
        ["/bin/sh", "-c", f"echo one; echo two; sleep {mark}"],
        cwd=workspace,
        env={"PATH": os.environ["PATH"]},
        take=lambda data: b"two" not in data,
        time_limit=10_000,
        grace=0,
    )
    assert not ended.timed_out
    assert processes_with(mark) == []


async def test_a_program_that_is_not_there_is_an_error(workspace: Path) -> None:
    with pytest.raises(ToolError, match="No such file"):
        await running.run(
            ["/no/such/program"], cwd=workspace, env={}, take=lambda _: True, time_limit=10, grace=0
        )


async def test_a_process_that_waits_for_a_pipe_is_ended(tools: Caller, workspace: Path) -> None:
    output = await tools.output("bash", command="mkfifo pipe; cat pipe", timeout=0.2)
    assert output.details["timed_out"]
    assert processes_with("cat pipe") == []
