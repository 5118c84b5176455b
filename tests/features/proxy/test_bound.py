"""Models that bind their thinking to everything before it: pruned only where the conversation can go on."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from prunecli.features.proxy.proxy import ways_on
from prunecli.front.headless.commands import run_command
from prunecli.providers.thinking import BINDING_BETA
from prunecli.session.log import read_log
from tests.endpoint import Call, Endpoint, Reply, Thinking, serve
from tests.features.proxy.driving import Program, proxied
from tests.features.proxy.test_proxy import KEEPS_LITTLE, proved

MODEL = "claude-opus-5-5"
DROPS: dict[str, Any] = {
    "thinking": {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}},
    "headers": {"anthropic-beta": BINDING_BETA},
}
TURNS = 30
EARLY = ("--strategy", KEEPS_LITTLE)


def thoughts(count: int) -> list[Reply]:
    return [
        reply
        for n in range(count)
        for reply in (
            Reply([Thinking(f"I read {n}"), Call("Read", {"file_path": f"{n}.py"})]),
            Reply([Thinking(f"I read it, {n}"), "Done."]),
        )
    ]


@contextmanager
def killed_in_the_end(home: Path, upstream: str, *flags: str) -> Iterator[str]:
    """A proxy in a process of its own, which does not end by itself. Yields its address."""
    environ = {**os.environ, "HOME": str(home), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    words = ["proxy", "--port", "0", "--upstream", upstream, *flags]
    process = subprocess.Popen(
        [sys.executable, "-m", "prunecli", *words], env=environ, stdout=subprocess.PIPE, text=True, cwd=home
    )
    assert process.stdout is not None
    with process.stdout:
        try:
            yield process.stdout.readline().strip().partition("=")[2]
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()


async def turns(program: Program, count: int) -> None:
    async with httpx2.AsyncClient() as client:
        for n in range(count):
            await program.turn(client, f"read {n}")


def cut_in_half(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: len(lines) // 2]))


def sessions(home: Path) -> list[Path]:
    return list(home.glob(".local/share/prunecli/sessions/*/*.jsonl"))


@pytest.mark.parametrize(
    ("program", "prunes"), [(Program("", MODEL), False), (Program("", MODEL, **DROPS), True)]
)
def test_after_thirty_turns_and_a_kill_the_conversation_goes_on_without_the_proxy(
    tmp_path: Path, program: Program, prunes: bool
) -> None:
    with serve(thoughts(TURNS + 6)) as endpoint:
        with killed_in_the_end(tmp_path, endpoint.base_url, *EARLY) as program.address:
            asyncio.run(turns(program, TURNS))
        pruned = len(endpoint.requests[-1].body) < len(str(program.messages)) / 2
        program.address = endpoint.base_url
        asyncio.run(turns(program, 3))
        for path in sessions(tmp_path):  # a lost record
            cut_in_half(path)
        with killed_in_the_end(tmp_path, endpoint.base_url) as program.address:
            asyncio.run(turns(program, 3))
    assert (endpoint.rejected, pruned) == ([], prunes)


@pytest.mark.parametrize("loses", ["nothing", "the end", "the session", "everything"])
def test_with_bound_a_killed_proxy_and_lost_records_cost_the_program_no_answer(
    tmp_path: Path, loses: str
) -> None:
    program = Program("", MODEL)
    with serve(thoughts(TURNS // 3 + 4)) as endpoint:
        with killed_in_the_end(tmp_path, endpoint.base_url, *EARLY, "--bound") as program.address:
            asyncio.run(turns(program, TURNS // 3))
        [path] = sessions(tmp_path)
        told = ways_on(read_log(path).records)
        if loses == "the end":
            cut_in_half(path)
        elif loses != "nothing":
            path.unlink()
        if loses == "everything":
            (tmp_path / ".local/share/prunecli/proxied.jsonl").unlink()
        later = ("--strategy", "no_pruning") if loses == "everything" else ()
        with killed_in_the_end(tmp_path, endpoint.base_url, "--bound", *later) as program.address:
            asyncio.run(turns(program, 4))
        assert len(endpoint.rejected) == (loses == "everything")
    assert "answers with thinking made after a prune" in told[0]
    assert [line.rpartition(": ")[2] for line in proved(tmp_path)][-1:] == ["all good"]


async def test_an_undone_prune_leaves_out_the_thinking_that_it_makes_invalid(tmp_path: Path) -> None:
    said: list[str] = []
    async with Endpoint(thoughts(8)) as endpoint, httpx2.AsyncClient() as client:
        async with proxied(endpoint, tmp_path, said, strategy=KEEPS_LITTLE, bound=True) as running:
            program = Program(running.address, MODEL)
            for n in range(6):
                await program.turn(client, f"read {n}")
            await run_command(running.conversations.all[0].runtime, "/undo")
            for n in range(2):
                await program.turn(client, f"then {n}")
    assert (endpoint.rejected, said) == ([], [])
