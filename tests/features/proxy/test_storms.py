"""Seeded doses of what can happen to a program, its proxy and its endpoint; `-m long` runs a hundred moments of each.

The program gets its answer, or the error that the endpoint gave; what follows is accepted, and sessions are proved.
"""

import asyncio
import os
import random
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest

from prunecli.features.proxy.sockets import connection
from tests.endpoint import (
    BrokenChunk,
    Close,
    CloseBeforeResponse,
    Drip,
    Endpoint,
    ErrorEvent,
    HttpError,
    RawResponse,
    Reply,
    Reset,
    Rules,
    Text,
    serve,
)
from tests.features.proxy.driving import KEY, LONG, Program, proxied
from tests.features.proxy.test_proxy import KEEPS_LITTLE, proved, reads

WORDS = "an answer of some words, in pieces, for whoever wants to leave early"
HEADERS = {"x-api-key": KEY, "anthropic-version": "2023-06-01"}


def dose(few: int, many: int) -> Any:
    return pytest.mark.parametrize("count", [few, pytest.param(many, marks=pytest.mark.long)])


def failing(count: int) -> list[Any]:
    """Answers that end at any place, in any way."""
    draw = random.Random(46)
    ways = Close, Reset, BrokenChunk, ErrorEvent
    made: list[Any] = []
    for _ in range(count):
        status = draw.choice((400, 401, 403, 404, 413, 429, 500, 503, 529))
        cut = Reply([Text(WORDS)], faults=draw.choice(ways)(draw.randint(0, 6)))
        made.append(
            draw.choice((cut, cut, HttpError(status), CloseBeforeResponse(reset=draw.random() < 0.5)))
        )
    return made


async def outcome(
    client: httpx2.AsyncClient, program: Program, most: int = 1 << 30
) -> tuple[int, bytes, bool]:
    """Ask, and return status, the first bytes and whether the connection failed. The program leaves after `most`
    pieces."""
    got, status = b"", 0
    url, body = f"{program.address}/v1/messages", program.body()
    try:
        async with client.stream("POST", url, json=body, headers=HEADERS) as response:
            status = response.status_code
            async for piece in response.aiter_raw():
                got += piece
                most -= 1
                if most <= 0:
                    break
    except httpx2.HTTPError:
        return status, got, True
    return status, got, False


@dose(12, 100)
async def test_wherever_the_endpoint_dies_the_program_gets_what_it_gave(tmp_path: Path, count: int) -> None:
    got: dict[str, list[tuple[int, bytes, bool]]] = {}
    async with httpx2.AsyncClient(timeout=None) as client:
        for way in ("direct", "through"):
            async with Endpoint([*failing(count), "Done."]) as endpoint:
                async with proxied(endpoint, tmp_path, said := []) as running:
                    program = Program(running.address if way == "through" else endpoint.base_url)
                    program.messages.append({"role": "user", "content": "hi"})
                    got[way] = [await outcome(client, program) for _ in range(count + 1)]
    for direct, through in zip(got["direct"], got["through"], strict=True):
        if direct[0]:
            assert (through[0], through[2]) == (direct[0], direct[2])
            assert without_ids(through[1]) == without_ids(direct[1])
        else:
            assert through[0] == 502
    assert said == []
    assert proved(tmp_path)[0].endswith("all good")


def without_ids(answer: bytes) -> bytes:
    return (
        answer.partition(b'"request_id"')[0].partition(b'"id"')[0] + answer[-20:]
        if b"request_id" in answer
        else answer
    )


@dose(12, 100)
async def test_wherever_the_program_leaves_its_next_request_is_answered(tmp_path: Path, count: int) -> None:
    draw = random.Random(46)
    slow = Reply([Text(WORDS)], faults=Drip(60))
    script = [one for _ in range(count) for one in (slow, "Done.")]
    async with Endpoint(script) as endpoint, httpx2.AsyncClient(timeout=None) as client:
        async with proxied(endpoint, tmp_path, said := []) as running:
            program = Program(running.address)
            for number in range(count):
                program.messages.append({"role": "user", "content": f"question {number}"})
                await outcome(client, program, draw.randint(1, 12))
                await program.answer(client)
    assert (endpoint.rejected, said) == ([], [])
    assert proved(tmp_path)[0].endswith("all good")


def start_proxy(home: Path, upstream: str, **limits: int) -> tuple["subprocess.Popen[str]", str]:
    environ = {**os.environ, "HOME": str(home), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    words = ["proxy", "--port", "0", "--strategy", KEEPS_LITTLE, "--upstream", upstream]

    def limited() -> None:
        for name, most in limits.items():
            resource.setrlimit(getattr(resource, name), (most, most))

    process = subprocess.Popen(
        [sys.executable, "-m", "prunecli", *words],
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=home,
        preexec_fn=limited,
    )
    assert process.stdout is not None
    return process, process.stdout.readline().strip().partition("=")[2]


def end(process: "subprocess.Popen[str]", number: int = signal.SIGTERM) -> str:
    process.send_signal(number)
    _, said = process.communicate()
    return said


@dose(2, 100)
def test_whenever_the_proxy_is_killed_the_next_one_goes_on(tmp_path: Path, count: int) -> None:
    draw = random.Random(46)
    program = Program("")
    slow = Reply([Text(WORDS)], faults=Drip(40))
    script = [one for _ in range(count) for one in (*reads(1), slow, "Done.")]
    with serve(script) as endpoint:
        for number in range(count):
            process, program.address = start_proxy(tmp_path, endpoint.base_url)
            asyncio.run(interrupted(program, number, process, draw.randint(1, 12)))
            process.communicate()
            process, program.address = start_proxy(tmp_path, endpoint.base_url)
            asyncio.run(answered(program))
            end(process)
        assert endpoint.rejected == []
    assert all(line.endswith("all good") for line in proved(tmp_path))


async def interrupted(program: Program, number: int, process: "subprocess.Popen[str]", most: int) -> None:
    async with httpx2.AsyncClient(timeout=None) as client:
        await program.turn(client, f"read {number}")
        program.messages.append({"role": "user", "content": f"question {number}"})
        await outcome(client, program, most)
        process.send_signal(signal.SIGKILL)


async def answered(program: Program) -> None:
    async with httpx2.AsyncClient(timeout=None) as client:
        await program.answer(client)


def test_on_a_full_disk_the_program_gets_its_answers(tmp_path: Path) -> None:
    """Files may have 40 KB, so the log can't be continued at some place."""
    program = Program("")
    with serve(reads(12)) as endpoint:
        process, program.address = start_proxy(tmp_path, endpoint.base_url, RLIMIT_FSIZE=40_000)
        asyncio.run(turns(program, 12))
        said = end(process)
        assert endpoint.rejected == []
    assert "No longer pruned: " in said
    assert len(program.answers) == 24


async def turns(program: Program, count: int) -> None:
    async with httpx2.AsyncClient(timeout=None) as client:
        for number in range(count):
            await program.turn(client, f"read {number}")


def test_a_proxy_that_ends_under_an_open_attach_says_nothing_of_it(tmp_path: Path) -> None:
    with serve([]) as endpoint:
        process, _ = start_proxy(tmp_path, endpoint.base_url)
        [path] = tmp_path.glob(".local/share/prunecli/proxies/*.sock")
        with connection(path) as ask:
            assert ask({}) == {"conversations": []}
            said = end(process)
    assert "Traceback" not in said
    assert "Error" not in said


async def test_a_damaged_session_costs_the_program_nothing(tmp_path: Path) -> None:
    draw = random.Random(46)
    program = Program("")
    async with Endpoint(reads(8)) as endpoint, httpx2.AsyncClient(timeout=None) as client:
        for number in range(8):
            async with proxied(endpoint, tmp_path, said := [], strategy=KEEPS_LITTLE) as running:
                program.address = running.address
                await program.turn(client, f"read {number}")
            assert all(line.startswith("No longer pruned: ") for line in said)
            damage(tmp_path, draw)
    assert endpoint.rejected == []


def damage(home: Path, draw: random.Random) -> None:
    for path in home.glob(".local/share/prunecli/sessions/*/*.jsonl"):
        data = bytearray(path.read_bytes())
        at = draw.randrange(len(data))
        data[at : at + draw.randint(1, 400)] = os.urandom(draw.randint(0, 60))
        path.write_bytes(data)


async def test_a_request_of_thirty_megabytes_passes_byte_for_byte(tmp_path: Path) -> None:
    rules = Rules(any_model=True, window=100_000_000)
    async with (
        Endpoint(["Done.", "Again."], rules=rules) as endpoint,
        httpx2.AsyncClient(timeout=None) as client,
    ):
        async with proxied(endpoint, tmp_path, said := []) as running:
            program = Program(running.address)
            program.messages.append({"role": "user", "content": LONG * (30_000_000 // len(LONG))})
            await program.answer(client)
            await program.turn(client, "and on")
        sizes = [len(request.body) for request in endpoint.requests]
    assert (endpoint.rejected, said) == ([], [])
    assert min(sizes) > 30_000_000


@dose(150, 1_558)
def test_many_requests_in_a_row_take_no_more_memory_and_files(tmp_path: Path, count: int) -> None:
    program = Program("")
    with serve(["Done."] * count) as endpoint:
        process, program.address = start_proxy(tmp_path, endpoint.base_url)
        used = asyncio.run(repeated(program, count, process.pid))
        end(process)
        assert endpoint.rejected == []
    (before, files), (after, files_then) = used[len(used) // 3], used[-1]
    assert files_then <= files + 1
    assert after - before < 30_000, used


async def repeated(program: Program, count: int, pid: int) -> list[tuple[int, int]]:
    """Ask one question again and again, each time in other words; return KB of memory and open files."""
    used: list[tuple[int, int]] = []
    async with httpx2.AsyncClient(timeout=None) as client:
        await program.turn(client, "first")
        for number in range(count - 1):
            await program.turn(client, f"question {number}")
            del program.messages[2:]
            if not number % 25:
                used.append(await asyncio.to_thread(used_by, pid))
    return used


def used_by(pid: int) -> tuple[int, int]:
    status = Path(f"/proc/{pid}/status").read_text()
    memory = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(memory.split()[1]), len(list(Path(f"/proc/{pid}/fd").iterdir()))


async def test_a_redirect_is_the_programs_and_no_page_may_ask(tmp_path: Path) -> None:
    away = RawResponse(b"", 307, {"location": "http://127.0.0.1:9/elsewhere"})
    async with Endpoint([away, "Done."]) as endpoint, httpx2.AsyncClient(timeout=None) as client:
        async with proxied(endpoint, tmp_path, []) as running:
            program = Program(running.address)
            program.messages.append({"role": "user", "content": "hi"})
            sent_on = await program.ask(client)
            origin = {"origin": "https://evil.example", "access-control-request-method": "POST"}
            asked = await client.options(running.address.rpartition("/")[0], headers=origin)
            answered = await client.post(
                f"{running.address}/v1/messages", json=program.body(), headers={**HEADERS, **origin}
            )
    assert (sent_on.status_code, sent_on.headers["location"]) == (307, "http://127.0.0.1:9/elsewhere")
    assert (asked.status_code, answered.status_code) == (404, 200)
    shared = [name for one in (asked, answered) for name in one.headers if name.startswith("access-control")]
    assert shared == []
