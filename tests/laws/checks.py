"""The laws of pruning as checks of what was sent; each raises if it is broken.

They look at messages, not at how they were made, so that a planted mistake can be held against them too.
"""

import json
from collections.abc import Sequence

from prunecli.context.validate import validate
from prunecli.model.events import Record, UserMessage
from prunecli.model.messages import Text
from prunecli.model.notes import opens_turn
from prunecli.model.requests import Preamble, Request, WireMessage

Messages = Sequence[WireMessage]


def valid(messages: Messages) -> None:
    """Rules 1 to 3: pairing, roles, no blank text."""
    validate(Request("m", 1, Preamble((), ()), tuple(messages)))


def words_of(records: Sequence[Record]) -> list[str]:
    """What the user typed, in order: of a `!cmd` the command, nothing of the program's notices."""
    return [
        block.text
        for record in records
        if isinstance(record.event, UserMessage) and opens_turn(record.event)
        for block in record.event.content[: 1 if record.event.origin == "command" else None]
        if isinstance(block, Text)
    ]


def words_intact(records: Sequence[Record], messages: Messages) -> None:
    """Rule 4: all words of the user are there, in order, each a block of its own, byte for byte."""
    shown = [
        block["text"]
        for message in messages
        if message.role == "user"
        for block in map(json.loads, message.blocks)
        if block["type"] == "text"
    ]
    at = 0
    for word in words_of(records):
        assert word in shown[at:], f"{word!r} is missing or out of order"
        at += shown[at:].index(word) + 1


def sticky(before: Messages, after: Messages, first_edit: int) -> None:
    """Rule 5: up to the first new edit the blocks are those of the request before."""
    old = [
        (seq, block) for message in before for seq, block in zip(message.seqs, message.blocks, strict=True)
    ]
    new = [(seq, block) for message in after for seq, block in zip(message.seqs, message.blocks, strict=True)]
    for index, (seq, block) in enumerate(old):
        if seq >= first_edit:
            return
        assert new[index] == (seq, block), f"block {index} (entry {seq}) changed"


def counted_once(total: int, recount: int) -> None:
    """Rule 7: the ledger's totals equal a recount from scratch."""
    assert total == recount


def words_said_somewhere(records: Sequence[Record], messages: Messages) -> None:
    """Rule 4 with compaction: each word of the user stands in a block of its own or verbatim in a summary."""
    shown = "\x00".join(
        block["text"]
        for message in messages
        if message.role == "user"
        for block in map(json.loads, message.blocks)
        if block["type"] == "text"
    )
    for word in words_of(records):
        assert word in shown, f"{word!r} is lost"
