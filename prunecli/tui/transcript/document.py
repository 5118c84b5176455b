"""The contents of the transcript: entries cut into blocks, added, streamed, folded and replaced.

Independent of the screen; `viewport` decides what is visible.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from prunecli.front.presentation.entries import Assistant, Entry, Key, Prompt, Thinking, ToolCall
from prunecli.tui.transcript.chunks import Chunk
from prunecli.tui.transcript.items import (
    NOTHING,
    TAIL,
    Block,
    Item,
    Pulse,
    Stream,
    below_gap,
    first_parts,
    starts_folded,
)
from prunecli.tui.transcript.layout import Layout
from prunecli.tui.transcript.palette import Inks
from prunecli.tui.transcript.parts import ChunkPart, Part, TextPart

ROOM = 1 << 32
"""The number of keys reserved for entries above, since the end of a session is shown before its beginning is read."""

FLUSH_CHARS = 16_000
"""Maximum streamed characters that one flush lays out: about 3 ms of work."""


class Document:
    """The entries and their blocks. `clock` returns increasing milliseconds, used to time running calls."""

    def __init__(self, inks: Inks, clock: Callable[[], float]) -> None:
        self.layout = Layout(inks)
        self.next_key = 0
        self.prompts: list[Key] = []
        self._clock = clock
        self._items: dict[Key, Item] = {}
        self._running: set[Key] = set()
        self._fed: set[Key] = set()

    # -- entries

    def append(self, entry: Entry) -> Key:
        key = Key(self.next_key)
        self.next_key += 1
        item = Item(key, entry, starts_folded(entry))
        self._items[key] = item
        if isinstance(entry, Prompt):
            self.prompts.append(key)
        elif isinstance(entry, Assistant | Thinking) and entry.streaming:
            item.stream, item.chunks = Stream(), []
            item.references = item.stream.splitter.references
            item.entry = replace(entry, text="")
            if entry.text:
                self.feed(key, entry.text)
        self._begin_pulse(item)
        self._make_blocks(item)
        for block in item.blocks:
            self.layout.add(block)
        return key

    def keep_room(self) -> None:
        """Reserve keys for entries to be added above. Call it only while there is no entry."""
        self.next_key += ROOM

    def prepend(self, entries: Sequence[Entry]) -> list[Key]:
        """Add entries at the top, in reserved keys. None of them may be streaming or running."""
        top = self.next_key - self.count
        items = [
            Item(Key(key), entry, starts_folded(entry))
            for key, entry in enumerate(entries, top - len(entries))
        ]
        for item in items:
            self._items[item.key] = item
            self._make_blocks(item)
        self.prompts[:0] = [item.key for item in items if isinstance(item.entry, Prompt)]
        self.layout.add_above([block for item in items for block in item.blocks])
        below = self.item(top)
        if below:
            self.layout.set_gap(below.blocks[0], self._gap(below))
        return [item.key for item in items]

    def _make_blocks(self, item: Item) -> None:
        for number, part in first_parts(item):
            block = Block(item, part, number)
            if not item.blocks:
                block.gap = self._gap(item)
            item.blocks.append(block)

    def _begin_pulse(self, item: Item) -> None:
        if item.running and item.pulse is None:
            item.pulse = Pulse(self._clock())
            self._running.add(item.key)

    def item(self, key: int) -> Item | None:
        """Return the item for a key; None if it was cleared."""
        return self._items.get(Key(key))

    @property
    def count(self) -> int:
        """The number of entries; their keys are the last ones before `next_key`."""
        return len(self._items)

    def block_at(self, point: int) -> Block | None:
        item = self.item(point >> 64)
        number = point >> 32 & 0xFFFF_FFFF
        if item is None:
            return None
        for block in item.blocks:
            if block.number >= number:
                return block
        below = self.item(item.key + 1)
        return below.blocks[0] if below else None

    def items(self, start: int, step: int = 1) -> Iterator[Item]:
        while (item := self.item(start)) is not None:
            yield item
            start += step

    def replace(self, key: Key, entry: Entry) -> None:
        """Replace an entry; ignored if it was cleared.

        A fold chosen by the user stays. If both values are streaming, the streamed text stays and the new `text` is
        ignored.
        """
        item = self.item(key)
        if item is None:
            return
        if item.stream and isinstance(entry, Assistant | Thinking) and entry.streaming:
            item.entry = replace(entry, text="")
            self.layout.invalidate(item.blocks[0])
            return
        item.entry, item.stream, item.chunks, item.references = entry, None, None, None
        self._fed.discard(key)
        if not item.chosen:
            item.folded = starts_folded(entry)
        if item.running:
            self._begin_pulse(item)
        else:
            self._running.discard(key)
            item.pulse = None
        self._rebuild(item)

    def fold(self, item: Item, folded: bool) -> None:
        if item.can_fold and item.folded != folded:
            item.folded, item.chosen = folded, True
            self._rebuild(item)

    def clear(self) -> None:
        self.layout.clear()
        for forgotten in (self._items, self.prompts, self._running, self._fed):
            forgotten.clear()

    # -- streaming

    def feed(self, key: Key, delta: str) -> None:
        """Append text to a streaming entry; `flush` will lay it out. Ignored for other entries."""
        item = self.item(key)
        if item and item.stream:
            item.stream.pending.append(delta)
            self._fed.add(key)

    def flush(self) -> bool:
        """Lay out fed text, or only a part if there is a lot (see `waiting`). Return False if there was none."""
        fed = list(self._fed)
        for key in fed:
            item = self._items[key]
            if item.stream:
                self._flush(item, item.stream)
            if item.stream is None or not item.stream.pending:
                self._fed.discard(key)
        return bool(fed)

    @property
    def waiting(self) -> bool:
        return bool(self._fed)

    def _flush(self, item: Item, stream: Stream) -> None:
        text = "".join(stream.pending)
        stream.pending = [text[FLUSH_CHARS:]] if len(text) > FLUSH_CHARS else []
        done = stream.splitter.feed(text[:FLUSH_CHARS])
        self._merge(item, stream, done, stream.splitter.tail())
        if stream.ended and not stream.pending:
            self._finish(item, stream)

    def finish(self, key: Key) -> None:
        """Complete the text of a streaming entry.

        Ignored for other entries. If much text is not laid out yet, later calls to `flush` lay it out.
        """
        item = self.item(key)
        if item and item.stream:
            item.stream.ended = True
            self._fed.add(key)
            self.flush()

    def _finish(self, item: Item, stream: Stream) -> None:
        self._merge(item, stream, stream.splitter.close(), None)
        last = item.blocks[-1]
        if len(item.blocks) > 1 and isinstance(last.part, ChunkPart) and not last.part.source:
            item.blocks.pop()
            self.layout.remove(last)
        self._running.discard(item.key)
        if isinstance(item.entry, Assistant):
            item.entry = replace(item.entry, streaming=False)
        elif isinstance(item.entry, Thinking):
            item.entry = replace(item.entry, streaming=False)
            self.layout.invalidate(item.blocks[0])
        item.stream = item.pulse = None

    def _merge(self, item: Item, stream: Stream, done: list[Chunk], tail: Chunk | None) -> None:
        """Turn closed chunks into final blocks; only the last block may still change."""
        references = stream.splitter.references
        thought = isinstance(item.entry, Thinking)
        if thought:
            item.chunks = item.chunks if item.chunks is not None else []
            item.chunks += done
            self.layout.invalidate(item.blocks[0])
        if not (thought and item.folded):
            last = item.blocks[-1]
            for chunk in done:
                self._set_part(last, ChunkPart(chunk, references, thought, thought))
                last = self._insert(item, ChunkPart(NOTHING, references, thought, thought), last.number + 1)
            self._set_part(last, ChunkPart(tail or NOTHING, references, thought, thought))
        if len(references) != stream.references:
            stream.references = len(references)
            for block in item.blocks:
                if "]" in block.part.source:
                    self.layout.invalidate(block)

    # -- running entries

    def set_tail(self, key: Key, lines: Iterable[str]) -> None:
        """Set the last lines of a running tool. Ignored if it is not running."""
        item = self.item(key)
        if item is None or item.pulse is None or not isinstance(item.entry, ToolCall):
            return
        item.pulse.tail = tuple(lines)
        last = item.blocks[-1]
        if last.number == TAIL and item.pulse.tail:
            self._set_part(last, TextPart("\n".join(item.pulse.tail)))
        else:
            self._rebuild(item)

    def tick(self) -> bool:
        """Advance the spinners and clocks of all running entries; return False if there are none."""
        for key in self._running:
            item = self._items[key]
            if item.pulse:
                item.pulse.frame += 1
                item.pulse.elapsed_ms = round(self._clock() - item.pulse.started_ms)
                self.layout.invalidate(item.blocks[0])
        return bool(self._running)

    # -- blocks

    def _gap(self, item: Item) -> bool:
        above = self._items.get(Key(item.key - 1))
        return above is not None and below_gap(above, item)

    def _set_part(self, block: Block, part: Part) -> None:
        item = block.item
        self.layout.set_part(block, part, self._gap(item) if block is item.blocks[0] else part.gap)

    def _insert(self, item: Item, part: Part, number: int) -> Block:
        """Insert a block into an item by its number. The item must have a block with a lower number."""
        place = next(i for i in range(len(item.blocks), 0, -1) if item.blocks[i - 1].number < number)
        block, above = Block(item, part, number), item.blocks[place - 1]
        item.blocks.insert(place, block)
        self.layout.add(block, above)
        return block

    def _rebuild(self, item: Item) -> None:
        (number, part), *more = first_parts(item)
        first = item.blocks[0]
        for block in item.blocks[1:]:
            self.layout.remove(block)
        del item.blocks[1:]
        first.number = number
        self._set_part(first, part)
        for number, part in more:
            self._insert(item, part, number)
        below = self.item(item.key + 1)
        if below:
            self.layout.set_gap(below.blocks[0], self._gap(below))
