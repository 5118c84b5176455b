"""Exports a session as one self-contained HTML page, with results beside their calls, diffs, search and marked
prunes.

Responses are rendered as Markdown, prompts as typed text. Everything is escaped. As a second defense, the page's
content security policy allows only its own script, by hash, and blocks all loading.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

from prunecli.context.exchange import Entry
from prunecli.context.spill import held_part, held_words
from prunecli.features.export.exporters.html_code import MOST_CHARS, Colors, diff, is_diff, plain
from prunecli.features.export.exporters.html_prose import prose
from prunecli.features.export.exporters.report import (
    Reported,
    Story,
    argument,
    placeholder,
    story,
    task_words,
)
from prunecli.front.html import head
from prunecli.model.events import AssistantMessage, Record, ToolResult
from prunecli.model.messages import Block, Image, Json, Text, Thinking, ToolUse
from prunecli.tools.files.diff import change
from prunecli.util.figures import counted
from prunecli.util.lexing import language_of
from prunecli.util.sanitize import one_line, shortened, uncolored, uncolored_around

_MOST_PAGE = 10_000_000
"""Maximum characters of a page; later entries get one line each."""
_MOST_PICTURES = 50_000_000
"""Maximum characters of images on a page; later images appear as their names only."""
_NAMED_CHARS = 200
_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_HERE = Path(__file__).parent

_OPEN_LINES = 3
"""Results up to this many lines are unfolded."""
_OPEN_DIFF = 60
"""Diffs up to this many lines are unfolded."""
_LONGEST_HEAD = 120


def write(records: Sequence[Record]) -> str:
    return "\n".join(_page(story(records))) + "\n"


def _page(report: Story) -> Iterator[str]:
    script = (_HERE / "page.js").read_text("utf-8")
    yield from head(report.title, (_HERE / "page.css").read_text("utf-8"), script)
    yield f"<h1>{_line(report.title)}</h1><dl>"
    for name, value in report.facts:
        yield f"<dt>{_line(name)}</dt><dd>{_line(value)}</dd>"
    yield "</dl>"
    yield '<nav><input id="search" type="search" placeholder="Search ( / )" aria-label="Search" autocomplete="off">'
    yield '<output id="count"></output><button id="unfold" type="button">Unfold all</button>'
    yield '<button id="fold" type="button">Fold all</button></nav><main>'
    yield from _Entries(report.entries).write()
    yield f"</main><script>{script}</script></body></html>"


class _Entries:
    """The entries of a session; results appear with their calls."""

    def __init__(self, entries: Sequence[Reported]) -> None:
        self._entries = entries
        self._by_seq = {report.entry.seq: report for report in entries}
        self._colors = Colors()
        self._written = self._pictures = 0

    def write(self) -> Iterator[str]:
        """Write one article for each entry except results, which appear with their calls."""
        for report in self._entries:
            if report.entry.kind == "result":
                continue
            if self._written > _MOST_PAGE:
                yield from _named(report)
                continue
            for piece in self._article(report):
                self._written += len(piece)
                yield piece
            if self._written > _MOST_PAGE:
                yield '<p class="fate">Page limit reached. Export as Markdown for all entries.</p>'

    def _article(self, report: Reported) -> Iterator[str]:
        entry = report.entry
        yield f'<article id="e{entry.seq}" class="{_classes(report, entry.kind)}">'
        model = entry.event.model if isinstance(entry.event, AssistantMessage) else ""
        said = f" · {_line(model)}" if model else ""
        notice = entry.kind == "command" and "".join(entry.typed).startswith("[")
        kind = "attached" if entry.is_attached else "notice" if notice else entry.kind
        yield (
            f'<header><a href="#e{entry.seq}">#{entry.seq}</a> <b>{kind.capitalize()}</b>'
            f" · <time>{report.when}</time>{said}</header>"
        )
        yield from _fate(report)
        if entry.kind == "summary":
            yield prose(entry.text, self._colors)
        elif entry.kind == "command":
            yield f"<pre>{plain(' '.join(entry.typed))}</pre>"
            inner = [_printed(uncolored(entry.text))]
            for block in report.content[1:]:
                inner += [] if isinstance(block, Text) else self._block(report, block, {})
            yield from _folded("text" if notice else "output", "".join(inner), is_open=False)
        else:
            results = (
                {result.call.id: result.seq for result in entry.exchange.results if result.call}
                if entry.exchange
                else {}
            )
            for block in report.content:
                yield from self._block(report, block, results)
        yield "</article>"

    def _block(self, report: Reported, block: Block, results: Mapping[str, int]) -> Iterator[str]:
        match block:
            case Text(text) if text.strip() and report.entry.kind == "assistant":
                yield prose(text.strip("\n"), self._colors)
            case Text(text) if text.strip():
                yield f'<div class="text">{plain(text.strip(chr(10)))}</div>'
            case Thinking(thinking) if thinking.strip():
                yield from _folded("Thinking", prose(thinking, self._colors), is_open=False)
            case ToolUse():
                result = self._by_seq.get(results.get(block.id, -1))
                yield from self._call(block, result)
            case Image(media_type, data) if self._shows(media_type, data):
                yield f'<img alt="image" src="data:{media_type};base64,{data}">'
            case _ if word := placeholder(block):
                yield f"<p>{_line(word)}</p>"

    def _call(self, call: ToolUse, result: Reported | None) -> Iterator[str]:
        inner, is_open = _asked(call, result.entry if result else None, self._colors)
        if result:
            entry = result.entry
            inner += f'<section id="e{entry.seq}" class="{_classes(result, "result")}">'
            text, held = entry.whole, held_part(entry.whole, entry.text) if entry.spilled else (0, 0)
            if isinstance(entry.event, ToolResult) and "exit_code" in entry.event.details:
                text, held = uncolored_around(text, held)
            inner += "".join(_fate(result)) + _printed(text, held)
            for block in result.content:
                if not isinstance(block, Text):
                    inner += "".join(self._block(result, block, {}))
            inner += "</section>"
            is_open = is_open and not result.fate
        failed = " failed" if result and result.entry.is_error else ""
        yield f'<div class="call{failed}">'
        pruned = " · ✂ pruned" if result and result.fate else ""
        yield from _folded(
            _call_heading(call, result.entry if result else None) + pruned, inner, is_open=is_open
        )
        yield "</div>"

    def _shows(self, media_type: str, data: str) -> bool:
        if (
            media_type not in _PICTURES
            or self._pictures + len(data) > _MOST_PICTURES
            or not _BASE64.fullmatch(data)
        ):
            return False
        self._pictures += len(data)
        return True


def _named(report: Reported) -> Iterator[str]:
    entry = report.entry
    first = " ".join([*entry.typed, entry.text])[:_NAMED_CHARS].strip().partition("\n")[0]
    yield f'<article id="e{entry.seq}" class="{_classes(report, entry.kind)}">#{entry.seq} {_line(first)}</article>'


def _classes(report: Reported, kind: str) -> str:
    return " ".join(
        [kind, *(["pruned"] if report.fate else []), *(["failed"] if report.entry.is_error else [])]
    )


def _fate(report: Reported) -> Iterator[str]:
    """Yield a note on how an entry was pruned, and the text that the model sees instead."""
    if report.fate:
        yield f'<p class="fate">✂ pruned: {_line(report.fate)}{"; the model sees:" if report.instead else ""}</p>'
        if report.instead:
            yield f"<pre>{plain(report.instead)}</pre>"
    elif report.entry.spilled:
        what = held_words(report.entry.text)
        yield f'<p class="fate">not sent to the model: {_line(what or "a part")}</p>'


def _folded(head: str, inner: str, *, is_open: bool) -> Iterator[str]:
    """Yield a collapsible section. `head` and `inner` are HTML."""
    yield f"<details{' open' if is_open else ''}><summary>{head}</summary>{inner}</details>"


def _line(text: str) -> str:
    return escape(one_line(text.replace("\t", " ")))


# Calls -------------------------------------------------------------------------------------------------------


def _call_heading(call: ToolUse, result: Entry | None) -> str:
    """Return one line: the tool, its main argument, and the outcome."""
    first, _, rest = argument(dict(call.input)).strip().replace("\t", " ").partition("\n")
    short = shortened(one_line(first + (" …" if rest else "")), _LONGEST_HEAD)
    return f"<code>{escape(one_line(call.name))}</code> {escape(short)} · {_outcome(call, result)}"


def _outcome(call: ToolUse, result: Entry | None) -> str:
    """Return the size of the change or output, and whether the call failed."""
    if result is None:
        return "no result"
    change, lines = _change(call, result).split("\n"), _count_lines(result.whole)
    size = counted(lines, "line")
    if len(change) > 1:
        added, removed = (sum(line.startswith(sign) for line in change) for sign in "+-")
        size = f"+{added} −{removed}"
    if task := task_words(result):
        size += f" · {escape(task)}"
    return f"{size} · failed" if result.is_error else size


def _asked(call: ToolUse, result: Entry | None, colors: Colors) -> tuple[str, bool]:
    """Return a call's input ("" if the heading shows all of it), and whether to unfold the call."""
    change = _change(call, result)
    if change:
        return diff(change), _count_lines(change) <= _OPEN_DIFF
    is_open = result is not None and _count_lines(result.whole) <= _OPEN_LINES
    given = dict(call.input)
    said, path = argument(given), given.get("path")
    content = given.get("content")
    if isinstance(path, str) and isinstance(content, str) and len(content) <= MOST_CHARS:
        return colors.code(content, language_of(path)), is_open
    if given == {"command": said} or set(given) == {"command", "description"}:
        return (colors.code(said, "bash") if "\n" in said or len(said) > _LONGEST_HEAD else ""), is_open
    others = [value for name, value in given.items() if value != said]
    if not others and "\n" not in said and len(said) <= _LONGEST_HEAD:
        return "", is_open
    return f"<pre>{plain(_input(given))}</pre>", is_open


def _printed(text: str, held: tuple[int, int] = (0, 0)) -> str:
    """Return the output of a tool or command; the part that was held back from the model is marked."""
    if not text.strip():
        return ""
    start, stop = held
    if stop > start:
        between = f'<span class="held" title="not sent to the model">{plain(text[start:stop])}</span>'
        return f"<pre>{plain(text[:start])}{between}{plain(text[stop:])}</pre>"
    return diff(text) if is_diff(text) else f"<pre>{plain(text)}</pre>"


def _change(call: ToolUse, result: Entry | None) -> str:
    """Return the diff of an edit: the recorded one, else one made from its arguments; "" for other calls."""
    made = result.event.details.get("diff") if result and isinstance(result.event, ToolResult) else None
    if isinstance(made, str) and made:
        return made
    given = call.input
    patch = given.get("patch")
    if isinstance(patch, str) and patch.startswith("*** Begin Patch"):
        return patch
    edits = given.get("edits")
    pieces = [_edited(edit) for edit in edits] if isinstance(edits, list) else [_edited(dict(given))]
    return "".join(pieces)


def _edited(given: Json) -> str:
    """Return the diff between the two texts of an edit."""
    names = (("old_string", "new_string"), ("oldText", "newText"))
    for old, new in names if isinstance(given, dict) else ():
        before, after = given.get(old), given.get(new)
        if isinstance(before, str) and isinstance(after, str) and len(before) + len(after) <= MOST_CHARS:
            return change(*(text if text.endswith("\n") else f"{text}\n" for text in (before, after))).diff
    return ""


def _input(given: Mapping[str, Json]) -> str:
    if all(isinstance(value, str) for value in given.values()):
        return "\n".join(f"{name}: {value}" for name, value in given.items())
    return json.dumps(given, ensure_ascii=False, indent=1)


def _count_lines(text: str) -> int:
    return text.rstrip("\n").count("\n") + 1 if text else 0
