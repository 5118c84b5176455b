"""Shows pruned content again at the end.

Earlier messages stay unchanged, so the cache is not broken and no thinking is lost.
"""

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from prunecli.context import render
from prunecli.context.cut import head
from prunecli.context.exchange import Entry, call_argument
from prunecli.context.tokens import Amount, total
from prunecli.model.events import UserMessage
from prunecli.model.messages import Block, Text, ToolUse

if TYPE_CHECKING:
    from prunecli.context.state import Context

_ARGUMENT_CHARS = 80
_HEADING = re.compile(r"\[entry \d+: [^\n]+\]")


def readable(content: Iterable[Block]) -> tuple[Block, ...]:
    """Return the blocks in a form allowed in a user message or tool result: calls as text, without thinking."""
    found = (_called(block) if isinstance(block, ToolUse) else block for block in content)
    return tuple(block for block in found if render.is_said(block))


def _called(call: ToolUse) -> Text:
    given = f" {render.compact(call.input)}" if call.input else ""
    return Text(f"(called {call.name}{given})")


def original(entry: Entry) -> tuple[Block, ...]:
    """Return an entry's original under a line that names it. A `/restore` already has such lines."""
    content = getattr(entry.event, "content", ())
    if isinstance(entry.event, UserMessage) and entry.event.restores:
        return readable(content[1:])
    return Text(_heading(entry)), *(readable(content) or (Text(render.NO_OUTPUT),))


def is_heading(text: str) -> bool:
    """Return whether a block is the line that names a restored entry."""
    return _HEADING.fullmatch(text) is not None


def _heading(entry: Entry) -> str:
    match entry.kind:
        case "assistant":
            what = "your answer"
        case "result":
            argument = call_argument(entry.call.input) if entry.call else None
            about = f' {argument[0]}="{head(argument[1], _ARGUMENT_CHARS)}"' if argument else ""
            failed = ", failed" if entry.is_error else ""
            what = f"result of {entry.call.name if entry.call else ''}{about}{failed}"
        case "command":
            what = "what the user attached" if entry.is_attached else "the user's command"
        case _:
            what = "the user's words"
    return f"[entry {entry.seq}: {what}]"


def withheld(context: "Context", seqs: Iterable[int]) -> list[Entry]:
    """Return the entries that the next request does not contain in full, in order.

    They were edited, dropped, compacted, or too long to send whole. A dropped exchange is represented by its answer.
    """
    found: dict[int, Entry] = {}
    for seq in seqs:
        entry = context.entries[seq]
        gone = _is_gone(context, entry)
        parts = entry.exchange.entries if gone and entry.exchange and entry.kind == "assistant" else [entry]
        if entry.kind != "summary" and (gone or entry.spilled or context.text_edit(seq) is not None):
            found |= {part.seq: part for part in parts}
    return list(found.values())


def _is_gone(context: "Context", entry: Entry) -> bool:
    exchange = entry.exchange
    if exchange is not None and context.dropped(exchange):
        return True
    return not context.is_shown(exchange.seq if exchange else entry.seq)


def shown_in(context: "Context", seq: int) -> int:
    """Return the seq of the entry in which a `/restore` shows this entry in full, -1 if there is none."""
    at = context.again.get(seq, -1)
    while at >= 0 and (not context.is_shown(at) or context.text_edit(at) is not None):
        at = context.again.get(at, -1)
    return at


def shown_again(entries: Iterable[Entry], typed: str) -> UserMessage:
    """Return the message that shows the originals of these entries below the typed command."""
    found = list(entries)
    content = (block for entry in found for block in original(entry))
    return UserMessage((Text(typed), *content), "command", tuple(entry.seq for entry in found))


def amount_of(context: "Context", event: UserMessage) -> Amount:
    """Return the tokens of a message that shows entries again. The entries' own texts are already counted."""
    counts = context.counts
    entries = [context.entries[seq] for seq in event.restores]
    texts = Amount(sum(map(counts.counter.count, _new_texts(event, entries))))
    of_entries = (
        counts.amount(entry).plus(Amount(entry.held_tokens))
        if entry.kind == "result"
        else Amount(exact=entry.image_tokens)
        for entry in entries
    )
    return total((texts, *of_entries))


def _new_texts(event: UserMessage, entries: Iterable[Entry]) -> Iterator[str]:
    """Yield the text in such a message apart from the results, which make up most of it."""
    yield from (block.text for block in event.content[:1] if isinstance(block, Text))
    for entry in entries:
        if entry.kind == "result":
            yield _heading(entry)
        else:
            yield from (block.text for block in original(entry) if isinstance(block, Text))
