"""The bash tool: what a command is given, what is told of its output and of its end."""

import asyncio
import os
import signal
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from prunecli.tools.processes.command import get_ready
from prunecli.tools.processes.sandboxing import SandboxedCommand
from prunecli.tools.tool import TRUNCATION_MARKER, ToolLimits
from tests.tools.calling import Caller, parent_of, processes_with
from tests.waiting import until

linux_only = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")


async def test_output_of_both_streams_comes_in_the_order_it_was_written(tools: Caller) -> None:
    assert await tools.text("bash", command="echo one; echo two >&2; echo three") == "one\ntwo\nthree\n"


async def test_nothing_printed_is_said(tools: Caller) -> None:
    output = await tools.output("bash", command="true")
    assert not output.is_error
    assert await tools.text("bash", command="true") == "(no output)"


@pytest.mark.parametrize(
    ("command", "last_line"),
    [
        ("exit 1", "[exit code 1]"),
        ("false", "[exit code 1]"),
        ("kill -TERM $$", "[killed by SIGTERM]"),
        ("kill -SEGV $$", "[killed by SIGSEGV]"),
        ("no-such-program-at-all", "[exit code 127: command not found]"),
        ("touch plain; ./plain", "[exit code 126: not executable]"),
        ("bash -c 'kill -KILL $$'; exit $?", "[exit code 137 (SIGKILL)]"),
        ("set -e; false; echo never", "[exit code 1]"),
        ("exec >&- 2>&-; echo nowhere", "[exit code 1]"),
        ("if then", "[exit code 2]"),
    ],
)
async def test_a_failure_is_an_error_result_that_ends_with_how(
    tools: Caller, command: str, last_line: str
) -> None:
    output = await tools.output("bash", command=command)
    assert output.is_error
    assert (await tools.text("bash", command=command)).splitlines()[-1] == last_line


async def test_the_exit_code_and_the_size_are_details(tools: Caller) -> None:
    output = await tools.output("bash", command="echo 12345; exit 3")
    assert output.details["exit_code"] == 3
    assert output.details["bytes"] == 6
    assert output.details["truncated"] is False


@pytest.mark.parametrize("command", ["-c", "-x", "--version", "--"])
async def test_a_command_that_looks_like_an_option_is_a_command(tools: Caller, command: str) -> None:
    assert "[exit code 127" in await tools.text("bash", command=command)


# What a command is given


async def test_standard_input_is_empty_and_there_is_no_terminal(tools: Caller) -> None:
    text = await tools.text("bash", command="cat; read x; echo $?; (: < /dev/tty) 2>/dev/null; echo $?; tty")
    assert text.splitlines()[:3] == ["1", "1", "not a tty"]


async def test_nothing_waits_for_a_person(tools: Caller, workspace: Path) -> None:
    """Pagers print, editors fail, git does not ask for a password."""
    await tools.text("bash", command="git init -q . && git config user.email a@b && git config user.name n")
    editor = await tools.output("bash", command="touch f; git add f; git commit")
    assert editor.is_error
    text = await tools.text(
        "bash", command="$PAGER /dev/null; echo $EDITOR $VISUAL $GIT_TERMINAL_PROMPT $TERM"
    )
    assert text == "false false 0 dumb\n"


async def test_the_environment_is_the_given_one_and_the_fixed_words(tools: Caller) -> None:
    given = {"PATH": os.environ["PATH"], "ONLY": "this"}
    text = await tools.with_(env=given).text("bash", command="env -0 | tr '\\0' '\\n'")
    names = {line.partition("=")[0] for line in text.splitlines()}
    by_the_shell = {"PWD", "SHLVL", "_", "OLDPWD"}
    fixed = {
        "EDITOR",
        "GIT_EDITOR",
        "GIT_PAGER",
        "GIT_TERMINAL_PROMPT",
        "NO_COLOR",
        "PAGER",
        "TERM",
        "VISUAL",
    }
    assert names - by_the_shell == {"PATH", "ONLY"} | fixed


async def test_nothing_set_in_a_call_is_there_in_the_next(tools: Caller, workspace: Path) -> None:
    (workspace / "sub").mkdir()
    await tools.text("bash", command="cd sub; export PATH=/evil; alias ls=evil; umask 000")
    assert await tools.text("bash", command="pwd; echo ${PATH%%:*} | grep -c evil") != ""
    assert (await tools.text("bash", command="pwd")).strip() == str(workspace)


@linux_only
async def test_a_command_holds_only_its_three_descriptors(tools: Caller) -> None:
    text = await tools.text("bash", command="exec ls /proc/self/fd")
    assert text.split() == ["0", "1", "2", "3"]  # 3 is ls reading the folder


def _oom_score() -> str:
    return Path("/proc/self/oom_score_adj").read_text()


@linux_only
async def test_memory_running_out_takes_the_command_and_not_the_agent(tools: Caller) -> None:
    """As far as it can be told without a hog."""
    ours = int(_oom_score())
    assert int(await tools.text("bash", command="cat /proc/self/oom_score_adj")) > ours


async def test_a_signal_that_the_interpreter_ignores_is_not_ignored_by_the_command(tools: Caller) -> None:
    text = await tools.text("bash", command="yes | head -n 1; echo ${PIPESTATUS[0]}")
    assert text == "y\n141\n"


async def test_a_sandbox_stands_before_the_shell(tools: Caller) -> None:
    @asynccontextmanager
    async def confine(argv, *, cwd, env, command):
        yield SandboxedCommand(["/usr/bin/env", "INSIDE=yes", *argv], env)

    sandboxed = tools.with_(confine=confine)
    assert await sandboxed.text("bash", command="echo $INSIDE") == "yes\n"


# Bad input


async def test_a_working_directory_that_is_gone_is_an_error_result(tools: Caller, workspace: Path) -> None:
    gone = workspace / "gone"
    assert "no longer exists" in await tools.with_(cwd=gone).error("bash", command="echo")
    (workspace / "file").touch()
    assert await tools.with_(cwd=workspace / "file").error("bash", command="echo")


async def test_a_working_directory_that_goes_while_a_command_runs_does_no_harm(
    tools: Caller, workspace: Path
) -> None:
    folder = workspace / "sub"
    folder.mkdir()
    inside = tools.with_(cwd=folder)
    assert await inside.text("bash", command=f"rmdir {folder}; echo done") == "done\n"


@linux_only
async def test_the_interpreter_of_the_supervisors_is_replaced_if_it_was_killed(tools: Caller) -> None:
    get_ready()
    waiting = [pid for pid in processes_with("import supervise") if parent_of(pid) == os.getpid()]
    for pid in waiting:
        os.kill(pid, signal.SIGKILL)
    await until(lambda: not set(waiting).intersection(processes_with("import supervise")))
    assert waiting
    assert await tools.text("bash", command="echo one") == "one\n"


@pytest.mark.parametrize("command", ["echo \0", "a\0b"])
async def test_a_nul_in_a_command_is_refused(tools: Caller, command: str) -> None:
    assert "NUL character" in await tools.error("bash", command=command)


async def test_a_command_that_is_too_long_says_what_to_do(tools: Caller) -> None:
    assert "write it to a file" in await tools.error("bash", command="#" + "x" * 3_000_000)


async def test_half_a_surrogate_pair_is_replaced(tools: Caller) -> None:
    assert await tools.text("bash", command="echo a\ud800b") == "a\ufffdb\n"


@pytest.mark.parametrize("seconds", [0, -1, 3601, 1e9])
async def test_a_timeout_outside_its_range_is_refused(tools: Caller, seconds: float) -> None:
    assert "seconds" in await tools.error("bash", command="echo", timeout=seconds)


# Output


async def test_bytes_that_are_no_text_are_visible_and_kept(tools: Caller) -> None:
    output = await tools.output("bash", command=r"printf '\xff\0a'")
    assert output.raw == b"\xff\0a"
    assert await tools.text("bash", command=r"printf '\xff\0a'") == "\ufffd\ufffda"


async def test_bytes_that_are_text_are_not_kept_twice(tools: Caller) -> None:
    output = await tools.output("bash", command="printf 'é\\n😀'")
    assert output.raw is None


async def test_a_character_split_between_two_writes_is_whole(tools: Caller) -> None:
    text = await tools.text("bash", command=r"printf '\xc3'; sleep 0.05; printf '\xa9'")
    assert text == "é"


@pytest.mark.parametrize("limit", [100, 1_000, 50_000])
async def test_long_output_keeps_its_head_and_its_tail_and_says_what_is_missing(
    tools: Caller, limit: int
) -> None:
    text = await tools.limited(limit).text("bash", command="seq 100000")
    assert text.startswith("1\n2\n")
    assert text.endswith("100000\n" + TRUNCATION_MARKER)
    assert len(text.encode()) <= limit
    head, notice, tail = (
        text.removesuffix(TRUNCATION_MARKER).split("\n[…")[0],
        text,
        text.split("out …]\n")[1],
    )
    dropped = int(notice.split("\n[… ")[1].split(" ")[0].replace(",", ""))
    assert len(head) + dropped + len(tail.removesuffix(TRUNCATION_MARKER)) == len(
        "".join(f"{n}\n" for n in range(1, 100_001))
    )


async def test_the_exit_code_comes_after_the_truncation_marker(tools: Caller) -> None:
    text = await tools.limited(1_000).text("bash", command="seq 100000; exit 5")
    assert text.endswith("\n[OUTPUT TRUNCATED]\n[exit code 5]")


async def test_output_that_grows_when_it_is_decoded_stays_within_the_limit(tools: Caller) -> None:
    """A byte that is no text takes three."""
    text = await tools.limited(3_000).text("bash", command="head -c 2500 /dev/zero")
    assert len(text.encode()) <= 3_000
    assert "bytes left out" in text


@pytest.mark.parametrize(
    "command",
    [
        "head -c 50000000 /dev/zero | tr '\\0' x",
        "seq 1000000",
        "head -c 30000000 /dev/urandom",
    ],
)
async def test_memory_does_not_grow_with_the_output(tools: Caller, command: str) -> None:
    before = _resident()
    output = await tools.output("bash", command=command)
    assert output.details["truncated"]
    assert _resident() - before < 20_000_000


@pytest.mark.long
async def test_ten_gigabytes_leave_memory_flat_and_the_loop_alive(tools: Caller) -> None:
    before, beats = _resident(), 0

    async def beat() -> None:
        nonlocal beats
        while True:
            await asyncio.sleep(0.01)
            beats += 1

    heart = asyncio.create_task(beat())
    output = await tools.output("bash", command="yes | head -c 10000000000", timeout=300)
    heart.cancel()
    assert output.details["bytes"] == 10_000_000_000
    assert _resident() - before < 20_000_000
    assert beats > 20


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def test_the_last_lines_are_shown_while_the_command_runs(tools: Caller, workspace: Path) -> None:
    shown: list[str] = []
    watched = tools.with_(progress=shown.append)
    command = "seq 30; while [ ! -e go ]; do sleep 0.01; done; echo end"
    call = asyncio.create_task(watched.text("bash", command=command))
    await until(lambda: bool(shown))
    assert shown[0].splitlines()[-1] == "30"
    assert len(shown[0].splitlines()) <= 20
    (workspace / "go").touch()
    assert (await call).endswith("end\n")


async def test_progress_is_shown_at_most_ten_times_a_second(tools: Caller) -> None:
    at: list[float] = []
    loop = asyncio.get_running_loop()
    watched = tools.with_(progress=lambda _: at.append(loop.time()))
    await watched.text("bash", command="for i in $(seq 40); do echo $i; sleep 0.01; done")
    assert len(at) >= 2
    assert all(later - earlier >= 0.099 for earlier, later in pairwise(at))


async def test_the_default_timeout_is_the_limit_of_the_context(tools: Caller) -> None:
    short = tools.with_(limits=ToolLimits(bash_timeout=0.2))
    output = await short.output("bash", command="echo begun; sleep 100")
    assert output.is_error
    assert output.details["timed_out"]
    text = await short.text("bash", command="echo begun; sleep 100")
    assert text.removeprefix("begun\n") == "[timed out after 0.2 s]", (
        "on a busy machine it stops before the echo"
    )


async def test_a_call_that_is_stopped_hands_over_all_it_printed(tools: Caller) -> None:
    shown: list[str] = []
    held: list[str] = []
    watched = tools.with_(progress=shown.append, so_far=held.append)
    command = "trap 'echo bye; exit' TERM; seq 30; while :; do sleep 0.01; done"
    call = asyncio.create_task(watched.text("bash", command=command))
    await until(lambda: "30" in "".join(shown))
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert held[-1].split()[:30] == [*map(str, range(1, 31))]
    assert held[-1].endswith("bye\n"), "what it said to TERM is in it too"


async def test_what_a_call_printed_is_handed_over_while_it_runs_but_not_often(
    tools: Caller, workspace: Path
) -> None:
    at: list[float] = []
    held: list[str] = []
    loop = asyncio.get_running_loop()

    def keep(text: str) -> None:
        at.append(loop.time())
        held.append(text)

    watched = tools.with_(so_far=keep)
    command = "while [ ! -e go ]; do echo line; sleep 0.01; done; yes | head -c 1000000"
    call = asyncio.create_task(watched.text("bash", command=command))
    await until(lambda: len(held) >= 3)
    (workspace / "go").touch()
    await call
    assert held[0].startswith("line")
    assert all(later - earlier >= 0.499 for earlier, later in pairwise(at))
    assert max(map(len, held)) <= 20_000
