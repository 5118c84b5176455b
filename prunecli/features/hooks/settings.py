"""Hook settings in Claude Code's form: the commands to run and the addresses to call at each event.

`{"PreToolUse": [{"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "…", "timeout": 5}]}]}`, or
`{"type": "http", "url": "…", "headers": {"X-Key": "$KEY"}, "allowedEnvVars": ["KEY"]}`. TOML files have the
same form as JSON files.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from prunecli.model.messages import Json
from prunecli.tools.web.address import parsed
from prunecli.util.errors import ToolError
from prunecli.util.frozen import frozen
from prunecli.util.hosts import is_loopback
from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    import difflib
else:
    difflib = lazy("difflib")
from prunecli.util.programs import can_be_passed

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
        *("ConfigChange", "CwdChanged", "Elicitation", "ElicitationResult", "FileChanged"),
        *("InstructionsLoaded", "PermissionDenied", "PermissionRequest", "PostCompact"),
        *("PostToolBatch", "Setup", "StopFailure", "SubagentStart", "TaskCompleted", "TaskCreated"),
        *("TeammateIdle", "UserPromptExpansion", "WorktreeCreate", "WorktreeRemove"),
    }
)
"""Events of Claude Code that do not exist in prunecli. Their hooks are left out and named."""

DEFAULT_TIMEOUT = 60.0
MAX_TIMEOUT = 3600.0

_NARROWING = ("if", "args", "shell", "asyncRewake")
"""Keys that change what a hook does or when it runs. Ignoring one could make a hook act where it must not."""

_OURS = ("connection", "content-length", "host", "transfer-encoding")
"""Headers that only the client can set."""
_HEADER = re.compile(r"[!#$%&'*+.^`|~\w-]{1,100}", re.ASCII)
_VALUE = re.compile(r"[\t -~]{0,4000}")
_VARIABLE = re.compile(r"[A-Za-z_]\w{0,99}", re.ASCII)
_PLAIN = re.compile(r"[\w\-, |]*", re.ASCII)


@frozen
class Hook:
    """One command or one address. `timeout` is in seconds. `background`: nothing waits for the hook, and it decides
    nothing.

    With `url`, the input is posted there, and `command` describes that in words. `headers` may contain `$NAME` for
    names in `variables`.
    """

    event: str
    command: str
    matcher: str = ""
    timeout: float = DEFAULT_TIMEOUT
    background: bool = False
    url: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    variables: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """A short name: the file name of the script that it runs, or its first word; for an address, the host."""
        if self.url:
            return urlsplit(self.url).netloc[:40]
        words = self.command.replace('"', "").replace("'", "").split()
        ends = (word.rpartition("/")[2] for word in words if "/" in word and not word.startswith("-"))
        script = next((end for end in ends if "." in end), words[0].rpartition("/")[2] if words else "")
        return (script or "hook")[:40]

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    def matches(self, *names: str) -> bool:
        """Return whether the matcher matches any of these names. An empty matcher and `*` match everything, and any
        matcher matches an event without names.

        Words separated by `|` or commas are compared as a whole. Any other matcher is a regular expression to search
        for.
        """
        if self.matcher in ("", "*") or not names:
            return True
        if _PLAIN.fullmatch(self.matcher):
            wanted = {word.strip() for word in re.split(r"[|,]", self.matcher)}
            return not wanted.isdisjoint(names)
        return any(re.search(self.matcher, name) for name in names)


class Parsed(NamedTuple):
    """The hooks of a table, and one line for each part that was left out, with its key and the problem."""

    hooks: tuple[Hook, ...]
    problems: tuple[str, ...]


def parse(table: Json) -> Parsed:
    """Return the hooks of a `hooks` table. Malformed parts are left out and named; the rest is used."""
    if not isinstance(table, Mapping):
        return Parsed((), (f"hooks: expected a table of events, got {_kind(table)}",))
    hooks: list[Hook] = []
    problems: list[str] = []
    for event, groups in table.items():
        if event in ELSEWHERE:
            problems.append(f"hooks.{event}: prunecli has no such event, so these hooks never run")
        elif event not in EVENTS:
            near = difflib.get_close_matches(event, EVENTS, 1)
            problems.append(f"hooks.{event}: unknown event" + (f" (did you mean {near[0]}?)" if near else ""))
        else:
            for one in _of_event(event, groups):
                (hooks if isinstance(one, Hook) else problems).append(one)  # type: ignore[arg-type]
    return Parsed(tuple(hooks), tuple(problems))


def wrong(key: tuple[str, ...], value: Any) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield what is wrong with the hooks of an event in the configuration."""
    for problem in parse({key[1]: list(value)}).problems:
        yield key, problem.removeprefix(f"hooks.{key[1]}")


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
            yield f"{here}.matcher: {why}"
        else:
            for at, one in enumerate(inner):
                yield _hook(event, matcher, one, f"{here}.hooks[{at}]")


def _hook(event: str, matcher: str, one: Any, key: str) -> Hook | str:
    if not isinstance(one, Mapping):
        return f"{key}: expected a table, got {_kind(one)}"
    kind, timeout = one.get("type", "command"), one.get("timeout", DEFAULT_TIMEOUT)
    if kind not in ("command", "http"):
        return f"{key}.type: hooks of type {kind!r:.40} never run in prunecli, only those of type command and http"
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout <= MAX_TIMEOUT:
        return f"{key}.timeout: expected seconds, more than 0 and at most {MAX_TIMEOUT:.0f}"
    if narrow := next((name for name in _NARROWING if one.get(name) not in (None, False, "bash")), ""):
        return f"{key}.{narrow}: prunecli does not know this key, so the hook is left out"
    general = Hook(event, "", matcher, float(timeout), one.get("async") is True)
    return _command(general, one, key) if kind == "command" else _http(general, one, key)


def _command(hook: Hook, one: Mapping[str, Any], key: str) -> Hook | str:
    command = one.get("command")
    if isinstance(command, str) and not can_be_passed(command):
        return f"{key}.command: contains a character that cannot be passed to a program"
    if not isinstance(command, str) or not command.strip():
        return f"{key}.command: expected a command, got {_kind(command)}"
    return replace(hook, command=command)


def _http(hook: Hook, one: Mapping[str, Any], key: str) -> Hook | str:
    url, headers, variables = one.get("url"), one.get("headers", {}), one.get("allowedEnvVars", [])
    if not isinstance(url, str):
        return f"{key}.url: expected an address, got {_kind(url)}"
    if problem := address_problem(url):
        return f"{key}.url: {problem}"
    if not isinstance(headers, Mapping) or not all(
        _HEADER.fullmatch(name)
        and name.lower() not in _OURS
        and isinstance(value, str)
        and _VALUE.fullmatch(value)
        for name, value in headers.items()
    ):
        return f"{key}.headers: expected header names and texts, none of them {', '.join(_OURS)}"
    listed = isinstance(variables, Sequence) and not isinstance(variables, str)
    if not listed or not all(isinstance(name, str) and _VARIABLE.fullmatch(name) for name in variables):
        return f"{key}.allowedEnvVars: expected a list of variable names, got {_kind(variables)}"
    sends = f" (sends {', '.join(f'${name}' for name in variables)})" if variables else ""
    return replace(
        hook,
        command=f"POST {url}{sends}",
        url=url,
        headers=tuple((name.lower(), value) for name, value in headers.items()),
        variables=tuple(variables),
    )


def address_problem(url: str) -> str:
    """Return why a hook cannot be posted to this address, or "". http:// is allowed only for this machine."""
    try:
        parsed(url)
        parts = urlsplit(url)
    except (ToolError, ValueError) as error:
        return f"expected an https address: {error}"
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        return "http:// to another machine is unencrypted; use https"
    return ""


def _not_a_matcher(matcher: str) -> str:
    """Return why the text cannot be used as a matcher, or ""."""
    try:
        re.compile(matcher if matcher != "*" else "")
    except (re.error, RecursionError, OverflowError) as error:
        return f"not a regular expression: {error}"
    return ""


def _kind(value: Any) -> str:
    if value is None:
        return "nothing"
    names = ((bool, "true or false"), (str, "a string"), (Mapping, "a table"), (Sequence, "a list"))
    return next((name for kind, name in names if isinstance(value, kind)), "a number")
