"""The phrases that the demo model knows: each becomes calls of tools.

No language is understood here. A text that is not wholly one of the phrases is not guessed at.
"""

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from prunecli.providers.demo_conversation import Call

Move: TypeAlias = tuple[Call, ...]
"""Calls that go in one message."""

MAX_BESIDE = 8
"""Most calls in one message."""

EVERYTHING = 1_000_000_000
"""Tokens to prune where all that can go is to go."""

_POLITE = ("please ", "now ", "can you ", "could you ", "would you ")
_IN = r"(?:\s{1,9}in\s+(?:the\s+)?(?:folder\s+|file\s+)?(?P<path>\S+|\"[^\"]+\"|`[^`]+`))?"
_NUMBER = r"(?P<number>\d[\d,]{0,14}(?:\.\d{1,9})?)\s{0,9}(?P<k>k)?"
_REMEMBER = (
    r"(?:,?\s{0,9}(?:(?:but|and)\s+)?(?:remember(?:ing)?|keep(?:ing)?|with (?:the |a )?memo|memo)"
    r"(?:\s+that)?\s*:?\s+(?P<memo>.+))?"
)


def moves(clause: str) -> list[Move] | None:
    """The moves of one phrase, or None for a text that is none. A `prun_with_memo` without a memo is to get one.

    Patterns are texts, compiled when they are first needed: at the start all of them would take 50 ms.
    """
    clause = clause.strip()
    while polite := next((start for start in _POLITE if clause.lower().startswith(start)), ""):
        clause = clause[len(polite) :].lstrip()
    if clause.startswith(("!", "$ ")):
        return _shell(clause[1:])
    verb, *more = clause.split(None, 1)[:2] or [""]
    rest = more[0] if more else ""
    for pattern, understand in _PHRASES.get(verb.lower().rstrip(":"), ()):
        found = re.fullmatch(pattern, rest, re.IGNORECASE | re.DOTALL)
        if found and (understood := understand(found)) is not None:
            return understood
    return None


def _read(found: re.Match[str]) -> list[Move] | None:
    names = [_path(name) for name in re.split(r"\s{0,9},\s*(?:and\s+)?|\s{1,9}and\s+", found["paths"])]
    if not all(names) or len(names) > MAX_BESIDE:
        return None
    lines: dict[str, int] = {}
    if found["first"]:
        first, last = int(found["first"]), int(found["last"])
        lines = {"offset": first, "limit": max(1, last - first + 1)}
    return [tuple(Call("read", {"path": name, **lines}) for name in names)]


def _grep(found: re.Match[str]) -> list[Move] | None:
    pattern = _unquoted(found["pattern"])
    if not pattern or found["pattern"].startswith("-"):
        return None
    return [(Call("grep", {"pattern": _as_regex(pattern), **_inside(found)}),)]


def _find(found: re.Match[str]) -> list[Move] | None:
    pattern = _unquoted(found["pattern"])
    if not pattern:
        return None
    if not any(char in pattern for char in "*?["):
        pattern = f"*{pattern}*"
    return [(Call("find", {"pattern": pattern, **_inside(found)}),)]


def _ls(found: re.Match[str]) -> list[Move] | None:
    path = _path(found["path"]) if found["path"] else "."
    return [(Call("ls", {"path": path}),)] if path and not path.startswith("-") else None


def _shell(command: str) -> list[Move] | None:
    command = command.strip()
    if len(command) > 1 and command[0] == command[-1] == "`":
        command = command[1:-1].strip()
    return [(Call("bash", {"command": command}),)] if command else None


def _bash(found: re.Match[str]) -> list[Move] | None:
    vague = found["command"].lower().split(None, 1)[0] in _VAGUE
    return None if vague else _shell(found["command"])


def _edit(found: re.Match[str]) -> list[Move] | None:
    path, old, new = _path(found["path"]), _unquoted(found["old"]), _unquoted(found["new"])
    if not path or not old:
        return None
    change = {"path": path, "old_string": old, "new_string": new}
    return [(Call("read", {"path": path}),), (Call("edit", change),)]


def _write(found: re.Match[str]) -> list[Move] | None:
    path, text = _path(found["path"]), _unquoted(found["text"])
    if not path or not text.strip():
        return None
    return [(Call("write", {"path": path, "content": text if text.endswith("\n") else text + "\n"}),)]


def _recall(found: re.Match[str]) -> list[Move] | None:
    return [(Call("recall", {"entry": int(found["entry"])}),)]


def _prune(found: re.Match[str]) -> list[Move] | None:
    tokens = _tokens(found)
    if found["memo"]:
        return [(Call("prun_with_memo", {"tokens": tokens, "memo": found["memo"].strip()}),)]
    return [(Call("prun", {"tokens": tokens}),)]


def _forget(found: re.Match[str]) -> list[Move] | None:
    everything = (found["what"] or "").lower() in (
        "everything",
        "all",
        "all of it",
        "all of this",
        "all of that",
    )
    tokens = EVERYTHING if everything else _tokens(found)
    return [(Call("prun_with_memo", {"tokens": tokens, "memo": (found["memo"] or "").strip()}),)]


_VAGUE = frozenset(("the", "all", "my", "our", "it", "this", "that", "these", "those"))
"""What `run` is followed by in plain English, but not in a command."""

_Phrases: TypeAlias = tuple[tuple[str, Callable[[re.Match[str]], list[Move] | None]], ...]

_READ = (
    r"(?:me\s+)?(?:the file\s+)?(?P<paths>\S.*?)"
    r"(?:,?\s{1,9}lines?\s+(?P<first>\d{1,9})\s*(?:-|–|to)\s*(?P<last>\d{1,9}))?"
)
_READING: _Phrases = ((_READ, _read),)
_SEARCHING: _Phrases = (
    (r"(?!for\s)(?P<path>\S+)\s+for\s+(?P<pattern>\S.*)", _grep),
    (r"(?:for\s+)?(?P<pattern>\S.*?)" + _IN, _grep),
)
_LISTING: _Phrases = (
    (
        r"(?:(?:all\s+|the\s+)*(?:files|folder|directory)\b\s*)?(?:(?:in|of)\s+)?(?P<path>\S+|\"[^\"]+\"|`[^`]+`)?",
        _ls,
    ),
)
_RUNNING: _Phrases = ((r"(?:the command:?\s+)?(?P<command>\S.*)", _bash),)
_REPLACING: _Phrases = ((r"(?P<old>\S.*?)\s+(?:with|by|to)\s+(?P<new>\S.*)\s+in\s+(?P<path>\S+)", _edit),)
_WRITING: _Phrases = (
    (r"(?:the file\s+)?(?P<path>[^\s:]+)\s*:\s*(?P<text>.+)", _write),
    (r"(?P<text>\"[^\"]+\"|'[^']+'|`[^`]+`)\s+(?:to|into)\s+(?P<path>\S+)", _write),
)
_PRUNES: _Phrases = ((rf"(?:the\s+last\s+)?(?:{_NUMBER}\s?)?(?:tokens?)?\.?{_REMEMBER}", _prune),)

_PHRASES: Mapping[str, _Phrases] = {
    "read": _READING,
    "show": _READING,
    "open": _READING,
    "cat": _READING,
    "view": _READING,
    "look": ((r"at\s+" + _READ, _read), (r"for\s+(?P<pattern>\S.*?)" + _IN, _grep)),
    "search": _SEARCHING,
    "grep": _SEARCHING,
    "find": (
        (
            r"(?:all\s+)?(?:the\s+)?files?\s+(?:named\s+|matching\s+|called\s+)?(?P<pattern>\S+)" + _IN,
            _find,
        ),
        (r"(?P<pattern>\S+)" + _IN, _find),
    ),
    "ls": _LISTING,
    "dir": _LISTING,
    "list": _LISTING,
    "run": _RUNNING,
    "execute": _RUNNING,
    "bash": _RUNNING,
    "sh": _RUNNING,
    "edit": ((r"(?P<path>[^\s:]+)\s*:\s*(?P<old>\S.*?)(?:->|=>|→)(?P<new>.*)", _edit),),
    "replace": _REPLACING,
    "change": _REPLACING,
    "write": _WRITING,
    "create": _WRITING,
    "recall": ((r"(?:entry\s+)?(?P<entry>\d{1,9})", _recall),),
    "prun": _PRUNES,
    "prune": _PRUNES,
    "forget": (
        (
            rf"(?:(?:the\s+last\s+)?(?:{_NUMBER}\s?(?:tokens?)?|(?P<what>that|it|this|everything|all"
            rf"(?: of (?:it|this|that))?|(?:step|result|answer))))?\.?{_REMEMBER}",
            _forget,
        ),
    ),
}
"""By its first word, what may follow a verb and what it means; the first that fits counts."""


# Words -------------------------------------------------------------------------------------------------------


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'`" else text


def _path(text: str) -> str:
    """The path, or "" for what is none: several words without quotes."""
    plain = _unquoted(text)
    if plain != text.strip():
        return plain
    if len(plain.split()) != 1:
        return ""
    if re.search(r"[\w*][.?!,]$", plain):
        plain = plain[:-1]
    return plain.removeprefix("@")


def _inside(found: re.Match[str]) -> dict[str, str]:
    return {"path": _path(found["path"])} if found["path"] else {}


def _as_regex(pattern: str) -> str:
    """The pattern; what is no regular expression is meant as plain text."""
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return re.escape(pattern)
    return pattern


def _tokens(found: re.Match[str]) -> int:
    if not found["number"]:
        return 1
    number = float(found["number"].replace(",", ""))
    return min(EVERYTHING, round(number * (1000 if found["k"] else 1)))
