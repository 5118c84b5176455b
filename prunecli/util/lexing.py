"""Finds the Pygments lexer for a language name or a file extension.

Does not use Pygments' own lookup, which searches installed packages for plug-ins when a name is unknown.
"""

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    from pygments import lexers
else:
    lexers = lazy("pygments.lexers")

LONGEST_LINE = 2_000
"""Code with a longer line, in characters, is not highlighted: some lexers hang on it."""

# Extensions that several lexers claim, or no lexer.
_PREFERRED = {
    "c": "c",
    "cfg": "ini",
    "cjs": "javascript",
    "conf": "ini",
    "h": "c",
    "htm": "html",
    "html": "html",
    "inc": "php",
    "jsonl": "json",
    "lock": "",
    "log": "",
    "m": "objective-c",
    "md": "markdown",
    "mjs": "javascript",
    "pl": "perl",
    "py": "python",
    "sql": "sql",
    "toml": "toml",
    "ts": "typescript",
    "tsx": "tsx",
    "txt": "",
}


@cache
def _lexer_names() -> tuple[dict[str, str], dict[str, str]]:
    """Return maps from alias to lexer and from extension to lexer, for the lexers that come with Pygments."""

    aliases: dict[str, str] = {}
    extensions: dict[str, str] = {}
    for _, name, known_as, patterns, _ in lexers.LEXERS.values():
        for alias in known_as:
            aliases.setdefault(alias.lower(), name)
        for pattern in patterns:
            if pattern.startswith("*.") and known_as:
                extensions.setdefault(pattern[2:].lower(), known_as[0])
    return aliases, extensions


def language_of(path: str) -> str:
    name = path.replace("\\", "/").rsplit("/", 1)[-1].lower()
    if name in ("makefile", "dockerfile"):
        return "docker" if name == "dockerfile" else "make"
    extension = name.rsplit(".", 1)[-1] if "." in name else ""
    if extension in _PREFERRED or not extension:
        return _PREFERRED.get(extension, "")
    return _lexer_names()[1].get(extension, "")


@lru_cache(maxsize=64)
def lexer(language: str) -> Any | None:
    if not language or language.lower() not in _lexer_names()[0]:
        return None

    return lexers.get_lexer_by_name(language, stripnl=False, ensurenl=False)


def is_lexable(code: str) -> bool:
    """Return whether every line of the text is short enough to highlight."""
    return len(code) <= LONGEST_LINE or max(map(len, code.split("\n"))) <= LONGEST_LINE
