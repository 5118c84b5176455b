"""Hook settings in Claude Code's form: which command runs at which event, from TOML or JSON.

`{"PreToolUse": [{"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "…", "timeout": 5}]}]}`
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, NamedTuple

from prunecli.model.messages import Json

EVENTS: Mapping[str, str] = {
    "SessionStart": "source",
    "SessionEnd": "reason",
    "UserPromptSubmit": "",
    "PreToolUse": "tool_name",
    "PostToolUse": "tool_name",
    "PostToolUseFailure": "tool_name",
    "Stop": "",
    "SubagentStop": "agent_type",
    "PreCompact": "trigger",
    "Notification": "notification_type",
    "PrePrune": "",
}
"""The events, each with the field of the hook's input that its matcher filters; "" for none."""

ELSEWHERE = frozenset(
    {
        *(
            "ConfigChange",
            "CwdChanged",
            "Elicitation",
            "ElicitationResult",
            "FileChanged",
            "InstructionsLoaded",
        ),
        *("PermissionDenied", "PermissionRequest", "PostCompact", "PostToolBatch", "Setup", "StopFailure"),
        *("SubagentStart", "TaskCompleted", "TaskCreated", "TeammateIdle", "UserPromptExpansion"),
        *("WorktreeCreate", "WorktreeRemove"),
    }
)
"""Events of Claude Code that have no moment here: their hooks are left out and named."""

DEFAULT_TIMEOUT = 60.0
MAX_TIMEOUT = 3600.0

_NARROWING = ("if", "args", "shell")
"""Keys that change what a hook does or when it runs. Ignoring one could make it act where it must not."""

_PLAIN = re.compile(r"[\w\-, |]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Hook:
    """One command. `timeout` is in seconds; `background`: nothing waits for it, and it decides nothing."""

    event: str
    command: str
    matcher: str = ""
    timeout: float = DEFAULT_TIMEOUT
    background: bool = False

    @property
    def name(self) -> str:
        """A short name: the file name of the script it runs, else its first word."""
        words = self.command.replace('"', "").replace("'", "").split()
        ends = (word.rpartition("/")[2] for word in words if "/" in word and not word.startswith("-"))
        script = next((end for end in ends if "." in end), words[0].rpartition("/")[2] if words else "")
        return (script or "hook")[:40]

    def matches(self, *names: str) -> bool:
        """Whether the matcher takes any of these names; an empty one and `*` take everything.

        Words separated by `|` or commas are compared whole. Anything else is a regular expression to be found in it.
        """
        if self.matcher in ("", "*"):
            return True
        if _PLAIN.fullmatch(self.matcher):
            wanted = {word.strip() for word in re.split(r"[|,]", self.matcher)}
            return not wanted.isdisjoint(names)
        return any(re.search(self.matcher, name) for name in names)


class Parsed(NamedTuple):
    """The hooks of a table, and one line for each part that was left out: its key, then the problem."""

    hooks: tuple[Hook, ...]
    problems: tuple[str, ...]


def parse(table: Json) -> Parsed:
    """The hooks of a `hooks` table. Malformed parts are left out and named; the rest holds."""
    if not isinstance(table, Mapping):
        return Parsed((), (f"hooks: expected a table of events, got {_kind(table)}",))
    found: list[Hook] = []
    problems: list[str] = []
    for event, groups in table.items():
        if event in ELSEWHERE:
            problems.append(f"hooks.{event}: prunecli has no such event, so these hooks never run")
        elif event not in EVENTS:
            near = get_close_matches(event, EVENTS, 1)
            problems.append(f"hooks.{event}: unknown event" + (f" (did you mean {near[0]}?)" if near else ""))
        else:
            for one in _of_event(event, groups):
                (found if isinstance(one, Hook) else problems).append(one)  # type: ignore[arg-type]
    return Parsed(tuple(found), tuple(problems))


def _of_event(event: str, groups: Any) -> Iterator[Hook | str]:
    key = f"hooks.{event}"
    if not isinstance(groups, Sequence) or isinstance(groups, str):
        yield f"{key}: expected a list of tables, got {_kind(groups)}"
        return
    for number, group in enumerate(groups):
        here = f"{key}[{number}]"
        if not isinstance(group, Mapping):
            yield f"{here}: expected a table with matcher and hooks, got {_kind(group)}"
            continue
        matcher, inner = group.get("matcher", ""), group.get("hooks")
        if not isinstance(inner, Sequence) or isinstance(inner, str):
            yield f"{here}.hooks: expected a list of tables, got {_kind(inner)}"
        elif not isinstance(matcher, str):
            yield f"{here}.matcher: expected a string, got {_kind(matcher)}"
        elif why := _not_a_matcher(matcher):
            yield f"{here}.matcher: not a regular expression: {why}"
        else:
            for at, one in enumerate(inner):
                yield _hook(event, matcher, one, f"{here}.hooks[{at}]")


def _hook(event: str, matcher: str, one: Any, key: str) -> Hook | str:
    if not isinstance(one, Mapping):
        return f"{key}: expected a table, got {_kind(one)}"
    kind, command, timeout = (
        one.get("type", "command"),
        one.get("command"),
        one.get("timeout", DEFAULT_TIMEOUT),
    )
    if kind != "command":
        return f"{key}.type: prunecli runs only hooks of type command, got {kind!r:.40}"
    if not isinstance(command, str) or not command.strip() or "\0" in command:
        return f"{key}.command: expected a command, got {_kind(command)}"
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout <= MAX_TIMEOUT:
        return f"{key}.timeout: expected seconds, more than 0 and at most {MAX_TIMEOUT:.0f}"
    if narrow := next((name for name in _NARROWING if name in one), ""):
        return f"{key}.{narrow}: prunecli does not know this key, so the hook is left out"
    return Hook(event, command, matcher, float(timeout), one.get("async") is True)


def _not_a_matcher(matcher: str) -> str:
    try:
        re.compile(matcher if matcher != "*" else "")
    except (re.error, RecursionError, OverflowError) as error:
        return str(error)
    return ""


def _kind(value: Any) -> str:
    if value is None:
        return "nothing"
    names = ((bool, "true or false"), (str, "a string"), (Mapping, "a table"), (Sequence, "a list"))
    return next((name for kind, name in names if isinstance(value, kind)), "a number")
