"""Chunks of a Markdown text, and the state shared by the chunks of one fence or table."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from prunecli.tui.transcript.highlight import CodeText


class Kind(StrEnum):
    PROSE = "prose"
    HEADING = "heading"
    CODE = "code"
    TABLE = "table"


@dataclass(slots=True)
class TableShape:
    """State shared by the pieces of a table: the source of its head, and column widths that only grow.

    `version` counts the growth, so that earlier pieces can be laid out again.
    """

    head: str
    widths: list[int] = field(default_factory=list)
    version: int = 0


class Chunk(NamedTuple):
    """A piece of Markdown that is laid out on its own.

    `gap`: an empty row precedes the chunk. `indent` is the indentation of its list item, in cells. If a line or
    paragraph was cut, `join` is inserted between the chunk above and this one when copied, else it is None. For code,
    `text` lacks the fence and `part` is the index in `shared`, -1 while the chunk grows. For a table, the first part
    contains the head.
    """

    kind: Kind
    text: str
    gap: bool = False
    indent: int = 0
    join: str | None = None
    part: int = 0
    shared: CodeText | TableShape | None = None
