"""Makes the README's pictures: a real run of the interface on scripted responses, exported as SVG.

`python -m tests.screenshots.make` writes session.svg and context.svg (the inspector) beside this file.
"""

import asyncio
import tempfile
from pathlib import Path

from prunecli.model.messages import Thinking, ToolUse, Usage
from tests.scripted import Scripted, calls, says
from tests.starting import start
from tests.tui.showing_app import Shown, shown
from tests.tui.snapshots.picture import normalized

FOLDER = Path(__file__).parent
SIZE = (132, 34)
SETS = (
    "permissions.mode=auto",
    "pruning.strategy=pi",
    "pruning.pi.prune_minimum=1000",
    "pruning.pi.prune_protect=60",
    "pruning.pi.protected_turns=0",
    "pruning.gate=always",
)

LEXER = "class Lexer:\n" + "".join(
    f"    def rule_{n}(self): ...  # a rule of the grammar\n" for n in range(320)
)
PARSER = '''\
"""A parser of sums."""


def advance(tokens):
    """The next token."""
    tok = tokens.pop(0)
    return tokens


def total(text):
    tokens = text.split("+")
    found = 0
    while tokens:
        found += int(advance(tokens))
    return found
'''
TEST = """\
from parser import total

passed = 0
for text, wanted in {"1": 1, "1+2": 3, "2+2+2": 6}.items():
    assert total(text) == wanted, f"total({text!r})"
    passed += 1
print(f"{passed} passed")
"""


THOUGHT = "The check fails in the parser. I need the grammar first, then what the check says."


def used(response: Scripted, prompt: int, cached: int) -> Scripted:
    """The response with what a request would have cost."""
    usage = Usage(prompt - cached - 300, 120, cached, 300)
    return Scripted(response.content, response.stop_reason, usage)


def script() -> list[Scripted]:
    """What the model does in the picture."""
    edit = {"path": "parser.py", "old_string": "    return tokens\n", "new_string": "    return tok\n"}
    return [
        used(
            Scripted((Thinking(THOUGHT, "signed"), ToolUse("t1", "read", {"path": "lexer.py"})), "tool_use"),
            3_000,
            0,
        ),
        used(calls(ToolUse("t2", "bash", {"command": "python3 check.py"})), 9_300, 2_900),
        used(
            calls(
                ToolUse("t3", "read", {"path": "parser.py"}), ToolUse("t4", "grep", {"pattern": "advance"})
            ),
            9_600,
            9_200,
        ),
        used(calls(ToolUse("t5", "edit", edit), text="`advance` returns the wrong thing."), 10_000, 9_500),
        used(calls(ToolUse("t6", "bash", {"command": "python3 check.py"})), 10_300, 9_900),
        used(
            says(
                "Fixed. `advance` gave back **the whole list** instead of the token it took:\n\n"
                "- `parser.py:7` now returns `tok`\n- the check passes: 3 of 3"
            ),
            10_500,
            10_200,
        ),
    ]


async def make() -> None:
    """Writes the pictures."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        work = folder / "home" / "src" / "app"
        work.mkdir(parents=True)
        for path, text in (("lexer.py", LEXER), ("parser.py", PARSER), ("check.py", TEST)):
            (work / path).write_text(text)
        runtime = start(folder, script(), sets=SETS, work="home/src/app")
        async with shown(folder, size=SIZE, runtime=runtime) as screen:
            await screen.type("fix the failing check in parser.py", "enter")
            await screen.until_shown("3 of 3")
            await screen.idle()
            await screen.pilot.pause(0.2)
            keep(screen, "session")
            await screen.type("/context", "enter")
            await screen.until(lambda: len(screen.app.screen_stack) > 1)
            await screen.pilot.pause(0.2)
            keep(screen, "context")


def keep(screen: Shown, name: str) -> None:
    """Writes what is on the screen."""
    picture = normalized(screen.app.export_screenshot(title="prunecli"))
    (FOLDER / f"{name}.svg").write_text(picture, "utf-8")


if __name__ == "__main__":
    asyncio.run(make())
