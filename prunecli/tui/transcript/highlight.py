"""Code highlighting with Pygments. Code is lexed only as far as it is visible.

Pygments is imported at first use (`startup.warm` does that early, in a thread).
"""

import time
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from rich.style import Style

from prunecli.tui.transcript.palette import Inks
from prunecli.tui.transcript.rows import Run, Written
from prunecli.util.lexing import is_lexable, lexer

LEX_SECONDS = 0.2
"""Maximum seconds to lex one text. Some lexers take quadratic time on hostile input, which then stays plain."""
REFINE_SECONDS = 2.0
"""Maximum seconds to lex one fence."""


@lru_cache(maxsize=8)
def _style_cache(inks: Inks) -> dict[Any, Style]:
    """Return the cache of styles by token type for `inks`, so that a lookup need not hash all of `inks`."""
    return {None: inks.code}


def _ink(token_type: Any, inks: Inks, cache: dict[Any, Style]) -> Style:
    style = cache.get(token_type)
    if style is None:
        name = str(token_type)[6:]  # "Token.Name.Function"
        style = next((ink for prefix, ink in inks.syntax if name.startswith(prefix)), inks.code)
        cache[token_type] = style
    return style


class LineLexer:
    """The highlighted lines of the text, made on demand.

    `lines` contains the finished lines, followed by the line in progress.
    """

    def __init__(self, code: str, language: str, inks: Inks) -> None:
        self._inks = inks
        self._cache = _style_cache(inks)
        self.lines: list[list[Run]] = [[]]
        self.done = False
        self._position = 0
        found = lexer(language) if is_lexable(code) else None
        self._tokens: Iterator[tuple[int, Any, str]] = (
            iter(((0, None, code),)) if found is None else found.get_tokens_unprocessed(code)
        )

    def advance(self, lines: int, budget: int, seconds: float = LEX_SECONDS) -> bool:
        """Lex until this many lines are finished; return False if the limit of characters or time was reached."""
        stop, deadline = self._position + budget, time.perf_counter() + seconds
        while len(self.lines) <= lines and not self.done:
            if self._position >= stop or time.perf_counter() > deadline:
                return False
            token = next(self._tokens, None)
            if token is None:
                self.done = True
            else:
                self._position = token[0] + len(token[2])
                self._add(token[2], _ink(token[1], self._inks, self._cache))
        return True

    def _add(self, text: str, style: Style) -> None:
        first, *more = text.split("\n")
        if first:
            line = self.lines[-1]
            # A combining mark or selector belongs to the character before it, even if the lexer separates them.
            if line and (line[-1][1] is style or first[0] in "\u200d\ufe0f"):
                line[-1] = (line[-1][0] + first, line[-1][1])
            else:
                line.append((first, style))
        for part in more:
            self.lines.append([(part, style)] if part else [])


def highlight(code: str, language: str, inks: Inks, seconds: float = LEX_SECONDS) -> list[list[Run]]:
    """Return the lines of the text as runs; plain for an unknown language, a very long line or a slow lexer."""
    lexing = LineLexer(code, language, inks)
    lexing.advance(code.count("\n") + 2, len(code) + 1, seconds)
    if sum([sum([len(text) for text, _ in line]) + 1 for line in lexing.lines]) != len(code) + 1:
        return _plain(code, inks)  # text that the lexer drops must still be shown
    return lexing.lines


def _plain(code: str, inks: Inks) -> list[list[Run]]:
    return [[(line, inks.code)] if line else [] for line in code.split("\n")]


class CodeText:
    """Code laid out in pieces but lexed as one text, so that a string across a cut keeps its color.

    While the text grows, each piece is lexed alone. `budget` limits the characters that one call lexes ahead. Beyond
    that, pieces are lexed alone and `rough` is set until `refine` reaches them. `version` changes when earlier pieces
    can be colored better. `written` is the surrounding fence, if any.
    """

    def __init__(self, language: str, written: Written | None = None) -> None:
        self.language = language
        self.written = written
        self.pieces: list[str] = []
        self.closed = False
        self.rough = False
        self.version = 0
        self._spent = 0.0
        self._slow = False
        self._starts: list[int] = []
        self._whole: LineLexer | None = None
        self._inks: Inks | None = None

    def add(self, piece: str) -> int:
        """Add a finished piece (whole lines, no trailing line feed) and return its index."""
        last = self._starts[-1] + self.pieces[-1].count("\n") + 1 if self.pieces else 0
        self._starts.append(last)
        self.pieces.append(piece)
        return len(self.pieces) - 1

    def close(self) -> None:
        self.closed = True
        self.version += len(self.pieces) > 1

    def lines(self, number: int, inks: Inks, budget: int) -> Sequence[list[Run]]:
        piece = self.pieces[number]
        if not self.closed or len(self.pieces) == 1 or self._slow:
            return self.alone(piece, inks)
        start = self._starts[number]
        end = start + piece.count("\n") + 1
        whole = self._lexer(inks)
        if whole.advance(end, budget):
            return whole.lines[start:end]
        self.rough = True
        return self.alone(piece, inks)

    def alone(self, piece: str, inks: Inks) -> list[list[Run]]:
        """Return the lines of a piece lexed on its own."""
        start = time.perf_counter()
        lines = _plain(piece, inks) if self._slow else highlight(piece, self.language, inks)
        self._slow = self._slow or time.perf_counter() - start > LEX_SECONDS
        return lines

    def refine(self, budget: int) -> bool:
        """Lex about `budget` more characters; return True when done, so that rough pieces can be laid out again."""
        start = time.perf_counter()
        if self._whole is None or self._whole.advance(1 << 60, budget):
            self.version += self.rough
            self.rough = False
            return True
        self._spent += time.perf_counter() - start
        if self._spent > REFINE_SECONDS:
            self._slow = True
            self.forget()
            return True
        return False

    def forget(self) -> None:
        self._whole = None
        self.rough = False

    def _lexer(self, inks: Inks) -> LineLexer:
        if self._whole is None or self._inks is not inks:
            self._whole = LineLexer("\n".join(self.pieces), self.language, inks)
            self._inks = inks
        return self._whole
