"""A session as one HTML page that needs nothing else: folded results and thinking, a search, prunes marked.

Everything that was said is escaped. Were something forgotten, the page's own policy lets no script run but the one
whose hash it names, and loads nothing from anywhere.
"""

import json
import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from hashlib import sha256
from html import escape
from pathlib import Path

from prunecli.model.events import AssistantMessage, Record
from prunecli.model.messages import Block, Image, Json, Text, Thinking, ToolUse
from prunecli.sanitize import one_line, source
from prunecli.session.exporters.told import Story, Told, argument, placeholder, story

_OPEN_LINES = 3
"""Results up to this many lines are not folded."""
_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_HERE = Path(__file__).parent


def write(records: Sequence[Record]) -> str:
    """The session of these records as a page, ending with a newline."""
    return "\n".join(_page(story(records))) + "\n"


def _page(told: Story) -> Iterator[str]:
    style = (_HERE / "page.css").read_text("utf-8")
    script = (_HERE / "page.js").read_text("utf-8")
    allowed = b64encode(sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{allowed}'; "
        "base-uri 'none'; form-action 'none'"
    )
    yield "<!doctype html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="referrer" content="no-referrer">'
    yield f"<title>{_line(told.title)}</title>"
    yield f"<style>{style}</style></head><body>"
    yield f"<h1>{_line(told.title)}</h1><dl>"
    for name, value in told.facts:
        yield f"<dt>{_line(name)}</dt><dd>{_line(value)}</dd>"
    yield "</dl>"
    yield '<nav><input id="search" type="search" placeholder="Search ( / )" aria-label="Search" autocomplete="off">'
    yield '<output id="count"></output><button id="unfold" type="button">Unfold all</button>'
    yield '<button id="fold" type="button">Fold all</button></nav><main>'
    for one in told.entries:
        yield from _entry(one)
    yield f"</main><script>{script}</script></body></html>"


def _entry(told: Told) -> Iterator[str]:
    entry = told.entry
    kind = "user" if entry.kind in ("user", "command") else entry.kind
    classes = [kind, *(["pruned"] if told.fate else []), *(["failed"] if entry.is_error else [])]
    yield f'<article id="e{entry.seq}" class="{" ".join(classes)}">'
    if entry.kind != "result":
        model = entry.event.model if isinstance(entry.event, AssistantMessage) else ""
        said = f" · {_line(model)}" if model else ""
        yield (
            f'<header><a href="#e{entry.seq}">#{entry.seq}</a> <b>{kind.capitalize()}</b>'
            f" · <time>{told.when}</time>{said}</header>"
        )
    if told.fate:
        yield f'<p class="fate">✂ pruned: {_line(told.fate)}{"; the model sees:" if told.instead else ""}</p>'
        if told.instead:
            yield _pre(told.instead)
    if entry.kind == "summary":
        yield f'<div class="text">{_text(entry.text)}</div>'
    elif entry.kind == "result":
        yield from _result(told)
    elif entry.kind == "command":
        yield f"<pre>{_text(' '.join(entry.typed))}</pre>"
        yield from _folded("<code>output</code>", _pre(entry.text), is_open=False)
    else:
        for block in told.content:
            yield from _block(block)
    yield "</article>"


def _result(told: Told) -> Iterator[str]:
    entry = told.entry
    text = entry.text
    lines = text.count("\n") + 1 if text else 0
    call = argument(dict(entry.call.input)) if entry.call else ""
    size = f"{lines} line{'s' if lines != 1 else ''}"
    failed = " · failed" if entry.is_error else ""
    head = f"<code>{_line(entry.tool_name)}</code> {_line(call[:120])} · {size}{failed}"
    inner = [_pre(text)] if text else []
    inner += [piece for block in told.content if not isinstance(block, Text) for piece in _block(block)]
    yield from _folded(head, "".join(inner), is_open=lines <= _OPEN_LINES and not told.fate)


def _block(block: Block) -> Iterator[str]:
    match block:
        case Text(text) if text.strip():
            yield f'<div class="text">{_text(text.strip(chr(10)))}</div>'
        case Thinking(thinking) if thinking.strip():
            yield from _folded("Thinking", f'<div class="text">{_text(thinking)}</div>', is_open=False)
        case ToolUse(_, name, given):
            head = f"<code>{_line(name)}</code> {_line(argument(dict(given))[:120])}"
            yield from _folded(head, _pre(_json(dict(given))), is_open=False)
        case Image(media_type, data) if media_type in _PICTURES and _BASE64.fullmatch(data):
            yield f'<img alt="image" src="data:{media_type};base64,{data}">'
        case _ if word := placeholder(block):
            yield f"<p>{_line(word)}</p>"


def _folded(head: str, inner: str, *, is_open: bool) -> Iterator[str]:
    """A fold; head and inner are HTML already."""
    yield f"<details{' open' if is_open else ''}><summary>{head}</summary>{inner}</details>"


def _pre(text: str) -> str:
    return f"<pre>{_text(text)}</pre>"


def _json(given: Json) -> str:
    """A call's input: the texts in it with their line ends."""
    if isinstance(given, dict) and all(isinstance(value, str) for value in given.values()):
        return "\n".join(f"{name}: {value}" for name, value in given.items())
    return json.dumps(given, ensure_ascii=False, indent=1)


def _text(text: str) -> str:
    """Text as HTML, lines kept, nothing hidden in it."""
    return escape(source(text))


def _line(text: str) -> str:
    """Text of one line as HTML."""
    return escape(one_line(text.replace("\t", " ")))
