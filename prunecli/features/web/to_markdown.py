"""The process that converts a page: prints its visible main content as Markdown.

Text that a person would not see is dropped, because it may contain hidden instructions to a model. html-to-markdown
drops the common forms. Other hidden elements are found here, by their attributes and by simple rules of the page's
style sheets, and are marked as hidden first.
"""

import os
import re
import resource
import sys
from html import unescape
from typing import TYPE_CHECKING

from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    import html_to_markdown
else:
    html_to_markdown = lazy("html_to_markdown")

MAX_MEMORY = 2_000_000_000
MAX_DEPTH = 300
LEAST = 200
"""If the page without its navigation has fewer characters, the whole page is shown."""

_TAG = re.compile(r"""<([a-zA-Z][\w:-]*+)((?:[^<>"']++|"[^"]*+"|'[^']*+')*+)>""")
_ATTRIBUTE = re.compile(r"""([\w:-]++)\s*+(?:=\s*+("[^"]*+"|'[^']*+'|[^\s"'>]++))?""")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_SHEET = re.compile(r"<style\b[^>]*+>(.*?)</style", re.DOTALL | re.IGNORECASE)
_AT_RULE = re.compile(r"@[^{};]*+\{(?:[^{}]*+\{[^{}]*+\})*+[^{}]*+\}")
_RULE = re.compile(r"([^{}]++)\{([^{}]*+)\}")
_SIMPLE = re.compile(r"[.#][\w-]+")
_HIDES = re.compile(
    r"(?:^|;)(?:display:none|visibility:(?:hidden|collapse)|opacity:0*\.?0+%?(?=;|$)|content-visibility:hidden"
    r"|font-size:0*\.?0+(?:[a-z%]+)?(?=;|$)|(?:max-)?(?:height|width):0*\.?[01]?(?:px|em|rem|%)?(?=;|$)"
    r"|(?:left|right|top|bottom|text-indent|margin(?:-\w+)?):-\d{3,}|transform:(?:scale\(0|translate\w*\(-\d{4})"
    r"|clip:rect\(|clip-path:inset\((?:50|100)%|color:transparent)"
)
_COLOR = re.compile(r"(?:^|;)color:([^;]+)")
_GROUND = re.compile(r"(?:^|;)background(?:-color)?:([^;]+)")
_CLASSES = frozenset({"sr-only", "visually-hidden", "screen-reader-text", "visuallyhidden"})
_NEVER = [
    "script",
    "style",
    "template",
    "noscript",
    "svg",
    "iframe",
    "object",
    "textarea",
    "select",
    "button",
    "dialog",
]
_AROUND = [
    "nav",
    "footer",
    "aside",
    "form",
    *(f'[role="{one}"]' for one in ("navigation", "banner", "contentinfo", "search")),
]
_SCRIPT_LINK = re.compile(r"\]\(\s*<?(?:javascript|data|vbscript):(?:[^()]|\([^()]*\))*\)", re.IGNORECASE)


def main(descriptor: str, url: str) -> None:
    """Convert the page read from the descriptor."""
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    with open(int(descriptor), "rb", closefd=False) as source:
        source.seek(0)
        html = source.read().decode("utf-8", "replace")
    sys.stdout.buffer.write(converted(html, url).encode("utf-8", "replace"))
    sys.stdout.buffer.flush()
    os._exit(0)


def converted(html: str, url: str) -> str:
    """Return the visible content without navigation and the like, unless little else is left."""
    marked = hidden_marked(html)
    content = _convert(marked, url, [*_NEVER, *_AROUND])
    return content if len(content) >= LEAST else _convert(marked, url, _NEVER)


def _convert(html: str, url: str, without: list[str]) -> str:
    options = html_to_markdown.ConversionOptions(
        exclude_selectors=without,
        base_url=url,
        hidden_content="drop",
        inline_data_media="alt_text_only",
        extract_metadata=False,
        preprocessing=html_to_markdown.PreprocessingOptions(enabled=False),
        max_depth=MAX_DEPTH,
    )
    return _SCRIPT_LINK.sub("]()", html_to_markdown.convert(html, options).content or "").strip()


def hidden_marked(html: str) -> str:
    """Return the page with a `hidden` attribute on each element that its attributes or style sheets hide."""
    names = _hidden_names(html)

    def mark(match: re.Match[str]) -> str:
        tag, rest = match.groups()
        return f"<{tag} hidden {rest.rstrip('/')}>" if rest and _is_hidden(rest, names) else match.group()

    return _TAG.sub(mark, html)


def _hidden_names(html: str) -> frozenset[str]:
    """Return the `.class` and `#id` selectors that the page's own style sheets hide, outside of media queries."""
    found = set[str]()
    for sheet in _SHEET.findall(html):
        for selectors, body in _RULE.findall(_AT_RULE.sub("", _COMMENT.sub("", sheet))):
            if hides(body):
                found.update(one for one in re.split(r"\s*,\s*", selectors.strip()) if _SIMPLE.fullmatch(one))
    return frozenset(found)


def _is_hidden(attributes: str, names: frozenset[str]) -> bool:
    for name, raw in _ATTRIBUTE.findall(attributes):
        value = unescape(raw.strip("\"'"))
        match name.lower():
            case "style" if hides(value):
                return True
            case "aria-hidden" if value.strip().lower() == "true":
                return True
            case "class" if any(one in _CLASSES or f".{one}" in names for one in value.split()):
                return True
            case "id" if f"#{value.strip()}" in names:
                return True
    return False


def hides(style: str) -> bool:
    """Return whether declarations of a style hide their element, or its text against its background."""
    plain = re.sub(r"\s+|!important", "", _COMMENT.sub("", style).lower())
    color, ground = _COLOR.search(plain), _GROUND.search(plain)
    return _HIDES.search(plain) is not None or bool(color and ground and color[1] == ground[1])
