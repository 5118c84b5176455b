"""The pieces a Markdown text is cut into, and what the pieces of one fence or table share."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from prunecli.tui.transcript.highlight import CodeText


class Kind(StrEnum):
    """How a chunk is laid out."""

    PROSE = "prose"
    HEADING = "heading"
    CODE = "code"
    TABLE = "table"


@dataclass(slots=True)
class TableShape:
    """What the pieces of one table share: the source of its head, and column widths that only grow.

    `version` counts the growth, so that pieces laid out before can be laid out again.
    """

    head: str
    widths: list[int] = field(default_factory=list)
    version: int = 0


class Chunk(NamedTuple):
    """A piece of Markdown that is laid out on its own.

    `gap`: an empty row stands above it. `indent`: cells of the list item around it. `join`: None, or how its
    first row joins the chunk above where one line or paragraph was cut. Of code, `text` is without the fence and
    `part` the number of the piece in `shared`, -1 while it grows; of a table, the first part has the head in it.
    """

    kind: Kind
    text: str
    gap: bool = False
    indent: int = 0
    join: str | None = None
    part: int = 0
    shared: CodeText | TableShape | None = None
