"""Holds back a part of a long result before it is sent for the first time.

The log keeps the whole result. The part that is sent depends on the kind of the result and the caps at that time. It
is decided once, when the result is recorded, so content that was sent never changes. The text tells which lines are
missing and how to get them.
"""

import re
from dataclasses import replace
from functools import lru_cache

from prunecli.context.counted import SHIPPED
from prunecli.context.expectations import Caps, Kind
from prunecli.context.failure_lines import OPENING, Quoted, failures, quoted_end, uncolored
from prunecli.context.pages import (
    Lines,
    behind_break,
    boundaries,
    element_end,
    element_start,
    head_end,
    is_json,
    nearest_end,
    tail_start,
)
from prunecli.context.tokens import TokenCounter, image_tokens
from prunecli.model.events import Spilled, ToolResult
from prunecli.model.messages import Text, ToolUse
from prunecli.model.requests import ASK, JOBS, own_name
from prunecli.model.shell import Doubt, parse
from prunecli.model.todos import TOOL as TODO
from prunecli.model.touches import Touches
from prunecli.util.frozen import frozen

_WINDOW = ("offset", "limit", "line", "start_line", "end_line", "lines", "range", "view_range", "pages")
"""Arguments with which a call selects a part of a file."""
_WHOLE = frozenset(("recall", "prun", "prun_with_memo", "mcp_search", TODO, ASK))
"""Tools that touch nothing, with results that are never cut: about the context, schemas, and the user's words."""
_PRINTING = frozenset(("cat", "tac", "nl", "head", "tail", "bat", "batcat", "sed"))
_BESIDE = frozenset(("cd", "echo", "printf", "pwd", "true", "wc"))
"""Commands that may be combined with one that prints a file."""
_TAIL_SHARES: dict[Kind, float] = {"bash": 0.5, "other": 0.25}
_FAILED_SHARE = 0.5
_SUMMARY_SHARE = 0.8
_MARKER_TOKENS = 20
"""Maximum tokens of the last line that says that an output was cut off by a limit."""
_QUOTED_SHARE = 0.6
"""Maximum share of the room before the tail for quoted lines."""
_SUMMARY = (
    r"(?:=+ short test summary info =+|Summary of all failing tests|failures:|The following tests FAILED:"
    r"|Failed examples:|\[ERROR\] (?:Failures|Errors):| *\d+ failing|[⎯ ]*Failed Tests \d+[⎯ ]*"
    r"|✖ failing tests:) *"
)
"""The line at which pytest, jest, cargo, RSpec, ctest, maven, mocha, node and vitest begin to list failures."""
_OTHERWISE: dict[Kind, str] = {
    "bash": "narrow the command to see them",
    "print": "print fewer lines at once",
    "read": "print them with a command",
    "search": "narrow the search to see them",
}


def kind_of(call: ToolUse, touches: Touches | None) -> Kind | None:
    """Return the kind of a call's result; None for a result that is never cut.

    These are the results of `_WHOLE`, and parts of a file that the call selected.
    """
    if touches is None or touches.calls or touches.fetches:
        return "other"
    if touches.is_nothing:
        return None if own_name(call.name) in _WHOLE else "bash" if call.name == JOBS else "other"
    if touches.runs:
        return "print" if all(map(prints_files, touches.runs)) else "bash"
    if touches.searches:
        return "search"
    if touches.changes:
        return "other"
    return None if any(call.input.get(name) is not None for name in _WINDOW) else "read"


@lru_cache(maxsize=1024)
def prints_files(command: str) -> bool:
    """Return whether a command only prints files."""
    try:
        line = parse(command)
    except Doubt:
        return False
    printing = False
    for words, join in zip(line.commands, ("", *line.joins), strict=True):
        if _is_printing(words):
            printing = True
        elif join == "|" or words[0] not in _BESIDE:
            return False
    return printing


def _is_printing(words: tuple[str, ...]) -> bool:
    quiet = words[0] != "sed" or words[1:2] in (("-n",), ("-nE",), ("-En",), ("--quiet",), ("--silent",))
    return words[0] in _PRINTING and quiet


_NOTE = re.compile(r"\[([\d,]+ of [\d,]+ (?:lines|characters(?: of line [\d,]+)?)) held back \| [^\]]*\]")


def held_part(whole: str, shown: str) -> tuple[int, int]:
    """Return the start and end, in the whole text, of the part that was held back; an empty range if unknown."""
    low, high = 0, min(len(whole), len(shown))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if whole.startswith(shown[low:middle], low) else (low, middle - 1)
    start = shown.rfind("\n", 0, low) + 1
    match = _NOTE.match(shown, start)
    if match is None:
        start, match = low, _NOTE.match(shown, low + 1)
    tail = shown[quoted_end(shown, match.end()) + 1 :] if match else ""
    if match is None or not whole.endswith(tail):
        return 0, 0
    return start, max(start, len(whole) - len(tail))


def held_words(shown: str) -> str:
    """Return a description of the part held back, such as `1,240 of 1,500 lines`, from the text that is sent."""
    found = [match[1] for line in shown.split("\n") if (match := _NOTE.fullmatch(line))]
    return found[0] if found else ""


@frozen
class Cut:
    """The cut of a result. `head`, `note` with the seq of its record, and `tail` are sent.

    `whole` is the raw tokens of its texts by `counter`. `shown` is those of the text sent, for a seq of `digits`
    digits.
    """

    head: str
    note: str
    tail: str
    whole: int
    shown: int
    digits: int
    counter: TokenCounter

    def text(self, seq: int) -> str:
        return f"{self.head}{self.note.replace(_SEQ, str(seq))}{self.tail}"

    def of(self, result: ToolResult, seq: int) -> ToolResult:
        """Return the result as it is recorded at `seq`."""
        text = self.text(seq)
        shown = self.shown if len(str(seq)) == self.digits else self.counter.count(text)
        tokens = shown + image_tokens(result.content) if self.counter.name == SHIPPED else None
        return replace(result, tokens=tokens, spilled=Spilled(max(0, self.whole - shown), text))


_SEQ = "\0"
"""A placeholder for the seq in a note. No text of a result can contain it there."""


def spill(
    result: ToolResult,
    call: ToolUse,
    touches: Touches | None,
    seq: int,
    caps: Caps,
    counter: TokenCounter,
    *,
    recall: bool,
    lines: bool = True,
) -> ToolResult:
    """Return the result to record at `seq`: with `spilled`, or unchanged if the whole result is sent.

    `recall`: the model has that tool, so the text names it. `lines`: the tool takes lines, as it does in new
    sessions.
    """
    found = cut_of(result, call, touches, seq, caps, counter, recall=recall, lines=lines)
    return result if found is None else found.of(result, seq)


def cut_of(
    result: ToolResult,
    call: ToolUse,
    touches: Touches | None,
    seq: int,
    caps: Caps,
    counter: TokenCounter,
    *,
    recall: bool,
    lines: bool = True,
) -> Cut | None:
    """Return the cut of this result; None if it is sent whole. `seq` may still change. This takes time, so it runs in
    a thread."""
    kind = kind_of(call, touches)
    cap = caps.of(kind) if kind else 0
    texts = [block.text for block in result.content if isinstance(block, Text)]
    if not kind or cap <= 0 or sum(len(text.encode("utf-8", "replace")) for text in texts) <= cap:
        return None
    whole = sum(map(counter.count, texts))
    if whole < cap + caps.least:
        return None
    text = "\n".join(texts)
    cut_off = kind in ("print", "search") and bool(result.details.get("truncated"))
    ends = _ends(text, kind, cap, counter, failed=result.is_error, cut_off=cut_off)
    if ends is None or ends[0] >= ends[1]:
        return None
    ends, quoted = _quoting(text, ends, kind, cap, counter, failed=result.is_error)
    head, tail = text[: ends[0]], text[ends[1] :]
    head += "" if not head or head.endswith("\n") else "\n"
    handle = f"recall {_SEQ}" if recall else ""
    held = Lines(text)
    how = f"{handle} lines {held.name(*ends)}" if recall and lines else handle
    note = _note(held, *ends, kind, result, how)
    if quoted.lines:
        note = note.removesuffix("]") + OPENING + quoted.text
    note += "\n" if tail else ""
    found = Cut(head, note, tail, whole, 0, len(str(seq)), counter)
    shown = counter.count(found.text(seq))
    return replace(found, shown=shown) if whole - shown >= max(1, caps.least) else None


def _ends(
    text: str, kind: Kind, cap: int, counter: TokenCounter, *, failed: bool, cut_off: bool
) -> tuple[int, int] | None:
    """Return the end of the head and the start of the tail; None if the text can't be cut. `cut_off`: the last line
    says that the tool left something out."""
    if is_json(text):
        return _json_ends(text, cap, counter, failed=failed)
    share = max(_TAIL_SHARES.get(kind, 0.0), _FAILED_SHARE if failed else 0.0)
    start = tail_start(text, round(cap * share), counter.count) if share else len(text)
    if cut_off and not share:
        last = text.rstrip("\n").rfind("\n") + 1
        start = last if counter.count(text[last:]) <= _MARKER_TOKENS else start
    summary = _summary_start(text) if share else start
    if summary < start:
        most = round(cap * _SUMMARY_SHARE)
        fits = counter.count(text[summary:]) <= most
        start = summary if fits else tail_start(text, most, counter.count)
    return _head_end(text, cap - counter.count(text[start:]), counter), start


def _head_end(text: str, budget: int, counter: TokenCounter) -> int:
    return nearest_end(text, 0, head_end(text, budget, counter.count))


def _quoting(
    text: str, ends: tuple[int, int], kind: Kind, cap: int, counter: TokenCounter, *, failed: bool
) -> tuple[tuple[int, int], Quoted]:
    """Return the ends of a command's output with room for quotes, and the lines about failures between them."""
    start, stop = ends
    if kind != "bash" or is_json(text):
        return ends, Quoted([])
    room = cap - counter.count(text[stop:])
    least = head_end(text, room - round(room * _QUOTED_SHARE), counter.count)
    lines = Lines(text)
    least = lines.starts[lines.line_at(least) - 1] if least < start else start
    found = failures(text, least, stop, round(room * _QUOTED_SHARE), counter.count, failed=failed)
    if not found.behind(start).lines and not found.left:
        return ends, Quoted([])
    spent = sum(counter.count(f"{line}\n") for _, line in found.lines)
    start = max(least, _head_end(text, room - spent, counter))
    return (start, stop), found.behind(start)


def _summary_start(text: str) -> int:
    """Return the start of the last list of failures, the text's end if there is none."""
    found, at = len(text), 0
    for line in text.split("\n"):
        if re.fullmatch(_SUMMARY, uncolored(line)):
            found = at
        at += len(line) + 1
    return found


def _json_ends(text: str, cap: int, counter: TokenCounter, *, failed: bool) -> tuple[int, int] | None:
    """Return the ends of elements between which JSON is cut. A failure keeps its last elements, if they are short."""
    start = len(text)
    if failed:
        start = element_start(text, tail_start(text, round(cap * _FAILED_SHARE), counter.count))
    end = _json_end(text, cap - counter.count(text[start:]), counter)
    return (end, start) if end else None


def _json_end(text: str, cap: int, counter: TokenCounter) -> int:
    """Return the end of an element between half the cap and the cap, else the first end up to twice the cap, else
    0."""
    end = element_end(text, head_end(text, cap, counter.count, anywhere=True))
    if 2 * counter.count(text[:end]) >= cap:
        return end
    ends = (at for at, _ in boundaries(text) if at > end)
    later = behind_break(text, next(ends, len(text)))
    return later if later < len(text) and counter.count(text[:later]) <= 2 * cap else 0


def _note(lines: Lines, start: int, stop: int, kind: Kind, result: ToolResult, how: str) -> str:
    """Return the line that describes the part held back and how to get it: by `how`, unless reading on is simpler."""
    if kind == "read" and stop == len(lines.text) and lines.is_start(start):
        first = lines.line_at(start)
        last, total = result.details.get("last_line"), result.details.get("lines")
        known = [one for one in (total, last) if type(one) is int and one >= first]
        count = known[0] if known else lines.count
        return f"[{count - first + 1:,} of {count:,} lines held back | continue with offset={first}]"
    first, last_line = lines.line_at(start), lines.line_at(stop - 1)
    if lines.is_start(start) and lines.is_start(stop):
        what = f"{last_line - first + 1:,} of {lines.count:,} lines held back"
    elif first == last_line:
        place = lines.starts[first - 1]
        end = lines.starts[first] if first < lines.count else len(lines.text)
        what = f"{stop - start:,} of {end - place:,} characters of line {first:,} held back"
    else:
        what = f"{stop - start:,} of {len(lines.text):,} characters held back"
    return f"[{what} | {how or _OTHERWISE.get(kind, 'ask for less')}]"
