"""How long a start takes: from exec until a key that was typed at once is echoed, in a real pseudo-terminal.

Run it by hand: `python tests/benchmarks/bench_start.py [rounds]`. It compares starts without and with flags, `-c`
and `-r` with a bare Textual application that has one Input, in turns, so that a busy machine is as bad for all. `-p`
and `--version` have no screen: for them it is the time from exec until exit. Bytecode is compiled first: what an
installer does not compile is compiled again at every start. The goals: with flags at most 1.25 times the bare one, or
50 ms more than without flags; `--version` in less than 100 ms.
"""

import compileall
import fcntl
import json
import os
import pty
import select
import signal
import statistics
import struct
import subprocess
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


def run_of(argv: list[str], environ: dict[str, str], cwd: str) -> float:
    """Seconds from exec until the program has ended well."""
    begun = time.perf_counter()
    subprocess.run(argv, env=environ, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    return time.perf_counter() - begun


FLAGS = ["--model", "demo", "--theme", "prune-dark", "--set", "pruning.gate=always"]
ANSWER = ["-p", "--model", "demo", "--trust", "hello"]


def main() -> None:
    """Measures in turns and prints medians."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    environ = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "ANTHROPIC"))}
    with tempfile.TemporaryDirectory() as home:
        environ |= {"HOME": home, "TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONPATH": str(ROOT)}
        compileall.compile_dir(ROOT / "prunecli", quiet=2)
        for name in ("anthropic", "httpx2", "rich", "textual"):
            compileall.compile_dir(Path(sysconfig.get_paths()["purelib"]) / name, quiet=2)
        ours = [sys.executable, "-m", "prunecli"]
        start_of(ours, environ, home, stay=4.0)  # the first one ever: it keeps how it looks
        run_of([*ours, *ANSWER], environ, home)
        listed = subprocess.run(
            [*ours, "sessions", "list", "--json"], env=environ, cwd=home, capture_output=True
        )
        session = json.loads(listed.stdout)[0]["id"]
        commands = {
            "bare Textual": (start_of, [sys.executable, "-c", BARE]),
            "prunecli": (start_of, ours),
            "with flags": (start_of, [*ours, *FLAGS]),
            "-c": (start_of, [*ours, "-c"]),
            "-r ID, flags": (start_of, [*ours, "-r", session, *FLAGS]),
            "-p": (run_of, [*ours, *ANSWER]),
            "--version": (run_of, [*ours, "--version"]),
        }
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(rounds):
            for name, (measure, argv) in commands.items():
                times[name].append(measure(argv, environ, home))
    bare, plain = (statistics.median(times[name]) for name in ("bare Textual", "prunecli"))
    for name, found in times.items():
        middle = statistics.median(found)
        compared = f"{middle / bare:5.2f} x bare, {(middle - plain) * 1000:+4.0f} ms"
        print(
            f"{name:14} median {middle * 1000:5.0f} ms   best {min(found) * 1000:5.0f} ms   "
            f"{compared if commands[name][0] is start_of else ''}".rstrip()
        )


if __name__ == "__main__":
    main()
