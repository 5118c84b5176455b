"""Inline Markdown: turns markdown-it's inline tokens into runs of styled text.

The result contains only text and styles, so nothing is clickable; a link's target is written after it. The parser
decodes entities and percent-escapes, so the result is sanitized again here.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.style import Style

from prunecli.tui.transcript.palette import BOLD, ITALIC, STRIKE, Inks, mix
from prunecli.tui.transcript.rows import Run
from prunecli.util.sanitize import visible

if TYPE_CHECKING:
    from markdown_it.token import Token

_EMPHASIS = {"strong_open": BOLD, "em_open": ITALIC, "s_open": STRIKE}


def runs(tokens: Sequence["Token"], base: Style, inks: Inks) -> list[Run]:
    """Return the runs of an inline token's children; a line feed in them is a hard break."""
    out: list[Run] = []
    style, outer = base, [base]
    href, start = "", 0
    for token in tokens:
        kind = token.type
        if kind == "text":
            if token.content:
                out.append((visible(token.content), style))
        elif kind == "code_inline":
            out.append((visible(token.content), mix(style, inks.inline_code)))
        elif kind == "softbreak":
            out.append((" ", style))
        elif kind == "hardbreak":
            out.append(("\n", style))
        elif emphasis := _EMPHASIS.get(kind):
            outer.append(style)
            style = mix(style, emphasis)
        elif kind == "link_open":
            outer.append(style)
            style, href, start = mix(style, inks.link), str(token.attrs.get("href", "")), len(out)
        elif kind == "link_close":
            style = outer.pop()
            shown = "".join([text for text, _ in out[start:]])
            if href.removeprefix("mailto:") != shown and href:
                out.append((f" ({visible(href)})", mix(style, inks.muted)))
        elif kind.endswith("_close"):
            style = outer.pop() if len(outer) > 1 else base
        elif kind == "image":
            out.append(
                (f"[image: {visible(token.content) or visible(str(token.attrs.get('src', '')))}]", inks.muted)
            )
        elif token.content:
            out.append((visible(token.content), style))
    return out or [("", base)]


def lines(parts: Sequence[Run]) -> list[list[Run]]:
    """Split runs at their line feeds. Return at least one line, each with at least one run."""
    if not any("\n" in text for text, _ in parts):
        return [list(parts)]
    out: list[list[Run]] = [[]]
    for text, style in parts:
        first, *more = text.split("\n")
        out[-1].append((first, style))
        for part in more:
            out.append([(part, style)])
    return out
