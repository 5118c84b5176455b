"""Types what stands in test_first_day.py at the other agents and at prunecli, and prints a table of what they say.

    PRUNECLI_PEERS=FOLDER python -m tests.first_day.against [Codex ...] > table.md

`tests/peers/programs.py` says how to install the programs into FOLDER; those that are missing are named and left out.
Each line is typed in a terminal of its own, in a fresh repository, with a model on loopback. An answer is the exit
code and the first line that was printed, or what came onto the screen of a program that goes on.
"""

import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from os import environ
from pathlib import Path
from time import monotonic, sleep

from tests.e2e.terminal import Terminal
from tests.endpoint import serve
from tests.first_day.test_first_day import INSIDE, SHELL, rows
from tests.peers.other_protocols import other_models
from tests.peers.programs import PEERS, Peer
from tests.peers.scene import claude_answers

AGENTS = {
    "Claude Code": "@claude",
    "Codex": "@codex",
    "OpenCode": "@opencode",
    "pi": "@pi",
    "Gemini CLI": "@gemini",
}
NOISE = ("WARNING: proceeding", "Warning: True color", "Pane is dead")
WORDS = {
    "@pi": ("--provider", "anthropic", "--model", "claude-sonnet-4-5"),
    "@gemini": ("-m", "gemini-2.5-pro"),
}
"""What it needs besides its configuration, to start its screen."""
OURS = (sys.executable, "-m", "prunecli")
STILL, MOST, BLANK = 2.0, 25.0, " \u2500\u2502\u256d\u256e\u2570\u256f\u2503\u2579\u2580\u2584\u2588\u2500-|"
"""Seconds without a change after which a screen is taken as done, and the most to wait."""


def settled(terminal: Terminal) -> str:
    """The screen once it does not change any more, or the program has ended."""
    begun = changed = monotonic()
    last = ""
    while monotonic() - begun < MOST and monotonic() - changed < STILL and terminal.exit_code is None:
        sleep(0.2)
        if (now := terminal.screen()) != last or not now.strip():
            last, changed = now, monotonic()
    return terminal.screen()


def lines(screen: str) -> list[str]:
    found = (" ".join(line.strip(BLANK).split()) for line in screen.splitlines())
    return [line for line in found if any(map(str.isalnum, line)) and not line.startswith(NOISE)]


def typed_in_shell(program: Sequence[str], words: str, cwd: Path, env: Mapping[str, str]) -> str:
    with Terminal(shlex.split(words), cwd, env, 200, 50, program=program) as terminal:
        found = lines(settled(terminal))
        if terminal.exit_code is None:
            return "goes on: " + (found[-1] if found else "")
        return f"{terminal.exit_code}: " + " / ".join(lines(terminal.everything())[:2])


def typed_inside(program: Sequence[str], text: str, cwd: Path, env: Mapping[str, str]) -> str:
    with Terminal((), cwd, env, 120, 40, program=program) as terminal:
        before = lines(settled(terminal))
        terminal.type(text)
        settled(terminal)
        terminal.press("Enter")
        after = lines(settled(terminal))
        if terminal.exit_code is not None:
            return f"ends ({terminal.exit_code})"
        new = [line for line in after if line not in before and line.lstrip("> ❯›") != text]
        return " / ".join(new[:3])


def answers(peer: Peer, name: str) -> Iterator[tuple[str, str, str]]:
    """Yield what is typed, what their program says, and what ours says."""
    binary = peer.binary()
    for table, ask, more in ((SHELL, typed_in_shell, ()), (INSIDE, typed_inside, WORDS.get(peer.agent, ()))):
        for typed, _ in rows(table[name]):
            with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
                cwd, home = Path(folder) / "project", Path(folder) / "home"
                home.mkdir()
                subprocess.run(["git", "init", "-q", str(cwd)], check=True)
                subprocess.run(["git", "commit", "-qm", "x", "--allow-empty"], cwd=cwd, check=True)
                anthropic = stack.enter_context(serve(claude_answers(cwd), judge="off")).base_url
                url = anthropic if peer.anthropic else stack.enter_context(other_models(cwd))
                base = {"HOME": str(home), "PATH": environ["PATH"]}
                theirs = ask((str(binary), *more), typed, cwd, {**base, **peer.prepare(home, cwd, url)})
                env = {**base, "ANTHROPIC_BASE_URL": anthropic, "ANTHROPIC_API_KEY": "sk-ant-x"}
                subprocess.run([*OURS, "trust"], cwd=cwd, env=env, check=True, capture_output=True)
                yield typed, theirs, ask(OURS, typed, cwd, env)


if __name__ == "__main__":
    for name in sys.argv[1:] or AGENTS:
        peer = next(one for one in PEERS if one.agent == AGENTS[name])
        if peer.binary() is None:
            print(f"\n{name}: not installed\n")
            continue
        print(f"\n| {name} | theirs | ours |\n|---|---|---|", flush=True)
        for row in answers(peer, name):
            print("| " + " | ".join(one.replace("|", "\\|")[:220] for one in row) + " |", flush=True)
