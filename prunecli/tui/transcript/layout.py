"""The blocks, their heights and their rows, which are made on demand and kept while useful."""

from collections import OrderedDict
from collections.abc import Sequence

from prunecli.tui.transcript.heights import Heights
from prunecli.tui.transcript.highlight import CodeText
from prunecli.tui.transcript.items import Block
from prunecli.tui.transcript.markdown import Sheet
from prunecli.tui.transcript.palette import Inks
from prunecli.tui.transcript.parts import ChunkPart, Part
from prunecli.tui.transcript.rows import Row

KEPT_BLOCKS = 160
"""Maximum off-screen blocks whose rows are kept: several screens, but little work for the garbage collector."""
KEPT_CODE = 16
"""Maximum long fences whose lexed lines are kept."""
MEASURE = 110
"""Maximum width of prose. Code, tables and tool lines may be as wide as the content, WIDEST."""
WIDEST = 120
"""Maximum width of the content: on a wider screen, figures still stand beside what they belong to."""


class Layout:
    def __init__(self, inks: Inks) -> None:
        self.sheet = Sheet(80, MEASURE, inks)
        self.heights: Heights[Block] = Heights()
        self.rough: set[CodeText] = set()
        """Long fences with roughly colored pieces; `refine` lexes them as a whole."""
        self._generation = 0
        self._laid_out: OrderedDict[Block, None] = OrderedDict()
        self._lexed: OrderedDict[CodeText, None] = OrderedDict()

    def add(self, block: Block, above: Block | None = None) -> None:
        self._guess(block)
        if above is None:
            self.heights.append(block)
        else:
            self.heights.insert_after(above, block)

    def add_above(self, blocks: Sequence[Block]) -> None:
        for block in blocks:
            self._guess(block)
        self.heights.prepend(blocks)

    def remove(self, block: Block) -> None:
        self._laid_out.pop(block, None)
        self.heights.remove(block)

    def set_part(self, block: Block, part: Part, gap: bool) -> None:
        block.part, block.gap = part, gap
        self.invalidate(block)
        height = part.guess(self.sheet.width)
        self.heights.resize(block, height + gap if height else 0)

    def set_gap(self, block: Block, gap: bool) -> None:
        if gap != block.gap:
            block.gap = gap
            self.invalidate(block)
            if block.height:
                self.heights.resize(block, block.height + (1 if gap else -1))

    def invalidate(self, block: Block) -> None:
        """Drop a block's rows; its height is a guess until it is visible."""
        block.rows = None
        self._laid_out.pop(block, None)

    def _guess(self, block: Block) -> None:
        height = block.part.guess(self.sheet.width)
        block.height = height + block.gap if height else 0

    def rows(self, block: Block) -> list[Row]:
        """Return a block's rows, including the gap above it. This makes its height exact."""
        part, rows = block.part, block.rows
        if rows is not None and block.generation == self._generation and block.version == part.version:
            self._laid_out.move_to_end(block)
            return rows
        rows = part.rows(self.sheet)
        if rows and block.gap:
            rows.insert(0, part.gap_row(self.sheet))
        place = 0
        for number, row in enumerate(rows):
            if number:
                place += 1 if row.join is None else len(row.join)
            row.place = place
            place += len(row.text) - row.gutter
        block.rows, block.generation, block.version = rows, self._generation, part.version
        self.heights.resize(block, len(rows))
        self._laid_out[block] = None
        if len(self._laid_out) > KEPT_BLOCKS:
            self._laid_out.popitem(last=False)[0].rows = None
        if isinstance(part, ChunkPart) and isinstance(part.chunk.shared, CodeText):
            self._keep_lexed(part.chunk.shared)
        return rows

    def _keep_lexed(self, code: CodeText) -> None:
        if not code.closed or len(code.pieces) < 2:
            return
        if code.rough:
            self.rough.add(code)
        self._lexed[code] = None
        self._lexed.move_to_end(code)
        if len(self._lexed) > KEPT_CODE:
            old = self._lexed.popitem(last=False)[0]
            old.forget()
            self.rough.discard(old)

    def refine(self, budget: int) -> bool:
        """Lex about `budget` characters of roughly colored code; return True if some of it improved."""
        better = False
        for code in list(self.rough):
            if code.refine(budget):
                self.rough.discard(code)
                better = True
        return better

    def resize(self, width: int) -> None:
        """Lay out everything for another width; all heights become guesses."""
        self.sheet = self.sheet._replace(width=max(1, width))
        for block in self.heights:
            self._guess(block)
        self.heights.recount()
        self._forget_rows()

    def repaint(self, inks: Inks) -> None:
        """Lay out everything in other colors; heights stay the same."""
        self.sheet = self.sheet._replace(inks=inks)
        self._forget_rows()

    def _forget_rows(self) -> None:
        self._generation += 1
        for block in self._laid_out:
            block.rows = None
        self._laid_out.clear()

    def clear(self) -> None:
        self.heights = Heights()
        self.rough.clear()
        self._laid_out.clear()
        self._lexed.clear()
