"""Headless figures: the first request's first byte after the start, and what a turn costs beside tools and server.

`python -m tests.benchmarks.bench_headless` prints them; compile bytecode first (python -m compileall).
"""

import asyncio
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

from prunecli.model.events import AssistantMessage, Record, UserMessage
from prunecli.model.messages import Text
from prunecli.runtime.make import make_runtime
from prunecli.util.launch_options import Launch
from tests.endpoint import Call, Endpoint, Reply

ROOT = Path(__file__).parents[2]


def first_byte(runs: int = 7) -> list[float]:
    """Seconds from exec to the first byte of the first request, of each run."""
    found = []
    for _ in range(runs):
        with socket.create_server(("127.0.0.1", 0)) as server, tempfile.TemporaryDirectory() as folder:
            port = server.getsockname()[1]
            environ = {
                "HOME": folder,
                "PATH": os.environ["PATH"],
                "PYTHONPATH": str(ROOT),
                "ANTHROPIC_API_KEY": "sk-ant-x",
                "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
            }
            begun = time.perf_counter()
            process = subprocess.Popen(
                [sys.executable, "-m", "prunecli", "-p", "hello"],
                cwd=folder,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            connection, _ = server.accept()
            connection.recv(1)
            found.append(time.perf_counter() - begun)
            process.kill()
            process.wait()
            connection.close()
    return found


async def turns(before: int, count: int = 20, wire: str = "messages") -> list[float]:
    """Milliseconds of each of `count` turns on an instant endpoint, after `before` messages, tools' time left out.
    `wire` is the protocol, of which chat and responses are OpenAI's."""
    calls = [Call("read", {"path": "x.txt", "offset": number + 1, "limit": 1}) for number in range(count)]
    replies = [Reply([call], chunk=10_000) for call in calls]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "x.txt").write_text("words\n" * 100)
        script = [*replies, Reply("Done.")]
        async with Endpoint(script, judge="off") if wire == "messages" else _others(script) as endpoint:
            sets: tuple[str, ...] = ()
            if wire != "messages":
                sets = (
                    "model.provider=openai",
                    f"model.base_url={endpoint.base_url}/v1",
                    f"model.openai.wire={wire}",
                )
            environ = {
                "HOME": folder,
                "PATH": os.environ["PATH"],
                "ANTHROPIC_API_KEY": "sk-ant-x",
                "ANTHROPIC_BASE_URL": endpoint.base_url,
            }
            asked = Launch(headless=True, trust=True, cwd=Path(folder), sets=sets)
            runtime = make_runtime(asked, environ)
            runtime.provider.warm()  # type: ignore[attr-defined]
            for number in range(before // 2):
                runtime.session.emit(UserMessage((Text(f"question {number} " * 20),)))
                runtime.session.emit(AssistantMessage((Text(f"answer {number} " * 20),)))
            stamps: list[float] = []
            tools = [0]

            def watch(told: object) -> None:
                if isinstance(told, Record) and isinstance(told.event, AssistantMessage):
                    stamps.append(time.perf_counter())
                elif isinstance(told, Record) and hasattr(told.event, "is_error"):
                    tools[0] += told.event.duration_ms

            runtime.session.subscribe(watch)
            await runtime.submit("go")
            await runtime.close()
            per_tool = tools[0] / count
            return [(b - a) * 1000 - per_tool for a, b in pairwise(stamps)]


def _others(script: list[Reply]) -> Endpoint:
    """An endpoint of OpenAI's protocols."""
    from tests.openai_endpoint.rules import OpenAiRules
    from tests.openai_endpoint.server import OpenAiEndpoint

    return OpenAiEndpoint(script, rules=OpenAiRules(judged=False))


def main() -> None:
    """Prints all figures."""
    starts = first_byte()
    print(
        f"first byte of the first request: median {statistics.median(starts):.2f} s, worst {max(starts):.2f}"
    )
    for before in (0, 200, 2_000):
        for wire in ("messages", "chat", "responses"):
            found = asyncio.run(turns(before, wire=wire))
            median, worst = statistics.median(found), max(found)
            print(
                f"a turn over {wire} after {before:>5} messages: median {median:.1f} ms, worst {worst:.1f} "
                "(server included)"
            )


if __name__ == "__main__":
    main()
