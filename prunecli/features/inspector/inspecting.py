"""The context inspector without a screen: browse the context of a session in rows, and edit it by hand.

The rows are all unfolded ones, or those that match a filter. Their number per item is computed in steps; a row is
made when it is read. An edit is planned again when it is carried out, because the session may have changed since the
preview.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from itertools import accumulate
from typing import Literal, TypeAlias, overload

from prunecli.context import labels
from prunecli.context.exchange import Entry
from prunecli.context.expectations import Kind
from prunecli.context.impact import Impact, impact
from prunecli.context.labels import Key, tokens_pruned_by
from prunecli.context.manual_edits import Act, Plan, cleared, plan, plan_range, refused
from prunecli.context.outline import Figures, Node, Outline, Row, Turn, WindowMap, undivided, window_map
from prunecli.context.pressure import room
from prunecli.context.spill import kind_of
from prunecli.context.state import Context
from prunecli.context.view import View
from prunecli.model.messages import Usage
from prunecli.runtime.entry_numbers import carry_out
from prunecli.runtime.runtime import Runtime
from prunecli.runtime.toolbox import summaries
from prunecli.util.errors import PrunecliError

AT_A_TIME = 64
"""Items processed per step."""


class Rows(Sequence[Row]):
    """Rows from top to bottom, complete once `in_steps` is exhausted. Rebuilt after a change."""

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self._places: dict[Key, int] = {}

    def in_steps(self) -> Iterator[None]:
        """Build the list in steps."""
        yield from ()

    def done(self) -> "Rows":
        """Complete the listing and return it."""
        deque(self.in_steps(), 0)
        return self

    def _list(self, row: Row) -> None:
        self._places[row.key] = len(self._rows)
        self._rows.append(row)

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> list[Row]: ...
    def __getitem__(self, at: int | slice) -> Row | list[Row]:
        if isinstance(at, slice):
            return [self.row(one) for one in range(*at.indices(len(self)))]
        if not -len(self) <= at < len(self):
            raise IndexError(at)
        return self.row(at % len(self))

    def __len__(self) -> int:
        return len(self._rows)

    def row(self, at: int) -> Row:
        """Return the row at an index, from 0 to before the end."""
        return self._rows[at]

    def place(self, key: Key) -> int | None:
        """Return the index of a node, None if it is not listed."""
        return self._places.get(key)

    def above(self, at: int) -> int:
        """Return the index of the parent of the node at this index; the index itself at the top level."""
        depth = self[at].depth
        return next((one for one in range(at, -1, -1) if self[one].depth < depth), at)

    @property
    def has_folded(self) -> bool:
        """Whether the node has children."""
        return any(row.unfolds and not row.is_open for row in self)


class Listing(Rows):
    """All nodes that are not below a folded one.

    `unfolded` applies to all nodes except those in `turned`. Costs O(items) additions; an exchange's children are
    counted once until it is touched.
    """

    def __init__(self, outline: Outline, turned: Set[Key] = frozenset(), *, unfolded: bool = True) -> None:
        super().__init__()
        self._outline = outline
        self._slots = outline.slots
        self._turns = list(outline.turns)
        self._turned = frozenset(turned)
        self._unfolded = unfolded
        self._starts = [0]
        for row in _preamble(outline):
            self._list(row)

    def _is_open(self, key: Key) -> bool:
        return (key in self._turned) is not self._unfolded

    def in_steps(self) -> Iterator[None]:
        """Add up the number of rows of the items."""
        heights: list[int] = []
        context = self._outline.context
        for turn, exchanges in _parted(self._turns, self._slots):
            heights.append(1)
            if not self._is_open(Key("turn", turn.seq)):
                heights += bytes(len(exchanges))
                exchanges = ()
            for head in exchanges:
                heights.append(1 + len(_memos(context, head)) + self._below(head))
                if not len(heights) % AT_A_TIME:
                    yield
            if not len(heights) % AT_A_TIME:
                yield
        self._starts = list(accumulate(heights, initial=len(self._rows)))

    def _below(self, head: Entry) -> int:
        """Return the current number of rows below an exchange's own row."""
        if not self._is_open(Key("exchange", head.seq)):
            return 0
        known = self._outline.below
        if head.seq not in known:
            known[head.seq] = len(_parts_below(head))
        return known[head.seq]

    def __len__(self) -> int:
        return max(self._starts[-1], len(self._rows))

    def row(self, at: int) -> Row:
        """Return the row at an index, from 0 to before the end."""
        if at < len(self._rows):
            return self._rows[at]
        slot = bisect_right(self._starts, at) - 1
        rows = self._rows_at(slot)
        return rows[min(at - self._starts[slot], len(rows) - 1)]  # the log may have grown since

    def _rows_at(self, slot: int) -> list[Row]:
        """Return the rows of an item, if nothing above it is folded."""
        turn, head = self._turn_at(slot), self._slots[slot]
        if slot == turn.start or head is None:
            key = Key("turn", turn.seq)
            unfolds = bool(turn.children)
            return [Row(0, key, unfolds, unfolds and self._is_open(key))]
        return rows_of(self._outline.context, head, is_open=self._is_open(Key("exchange", head.seq)))

    def _turn_at(self, slot: int) -> Turn:
        return self._turns[bisect_right(self._turns, slot, key=lambda turn: turn.start) - 1]

    def place(self, key: Key) -> int | None:
        """Return the index of a node, None if it is not listed."""
        if key.kind != "turn" and key.seq < 0:
            return super().place(key)
        slot = 0 if key.seq < 0 else self._outline.place(key.seq)
        if slot is None or slot >= len(self._starts) - 1 or self._slots is not self._outline.slots:
            return None
        begin, end = self._starts[slot : slot + 2]
        rows = self._rows_at(slot)[: end - begin]
        return next((begin + at for at, row in enumerate(rows) if row.key == key), None)

    def above(self, at: int) -> int:
        """Return the index of the parent of the node at this index; the index itself at the top level."""
        if self[at].depth != 1:
            return super().above(at)
        return self._starts[self._turn_at(bisect_right(self._starts, at) - 1).start]

    @property
    def has_folded(self) -> bool:
        """Whether the node has children."""
        if self._unfolded:
            places = [place for key in self._turned if (place := self.place(key)) is not None]
            return any(self.row(place).unfolds for place in places)
        return super().has_folded


class Found(Rows):
    """The nodes whose label, tool or state contains these words (any case), and their ancestors.

    Reading the texts costs O(items) once; after a change only touched items are read again.
    """

    def __init__(self, outline: Outline, words: str) -> None:
        super().__init__()
        self._outline = outline
        self._wanted = words.lower()

    def in_steps(self) -> Iterator[None]:
        """Find the matches in steps."""
        outline, seen = self._outline, 0
        for row in _preamble(outline):
            if self._wanted in text_of(outline, row.key):
                self._list(row)
        for turn, exchanges in _parted(list(outline.turns), outline.slots):
            key = Key("turn", turn.seq)
            unfolds = bool(turn.children)
            above = [Row(0, key, unfolds, unfolds)]
            if self._wanted in text_of(outline, key):
                self._list(above.pop())
            for head in exchanges:
                for row in self._found_at(head):
                    while above:
                        self._list(above.pop())
                    self._list(row)
                seen += 1
                if not seen % (AT_A_TIME // 4):
                    yield
            yield

    def _found_at(self, head: Entry) -> list[Row]:
        """Return the matching nodes of an exchange, with its own row."""
        outline = self._outline
        texts = outline.texts.get(head.seq)
        if texts is None:
            rows = rows_of(outline.context, head, is_open=True)
            texts = outline.texts[head.seq] = "\n".join([text_of(outline, row.key) for row in rows])
        if self._wanted not in texts:
            return []
        rows = rows_of(outline.context, head, is_open=True)
        found = [self._wanted in text for text in texts.split("\n")]
        below = any(one and row.depth == 2 for one, row in zip(found, rows, strict=False))
        return [
            row
            for one, row in zip(found, rows, strict=False)
            if one or (below and row.key.kind == "exchange")
        ]

    @property
    def has_folded(self) -> bool:
        """False: nothing is folded, every match is shown."""
        return False


def _preamble(outline: Outline) -> list[Row]:
    return [Row(0, key, unfolds=False, is_open=False) for key, _ in outline.preamble]


def _parted(turns: Sequence[Turn], slots: Sequence[Entry | None]) -> Iterator[tuple[Turn, Sequence[Entry]]]:
    """Yield the turns, each with the children it had when the list was made."""
    ends = [*(turn.start for turn in turns[1:]), len(slots)]
    for turn, end in zip(turns, ends, strict=False):
        yield turn, [head for head in slots[turn.start + 1 : end] if head is not None]


def _memos(context: Context, head: Entry) -> list[int]:
    """Return the prunes whose memos precede an exchange."""
    found = context.memos_of(head.seq)
    return list(dict.fromkeys(prun for prun, edit in found if context.in_force(prun, edit))) if found else []


def _parts_below(head: Entry) -> list[Key]:
    """Return the children of an exchange: its parts and results, if there is more than one."""
    exchange = head.exchange
    parts = labels.parts_of(head)
    if exchange is None or (not exchange.calls and len(parts) <= 1):
        return []
    return [*parts, *(Key("result", result.seq) for result in exchange.results)]


def rows_of(context: Context, head: Entry, *, is_open: bool) -> list[Row]:
    """Return the rows of an attachment or an exchange: memos before it, its own row, and its parts if unfolded."""
    below, key = _parts_below(head), Key("exchange" if head.exchange else "prompt", head.seq)
    return [
        *(
            Row(1, Key("memo", head.seq, prun), unfolds=False, is_open=False)
            for prun in _memos(context, head)
        ),
        Row(1, key, bool(below), is_open and bool(below)),
        *(Row(2, part, unfolds=False, is_open=False) for part in (below if is_open else ())),
    ]


def text_of(outline: Outline, key: Key) -> str:
    """Return the text a filter searches: number, label and state, in lower case."""
    text = f"{key.seq} {outline.label(key)} {labels.state(outline.context, key)}"
    return text.replace("\n", " ").lower()


Order: TypeAlias = Literal["prunable", "order", "tokens", "size", "age", "carried"]
ORDERS: tuple[Order, ...] = ("order", "tokens", "size", "age", "carried")
"""The sort orders of all entries: log order, current tokens, original size, age or carry cost. The order "prunable"
is the first view."""
MOST_PRUNABLE = 10
"""Rows of the first view: one for each digit."""


class Ranked(Rows):
    """The leaf nodes that match a filter, largest first. Costs O(nodes) figures."""

    def __init__(self, outline: Outline, by: Order, words: str = "") -> None:
        super().__init__()
        self._outline = outline
        self._by: Order = by
        self._wanted = words.lower()

    def in_steps(self) -> Iterator[None]:
        """Compute the figures in steps, then sort."""
        ranked: list[tuple[tuple[int, int], Key]] = []
        for key in self._leaves():
            if not self._wanted or self._wanted in text_of(self._outline, key):
                figures = self._outline.figures(key)
                ranked.append(((_value(figures, self._by), figures.tokens), key))
            if not len(ranked) % AT_A_TIME:
                yield
        ranked.sort(key=lambda one: one[0], reverse=True)
        for _, key in ranked:
            self._list(Row(0, key, unfolds=False, is_open=False))

    def _leaves(self) -> Iterator[Key]:
        outline = self._outline
        yield from (key for key, _ in outline.preamble)
        for item in list(outline.slots):
            if item is None:
                continue
            if item.exchange is None:
                yield Key("prompt", item.seq)
                continue
            rows = rows_of(outline.context, item, is_open=True)
            has_parts = any(row.depth == 2 for row in rows)
            yield from (row.key for row in rows if not (has_parts and row.key.kind == "exchange"))

    @property
    def has_folded(self) -> bool:
        """False: a flat list has nothing to unfold."""
        return False


def _value(figures: Figures, by: Order) -> int:
    match by:
        case "size":
            return figures.original
        case "age":
            return figures.age
        case "carried":
            return figures.carried
        case _:
            return figures.tokens


class Prunable(Rows):
    """The ten largest results that a person can prune and no pin protects. Costs O(entries)."""

    def __init__(self, view: View) -> None:
        super().__init__()
        self._view = view

    def in_steps(self) -> Iterator[None]:
        """Compute the tokens in steps, then list the largest."""
        view, context = self._view, self._view.context
        found: list[tuple[int, Entry]] = []
        for at, item in enumerate(list(context.items)):
            parts = item.exchange.results if item.exchange else [item]
            for entry in parts:
                if entry.prunable and view.locked(entry) != "pinned":
                    amount = context.counts.amount(entry, context.text_edit(entry.seq))
                    found.append((context.counts.scale.tokens(*amount), entry))
            if not at % AT_A_TIME:
                yield
        for _, entry in sorted(found, key=lambda one: one[0], reverse=True):
            if cleared(view, entry)[1] is not None:
                self._list(Row(0, _key(entry), unfolds=False, is_open=False))
                if len(self) == MOST_PRUNABLE:
                    break


def _key(entry: Entry) -> Key:
    return Key("result" if entry.exchange else "prompt", entry.seq)


class Inspecting:
    """The map and the tree of the current session. `refresh` follows its log."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.since: Key | None = None
        """The start of the marked range of entries, None without one."""
        self._follow()

    def _follow(self) -> None:
        runtime = self._runtime
        session, tools = runtime.session, runtime.tools
        self._session = session
        self.outline = Outline(
            session.context,
            session.records,
            summaries(tools, runtime.setup.cwd),
        )
        self._look()

    def _look(self) -> None:
        policy = self._runtime.policy
        self.ledger = policy.ledger(self._session.context)
        ledger = self.ledger
        whole = undivided(self.outline, policy.window, ledger.pruned_tokens, ledger.held_tokens)
        self.map: WindowMap = replace(whole, limit=policy.limit)
        if self.outline.is_measured:
            self._draw_map()

    def _draw_map(self) -> None:
        policy = self._runtime.policy
        reserve = policy.window - room(policy.window, policy.max_tokens)
        pruned, held = self.ledger.pruned_tokens, self.ledger.held_tokens
        parts = window_map(self.outline, policy.window, reserve, pruned, held)
        self.map = replace(parts, limit=policy.limit)

    def measuring(self) -> Iterator[None]:
        """Compute the map and the cache state, in small steps."""
        yield from self.outline.measuring()
        self._draw_map()

    @property
    def is_measured(self) -> bool:
        """Whether the computation is complete, so that every query is fast."""
        return self.outline.is_measured

    def refresh(self) -> bool:
        """Update to the end of the log; return whether anything changed."""
        if self._session is not self._runtime.session or self.outline.context is not self._session.context:
            self._follow()
            return True
        if not self.outline.take(self._session.records):
            return False
        self._look()
        return True

    def node(self, key: Key) -> Node | None:
        """Return the node of a key; None if the node is gone. The agent may have worked since the rows were laid
        out."""
        try:
            return self.outline.node(key)
        except KeyError:
            return None

    def why(self, key: Key) -> str:
        """Return why the strategies in effect keep a live result; "" if they would prune it, and for other nodes."""
        return self.ledger.spared.get(key.seq, "") if key.kind in ("result", "turn", "prompt") else ""

    def prunable(self) -> Prunable:
        return Prunable(self._runtime.policy.view(self._session.context))

    @property
    def has_pruned(self) -> bool:
        """Whether sizes differ from tokens: something is pruned or shortened."""
        return bool(self.ledger.pruned_tokens or self.ledger.held_tokens)

    def cost(self, node: Node) -> float | None:
        """Return what a node has cost since it came, in USD: stored once, and read by each request after the first.

        None without a price of the session's last model.
        """
        used, model = max(1, self.map.used), self._session.context.last_model or self._runtime.model_name
        once, price = min(node.carried, node.original), self._runtime.choices.known_price
        written = price(model, Usage(cache_creation_input_tokens=used))  # long prompts have other prices
        read = price(model, Usage(cache_read_input_tokens=used))
        if written is None or read is None:
            return None
        return (once * written + (node.carried - once) * read) / used

    def above(self, key: Key) -> list[Key]:
        place = self.outline.place(key.seq) if key.seq >= 0 else None
        turn = None if place is None else self.outline.turn_at(place)
        if turn is None or turn.seq == key.seq:
            return []
        home = self.outline.context.entries[key.seq].exchange
        return [Key("turn", turn.seq), *([Key("exchange", home.seq)] if home else [])]

    def path(self, key: Key) -> list[Key]:
        """Return the path to a row of a sorted list in the tree: its ancestors, then its node."""
        above = self.above(key)
        return [*above, Key("turn", key.seq) if key.kind == "prompt" and not above else key]

    def span(self, key: Key) -> tuple[int, int] | None:
        """Return the first and last entry from the start of the range to this node; None without a range."""
        if self.since is None:
            return None
        ends = [seq for one in (self.since, key) for seq in self._ends(one)]
        return min(ends), max(ends)

    def _ends(self, key: Key) -> tuple[int, int]:
        """Return the first and last entry of a node."""
        if key.kind == "turn":
            return key.seq, max((item.seq for item in self.outline.turn(key.seq).items), default=key.seq)
        entry = self._session.context.entries.get(key.seq)
        whole = entry.exchange if entry and entry.kind == "assistant" else None
        return key.seq, whole.last_seq if whole else key.seq

    def plan(self, act: Act, key: Key, memo: str = "") -> Plan:
        if act != "undo" and self.node(key) is None:
            return refused("this entry is gone")
        if (why := self._session.read_only) and (act == "restore" or not self._session.edit_there):
            return refused(why)
        if (span := self.span(key)) and act in ("prune", "memo"):
            seqs = [seq for seq in self._session.context.entries if span[0] <= seq <= span[1]]
            words = memo or ("(your words)" if act == "memo" else "")
            return plan_range(self._runtime.policy.view(self._session.context), seqs, words)
        return plan(self._runtime.policy.view(self._session.context), self.outline, act, key, memo)

    def impact(self, planned: Plan) -> Impact:
        return impact(self._session.context, planned.events, self._runtime.policy.market)

    def withheld_since(self, begun: int) -> int:
        """Return the tokens that the prunes and undos from this record on withhold, as they are shown everywhere."""
        session = self._session
        return sum(tokens_pruned_by(session.context, record.seq) or 0 for record in session.records[begun:])

    def higher_cap(self, key: Key) -> tuple[Kind, int] | str:
        """Return the kind of a shortened result and the double of its cap, or why there is none."""
        entry = self._session.context.entries.get(key.seq)
        if entry is None or entry.spilled is None or entry.call is None:
            return "Only for a result of which a part was sent"
        kind = kind_of(entry.call, entry.touches)
        cap = self._runtime.choices.caps.of(kind) if kind else 0
        return (kind, 2 * cap) if kind and cap else "Results of this kind are already sent whole"

    def set_cap(self, kind: Kind, cap: int) -> None:
        """Set the cap on further results of a kind for this session, as `/prune-config` does."""
        self._runtime.use_config(self._runtime.config.with_value(f"spill.{kind}", str(cap)))

    def tried(self, act: Act, key: Key, memo: str = "") -> str:
        """Carry an act out; return why it could not be recorded, "" if it was."""
        try:
            self.carry_out(act, key, memo)
        except PrunecliError as error:
            return f"{error.message} {error.hint}".strip()
        return ""

    def carry_out(self, act: Act, key: Key, memo: str = "") -> Plan:
        """Plan the edit again and record it; a plan without events does nothing. Raises StorageFailed,
        SessionTooNew."""
        planned = self.plan(act, key, memo)
        carry_out(self._runtime, planned.events)
        self.since = None
        self.refresh()
        return planned
