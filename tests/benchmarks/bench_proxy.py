"""Time until the first byte of an answer, through the proxy and without it: `python -m tests.benchmarks.bench_proxy`.

Both in one run, alternating, in front of a server that answers at once. Prints medians and 95th percentiles in ms: of
the clock, and of the CPU, which other work on the machine hardly changes. "bare" is a request that passes as it is:
the price of two more HTTP connections in Python.
"""

import asyncio
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx2

from prunecli.features.proxy.conversations import HowToPrune
from prunecli.features.proxy.hosting import Hosting, hosted
from tests.features.proxy.driving import LONG, Program
from tests.serving import EVENTS, Answer, serving

USAGE = {
    "input_tokens": 10,
    "cache_read_input_tokens": 5_000,
    "cache_creation_input_tokens": 500,
    "output_tokens": 5,
}
START = {"type": "message_start", "message": {"model": "claude-sonnet-4-5", "usage": USAGE, "content": []}}
PARTS = [
    START,
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Done."}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}},
    {"type": "message_stop"},
]
BODY = "".join(f"event: {part['type']}\ndata: {json.dumps(part)}\n\n" for part in PARTS).encode()
TURNS = 60


def answer(method: str, path: str, body: bytes) -> Answer:
    return 200, EVENTS, BODY


def grown(program: Program, messages: int) -> None:
    """Let the conversation have that many messages, each second one a result of 7 KB (2 KB above 1,000)."""
    text = LONG if messages < 1_000 else LONG[:2_000]
    while len(program.messages) < messages:
        call = {
            "type": "tool_use",
            "id": f"t{len(program.messages)}",
            "name": "Read",
            "input": {"file_path": "a.py"},
        }
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": text}
        program.messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]


async def first_byte(client: httpx2.AsyncClient, program: Program) -> tuple[float, float]:
    """Return the ms until the first byte of the answer: of the clock, and of the CPU until its end."""
    content = json.dumps(program.body()).encode()
    headers = {"x-api-key": "k", "anthropic-version": "2023-06-01", "content-type": "application/json"}
    before, used = time.perf_counter(), time.process_time()
    async with client.stream(
        "POST", f"{program.address}/v1/messages", content=content, headers=headers
    ) as response:
        pieces = response.aiter_raw()
        await anext(pieces)
        taken = time.perf_counter() - before
        async for _ in pieces:
            pass
    return taken * 1_000, (time.process_time() - used) * 1_000


async def measured(messages: int) -> dict[str, Any]:
    taken: dict[str, list[tuple[float, float]]] = {"direct": [], "proxy": [], "bare": []}
    with tempfile.TemporaryDirectory() as home, serving(answer) as served:
        environ = {"HOME": str(Path(home)), "PATH": "/usr/bin:/bin"}
        asked = Hosting(served.address, environ, HowToPrune("bench"), say=print)
        async with hosted(asked) as running, httpx2.AsyncClient(timeout=None) as client:
            program = Program(running.address)
            program.messages = [{"role": "user", "content": "go"}]
            grown(program, messages)
            await first_byte(client, program)
            for _ in range(TURNS):
                grown(program, len(program.messages) + 2)
                for name, address in (
                    ("direct", served.address),
                    ("proxy", running.address),
                    ("bare", f"{running.address}/v1/elsewhere?"),
                ):
                    program.address = address
                    taken[name].append(await first_byte(client, program))
    found: dict[str, Any] = {"messages": messages}
    for name in ("proxy", "bare"):
        for what, at in (("clock", 0), ("CPU", 1)):
            added = [one[at] - plain[at] for one, plain in zip(taken[name], taken["direct"], strict=True)]
            found[f"{name} {what}"] = statistics.median(added), statistics.quantiles(added, n=20)[-1]
    return found


def main() -> None:
    for messages in (20, 200, 2_000):
        found = asyncio.run(measured(messages))
        pairs = {key: value for key, value in found.items() if isinstance(value, tuple)}
        print(found["messages"], {key: (round(p50, 1), round(p95, 1)) for key, (p50, p95) in pairs.items()})


if __name__ == "__main__":
    main()
