"""Draws the README's pictures: a session whose cache went cold, so that the program pruned at the second prompt.

`python -m tests.screenshots.make` writes them to docs/pictures. A test compares them with what the program draws now.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from prunecli.model.events import AssistantMessage, Event, RunEnded, ToolResult, ToolStarted, UserMessage
from prunecli.model.messages import Block, Text, ToolUse, Usage
from tests.scripted import Scripted
from tests.starting import start
from tests.tui.showing_app import Shown, shown
from tests.tui.snapshots.picture import settled

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
SIZE = (110, 46)
MODEL = "claude-sonnet-4-5"
BEGAN = 1_700_000_000_000
PAUSE_MS = 20 * 60_000

DIFF = """@@ -6,2 +6,2 @@
     token = tokens.pop(0)
-    return tokens
+    return token
"""
SOURCE = "".join(f"    def rule_{n}(self): ...  # rule {n} of the grammar\n" for n in range(460))
FIXED = (
    "Fixed: `advance` returned **the whole list** instead of the token that it took.\n\n"
    "* `parser.py:7` returns `token`\n* all 42 tests pass"
)
TESTED = "Added `test_advance` with an empty list, one token and two. All 43 tests pass."


def _usage(prompt: int, cached: int) -> Usage:
    return Usage(200, 240, cached, prompt - cached - 200)


def first_turn() -> list[Event]:
    """A prompt and its work: two large files, a failing test, an edit, a passing test."""
    events: list[Event] = [UserMessage((Text("the tests in test_parser.py fail, fix them"),))]

    def says(prompt: int, cached: int, *content: Block) -> None:
        stop = "tool_use" if any(isinstance(block, ToolUse) for block in content) else "end_turn"
        events.append(AssistantMessage(content, MODEL, stop, _usage(prompt, cached)))

    def ran(use: ToolUse, text: str, milliseconds: int, *, error: bool = False, **details: object) -> None:
        events.append(ToolStarted(use.id, use.name, use.input))
        events.append(ToolResult(use.id, use.name, (Text(text),), error, details, milliseconds))

    lexer = ToolUse("t1", "read", {"path": "lexer.py"})
    grammar = ToolUse("t2", "read", {"path": "grammar.py"})
    says(3_100, 0, Text("I'll read the lexer and the grammar first."), lexer, grammar)
    for use, path in ((lexer, "lexer.py"), (grammar, "grammar.py")):
        ran(use, SOURCE, 4, path=path, first_line=1, last_line=460)
    failing = ToolUse("t3", "bash", {"command": "pytest -q test_parser.py"})
    says(19_400, 3_000, failing)
    error = (
        "test_parser.py:9: in test_sum\nTypeError: int() argument must be a string, not 'list'\n1 failed\n"
    )
    ran(failing, error, 1_310, error=True, exit_code=1)
    edit = ToolUse(
        "t4", "edit", {"path": "parser.py", "old_string": "return tokens", "new_string": "return token"}
    )
    says(19_800, 19_300, edit)
    ran(edit, "edited", 6, path="parser.py", diff=DIFF, added=1, removed=1)
    passing = ToolUse("t5", "bash", {"command": "pytest -q"})
    says(20_100, 19_700, passing)
    ran(passing, "42 passed\n", 2_140, exit_code=0)
    says(20_300, 20_000, Text(FIXED))
    return [*events, RunEnded("finished")]


async def pictures(folder: Path) -> AsyncIterator[tuple[str, Shown]]:
    """Yield the name of each picture while the screen shows it."""
    now = [BEGAN]
    script = [Scripted((Text(TESTED),), "end_turn", _usage(4_600, 0))]
    sets = (f"model.name={MODEL}", "permissions.mode=edits", "sandbox.mode=off", "pruning.estimator=chars4")
    runtime = start(folder, script, sets=sets, work="home/src/app", clock=lambda: now[0])
    for event in first_turn():
        runtime.emit(event)
    now[0] += PAUSE_MS
    async with shown(folder, size=SIZE, runtime=runtime) as screen:
        screen.frame.prompt.cursor_blink = False
        await screen.type("/context", "enter")
        await screen.until(lambda: len(screen.app.screen_stack) > 1)
        yield "context", screen
        await closed(screen)
        await screen.type("add a test for advance", "enter")
        await screen.until_shown("All 43 tests pass")
        await screen.idle()
        yield "session", screen
        await screen.type("/cost", "enter")
        await screen.until(lambda: len(screen.app.screen_stack) > 1)
        yield "cost", screen


async def closed(screen: Shown) -> None:
    """Close the screen above the conversation."""
    await screen.pilot.press("escape")
    await screen.until(lambda: len(screen.app.screen_stack) == 1)


async def make() -> None:
    """Write the pictures."""
    with tempfile.TemporaryDirectory() as place:
        async for name, screen in pictures(Path(place)):
            (FOLDER / f"{name}.svg").write_text(await settled(screen, "prunecli", ""), "utf-8")


if __name__ == "__main__":
    asyncio.run(make())
