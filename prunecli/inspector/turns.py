"""The bill by turn: each response belongs to the newest prompt before it in the log, on whichever branch.

Requests for summaries are a part of their own.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from prunecli.inspector.spending import Effect, Paid
from prunecli.model.events import Record, UserMessage
from prunecli.model.notes import typed

WORDS_CHARS = 200


@dataclass(slots=True)
class BilledTurn:
    """A prompt with its cost. `number` counts prompts from 1; 0 is the part before the first prompt. `words` are the
    beginning of the prompt. `effects` are those of pruning on each response, None if a price is unknown.
    `is_compaction`: the requests for summaries after this prompt."""

    number: int = 0
    words: str = ""
    responses: list[Paid] = field(default_factory=list)
    effects: list[Effect | None] = field(default_factory=list)
    is_compaction: bool = False


def turns(
    records: Sequence[Record], responses: Sequence[Paid], effects: Sequence[Effect | None]
) -> list[BilledTurn]:
    """Return the turns with a response, oldest first. A steering message belongs to the turn that it steers."""
    prompts = [record for record in records if _is_prompt(record)]
    seqs = [record.seq for record in prompts]
    found: dict[tuple[int, bool], BilledTurn] = {}
    for one, effect in zip(responses, effects, strict=True):
        number = bisect_right(seqs, one.seq)
        key = number, one.kind == "summary"
        turn = found.get(key)
        if turn is None:
            event = prompts[number - 1].event if number else None
            words = typed(event)[:WORDS_CHARS] if isinstance(event, UserMessage) else ""
            turn = found[key] = BilledTurn(number, " ".join(words.split()), is_compaction=key[1])
        turn.responses.append(one)
        turn.effects.append(effect)
    return [found[number] for number in sorted(found)]


def _is_prompt(record: Record) -> bool:
    event = record.event
    return isinstance(event, UserMessage) and event.origin in ("prompt", "follow_up", "import")
