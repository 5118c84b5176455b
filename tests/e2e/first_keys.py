"""Random keys at random moments of the start, and what must come of them.

A key has to take effect once, and in the order in which it was pressed, from before the first frame until everything
is loaded. What is expected comes from the simplest model of an editor.
"""

import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple

from tests.e2e.terminal import Terminal
from tests.waiting import wait_until

LAST_SECONDS = 2.5
"""The last key comes at most so long after the start: everything is loaded by then on an idle machine."""
AFTER_PASTE_SECONDS = 0.4
"""Enter belongs to a paste that ended a moment ago; a person needs longer for it."""
ALPHABET = "abcdefghijklmnopqrstuvwxyz"


class Press(NamedTuple):
    """Letters, Backspace, Ctrl+U, a paste or Enter, so many seconds after the start."""

    at: float
    kind: Literal["letters", "BSpace", "C-u", "paste", "Enter"]
    text: str = ""


@dataclass
class Typed:
    """What a sequence of presses comes to: what was sent, and what stands in the prompt."""

    sent: list[str]
    text: str


def expected(presses: Sequence[Press]) -> Typed:
    """What an editor of one line makes of it."""
    typed = Typed([], "")
    for press in presses:
        match press.kind:
            case "letters" | "paste":
                typed.text += press.text
            case "BSpace":
                typed.text = typed.text[:-1]
            case "C-u":
                typed.text = ""
            case "Enter":
                if typed.text.strip():
                    typed.sent.append(typed.text)
                typed.text = ""
    return typed


def presses(chance: random.Random, most: int = 14) -> list[Press]:
    """A sequence that ends in some letters, so that it can be seen when all of it arrived."""
    kinds = chance.choices(
        ("letters", "BSpace", "C-u", "paste", "Enter"), (8, 5, 2, 2, 2), k=chance.randrange(4, most)
    )
    times = sorted(chance.uniform(0.0, chance.choice((0.3, 1.0, LAST_SECONDS))) for _ in kinds)
    found = [_press(chance, kind, at) for kind, at in zip(kinds, times, strict=True)]
    late = 0.0
    for at, (before, press) in enumerate(pairwise(found), 1):
        late += AFTER_PASTE_SECONDS if before.kind == "paste" and press.kind == "Enter" else 0.0
        found[at] = press._replace(at=press.at + late)
    return [*found, Press(found[-1].at, "letters", " " + "".join(chance.choices(ALPHABET, k=8)))]


def _press(chance: random.Random, kind: str, at: float) -> Press:
    match kind:
        case "letters":
            return Press(at, "letters", "".join(chance.choices(ALPHABET + " ", k=chance.randrange(1, 9))))
        case "paste":
            return Press(
                at, "paste", "<" + "".join(chance.choices(ALPHABET, k=chance.randrange(1, 40))) + ">"
            )
        case _:
            return Press(at, kind)  # type: ignore[arg-type]  # one of the other kinds


def play(folder: Path, presses: Sequence[Press], words: Sequence[str] = ()) -> Typed:
    """Presses them in a real terminal: what was sent, in its order, and what stands in the prompt at the end."""
    work, data = folder / "work", folder / "data"
    for path in (work, data):
        path.mkdir(parents=True)
    environ = {"HOME": str(folder), "PRUNECLI_HOME": str(data), "PATH": "/usr/bin:/bin"}
    wanted = expected(presses)

    def found() -> Typed:
        history = data / "history.jsonl"
        lines = history.read_text().splitlines() if history.exists() else []
        drafts = [json.loads(path.read_text())["text"] for path in (data / "drafts").rglob("*.json")]
        return Typed([json.loads(line)["text"] for line in lines], "".join(drafts))

    with Terminal(["--model", "demo", "--trust", *words], work, environ) as terminal:
        begun = time.monotonic()
        for press in presses:
            time.sleep(max(0.0, begun + press.at - time.monotonic()))
            if press.kind == "letters":
                terminal.type(press.text)
            elif press.kind == "paste":
                terminal.paste(press.text)
            else:
                terminal.press(press.kind)
        try:
            wait_until(lambda: found() == wanted, within=15.0)
        except AssertionError:
            pass  # what came of it says more than that something was waited for
        return found()


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Other work on the machine."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def rounds(count: int, seed: int, tell: Callable[[str], object], words: Sequence[str] = ()) -> int:
    """Plays so many sequences; how many came to something else than expected."""
    wrong = 0
    for number in range(seed, seed + count):
        folder = Path(tempfile.mkdtemp(prefix="keys-"))
        sequence = presses(random.Random(number))  # no secret
        wanted, found = expected(sequence), play(folder, sequence, words)
        if wanted != found:
            wrong += 1
            tell(f"{number}: expected {wanted}\n  but got {found}\n  of {sequence}")
        shutil.rmtree(folder, ignore_errors=True)
    return wrong
