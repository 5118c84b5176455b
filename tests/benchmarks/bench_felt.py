"""The waits that people feel, each from outside the program as it ships: one row for each goal.

`python -m tests.benchmarks.bench_felt [rounds [OTHER]]`: medians in ms, beside those of another checkout if its
folder is given; both take turns. The endpoint answers at once, in a thread of this process. "first tool turn" and
"bash turn" are from an answer's last byte to the next request's last byte, the command `true` included. Memory is the
resident memory of the whole program in a terminal after one turn, in MB. Compile bytecode first.

Where a headless turn of 250 ms goes (one core; it is all CPU): Python itself 20, modules of the standard library 40,
prunecli's 200 modules 85, httpx2 with httpcore2, h11 and anyio 65, the work of the run 40. A resume of 2,000 messages
(4,000 records, 1.5 MB) adds 150: JSON 25, checking and building records 25, folding them 45, rendering the messages
30, the rest for bills, hashes and notices. What would be next, and was not done:

* httpcore2 without httpx2: 20 ms less, for a response class and a translation of errors of our own.
* h11 over asyncio's streams, without both and anyio: 65 ms less, for pools, proxies, SOCKS and TLS of our own.
* An https address needs 20 ms more for the system's certificates. Loaded in a thread before anything is imported,
  they would cost nothing, but then every start would guess that it needs them.
* A snapshot of the folded session, read instead of the log: it would have to be proved equal to the log each time.

What a first command waits for (rules 10 ms, the sandbox's trial 15 and two runs of bwrap) starts with the model's
first call. At an endpoint that answers at once the first turn waits for it; before the request, everybody would.
"""

import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from prunecli.providers.tokenizer import SHIPPED
from tests.benchmarks.long_sessions import session_file
from tests.benchmarks.terminal import ROOT, Terminal

CALLS = 12
GOALS = {
    "headless one turn": 280,
    "resume of 2,000 messages, first request": 350,
    "first tool turn": 60,
    "first tool turn, sandbox": 60,
    "bash turn": 9,
    "bash turn, sandbox": 18,
    "second request at 5,000 entries": 30,
    "idle memory, MB": 90,
    "base prompt, tokens": 2_000,
}


class Endpoint:
    """Answers each request at once: with a call of bash while `calls` are left, else with text."""

    def __init__(self, calls: int = 0) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._server.getsockname()[1]}"
        self.came: list[float] = []
        self.answered: list[float] = []
        self.body = b""
        self._calls = calls
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        """Take no more connections."""
        self._server.close()

    @property
    def gaps(self) -> list[float]:
        """Milliseconds from each answer to the next request."""
        return [(came - sent) * 1000 for sent, came in zip(self.answered, self.came[1:], strict=False)]

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream:
            while head := stream.readline():
                size = 0
                while (line := stream.readline()) not in (b"\r\n", b""):
                    size = int(line[15:]) if line.lower().startswith(b"content-length:") else size
                body = stream.read(size)
                if not head.startswith(b"POST /v1/messages "):
                    connection.sendall(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
                    continue
                self.body = self.body or body
                self.came.append(time.perf_counter())
                answer = self._answer()
                kind = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
                connection.sendall(kind + b"content-length: %d\r\n\r\n" % len(answer) + answer)
                self.answered.append(time.perf_counter())

    def _answer(self) -> bytes:
        calls, self._calls = self._calls > 0, self._calls - 1
        name = f"toolu_{self._calls}"
        block = (
            {"type": "tool_use", "id": name, "name": "bash", "input": {}}
            if calls
            else {"type": "text", "text": ""}
        )
        command = json.dumps({"command": f"true {self._calls}"})
        delta = (
            {"type": "input_json_delta", "partial_json": command}
            if calls
            else {"type": "text_delta", "text": "Done."}
        )
        start = {
            "id": "m", "type": "message", "role": "assistant", "model": "claude-sonnet-5-5", "content": [],
            "usage": {"input_tokens": 2000, "output_tokens": 1},
        }  # fmt: skip
        events = (
            {"type": "message_start", "message": start},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "tool_use" if calls else "end_turn"},
             "usage": {"output_tokens": 20}},
            {"type": "message_stop"},
        )  # fmt: skip
        return "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events).encode()


@contextmanager
def answering(calls: int = 0) -> Iterator[Endpoint]:
    """An endpoint."""
    with closing(Endpoint(calls)) as endpoint:
        yield endpoint


class Checkout:
    """One checkout of the program, with a home of its own that has both sessions."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root, self.home = root, folder / "home"
        self.work, self.data = self.home / "work", self.home / "data"
        self.work.mkdir(parents=True)
        self.sessions = {}
        for entries in (2_000, 5_000):
            path = session_file(self.data, self.work, entries=entries, result_bytes=300, compact_every=0)
            self.sessions[entries] = (path, path.read_bytes())

    def environ(self, url: str) -> dict[str, str]:
        """The environment with this endpoint."""
        return {
            "HOME": str(self.home), "PATH": os.environ["PATH"], "PYTHONPATH": str(self.root),
            "PRUNECLI_HOME": str(self.data), "ANTHROPIC_API_KEY": "sk-ant-x", "ANTHROPIC_BASE_URL": url,
        }  # fmt: skip

    def run(self, endpoint: Endpoint, *words: str) -> tuple[float, float]:
        """When a run in this checkout began, and when it ended."""
        argv = [sys.executable, "-m", "prunecli", "--trust", "-p", *words, "go"]
        begun = time.perf_counter()
        environ, nothing = self.environ(endpoint.url), subprocess.DEVNULL
        subprocess.run(argv, env=environ, cwd=self.work, stdin=nothing, capture_output=True, check=True)
        return begun, time.perf_counter()

    def resumed(self, endpoint: Endpoint, entries: int) -> float:
        """When a run that resumes a session began: one request for each answer, whatever the session's size."""
        path, content = self.sessions[entries]
        path.write_bytes(content)
        sets = "--set=pruning.strategy=no_pruning", "--set=compaction.enabled=false"
        return self.run(endpoint, "-r", path.stem, *sets, "--permission-mode=auto", "--sandbox=off")[0]

    def round(self) -> dict[str, float]:
        """Measure each row once."""
        found = {}
        with answering() as endpoint:
            begun, ended = self.run(endpoint)
            found["headless one turn"] = (ended - begun) * 1000
            asked = json.loads(endpoint.body)
            prompt = "".join(block["text"] for block in asked["system"])
            tools = "".join(json.dumps(tool, separators=(",", ":")) for tool in asked["tools"])
            found["base prompt, tokens"] = SHIPPED.count(prompt + tools)
        with answering() as endpoint:
            begun = self.resumed(endpoint, 2_000)
            found["resume of 2,000 messages, first request"] = (endpoint.came[0] - begun) * 1000
        for name, sandbox in (("", "off"), (", sandbox", "auto")):
            with answering(CALLS) as endpoint:
                mode = "edits" if name else "auto"
                self.run(endpoint, f"--permission-mode={mode}", f"--sandbox={sandbox}")
                found[f"first tool turn{name}"], *rest = endpoint.gaps
                found[f"bash turn{name}"] = statistics.median(rest)
        with answering(CALLS) as endpoint:
            self.resumed(endpoint, 5_000)
            found["second request at 5,000 entries"] = endpoint.gaps[0]
        found["idle memory, MB"] = self.memory()
        return found

    def memory(self) -> float:
        """MB of the whole program after one turn."""
        with answering() as endpoint:
            environ = self.environ(endpoint.url)
            terminal = Terminal("prunecli", ["--trust"], str(self.home), environ, cwd=str(self.work))
            terminal.until("for commands", 20)
            terminal.type("hello\r")
            terminal.until("Done.", 20)
            terminal.quiet(3.0, 20)
            try:
                return terminal.megabytes()
            finally:
                terminal.close()


def main(words: Sequence[str]) -> None:
    """Print a row for each goal."""
    rounds = int(words[0]) if words else 7
    roots = [ROOT, *map(Path, words[1:2])]
    with tempfile.TemporaryDirectory() as folder:
        checkouts = [Checkout(root.resolve(), Path(folder) / str(at)) for at, root in enumerate(roots)]
        for one in checkouts:
            one.round()  # the first start ever is slower
        taken: list[list[dict[str, float]]] = [[] for _ in checkouts]
        for _ in range(rounds):
            for one, figures in zip(checkouts, taken, strict=True):
                figures.append(one.round())
    print(f"{rounds} rounds, load {os.getloadavg()[0]:.1f}")
    for name, goal in GOALS.items():
        medians = [f"{statistics.median(one[name] for one in figures):8.1f}" for figures in taken]
        print(f"{name:<42} goal {goal:>5,}   here {'   other '.join(medians)}")


if __name__ == "__main__":
    main(sys.argv[1:])
