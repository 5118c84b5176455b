"""A conversation as records: every kind of entry that the transcript shows, with fixed figures."""

from prunecli.model.edits import Edit
from prunecli.model.events import (
    AssistantMessage,
    Event,
    PrunApplied,
    RunEnded,
    ToolResult,
    ToolStarted,
    UserMessage,
)
from prunecli.model.messages import Block, Text, Thinking, ToolUse, Usage
from tests.tui.test_todos import FIVE

DIFF = """@@ -4,4 +4,4 @@
 def advance(tokens):
     \"\"\"The next token.\"\"\"
     tok = tokens.pop(0)
-    return tokens
+    return tok
"""

ANSWER = """Fixed. `advance` gave back **the whole list** instead of the token it took:

| file | line | now |
|------|-----:|-----|
| parser.py | 7 | returns `tok` |
| check.py | 4 | unchanged |

```python
def advance(tokens: list[str]) -> str:
    \"\"\"The next token.\"\"\"
    return tokens.pop(0)
```

1. The check passes: *3 of 3*
2. See [the grammar](https://example.com/grammar) for the rest
"""


class _Log:
    """Events with the sequence numbers that a fresh session gives them."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def add(self, event: Event) -> int:
        self.events.append(event)
        return len(self.events)  # SessionStarted is record 0

    def says(self, *content: Block, prompt: int = 9_000, cached: int = 8_800) -> int:
        stop = "tool_use" if any(isinstance(block, ToolUse) for block in content) else "end_turn"
        usage = Usage(prompt - cached - 100, 120, cached, 100)
        return self.add(AssistantMessage(content, "scripted", stop, usage))

    def result(
        self, use: ToolUse, text: str, milliseconds: int, *, error: bool = False, **details: object
    ) -> int:
        self.add(ToolStarted(use.id, use.name, use.input))
        return self.add(ToolResult(use.id, use.name, (Text(text),), error, details, milliseconds))


def conversation() -> list[Event]:
    """Two prompts: reads, a search, a failing check, an edit, an answer; the largest result was pruned."""
    log = _Log()
    log.add(UserMessage((Text("fix the failing check in parser.py\nand keep the grammar as it is"),)))
    lexer = ToolUse("t1", "read", {"path": "lexer.py"})
    check = ToolUse("t2", "bash", {"command": "python3 check.py"})
    log.says(
        Thinking("The check fails, so I need to see it first. Then the parser.\n\nThe lexer too.", "s"),
        Text("I'll look at the lexer and run the check first."),
        lexer,
        check,
        cached=0,
    )
    body = "".join(f"def rule_{n}(self): ...\n" for n in range(180))
    pruned = log.result(lexer, body, 3, path="lexer.py", first_line=1, last_line=180)
    log.result(
        check, 'Traceback (most recent call last):\nAssertionError: total("1+2")\n', 2_140, exit_code=1
    )
    edit = ToolUse("t3", "edit", {"path": "parser.py", "old_string": "tokens", "new_string": "tok"})
    again = ToolUse("t4", "bash", {"command": "python3 check.py"})
    log.says(Text("`advance` returns the wrong thing."), edit)
    log.result(edit, "edited", 12, path="parser.py", diff=DIFF, added=1, removed=1)
    log.add(
        PrunApplied(
            "strategy",
            (Edit("clear", pruned, "t1", "[read lexer.py was pruned]", 1_150, 12),),
            "pi",
            tokens_removed=1_138,
            messages_removed=1,
        )
    )
    log.says(again)
    log.result(again, "3 passed\n", 61_300, exit_code=0)
    log.says(Text(ANSWER))
    log.add(RunEnded("finished"))
    log.add(UserMessage((Text("thank you! 漢字 and 👩‍👧 too"),)))
    log.says(Text("You're welcome."))
    log.add(RunEnded("finished"))
    return log.events


def with_a_todo_list() -> list[Event]:
    """The same, and an answer that kept a to-do list."""
    log = _Log()
    log.events = conversation()
    log.add(UserMessage((Text("go"),)))
    todos = [{"content": content, "status": status} for content, status in FIVE]
    kept = ToolUse("t9", "todo", {"todos": todos})
    log.says(kept)
    log.result(kept, "2 completed, 1 in progress, 2 pending.", 0)
    log.says(Text("Two items are left."))
    log.add(RunEnded("finished"))
    return log.events
