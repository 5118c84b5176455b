"""Whatever fails between a program and its endpoint, the program gets its answer or the endpoint's own error."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from prunecli.session.log import read_log
from prunecli.session.verify import verify_session
from tests.endpoint import Close, Endpoint, Reply, Text, serve
from tests.features.proxy.driving import Program, proxied
from tests.features.proxy.test_proxy import KEEPS_LITTLE, proved, reads


async def test_twenty_conversations_at_once_keep_apart(tmp_path: Path) -> None:
    said: list[str] = []
    async with Endpoint(["Done."] * 60, judge="off") as endpoint, httpx2.AsyncClient() as client:
        async with proxied(endpoint, tmp_path, said) as running:

            async def talk(number: int) -> Program:
                program = Program(running.address)
                for turn in range(3):
                    await program.turn(client, f"program {number}, turn {turn}")
                return program

            programs = await asyncio.gather(*map(talk, range(20)))
            sessions = len(running.conversations.all)
    assert said == []
    assert sessions == 20
    assert all(len(program.answers) == 3 for program in programs)
    assert [line.endswith("3 requests: all good") for line in proved(tmp_path)] == [True] * 20


async def test_an_answer_that_breaks_off_breaks_off_for_the_program(tmp_path: Path) -> None:
    said: list[str] = []
    async with (
        Endpoint([Reply([Text("a few words")], faults=Close(3)), "Done."]) as endpoint,
        httpx2.AsyncClient() as client,
    ):
        async with proxied(endpoint, tmp_path, said) as running:
            program = Program(running.address)
            program.messages.append({"role": "user", "content": "hi"})
            with pytest.raises(httpx2.HTTPError):
                await program.ask(client)
            again = await program.ask(client)
    assert (again.status_code, said) == (200, [])


async def test_without_room_for_the_session_requests_pass_unpruned(tmp_path: Path) -> None:
    sessions = tmp_path / ".local/share/prunecli/sessions"
    await asyncio.to_thread(lambda: (sessions.parent.mkdir(parents=True), sessions.write_text("")))
    said: list[str] = []
    async with Endpoint(reads(6)) as endpoint, httpx2.AsyncClient() as client:
        async with proxied(endpoint, tmp_path, said, strategy=KEEPS_LITTLE) as running:
            program = Program(running.address)
            for n in range(6):
                await program.turn(client, f"read {n}")
    assert endpoint.rejected == []
    assert len(said) == 1
    assert said[0].startswith("No longer pruned: ")


async def test_without_an_endpoint_the_program_is_told_so(tmp_path: Path) -> None:
    said: list[str] = []
    async with httpx2.AsyncClient() as client:
        async with Endpoint([]) as endpoint, proxied(endpoint, tmp_path, said) as running:
            await endpoint.__aexit__(None, None, None)
            program = Program(running.address)
            program.messages.append({"role": "user", "content": "hi"})
            answer = await program.ask(client)
    assert (answer.status_code, answer.json()["error"]["type"]) == (502, "api_error")
    assert "prunecli proxy:" in answer.json()["error"]["message"]


def test_a_killed_proxy_leaves_a_session_that_the_next_one_continues(tmp_path: Path) -> None:
    environ = {**os.environ, "HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    program = Program("")
    with serve(reads(8)) as endpoint:
        words = ["proxy", "--port", "0", "--strategy", KEEPS_LITTLE, "--upstream", endpoint.base_url]
        for n in range(4):
            process = subprocess.Popen(
                [sys.executable, "-m", "prunecli", *words],
                env=environ,
                stdout=subprocess.PIPE,
                text=True,
                cwd=tmp_path,
            )
            assert process.stdout is not None
            program.address = process.stdout.readline().strip().partition("=")[2]
            asyncio.run(two_turns(program, n))
            process.send_signal(signal.SIGKILL)
            process.wait()
            process.stdout.close()
        assert endpoint.rejected == []
        assert len(endpoint.requests[-1].body) < len(str(program.messages)) / 2
    [path] = tmp_path.glob(".local/share/prunecli/sessions/*/*.jsonl")
    assert verify_session(path, read_log(path)).lines[-1].endswith("16 requests: all good")


async def two_turns(program: Program, number: int) -> None:
    async with httpx2.AsyncClient() as client:
        for turn in range(2):
            await program.turn(client, f"read {number}.{turn}")
