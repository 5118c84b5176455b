"""A flood of Markdown through the endpoint, the loop and the log: how soon it is on the screen, and keys meanwhile.

`python -m tests.benchmarks.bench_flood [runs]`: the program in a pseudo-terminal of 120 by 40, against the fake
endpoint in a process of its own, which sends all events of an answer (40 characters each) as fast as they are taken.
Beside it the least a Textual program can do with the same stream (bare_flood.py): both take turns, so that what
else the machine does concerns both. Compile bytecode first. Nothing is asserted: machines differ.
"""

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from tests.benchmarks.terminal import KEYS, ROOT, Terminal

SIZES = (200_000, 1_000_000)
END = "ΩtheendΩ"
DEADLINE = 60.0
PARAGRAPH = (
    "The parser keeps a **stack of states** and pops one whenever `close()` is called; what was left open is "
    "reported by [the checker](https://example.com/checker), with the line it began on.\n\n"
)
SECTION = (
    "## How it works\n\n"
    + PARAGRAPH * 2
    + "1. read the *next* token\n2. look at the top of the stack\n   - pop it\n   - or push\n3. go on\n\n"
    + '```python\ndef walk(node: Node, depth: int = 0) -> Iterator[Node]:\n    """All nodes below one."""\n'
    + "    for child in node.children:  # in order\n        yield child\n"
    + "        yield from walk(child, depth + 1)\n```\n\n"
    + "| state | on open | on close |\n|---|---|---|\n| start | push | error |\n| inside | push | pop |\n\n"
)


class Flood(NamedTuple):
    """One flood: seconds from Enter to its first and last word, echoes in ms, growth in MB, seconds of CPU."""

    first: float
    done: float
    echoes: list[float]
    growth: float
    cpu: float
    whole: bool


def markdown(size: int) -> str:
    """So many characters of Markdown as models write it, no two sections the same."""
    out, length, number = [], 0, 0
    while length < size:
        section = SECTION.replace("walk", f"walk_{number}").replace(
            "How it works", f"How part {number} works"
        )
        out.append(section)
        length += len(section)
        number += 1
    return "".join(out)[:size]


class Server:
    """The endpoint in a process of its own. `url` is its address."""

    def __init__(self, folder: Path, text: str) -> None:
        script = folder / "script.json"
        flood = {"content": text, "chunk": 40, "pings": False}
        script.write_text(json.dumps({"replies": ["Ready.", flood], "loop": True}))
        words = [sys.executable, "-m", "tests.endpoint", "--script", str(script), "--quiet", "--judge", "off"]
        self._process = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()

    def close(self) -> None:
        """Ends it."""
        self._process.send_signal(signal.SIGTERM)
        self._process.wait()


def flood(terminal: Terminal, keys: list[str]) -> tuple[float, float, list[float]]:
    """Says "go" and types letters, one at a time, until the last word of the answer is drawn."""
    echoes: list[float] = []
    terminal.seen = b""
    begun = time.perf_counter()
    terminal.type("\r")
    first = 0.0
    typed, typed_at = "", 0.0
    while True:
        data = terminal.read(0.002)
        now = time.perf_counter()
        if not first and b"works" in terminal.seen:
            first = now - begun
        if typed and typed.encode() in terminal.seen:
            echoes.append((now - typed_at) * 1000)
            typed = ""
        if END.encode() in terminal.seen or now - begun > DEADLINE:
            return first, now - begun, echoes
        if first and not typed and keys and (not data or now - typed_at > 0.015):
            typed, typed_at = keys.pop(0), now
            terminal.type(typed)


def ours(text: str, server: Server) -> Flood:
    """The program, warm: its first answer was short, the second is the flood."""
    with tempfile.TemporaryDirectory() as home:
        environ = {"ANTHROPIC_API_KEY": "sk-ant-x", "ANTHROPIC_BASE_URL": server.url}
        terminal = Terminal("prunecli", ["--trust"], home, environ)
        terminal.until("for commands", 20)
        terminal.type("hello\r")
        terminal.until("Ready.", 20)
        terminal.quiet(1.0)
        terminal.type("go")
        terminal.quiet(0.3)
        before, cpu = terminal.megabytes(), terminal.cpu()
        first, done, echoes = flood(terminal, list(KEYS))
        terminal.quiet(0.5)
        growth, used = terminal.megabytes() - before, terminal.cpu() - cpu
        whole = any(text in _logged(log) for log in Path(home).rglob("*.jsonl"))
        terminal.close()
    return Flood(first, done, echoes, growth, used, whole)


def _logged(log: Path) -> list[str]:
    """Every text of an assistant message in a session's file, blobs looked up."""
    found = []
    for line in log.read_text("utf-8").splitlines():
        for block in json.loads(line).get("content") or ():
            if isinstance(block, dict) and isinstance(block.get("text"), str):
                found.append(block["text"])
            elif isinstance(block, dict) and "sha256" in block:
                found.append((log.parent / "blobs" / block["sha256"]).read_text("utf-8"))
    return found


def bare(server: Server) -> Flood:
    """The bare program with the same stream."""
    with tempfile.TemporaryDirectory() as home:
        terminal = Terminal("tests.benchmarks.bare_flood", [server.url], home)
        terminal.until("bare", 20)
        terminal.type("hello\r")
        terminal.until("Ready.", 20)
        terminal.quiet(0.5)
        before, cpu = terminal.megabytes(), terminal.cpu()
        first, done, echoes = flood(terminal, list(KEYS))
        terminal.quiet(0.5)
        growth, used = terminal.megabytes() - before, terminal.cpu() - cpu
        terminal.close()
    return Flood(first, done, echoes, growth, used, True)


def line(name: str, runs: list[Flood]) -> None:
    """The figures of some runs."""
    echoes = sorted(echo for run in runs for echo in run.echoes) or [0.0]
    done = sorted(run.done for run in runs)
    print(
        f"  {name:<10} first {statistics.median(run.first for run in runs) * 1000:5.0f} ms  "
        f"done median {statistics.median(done):6.3f} s best {done[0]:6.3f} worst {done[-1]:6.3f}  "
        f"CPU {statistics.median(run.cpu for run in runs):5.2f} s  "
        f"echo ({len(echoes)} keys) median {statistics.median(echoes):5.1f} p95 "
        f"{echoes[int(len(echoes) * 0.95)]:5.1f} worst {echoes[-1]:5.1f} ms  "
        f"memory +{statistics.median(run.growth for run in runs):5.1f} MB  "
        f"{'every character' if all(run.whole for run in runs) else 'TEXT MISSING'}"
    )


def main() -> None:
    """Prints the figures."""
    count = int(sys.argv[1]) if sys.argv[1:] else 5
    for size in SIZES:
        text = markdown(size) + f"\n\n{END}\n"
        with tempfile.TemporaryDirectory() as folder:
            server = Server(Path(folder), text)
            runs: list[Flood] = []
            bares: list[Flood] = []
            for _ in range(count):
                runs.append(ours(text, server))
                bares.append(bare(server))
            server.close()
        print(f"{size // 1000:,} KB at once, {count} runs each, load {os.getloadavg()[0]:.1f}")
        line("prunecli", runs)
        line("bare", bares)
        ratio = statistics.median(a.done for a in runs) / statistics.median(b.done for b in bares)
        print(f"  ratio of the medians: done {ratio:.2f}")


if __name__ == "__main__":
    main()
