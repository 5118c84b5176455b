"""The outcome of a shell command in a few words: a summary such as "1 failed, 41 passed" wherever it stands, else
what the last part that does something printed."""

import re
from collections.abc import Sequence

from prunecli.util.figures import counted

FRAMES = "=-_*# \t"
"""Characters of lines that only separate other lines."""
_FRAME = re.compile(r"^\s*(?:[=\-_*#]+\s+)*|(?:\s+[=\-_*#]+)*\s*$")
"""The frame around a line such as `=== 2 failed ===`; the dash of `-rw-r--r--` is not part of a frame."""

_SPLIT = re.compile(r"""("(?:\\.|[^"\\])*"|'[^']*'|\\.)|(&&|\|\||;|\n)|(\|&?)""", re.DOTALL)
_WORDS = re.compile(r"""(?:[^\s"']|"(?:\\.|[^"\\])*"|'[^']*')+""")
_ASSIGNED = re.compile(r"\w+=\S*$")
_SAYING = frozenset(("echo", "printf"))
_SILENT = frozenset(
    ("cd", "true", ":", "exit", "set", "export", "sleep", "wait", "pushd", "popd", "source", ".")
)
_LISTING = frozenset(
    "ls find fd tree grep rg ag cat bat head tail sed awk nl jq ps env du df diff strings xxd".split()  # noqa: SIM905
)
_LISTING_GIT = frozenset(
    ("log", "diff", "show", "status", "ls-files", "branch", "blame", "grep", "tag", "remote")
)

_COUNT = r"\d+ (?:failed|passed|errors?|skipped|xfailed|xpassed|deselected|warnings?|todo|pending)"
_SUMMARY = re.compile(
    rf"(?P<counts>{_COUNT}(?:, {_COUNT})*)(?: in [\d.:]+ ?s?.*)?$"  # pytest; the time stands beside it
    rf"|Tests:?\s+(?P<tests>(?:\d+ \w+(?:, | \| ))*{_COUNT}.*)$"  # jest, vitest
    r"|Found \d+ (?:errors?|warnings?|issues?)\b.*|All checks passed!?$|Success: no issues found.*"  # ruff, mypy, tsc
    r"|\d+ files? (?:would be |were |left |already |re)\w+.*|✖ (?P<lint>\d+ problems? .*)"  # formatters, eslint
    r"|\d+ files? changed\b.*|BUILD (?:SUCCESS\w*|FAILED|FAILURE)\b.*|error: could not compile .*"  # git, gradle
    r"|\S*make(?:\[\d+\])?: \*\*\* .*|added \d+ packages?\b.*|Successfully installed .*"
)
_CARGO = re.compile(r"test result: \S+ (\d+) passed; (\d+) failed")
_GO = re.compile(r"(ok|FAIL)\s+\S+\s+(?:\(cached\)|[\d.]+s|\[build failed\]|\[setup failed\])")
_MOCHA = re.compile(r"\s*(\d+ (?:passing|failing|pending))\b")
_UNITTEST = re.compile(r"Ran (\d+ tests?) in ")
_ERROR = re.compile(
    r"(?:[\w.]*(?:Error|Exception)|\w+: (?:fatal )?error|error|fatal|ERROR|panic)\b(?:\[\w+\])?:? "
)


def outcome(command: str, text: str, *, is_failed: bool = False) -> str:
    """Return the outcome of a command from its output, in one line; "" without output."""
    lines = [line for line in text.rstrip().split("\n") if not (line.startswith("[") and line.endswith("]"))]
    parts = _parts(command)
    acts = any(_program(part) not in _SAYING for part in parts)
    while acts and len(lines) > 1 and _program(parts[-1]) in _SAYING:
        parts, lines = parts[:-1], lines[:-1]
    if len(parts) > 1:
        lines = _after_heading(parts[:-1], lines)
    count = len(lines)
    lines = [line for line in lines if line.strip(FRAMES)]
    if not lines:
        return ""
    if summary := _summary(lines):
        return summary
    if is_failed and (error := next((line for line in reversed(lines) if _ERROR.match(line.strip())), "")):
        return error.strip()
    if len(lines) > 1 and parts and _lists(parts[-1]) and not is_failed:
        return counted(count, "line")
    return _FRAME.sub("", lines[-1])


def _parts(command: str) -> list[str]:
    """Return the pipelines of a command that may print, roughly: it decides only what is shown."""
    parts, start = list[str](), 0
    for found in _SPLIT.finditer(command):
        if found[2]:
            parts.append(command[start : found.start()])
            start = found.end()
    parts.append(command[start:])
    return [part for part in parts if part.strip() and _program(part) not in _SILENT]


def _words(pipeline: str) -> list[str]:
    words = [word.strip("\"'") for word in _WORDS.findall(pipeline)]
    while words and _ASSIGNED.match(words[0]):
        words = words[1:]
    return words


def _program(pipeline: str) -> str:
    return next(iter(_words(pipeline)), "").lstrip("(").rsplit("/", 1)[-1]


def _lists(pipeline: str) -> bool:
    words = _words(pipeline)
    if _program(pipeline) == "git":
        return any(word in _LISTING_GIT for word in words[1:4])
    return _program(pipeline) in _LISTING


def _after_heading(before: Sequence[str], lines: list[str]) -> list[str]:
    """Return the lines below the last one that an earlier `echo` printed, or all."""
    said = {" ".join(_words(part)[1:]).strip() for part in before if _program(part) in _SAYING}
    at = next((at for at in range(len(lines) - 2, -1, -1) if lines[at].strip() in said), -1)
    return lines[at + 1 :]


def _summary(lines: Sequence[str]) -> str:
    if found := [match for line in lines if (match := _CARGO.match(line.strip()))]:
        passed, failed = (sum(int(match[group]) for match in found) for group in (1, 2))
        return ", ".join([*([f"{failed} failed"] if failed else []), f"{passed} passed"])
    if states := [match[1] for line in lines if (match := _GO.match(line))]:
        failed = states.count("FAIL")
        counts = (failed, "failed"), (len(states) - failed, "ok")
        return ", ".join(f"{counted(count, 'package')} {word}" for count, word in counts if count)
    if tests := [match[1] for line in lines if (match := _MOCHA.match(line))]:
        return ", ".join(tests)
    for at in range(len(lines) - 1, -1, -1):
        line = _FRAME.sub("", lines[at])
        if ran := _UNITTEST.match(line):
            end = next((one.strip() for one in lines[at + 1 :] if one.startswith(("OK", "FAILED"))), "")
            return f"{ran[1]} {end}".strip()
        if match := _SUMMARY.match(line):
            return match["counts"] or match["tests"] or match["lint"] or line
    return ""
