"""The inspector of a long session in the whole program: how soon each step shows something, how long keys wait then.

`python -m tests.benchmarks.bench_inspecting [rounds [compact_every [entries ...]]]`: the program in a pseudo-terminal
of 120 by 40, continuing sessions of 10,000 and 50,000 entries; without a compaction (0, the worst there can be)
unless it is told after how many exchanges there is one. Milliseconds: `first` is from the key to the first frame that
tells what was asked for, `echo` from a key typed right after it, and then every 40 ms, to what that key changes on
the screen. Compile bytecode first.
"""

import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.benchmarks.long_sessions import session_file
from tests.benchmarks.terminal import Terminal

ENTRIES = (10_000, 50_000)
UP, DOWN, LEFT, RIGHT, HOME, END = "\x1b[A", "\x1b[B", "\x1b[D", "\x1b[C", "\x1b[H", "\x1b[F"
PAGE_UP, ESC, ENTER = "\x1b[5~", "\x1b", "\r"
KEYS_MEANWHILE, PAUSE_SECONDS = 12, 0.04
LIMIT_SECONDS = 15.0
UNFOLDED = "▾".encode()
NODE = re.compile(
    rb"(?:turn|exchange|answer|calls|thinking|result|memo|system|instructions|tools)(?: \d+)?\x1b\[[\d;]*m"
)
"""The marked node, as the line above the previews names it."""
_STYLES = re.compile(rb"\x1b\[[\d;?]*[A-Za-z]")


class Inspection:
    """One terminal, and the times that were taken in it."""

    def __init__(self, home: str, entries: int, compact_every: int) -> None:
        cwd, data = Path(home) / f"work{entries}", Path(home) / f"data{entries}"
        cwd.mkdir()
        session_file(data, cwd, entries=entries, result_bytes=700, compact_every=compact_every)
        words = ["--trust", "--continue", "--model", "demo"]
        self.compacted = compact_every > 0
        self.terminal = Terminal("prunecli", words, home, {"PRUNECLI_HOME": str(data)}, cwd=str(cwd))
        self.terminal.until("That was the last one.", 30)
        self.terminal.quiet(2.5, 60)
        self.firsts: dict[str, list[float]] = {}
        self.echoes: dict[str, list[float]] = {}
        self._node = b""

    def step(self, name: str, keys: str, told: Callable[[bytes], bool]) -> None:
        """Types keys and waits for the first frame that tells what was asked for."""
        took = self._wait(keys, told)
        self.firsts.setdefault(name, []).append(took)

    def _wait(self, keys: str, told: Callable[[bytes], bool]) -> float:
        """Milliseconds until what is drawn from now on tells it."""
        begun, self.terminal.seen = time.perf_counter(), b""
        self.terminal.type(keys)
        while not told(self.terminal.seen):
            if time.perf_counter() - begun > LIMIT_SECONDS:
                raise SystemExit(f"{keys!r} was not answered: {plain(self.terminal.seen)[-2000:].decode()}")
            self.terminal.read(0.5)
        self._look()
        return (time.perf_counter() - begun) * 1000

    def _look(self) -> None:
        found = NODE.findall(self.terminal.seen)
        self._node = found[-1] if found else self._node

    def moves(self, name: str, keys: Sequence[str] = (UP, DOWN)) -> None:
        """Keys that mark another node, each from its press until that one is named."""
        for at in range(KEYS_MEANWHILE):
            before = self._node
            took = self._wait(
                keys[at % len(keys)],
                lambda seen, before=before: any(one != before for one in NODE.findall(seen)),
            )
            self._echo(name, took)

    def types(self, name: str, words: str) -> None:
        """Letters that are typed into the field, each until the words so far stand there."""
        for end in range(1, len(words) + 1):
            wanted = words[:end].encode()
            self._echo(name, self._wait(words[end - 1], lambda seen, wanted=wanted: wanted in plain(seen)))

    def goes(self, name: str, keys: Sequence[str], wanted: Sequence[str]) -> None:
        """Keys, each until a text of its own stands there."""
        for key, text in zip(keys, wanted, strict=True):
            self._echo(name, self._wait(key, lambda seen, text=text: text.encode() in plain(seen)))

    def _echo(self, name: str, took: float) -> None:
        self.echoes.setdefault(name, []).append(took)
        rest = time.perf_counter() + max(0.0, PAUSE_SECONDS - took / 1000)
        while (left := rest - time.perf_counter()) > 0:
            self.terminal.read(left)
            self._look()

    def calm(self) -> None:
        """Nothing of the last step goes on."""
        self.terminal.quiet(0.4, 20)
        self._look()


def plain(drawn: bytes) -> bytes:
    """What is drawn without its styles."""
    return _STYLES.sub(b"", drawn)


def has(*texts: str) -> Callable[[bytes], bool]:
    """Whether all of this is drawn."""
    return lambda seen: all(text.encode() in plain(seen) for text in texts)


def names_a_node(seen: bytes) -> bool:
    """Whether a node is named."""
    return bool(NODE.search(seen))


def walk(one: Inspection) -> None:
    """One round through everything."""
    terminal = one.terminal
    terminal.type("/context")
    one.calm()
    one.step("open", ENTER, names_a_node)
    one.moves("open")
    one.calm()
    one.step("unfold all", "E", lambda seen: UNFOLDED in seen)
    one.moves("unfold all")
    one.calm()
    one.moves("move", (HOME, END, PAGE_UP, UP))
    one.step("filter", "/", has("filter by words"))
    one.types("filter", "rules_29")
    one.calm()
    one._wait(ENTER, has("p prune"))
    one.moves("move in the filter")
    one.step("all again", ESC, names_a_node)
    one.moves("all again")
    one.calm()
    difference(one)
    acts(one)
    one._wait("E", names_a_node)
    one.calm()
    one._wait("q", has("Ask, or"))
    one.calm()
    terminal.type("/cost")
    one.calm()
    one.step("/cost", ENTER, has("Up/Down to scroll"))
    one.step("/cost closes", ESC, has("Ask, or"))
    one.calm()


def difference(one: Inspection) -> None:
    """From one to the next, and to others."""
    one.step("difference, screen", "d", has("Request "))
    last = int(re.findall(rb"Request (\d+)", one.terminal.seen)[-1])
    numbers = (*range(last - 1, last - 7, -1), *range(last - 5, last + 1))
    one.goes("difference", [LEFT] * 6 + [RIGHT] * 6, [f"Request {at} " for at in numbers])
    one.calm()
    one.step("difference before", LEFT, has(f"Request {last - 1} ", "the endpoint"))
    far = str(max(2, last // 2))
    one.terminal.type(far)
    one.calm()
    one.step("difference far away", ENTER, has(f"Request {far} ", "the endpoint"))
    one.step("difference closes", ESC, names_a_node)
    one.calm()
    one.step("difference again", "d", has(f"Request {last} ", "the endpoint"))
    one._wait(ESC, names_a_node)
    one.calm()


def acts(one: Inspection) -> None:
    """The full text; pruning the oldest exchange, or where that survived a compaction the newest; taking it back."""
    end, step = (END, UP) if one.compacted else (HOME, DOWN)
    one._wait(end, names_a_node)
    one.calm()
    for _ in range(40):
        one._wait(step, names_a_node)
        if one._node.startswith(b"exchange"):
            break
    one.calm()
    one.step("full text", ENTER, has("scroll"))
    one.step("full text closes", ESC, names_a_node)
    one.calm()
    one.step("prune", "p", has("u to undo"))
    one.moves("prune")
    one.step("undo", "u", has("Restored "))
    one.moves("undo")
    one.calm()


def working(one: Inspection) -> None:
    """Moving about while the agent works."""
    one.terminal.type("tell me about this")
    one.calm()
    one.terminal.type(ENTER)
    one.terminal.read(0.1)
    one.terminal.type("/context")
    one.terminal.read(0.2)
    one._wait(ENTER, names_a_node)
    one.moves("while the agent works")
    one._wait("q", has("Ask, or"))
    one.terminal.quiet(2.0, 30)


def main() -> None:
    """Prints the figures."""
    numbers = [int(word) for word in sys.argv[1:]]
    rounds, compact_every = (*numbers[:2], *(5, 0)[len(numbers[:2]) :])
    with tempfile.TemporaryDirectory() as home:
        for entries in numbers[2:] or ENTRIES:
            one = Inspection(home, entries, compact_every)
            for _ in range(rounds):
                walk(one)
                if compact_every:  # else the first request would prune and summarize all of it
                    working(one)
            print(f"{entries:,} entries, load {os.getloadavg()[0]:.1f}, {one.terminal.megabytes():.0f} MB")
            for name in dict.fromkeys([*one.firsts, *one.echoes]):
                firsts, echoes = one.firsts.get(name), one.echoes.get(name)
                told = (
                    f"first {statistics.median(firsts):6.1f} worst {max(firsts):6.1f}" if firsts else " " * 26
                )
                if echoes:
                    p95 = sorted(echoes)[int(len(echoes) * 0.95)]
                    told += f"   echo median {statistics.median(echoes):5.1f} p95 {p95:6.1f} worst {max(echoes):6.1f}"
                print(f"  {name:<22} {told}", flush=True)
            one.terminal.close()


if __name__ == "__main__":
    main()
