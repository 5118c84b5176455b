"""The long texts in the input of a call, and the input without them: the edit `cut`.

The call stays valid: only strings change. Paths, patterns and the beginning of a command stay, and of a here-document
only its body goes. The text that stands there instead names what it was, its size and its handle for `recall`.
"""

import json
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from prunecli.context import render
from prunecli.context.cut import head
from prunecli.context.exchange import Entry
from prunecli.model.edits import Edit
from prunecli.model.messages import Json, ToolUse

InputKind: TypeAlias = Literal["old", "new", "other", "content", "command", "patch"]
INPUT_KINDS: tuple[InputKind, ...] = get_args(InputKind)
"""From the one that is least likely to be quoted again."""

LEAST_CHARS = 240
"""Shorter texts stay: what stands in their place would hardly be shorter."""
_COMMAND_CHARS = 120
_OLD = frozenset(("old_string", "oldstring", "oldtext", "old_text", "old_str", "search"))
_NEW = frozenset(("new_string", "newstring", "newtext", "new_text", "new_str", "replace"))
_CONTENT = frozenset(("content", "contents", "file_text"))
_COMMAND = frozenset(("command", "cmd", "script", "code", "input"))
_STAYS = frozenset(("path", "file_path", "pattern", "query", "url", "memo", "entries"))
_PATCH = "*** Begin Patch"
_FILES = re.compile(r"\*\*\* (?:Update|Add|Delete) File: ([^\n\\]{1,200})")
_HERE = re.compile(r"(?<!<)<<(-)?[ \t]*(['\"]?)([\w.-]{1,40})\2[^\n]*\n")
"""The line that begins a here-document."""
_NAMES: Mapping[InputKind, str] = {"old": "old text", "new": "new text", "content": "content"}
_MARK = re.compile(r"\[input pruned — [^\n]{1,400}? tokens(?: \| recall \d+ input)?\]")

Step: TypeAlias = str | int


class LongText(NamedTuple):
    """A long text in an input: what it is, and where. `path` leads to a string, of which it is `start` to `end`."""

    kind: InputKind
    what: str
    path: tuple[Step, ...]
    start: int
    end: int
    text: str


@lru_cache(maxsize=4096)
def _of_text(key: str, text: str) -> tuple[tuple[InputKind, str, int, int], ...]:
    """Return the long parts of a string under this key: kind, what it is, start and end."""
    name = key.lower()
    if len(text) < LEAST_CHARS or name in _STAYS:
        return ()
    if name in _OLD:
        return (("old", _NAMES["old"], 0, len(text)),)
    if name in _NEW:
        return (("new", _NAMES["new"], 0, len(text)),)
    if name in _CONTENT:
        return (("content", _NAMES["content"], 0, len(text)),)
    bodies = _bodies(text)
    if bodies and len(text) - sum(end - start for start, end in bodies) < 2 * LEAST_CHARS:
        found = ((start, end) for start, end in bodies if end - start >= LEAST_CHARS)
        return tuple(
            (*_patch_or("content", "here-document", text[start:end]), start, end) for start, end in found
        )
    if _PATCH in text:
        return ((*_patch_or("patch", "patch", text), 0, len(text)),)
    if name in _COMMAND:
        start = len(head(text, _COMMAND_CHARS))
        return (
            (("command", "rest of the command", start, len(text)),)
            if len(text) - start >= LEAST_CHARS
            else ()
        )
    return (("other", head("".join(filter(str.isprintable, key)), 40) or "text", 0, len(text)),)


def _bodies(text: str) -> list[tuple[int, int]]:
    """Return the start and end of the body of each here-document. As in a shell, it ends before the line that is its
    word and nothing else, but for tabs before it after `<<-`."""
    if "<<" not in text:
        return []
    exact, indented = defaultdict[str, list[int]](list), defaultdict[str, list[int]](list)
    found, at = list[tuple[int, int]](), 0
    for line in text.split("\n"):
        exact[line].append(at)
        indented[line.lstrip("\t")].append(at)
        at += len(line) + 1
    done = 0
    for match in _HERE.finditer(text):
        ends = (indented if match[1] else exact).get(match[3], [])
        place = bisect_left(ends, match.end())
        if match.start() >= done and place < len(ends):
            done = ends[place]
            found.append((match.end(), max(match.end(), done - 1)))
    return found


def _patch_or(kind: InputKind, what: str, text: str) -> tuple[InputKind, str]:
    if _PATCH not in text:
        return kind, what
    files = list(dict.fromkeys(match[1].strip() for match in _FILES.finditer(text)))
    more = f" and {len(files) - 3} more" if len(files) > 3 else ""
    return "patch", f"patch of {', '.join(files[:3])}{more}" if files else "patch"


def long_texts(call: ToolUse) -> list[LongText]:
    """Return the long texts in a call's input."""
    found = list[LongText]()
    for path, key, text in _strings(call.input):
        found += [LongText(kind, what, path, a, b, text[a:b]) for kind, what, a, b in _of_text(key, text)]
    return found


def _strings(
    value: Json, path: tuple[Step, ...] = (), key: str = ""
) -> Iterator[tuple[tuple[Step, ...], str, str]]:
    """Yield the strings in a JSON value with their paths and nearest keys. The log's reader bounds the nesting."""
    if isinstance(value, str):
        yield path, key, value
    elif isinstance(value, Mapping):
        for name, one in value.items():
            yield from _strings(one, (*path, name), name)
    elif isinstance(value, list | tuple):
        for at, one in enumerate(value):
            yield from _strings(one, (*path, at), key)


def without(call: ToolUse, texts: Iterable[LongText], instead: Iterable[str]) -> str:
    """Return the compact JSON of an input in which each of these texts is replaced by another."""
    given: Any = json.loads(render.compact(call.input))
    pairs = sorted(zip(texts, instead, strict=True), key=lambda pair: (pair[0].path, -pair[0].start))
    for one, said in pairs:  # the last part of a string first, so that the places of the others stay
        where = given
        for step in one.path[:-1]:
            where = where[step]
        old = where[one.path[-1]]
        where[one.path[-1]] = old[: one.start] + said + old[one.end :]
    return render.compact(given)


def cut_of(edits: Iterable[Edit]) -> Edit | None:
    """Return the cuts of one answer as one edit, whose text names each call and its input; None without any.

    The newest cut of a call shows its input, and all of them count.
    """
    cuts = [edit for edit in edits if edit.kind == "cut"]
    if len(cuts) < 2:
        return cuts[0] if cuts else None
    inputs = {edit.tool_use_id or "": edit.text for edit in cuts}
    return Edit("cut", cuts[0].seq, None, render.compact(inputs), sum(edit.tokens_saved for edit in cuts), 0)


def by_target(
    edits: Iterable[Edit], pending: Mapping[int, Edit], recorded: Callable[[int], Edit | None]
) -> dict[int, Edit]:
    """Return the pending edits by target, with these; the cuts of an answer are one edit."""
    found = dict(pending)
    for edit in edits:
        earlier = found.get(edit.seq) or recorded(edit.seq) if edit.kind == "cut" else None
        if edit.kind != "memo":
            found[edit.seq] = cut_of([earlier, edit] if earlier else [edit]) or edit
    return found


def shown_edit(stack: Sequence[tuple[int, Edit]]) -> Edit | None:
    """Return what an entry is shown as under its live edits: its newest clear, trim or repair, or its cuts."""
    for _, edit in reversed(stack):
        if edit.kind in ("clear", "trim", "repair"):
            return edit
    return cut_of(edit for _, edit in stack)


def chars_saved(entry: Entry, edit: Edit) -> int:
    """Return the characters that cuts keep out of an answer."""
    text = edit.text or ""
    shown: Any = {edit.tool_use_id: text} if edit.tool_use_id is not None else json.loads(text)
    calls = entry.exchange.calls if entry.exchange else ()
    return sum(len(render.compact(call.input)) - len(shown[call.id]) for call in calls if call.id in shown)


def marks_in(given: Json) -> list[str]:
    """Return the texts that stand for long texts in a cut input."""
    return [mark for _, _, text in _strings(given) for mark in _MARK.findall(text)]


def shown_inputs(edits: Iterable[Edit]) -> dict[str, Any]:
    """Return the inputs that cuts show, by the ids of the calls."""
    return {edit.tool_use_id or "": json.loads(edit.text or "") for edit in edits if edit.kind == "cut"}


def written(call: ToolUse, *, changes_files: bool) -> list[str]:
    """Return the texts that a call writes: those of its input that it does not replace or look for, and of a command
    the bodies of its here-documents."""
    strings = [(key.lower(), text) for _, key, text in _strings(call.input)]
    if changes_files:
        return [text for key, text in strings if key not in _OLD | _STAYS]
    return [text[start:end] for _, text in strings for start, end in _bodies(text)]
