"""A scripted session of twenty turns: a small project with a bug, and what a model would do about it.

Reads, searches, edits, a failing and then a passing test, parallel calls, a long output, a memo. The steering
message, Esc and the kill are added by whoever plays it.
"""

import sys
from pathlib import Path

from tests.endpoint import Call, Reply, Thinking

PYTHON = sys.executable

PARSER = '''\
"""A tiny parser of sums."""


def parse(text):
    return [int(part) for part in text.split("+")]


def total(text):
    return sum(parse(text)) + 1
'''
TEST = """\
from parser import total

assert total("1+2") == 3, total("1+2")
print("1 passed")
"""


def project(folder: Path) -> Path:
    """Writes the project with its bug."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "parser.py").write_text(PARSER)
    (folder / "check.py").write_text(TEST)
    (folder / "notes.md").write_text("\n".join(f"note {n}: nothing to see here" for n in range(400)))
    (folder / "AGENTS.md").write_text("Run `python check.py` to test.\n")
    return folder


def replies(wait_for: str = "sleep 0") -> list[Reply]:
    """The twenty responses; `wait_for` is the command of turn 12, in which Esc may fall."""
    return [
        Reply(
            [
                Thinking("Where am I?"),
                "I'll look around first.",
                Call("ls"),
                Call("find", {"pattern": "*.py"}),
            ]
        ),
        Reply([Call("read", {"path": "parser.py"}), Call("read", {"path": "check.py"})]),
        Reply([Thinking("The test must fail first."), Call("bash", {"command": f"{PYTHON} check.py"})]),
        Reply([Thinking("Somewhere one is added."), Call("grep", {"pattern": r"\+ 1"})]),
        Reply(["Found it.", Call("edit", {"path": "parser.py", "old_string": " + 1", "new_string": ""})]),
        Reply([Call("bash", {"command": f"{PYTHON} check.py"})]),
        Reply([Thinking("The notes may know more."), Call("read", {"path": "notes.md"})]),
        Reply([Call("bash", {"command": "cat notes.md notes.md"})]),
        Reply([Thinking("Just the third."), Call("grep", {"pattern": "note 3"})]),
        Reply([Call("write", {"path": "CHANGES.md", "content": "- total no longer adds one\n"})]),
        Reply(["Now something that takes its time.", Call("bash", {"command": wait_for, "timeout": 60})]),
        Reply([Call("read", {"path": "parser.py"})]),
        Reply([Call("prun_with_memo", {"tokens": 500, "memo": "notes.md holds nothing of use"})]),
        Reply([Thinking("Is there git?"), Call("bash", {"command": "git --version"})]),
        Reply([Call("read", {"path": "notes.md", "offset": 1, "limit": 300})]),
        Reply([Call("bash", {"command": "cat notes.md"})]),
        Reply([Thinking("One more look."), Call("ls", {"path": "."})]),
        Reply([Call("nothing", {})]),
        Reply([Call("read", {"path": "missing.py"})]),
        Reply("Fixed: `total` added one too many. The check passes."),
    ]


PRUNING = (
    "pruning.strategy=pi",
    "pruning.pi.prune_minimum=1000",
    "pruning.pi.prune_protect=1500",
    "pruning.pi.protected_turns=1",
)
"""Thresholds scaled to the session, so that a prune falls into it."""
