"""The demo model's answers: the tour, four commands that each make one tool call, and help.

A line that matches no pattern gets a list of the commands.
"""

import re

from prunecli.providers import demo_tour
from prunecli.providers.demo_script import REAL_MODEL, WHO, Answered, Call, Reply, Scene, code, doing, problem

NOT_THE_USER = "[This is prunecli, not the user.]"
"""The beginning of a request for a summary (context/compaction.py)."""

_MAX_CHARS = 1_000
_SHOWN_LINES = 8
_TOUR = r"(?:(?:start|show me|take|run|begin|go on with) )?(?:the |a )?(?:demo|tour)(?:, step by step)?"
_HELP = ("", "help", "hello", "hi", "hey", "stop", "thanks")
_COMMANDS = (
    ("ls", r"(?:list|ls)(?:\s+@?(?P<path>\S+))?", "`list` · `list src`"),
    ("read", r"(?:read|show|open|cat)\s+@?(?P<path>\S+)", "`read README.md`"),
    (
        "grep",
        r"(?:search|grep)\s+(?:for\s+)?(?P<pattern>\S+)(?:\s+in\s+@?(?P<path>\S+))?",
        "`search for x in src`",
    ),
    ("bash", r"run\s+(?!(?:the|all|my|our|it|this|that)\b)(?P<command>\S.*)", "`run git status`"),
)
"""Tool, pattern and example of each command. Patterns are compiled when first needed."""


def reply_to(scene: Scene) -> Reply:
    if scene.words.startswith(NOT_THE_USER):
        return Reply(f"{WHO} It cannot summarize, so the earlier messages are dropped.")
    line = scene.words.strip()[: _MAX_CHARS + 1]
    plain = " ".join(line.lower().strip(" .!?").split())
    if re.fullmatch(_TOUR, plain):
        return demo_tour.reply_to(scene)
    if scene.results:
        return Reply("\n\n".join(map(_report, scene.results)))
    call = _call(line)
    if call is None:
        unknown = "" if plain in _HELP else f"I did not understand {code(line)}.\n\n"
        return Reply(unknown + help_text(scene.tools))
    if call.name not in scene.tools:
        return Reply(
            f"{WHO} This command needs the tool `{call.name}`, which is not enabled (`[tools] enabled`)."
        )
    return Reply(f"{WHO} {REAL_MODEL}\n\nI'll {doing(call)} now.", (call,), "command")


def help_text(tools: frozenset[str]) -> str:
    """Return the help text: the commands that the demo model has with these tools, and how to get a real model."""
    examples = "".join(f"\n- {example}" for tool, _, example in _COMMANDS if tool in tools)
    known = "I understand only these commands. The tools that they call are real."
    return f"{WHO} {REAL_MODEL}\n\n{known}\n\n- `tour`: fix a small bug, then prune{examples}"


def _call(line: str) -> Call | None:
    for tool, pattern, _ in _COMMANDS if len(line) <= _MAX_CHARS else ():
        if found := re.fullmatch(pattern, line, re.IGNORECASE | re.DOTALL):
            return Call(
                tool, {key: value for key, value in found.groupdict().items() if value} or {"path": "."}
            )
    return None


def _report(answered: Answered) -> str:
    """Return the first lines of a result (the last ones of a command's) as an indented code block."""
    call, is_command = answered.call, answered.call.name == "bash"
    if answered.stopped or (answered.is_error and not is_command):
        return problem(answered)
    lines = answered.text.splitlines() or ["(no output)"]
    shown = lines[-_SHOWN_LINES:] if is_command else lines[:_SHOWN_LINES]
    more = f" ({len(shown)} of {len(lines):,} lines)" if len(shown) < len(lines) else ""
    failed = " failed" if answered.is_error else ""
    given = call.input.get("command") or call.input.get("pattern") or call.input.get("path")
    subject = "This folder" if (call.name, given) == ("ls", ".") else code(given)
    return f"{subject}{failed}{more}:\n\n" + "\n".join(f"    {line[:100]}" for line in shown)
