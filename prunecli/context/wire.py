"""The wire messages that the fold maintains: canonical pieces grouped by role, and their hash chain.

Nothing is laid out before the first read. From then on, appending costs O(1) and makes no bytes, and an edit rebuilds
only the messages that it affects, up to where they are the same again. A group is one message. A user-role group has
the results of at most one exchange first, then other blocks in log order.
"""

import json
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple, Protocol, TypeAlias

from prunecli.context import render
from prunecli.context.exchange import Entry, Exchange
from prunecli.context.inputs import shown_inputs
from prunecli.model.edits import Edit
from prunecli.model.events import AssistantMessage, ToolResult
from prunecli.model.requests import Role, WireMessage, link
from prunecli.model.searches import USE, in_words, is_result_type

_ENDINGS = (b'"type":"server_tool_use"}', b'_tool_result"}')
_CITED = b'{"citations":'
UNFINISHED = "[the search did not finish]"


def has_searches(blocks: Sequence[bytes]) -> bool:
    """Return whether canonical blocks of an answer include search blocks."""
    return any(block.endswith(_ENDINGS) for block in blocks)


def paired(blocks: Sequence[bytes], *, last: bool, as_text: bool) -> tuple[bytes, ...]:
    """Return the blocks of an assistant message in the form to send. Their number does not change.

    A pruned, interrupted or compacted neighbor can leave a search's call or result alone, which the endpoint rejects.
    Such a block is replaced by a text block.
    In the `last` message, a call may wait for its result. `as_text`: the endpoint does not know such blocks.
    """
    if not as_text and not has_searches(blocks):
        return tuple(blocks)
    values = [_value(block) for block in blocks]
    whole = _pairs(values)
    out = []
    for at, (block, value) in enumerate(zip(blocks, values, strict=True)):
        if value is None or (not as_text and (at in whole or value["type"] == "text")):
            out.append(block)
        elif value["type"] == "text":
            out.append(render.text(value["text"]))
        elif value["type"] == USE and last and not as_text and at not in whole and _is_first(values, at):
            out.append(block)
        elif value["type"] == USE and at not in whole:
            out.append(render.text(f"{in_words(value)} {UNFINISHED}"))
        else:
            out.append(render.text(in_words(value)))
    return tuple(out)


def _pairs(values: Sequence[dict[str, Any] | None]) -> set[int]:
    """Return the places of calls and their results, where each call is followed by one result."""
    open_calls: dict[str, int] = {}
    whole = set[int]()
    for at, value in enumerate(values):
        if value and value["type"] == USE and isinstance(value.get("id"), str) and _is_first(values, at):
            open_calls[value["id"]] = at
        elif value and value.get("tool_use_id") in open_calls:
            whole |= {at, open_calls.pop(value["tool_use_id"])}
    return whole


def _is_first(values: Sequence[dict[str, Any] | None], at: int) -> bool:
    """Return whether no earlier call has the id of this one."""
    one = values[at]
    calls = (value for value in values[:at] if value and value["type"] == USE)
    return one is not None and all(value.get("id") != one.get("id") for value in calls)


def waits(blocks: Sequence[bytes]) -> bool:
    """Return whether a call among these blocks has no result yet."""
    values = [_value(block) for block in blocks]
    whole = _pairs(values)
    return any(value and value["type"] == USE and at not in whole for at, value in enumerate(values))


def _value(block: bytes) -> dict[str, Any] | None:
    """Return a search block, or text with citations; None for any other block."""
    if not (block.endswith(_ENDINGS) or block.startswith(_CITED)):
        return None
    value: dict[str, Any] = json.loads(block)
    kind = value.get("type")
    return value if kind in (USE, "text") or is_result_type(kind) else None


class Notes(tuple[bytes, ...]):
    """Fixed sentences that go into the system message behind the user's."""

    __slots__ = ()


Source: TypeAlias = tuple[bytes, ...] | Entry
"""Canonical blocks, or the entry whose blocks are made together with the message."""

Piece: TypeAlias = tuple[int, Source]
"""An entry's seq and its blocks."""


class Shown(NamedTuple):
    """The pieces that an item contributes.

    They are user blocks before it (memos), its own blocks, its results if it has calls, and user blocks `after` it.
    `leading` replaces its own blocks if the item comes first: a summary by the endpoint is an assistant message and
    is allowed only there.
    """

    before: tuple[Piece, ...]
    blocks: tuple[Piece, ...]
    exchange: Exchange | None
    results: tuple[Piece, ...]
    after: tuple[Piece, ...] = ()
    leading: tuple[Piece, ...] = ()


@dataclass(slots=True)
class _Group:
    """A message under construction: `blocks` name the item of each piece."""

    role: Role
    first_item: int
    results: list[Piece] = field(default_factory=list)
    blocks: list[tuple[int, Piece]] = field(default_factory=list)
    exchange: Exchange | None = None
    message: WireMessage | None = None
    opening: bool = False
    searches: bool = False
    waits: bool = False

    def build(self, *, last: bool, as_text: bool) -> WireMessage:
        if self.message is None:
            open_calls = self.exchange.unanswered if self.exchange else ()
            derived: list[Piece] = (
                [(self.exchange.seq, (render.interrupted(call, self.exchange.ids),)) for call in open_calls]
                if self.exchange
                else []
            )
            pieces = [*self.results, *derived, *(piece for _, piece in self.blocks)]
            notes = [(seq, note) for seq, source in pieces if isinstance(source, Notes) for note in source]
            if len(notes) and all(isinstance(source, Notes) for _, source in pieces):
                notes = []  # a system message needs a user's before it
            seqs, blocks = list[int](), list[bytes]()
            for seq, source in pieces:
                if notes and isinstance(source, Notes):
                    continue
                made = source.wire if isinstance(source, Entry) else source
                seqs += [seq] * len(made)
                blocks += made
            if self.role == "assistant":
                self.searches = has_searches(blocks)
                self.waits = self.searches and waits(blocks)
                blocks = list(paired(blocks, last=last, as_text=as_text))
            message = WireMessage.of(self.role, tuple(blocks), tuple(seqs), tuple(notes))
            if derived or self.waits:
                return message
            self.message = message
        return self.message


_FIRST_ITEM = attrgetter("first_item")


class Wire:
    """The messages of the working context.

    `show` returns an item's content under its current edits; `as_text` returns whether searches are sent as text.
    """

    def __init__(self, show: Callable[[Entry], Shown], as_text: Callable[[], bool] = lambda: False) -> None:
        self._as_text = as_text
        self._show = show
        self._items: list[Entry] = []
        self._laid_out: list[_Group] | None = None
        """The messages; None before the first read. Until then, `_sent` counts items."""
        self._chain: list[bytes] = []
        self._ends: list[int] = [0]
        self._sent = 0
        self._changed = 0
        self.kept = 0
        """The number of leading items unchanged since the last request."""
        self._before: dict[int, WireMessage | None] = {}
        """The messages of the last request that were laid out again since, by index; None for one never built."""

    @property
    def _groups(self) -> list[_Group]:
        return self._lay_out() if self._laid_out is None else self._laid_out

    def _lay_out(self) -> list[_Group]:
        sent, kept, self._laid_out = self._sent, self.kept, []
        for index, item in enumerate(self._items):
            self._place(index, item)
        self._sent = bisect_left(self._laid_out, sent, key=_FIRST_ITEM)
        self._changed = min(self._sent, self.group_at(kept))
        self.kept = min(sent, self.item_at(self._changed))
        return self._laid_out

    def append(self, item: Entry) -> None:
        """Add a user message, assistant message or summary at the end."""
        self._items.append(item)
        if self._laid_out is not None:
            self._place(len(self._items) - 1, item)

    def append_result(self, exchange: Exchange, entry: Entry) -> bool:
        """Add a result of the last exchange. Return False if that exchange is no longer last; call `rebuild`
        instead."""
        if self._laid_out is None:
            last = len(self._items) - 1
            self.kept = min(self.kept, last)
            return self._items[last].exchange is exchange
        group = self._groups[-1] if self._groups else None
        if group is None or group.exchange is not exchange:
            return False
        self._touch(len(self._groups) - 1)
        group.results.append((entry.seq, entry))
        return True

    def rebuild(self, items: Sequence[Entry] | None = None, start: int = 0, stop: int | None = None) -> None:
        """Lay out the items from `start` to before `stop` (None: to the end) again, optionally with new items.

        Later messages stay, unless they merge with the new ones.
        """
        if items is not None:
            self._items = list(items)
        if self._laid_out is None:
            self.kept = min(self.kept, start)
            return
        old = self._groups
        at = bisect_left(old, start, key=_FIRST_ITEM)
        rest = len(old) if stop is None else bisect_left(old, stop, key=_FIRST_ITEM)
        bounds = _bounds(old, rest)
        kept = next(bounds)
        self._touch(at)
        self._laid_out = old[:at]
        if self._groups and self._groups[-1].waits:
            self._touch(at - 1)
        if self._groups and self._groups[-1].blocks and self._groups[-1].blocks[-1][0] >= start:
            self._touch(at - 1)
            last = self._groups[-1]
            last.blocks = [block for block in last.blocks if block[0] < start]
        while True:
            end = old[kept].first_item if kept < len(old) else len(self._items)
            for index in range(start, end):
                self._place(index, self._items[index])
            if kept == len(old) or self._goes_on(old[kept]):
                break
            start, kept = end, next(bounds)
        self._laid_out += old[kept:]

    def _goes_on(self, group: _Group) -> bool:
        """Return whether a message can follow the existing ones unchanged."""
        if not self._groups:
            return group.role == "user"
        return group.role != self._groups[-1].role and not group.opening

    def messages(self, start: int = 0, stop: int | None = None) -> tuple[WireMessage, ...]:
        """Return the messages from index `start` to before index `stop` (None: to the end); an open call gets a
        derived "interrupted" result."""
        found = enumerate(self._groups[start:stop], start)
        return tuple([group.message or self._build(at) for at, group in found])

    def _build(self, at: int) -> WireMessage:
        return self._groups[at].build(last=at == len(self._groups) - 1, as_text=self._as_text())

    def remake_answers(self) -> None:
        """Rebuild the answers, because searches in them are now sent in another form."""
        if self._laid_out is None:
            first = (at for at, item in enumerate(self._items[: self.kept]) if item.kind == "assistant")
            self.kept = next(first, self.kept)
            return
        for at, group in enumerate(self._groups):
            if group.role == "assistant":
                self._touch(at)

    def role(self, message: int) -> Role:
        return self._groups[message].role

    def digest(self, preamble: bytes) -> bytes:
        """Return the end of the hash chain that starts with the preamble's digest."""
        if not self._chain or self._chain[0] != preamble:
            self._chain = [preamble]
        for at in range(len(self._chain) - 1, len(self._groups)):
            self._chain.append(link(self._chain[-1], self._build(at)))
        return self._chain[-1]

    def digests(self, preamble: bytes) -> tuple[bytes, ...]:
        """Return the whole chain: the preamble's digest, then the digest after each message."""
        self.digest(preamble)
        return tuple(self._chain)

    def group_at(self, item: int) -> int:
        """Return the index of the first message that shows a part of this item or of a later one."""
        groups = self._groups
        at = bisect_left(groups, item, key=_FIRST_ITEM)
        before = groups[at - 1] if at else None
        return at - 1 if before and before.blocks and before.blocks[-1][0] >= item else at

    def item_at(self, group: int) -> int:
        """Return the index of the first item shown in a message; the end for a message after the last."""
        groups = self._groups
        return groups[group].first_item if group < len(groups) else len(self._items)

    def items_before(self, group: int) -> int:
        """Return the number of items up to the last one shown before a message; those left out after it do not
        count."""
        groups = self._groups
        if not 0 < group <= len(groups):
            return 0
        last = groups[group - 1]
        return min(self.item_at(group), (last.blocks[-1][0] if last.blocks else last.first_item) + 1)

    def last_prompt(self, item: int, *, joins: bool) -> int:
        """Return the number of items up to the end of the last user message before this item. With `joins`, the item
        starts with user blocks, so it is in the same message as those right before it."""
        at = self.group_at(item)
        at -= joins and at > 0 and self._groups[at - 1].role == "user"
        while at and self._groups[at - 1].role != "user":
            at -= 1
        return self.items_before(at)

    @property
    def size(self) -> int:
        """The number of canonical bytes of all messages."""
        for at in range(len(self._ends) - 1, len(self._groups)):
            self._ends.append(self._ends[-1] + len(self._build(at).canonical))
        return self._ends[-1]

    def sent(self) -> None:
        """Record that a request was sent, so that later changes count as new."""
        self.kept = len(self._items)
        if self._laid_out is None:
            self._sent = len(self._items)
            return
        self._sent = self._changed = len(self._groups)
        self._before = {}

    @property
    def unchanged(self) -> int:
        """The number of leading messages byte-identical to those of the last request, even after an undo."""
        groups = self._groups
        while (
            self._changed < min(self._sent, len(groups))
            and (before := self._before.get(self._changed))
            and before.canonical == self._build(self._changed).canonical
        ):
            self._changed += 1
        return min(self._sent, self._changed)

    @property
    def is_changed(self) -> bool:
        """Whether a message of the last request is shown in another way now, or not at all."""
        return self.unchanged < self._sent

    def __len__(self) -> int:
        return len(self._groups)

    def _touch(self, group: int) -> None:
        groups = self._groups
        self.kept = min(self.kept, self.item_at(group))
        for at in range(group, min(self._changed, len(groups))):
            self._before[at] = groups[at].message
        self._changed = min(self._changed, group)
        del self._chain[group + 1 :]
        del self._ends[group + 1 :]
        if group < len(groups):
            groups[group].message = None

    def _group(self, role: Role, index: int) -> _Group:
        groups = self._groups
        if groups and groups[-1].role == role:
            self._touch(len(groups) - 1)
        else:
            if not groups and role == "assistant":
                opening = _Group("user", index, opening=True)
                opening.blocks.append((index, (self._items[index].seq, (render.text(render.CONTINUES),))))
                groups.append(opening)
            if groups and groups[-1].waits:
                self._touch(len(groups) - 1)
            groups.append(_Group(role, index))
        return groups[-1]

    def _place(self, index: int, item: Entry) -> None:
        shown = self._show(item)
        if shown.before:
            self._group("user", index).blocks.extend((index, piece) for piece in shown.before)
        if shown.leading and not index:
            leading = _Group("assistant", index, blocks=[(index, piece) for piece in shown.leading])
            self._groups.append(leading)
        elif shown.blocks:
            role: Role = "assistant" if item.kind == "assistant" else "user"
            self._group(role, index).blocks.extend((index, piece) for piece in shown.blocks)
        if shown.exchange:
            group = self._group("user", index)
            group.exchange = shown.exchange
            group.results.extend(shown.results)
        if shown.after:
            self._group("user", index).blocks.extend((index, piece) for piece in shown.after)


def _bounds(groups: Sequence[_Group], at: int) -> Iterator[int]:
    """Yield the messages from index `at` on that start with an item's first block; then the end."""
    for index in range(at, len(groups)):
        first, before = groups[index].first_item, groups[index - 1] if index else None
        if before and (before.first_item == first or (before.blocks and before.blocks[-1][0] >= first)):
            continue
        yield index
    yield len(groups)


class Standing(Protocol):
    """The edits on entries: those of the context, or of an earlier moment."""

    def dropped(self, exchange: Exchange) -> bool:
        """Return whether the exchange is left out."""

    def text_edit(self, seq: int) -> Edit | None:
        """Return the newest clear, trim or repair that replaces this entry's text, or the cuts of an answer."""

    def edits_of(self, seq: int) -> list[tuple[int, Edit]]:
        """Return all live edits of a target, oldest first, each with the seq of its PrunApplied."""

    def memos_at(self, exchange: Exchange) -> list[Edit]:
        """Return the memos before this exchange."""

    def words_after(self, seq: int) -> Sequence[Entry]:
        """Return the summaries whose user messages follow this item."""


def shown(context: Standing, item: Entry, *, tells: bool = False) -> Shown:
    """Return the blocks of a user message, a summary, or an assistant message with its memos and results. `tells`:
    fixed sentences go into a system message."""
    seq = item.seq
    edit = context.text_edit(seq)
    after = tuple([(one.seq, one.words) for one in context.words_after(seq)])
    if item.kind != "assistant" or item.exchange is None:
        if edit is None:
            leading = ((seq, (block,)),) if (block := item.block) else ()
            if tells and item.fixed:
                rest, notes = item.apart
                apart: tuple[Piece, ...] = ((seq, rest), (seq, Notes(notes)))
                return Shown((), tuple([piece for piece in apart if piece[1]]), None, (), after)
            return Shown((), ((seq, item),) if item.is_sent else (), None, (), after, leading)
        return Shown((), ((seq, _edited(item, edit)),), None, (), after)
    memos = tuple([(seq, (render.text(memo.text or ""),)) for memo in context.memos_at(item.exchange)])
    if not item.is_sent or context.dropped(item.exchange):
        return Shown(memos, (), None, (), after)
    stack = context.edits_of(seq)
    pieces = _assistant(item, edit, [one for _, one in stack]) if stack else item
    results = tuple([(result.seq, _result(context, result)) for result in item.exchange.results])
    calls = item.exchange if item.exchange.calls else None
    return Shown(memos, ((seq, pieces),) if pieces else (), calls, results, after)


def _result(context: Standing, entry: Entry) -> Source:
    edit = context.text_edit(entry.seq)
    if edit is None or not isinstance(entry.event, ToolResult):
        return entry
    return (render.result(entry.event, entry.ids, edit.text),)


def _assistant(item: Entry, edit: Edit | None, edits: Sequence[Edit]) -> tuple[bytes, ...]:
    if edit is not None and not (item.exchange and item.exchange.calls):
        return (render.text(edit.text or ""),)
    assert isinstance(item.event, AssistantMessage)  # noqa: S101  # an entry of kind assistant has no other event
    stripped = any(one.kind == "strip" for one in edits)
    return render.assistant(item.event.content, item.ids, stripped=stripped, inputs=shown_inputs(edits))


def _edited(item: Entry, edit: Edit) -> tuple[bytes, ...]:
    replacement = render.text(edit.text or "")
    return (item.wire[0], replacement) if item.kind == "command" and edit.kind != "repair" else (replacement,)
