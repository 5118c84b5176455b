"""Fits a line to a width by shortening its pieces, least important first. No word is ever cut."""

from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len
from textual.content import Content

GAP = " · "


class Piece(NamedTuple):
    """A piece of a line.

    `forms` are ordered from longest to shortest; "" omits the piece. The piece with the lowest weight shrinks first.
    Once all are at their shortest, the piece with the lowest weight is dropped first. `glue` precedes the piece
    unless it is the first.
    """

    forms: tuple[str, ...]
    style: str = ""
    weight: int = 0
    glue: str = GAP


def fitted(left: Sequence[Piece], right: Sequence[Piece], width: int) -> Content:
    """Build a line of exactly this width, with the right pieces at its end."""
    chosen = [0] * (len(left) + len(right))
    pieces = [*left, *right]
    while _width(left, right, chosen) > width:
        able = [at for at, piece in enumerate(pieces) if chosen[at] + 1 < len(piece.forms)]
        able = able or [at for at, piece in enumerate(pieces) if chosen[at] < len(piece.forms)]
        if not able:
            break
        chosen[min(able, key=lambda at: pieces[at].weight)] += 1
    start = _side(left, chosen[: len(left)])
    end = _side(right, chosen[len(left) :])
    gap = max(0, width - start.cell_length - end.cell_length)
    return Content.assemble(start, " " * gap, end)


def last_keys(keys: str, width: int) -> str:
    """Return a line of keys without the first ones that do not fit. The last one, which closes, always stays."""
    while cell_len(keys) > width and GAP in keys:
        keys = keys.partition(GAP)[2]
    return keys


def _width(left: Sequence[Piece], right: Sequence[Piece], chosen: Sequence[int]) -> int:
    sides = (left, chosen[: len(left)]), (right, chosen[len(left) :])
    texts = ["".join(text for text, _ in _texts(pieces, forms)) for pieces, forms in sides]
    return sum(map(cell_len, texts)) + (1 if all(texts) else 0)


def _texts(pieces: Sequence[Piece], chosen: Sequence[int]) -> list[tuple[str, str]]:
    texts: list[tuple[str, str]] = []
    for piece, form in zip(pieces, chosen, strict=True):
        if text := "".join(piece.forms[form : form + 1]):
            if texts:
                texts.append((piece.glue, "$muted"))
            texts.append((text, piece.style))
    return texts


def _side(pieces: Sequence[Piece], chosen: Sequence[int]) -> Content:
    return Content.assemble(*_texts(pieces, chosen))
