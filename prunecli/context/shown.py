"""The content that an item contributes to the next request, under its edits."""

from collections.abc import Sequence
from typing import Protocol

from prunecli.context import render
from prunecli.context.exchange import Entry, Exchange
from prunecli.context.wire import Shown, Source
from prunecli.model.edits import Edit
from prunecli.model.events import AssistantMessage, ToolResult


class Standing(Protocol):
    """The edits on entries: those of the context, or of an earlier moment."""

    def dropped(self, exchange: Exchange) -> bool:
        """Return whether the exchange is left out."""

    def text_edit(self, seq: int) -> Edit | None:
        """Return the newest clear, trim or repair that replaces this entry's text."""

    def edits_of(self, seq: int) -> list[tuple[int, Edit]]:
        """Return all live edits of a target, oldest first, each with the seq of its PrunApplied."""

    def memos_at(self, exchange: Exchange) -> list[Edit]:
        """Return the memos before this exchange."""

    def words_after(self, seq: int) -> Sequence[Entry]:
        """Return the summaries whose user messages follow this item."""


def shown(context: Standing, item: Entry) -> Shown:
    """Return the blocks of a user message, a summary, or an assistant message with its memos and results."""
    seq = item.seq
    edit = context.text_edit(seq)
    after = tuple([(one.seq, one.words) for one in context.words_after(seq)])
    if item.kind != "assistant" or item.exchange is None:
        if edit is None:
            leading = ((seq, (block,)),) if (block := item.block) else ()
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
    return render.assistant(item.event.content, item.ids, stripped=stripped)


def _edited(item: Entry, edit: Edit) -> tuple[bytes, ...]:
    replacement = render.text(edit.text or "")
    return (item.wire[0], replacement) if item.kind == "command" and edit.kind != "repair" else (replacement,)
