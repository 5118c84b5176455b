"""Exports a session as one self-contained HTML page, with results beside their calls, diffs, search and marked
prunes.

Responses are rendered as Markdown, prompts as typed text. Everything is escaped. As a second defense, the page's
content security policy allows only its own script, by hash, and blocks all loading.
"""

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from html import escape
from pathlib import Path

from prunecli.context.spill import held_part, held_words
from prunecli.model.events import AssistantMessage, Record, ToolResult
from prunecli.model.messages import Block, Image, Text, Thinking, ToolUse
from prunecli.sanitize import one_line, uncolored, uncolored_around
from prunecli.session.exporters.html_calls import asked, heading, printed
from prunecli.session.exporters.html_code import Colors, plain
from prunecli.session.exporters.html_prose import prose
from prunecli.session.exporters.report import Reported, Story, placeholder, story

_MOST_PAGE = 10_000_000
"""Maximum characters of a page; later entries get one line each."""
_MOST_PICTURES = 50_000_000
"""Maximum characters of images on a page; later images appear as their names only."""
_NAMED_CHARS = 200
_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_HERE = Path(__file__).parent


def write(records: Sequence[Record]) -> str:
    return "\n".join(_page(story(records))) + "\n"


def head(title: str, style: str, script: str = "") -> Iterator[str]:
    """Yield a page's beginning, up to its body. Its content security policy allows only this script."""
    allowed = f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" if script else "'none'"
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src {allowed}; "
        "base-uri 'none'; form-action 'none'"
    )
    yield '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="referrer" content="no-referrer">'
    yield f"<title>{_line(title)}</title>\n<style>{style}</style></head><body>"


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
            inner = [printed(uncolored(entry.text))]
            for block in report.content[1:]:
                inner += [] if isinstance(block, Text) else self._block(report, block, {})
            yield from _folded("text" if notice else "output", "".join(inner), is_open=False)
        else:
            results = (
                {one.call.id: one.seq for one in entry.exchange.results if one.call} if entry.exchange else {}
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
        inner, is_open = asked(call, result.entry if result else None, self._colors)
        if result:
            entry = result.entry
            inner += f'<section id="e{entry.seq}" class="{_classes(result, "result")}">'
            text, held = entry.whole, held_part(entry.whole, entry.text) if entry.spilled else (0, 0)
            if isinstance(entry.event, ToolResult) and "exit_code" in entry.event.details:
                text, held = uncolored_around(text, held)
            inner += "".join(_fate(result)) + printed(text, held)
            for block in result.content:
                if not isinstance(block, Text):
                    inner += "".join(self._block(result, block, {}))
            inner += "</section>"
            is_open = is_open and not result.fate
        failed = " failed" if result and result.entry.is_error else ""
        yield f'<div class="call{failed}">'
        pruned = " · ✂ pruned" if result and result.fate else ""
        yield from _folded(heading(call, result.entry if result else None) + pruned, inner, is_open=is_open)
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
        yield f'<p class="fate">held back from the model: {_line(what or "a part")}</p>'


def _folded(head: str, inner: str, *, is_open: bool) -> Iterator[str]:
    """Yield a collapsible section. `head` and `inner` are HTML."""
    yield f"<details{' open' if is_open else ''}><summary>{head}</summary>{inner}</details>"


def _line(text: str) -> str:
    return escape(one_line(text.replace("\t", " ")))
