"""A small session in which everything that an export has to show happens once."""

from prunecli.model.edits import Edit
from prunecli.model.events import (
    AssistantMessage,
    Event,
    PrunApplied,
    Record,
    SessionStarted,
    SettingChanged,
    ToolResult,
    UserMessage,
)
from prunecli.model.messages import Block, Image, Text, Thinking, ToolUse, Usage

PIXEL = "iVBORw0KGgo="


def numbered(*events: Event) -> list[Record]:
    """Events as records, a second apart."""
    return [Record(seq, 1_767_225_600_000 + 1_000 * seq, event) for seq, event in enumerate(events)]


def turn(number: int, output: str, *before: Block) -> tuple[Event, Event]:
    """A response that reads a file, and the result."""
    use = ToolUse(f"t{number}", "read", {"path": f"file{number}.txt"})
    said = AssistantMessage((*before, use), "claude-x", "tool_use", Usage(10, 2, 100, 0))
    return said, ToolResult(f"t{number}", "read", (Text(output),))


def sample(said: str = "Read them.", output: str = "long output") -> list[Record]:
    """Prompt, three reads (one cleared, one dropped with a memo), a `!cmd`, an image and the answer."""
    return numbered(
        SessionStarted("s-1", "/home/me/project", "claude-x"),
        UserMessage((Text(said), Image("image/png", PIXEL))),
        *turn(1, output, Thinking("private thought", "sig"), Text("I read.")),
        *turn(2, "dropped output"),
        *turn(3, "shown output"),
        PrunApplied("strategy", (Edit("clear", 3, "t1", "[cleared stub]"),), "pi"),
        PrunApplied("model", (Edit("drop", 4), Edit("memo", 4, None, "memo of it"))),
        AssistantMessage((Text("All read."),), "claude-x"),
        UserMessage((Text("!ls"), Text("a\nb")), "command"),
        UserMessage((Text("thanks"),)),
        SettingChanged("session.name", "Reading"),
    )


HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "</style><svg onload=alert(1)>",
    '"><iframe srcdoc="<script>alert(1)</script>">',
    "' onmouseover='alert(1)",
    "<!-- --><!doctype html><base href=//evil>",
    "javascript:alert(1)",
    "```\n# not a heading\n<script>alert(1)</script>\n````",
    "\x1b]0;title\x07\x1b[2J\u202egnp.exe\u2028",
    "&lt;script&gt; &amp; &#x3c;",
    "`<b>` <B>bold</B> </details></article><h1>fake</h1>",
)
"""Texts that would act, hide or break out if they were not escaped."""
