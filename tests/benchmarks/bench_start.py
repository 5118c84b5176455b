"""How long a start takes: from exec until a key that was typed at once is echoed, in a real pseudo-terminal.

Run it by hand: `python tests/benchmarks/bench_start.py [rounds]`. It compares with a bare Textual application that
has one Input, in turns, so that a busy machine is as bad for both. Bytecode is compiled first: what an installer
does not compile is compiled again at every start. The goal is a median of at most 1.3 times the bare one.
"""

import compileall
import fcntl
import os
import pty
import select
import signal
import statistics
import struct
import sys
import sysconfig
import tempfile
import termios
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
KEY = "ǂ"  # nothing else on the screen has it
BARE = """
from textual.app import App
from textual.widgets import Input

class Bare(App):
    def compose(self):
        yield Input()

Bare().run()
"""
ENTERED = b"\x1b[?1049h"


def start_of(argv: list[str], environ: dict[str, str], cwd: str, stay: float = 0.0) -> float:
    """Seconds from exec until the key is echoed by the program, not by the terminal; it may `stay` for a while."""
    begun = time.perf_counter()
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(cwd)
        os.execvpe(argv[0], argv, environ)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    os.write(terminal, KEY.encode())
    seen = b""
    try:
        while time.perf_counter() - begun < 20:
            if not select.select([terminal], [], [], 1)[0]:
                continue
            seen += os.read(terminal, 65536)
            entered = seen.find(ENTERED)
            if entered >= 0 and KEY.encode() in seen[entered:]:
                took = time.perf_counter() - begun
                while time.perf_counter() - begun < stay:
                    if select.select([terminal], [], [], 0.1)[0]:
                        os.read(terminal, 65536)
                return took
        raise TimeoutError(seen[-2000:].decode("utf-8", "replace"))
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(terminal)


def main() -> None:
    """Measures in turns and prints medians."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    environ = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "ANTHROPIC"))}
    with tempfile.TemporaryDirectory() as home:
        environ |= {"HOME": home, "TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONPATH": str(ROOT)}
        compileall.compile_dir(ROOT / "prunecli", quiet=2)
        for name in ("textual", "rich"):
            compileall.compile_dir(Path(sysconfig.get_paths()["purelib"]) / name, quiet=2)
        commands = {
            "bare Textual": [sys.executable, "-c", BARE],
            "prunecli": [sys.executable, "-m", "prunecli"],
        }
        times: dict[str, list[float]] = {name: [] for name in commands}
        start_of(commands["prunecli"], environ, home, stay=4.0)  # the first one ever: it keeps how it looks
        for _ in range(rounds):
            for name, argv in commands.items():
                times[name].append(start_of(argv, environ, home))
    for name, found in times.items():
        middle, best = statistics.median(found) * 1000, min(found) * 1000
        print(f"{name:14} median {middle:5.0f} ms   best {best:5.0f} ms")
    ratios = [ours / bare for bare, ours in zip(times["bare Textual"], times["prunecli"], strict=True)]
    middle = statistics.median(times["prunecli"]) / statistics.median(times["bare Textual"])
    print(f"ratio of medians {middle:.2f}   median of ratios {statistics.median(ratios):.2f}   goal 1.30")


if __name__ == "__main__":
    main()
