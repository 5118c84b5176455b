"""Renders Markdown as HTML for an exported page, from markdown-it's tokens.

HTML in the text stays text. Links show their real target, and only web and mail addresses are clickable. Images are
named and never loaded.
"""

import re
from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from prunecli.features.export.exporters.html_code import MOST_CHARS, Colors, plain
from prunecli.util.commonmark import MOST_BRACKETS, is_deep, parser
from prunecli.util.sanitize import visible

if TYPE_CHECKING:
    from markdown_it.token import Token

_FOLLOWED = re.compile(r"(?:https?://|mailto:)[^\s]", re.IGNORECASE)
_TAGS = {
    "paragraph": "p",
    "bullet_list": "ul",
    "ordered_list": "ol",
    "list_item": "li",
    "blockquote": "blockquote",
    "table": "table",
    "thead": "thead",
    "tbody": "tbody",
    "tr": "tr",
    "th": "th",
    "td": "td",
    "em": "em",
    "strong": "strong",
    "s": "s",
}


def prose(text: str, colors: Colors) -> str:
    """Render Markdown. Text that would take long to parse or would lose content is shown unrendered."""
    if len(text) > MOST_CHARS or is_deep(text):
        return f'<div class="text">{plain(text)}</div>'
    return f'<div class="prose">{"".join(_blocks(_tokens(text), colors))}</div>'


def _tokens(text: str) -> list["Token"]:
    """Return the tokens of the text. A block that would take long to parse becomes plain text."""
    markdown = parser()
    environment: dict[str, object] = {}
    tokens: list[Token] = []
    markdown.block.parse(text.replace("\r\n", "\n").replace("\r", "\n"), markdown, environment, tokens)
    for token in tokens:
        if token.type == "inline":
            token.children = []
            if token.content.count("[") <= MOST_BRACKETS:
                markdown.inline.parse(token.content, markdown, environment, token.children)
    return tokens


def _blocks(tokens: Sequence["Token"], colors: Colors) -> Iterator[str]:
    for token in tokens:
        name, _, end = token.type.rpartition("_")
        match token.type:
            case "inline":
                yield "".join(_inline(token.children)) if token.children else _words(token.content)
            case "fence" | "code_block":
                words = token.info.split()
                yield colors.code(token.content.removesuffix("\n"), words[0].lower() if words else "")
            case "heading_open" | "heading_close":
                level = min(int(token.tag[1:]) + 2, 6)  # below the page's own headings
                yield f"<{'/' if end == 'close' else ''}h{level}>"
            case "hr":
                yield "<hr>"
            case "ordered_list_open":
                yield f'<ol start="{int(token.attrs.get("start", 1))}">'
            case _ if name in _TAGS:
                if not token.hidden:
                    yield f"<{'/' if end == 'close' else ''}{_TAGS[name]}>"
            case _:
                yield _words(token.content)


def _inline(tokens: Sequence["Token"]) -> Iterator[str]:
    links: list[tuple[str, list[str]]] = []  # the target of each open link, and its text
    for token in tokens:
        name, _, end = token.type.rpartition("_")
        if links and token.content:
            links[-1][1].append(token.content)
        match token.type:
            case "softbreak":
                yield "\n"
            case "hardbreak":
                yield "<br>"
            case "code_inline":
                yield f"<code>{_words(token.content)}</code>"
            case "link_open":
                target = str(token.attrs.get("href", ""))
                links.append((target, []))
                if _FOLLOWED.match(target):
                    yield f'<a href="{_words(target)}" rel="noopener noreferrer nofollow">'
            case "link_close":
                target, said = links.pop()
                if _FOLLOWED.match(target):
                    yield "</a>"
                if "".join(said) != target:
                    yield _target(target)
            case "image":
                yield f"[image: {_words(token.content)}]{_target(str(token.attrs.get('src', '')))}"
            case _ if name in _TAGS:
                yield f"<{'/' if end == 'close' else ''}{_TAGS[name]}>"
            case _:
                yield _words(token.content)


def _target(address: str) -> str:
    """Return the visible target of a link or image."""
    return f' <span class="target">({_words(address)})</span>'


def _words(text: str) -> str:
    return escape(visible(text))
