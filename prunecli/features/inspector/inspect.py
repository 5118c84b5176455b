"""Inspects a context from outside: the next request, with recorded or proposed edits.

It runs the engine on plain records, for `prunecli context` and for other programs. The gate is off.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from prunecli.context.economics import Market
from prunecli.context.expectations import Expectations
from prunecli.context.ledger import Ledger, ledger, prun_applied
from prunecli.context.spending import Price, balance
from prunecli.context.state import Context
from prunecli.context.strategy import Chosen
from prunecli.context.tokens import NOTHING, Amount, TokenCounter, total
from prunecli.context.unseen import ThinkingSum
from prunecli.context.view import View
from prunecli.model.edits import Edit
from prunecli.model.events import AssistantMessage, PrunApplied, PrunReverted, Record
from prunecli.model.messages import Usage
from prunecli.model.requests import WireMessage
from prunecli.util.frozen import frozen


@frozen
class Inspection:
    """The next request: messages, edits, ledger, each strategy's note, and problems to fix.

    `sizes` are the tokens of each edit's target before and after it, as the endpoint counts them. `thinking` is the
    thinking of its answers that the model sees, and `dropped` the thinking that it does not see.
    """

    messages: tuple[WireMessage, ...]
    edits: tuple[Edit, ...]
    ledger: Ledger
    notes: tuple[tuple[str, str], ...] = ()
    problems: tuple[str, ...] = ()
    thinking: ThinkingSum = ThinkingSum()
    dropped: ThinkingSum = ThinkingSum()
    sizes: tuple[tuple[int, int], ...] = ()


def inspect(
    records: Sequence[Record],
    chosen: Sequence[Chosen],
    *,
    window: int,
    counter: TokenCounter,
    factor_of: Callable[[str], float] = lambda _: 1.0,
    recall: bool = False,
    recorded: bool = False,
    at: int | None = None,
    expectations: Expectations | None = None,
    market_of: Callable[[Context], Market] = lambda _: Market(),
    price: Price = lambda *_: None,
) -> Inspection:
    """Return the next request of these records, up to entry `at`.

    With `recorded`, the edits in the log apply and no strategy runs; `price` is for the balance in the ledger.
    Otherwise the log's edits are ignored and the strategies propose in order, each seeing the proposals before it.
    `market_of` returns the prices of a context, without a time, so that no strategy waits.
    """
    context = Context(counter, factor_of)
    last = at if at is not None else max((record.seq for record in records), default=0)
    pruned = False
    for record in records:
        if record.seq > last:
            break
        if not recorded and isinstance(record.event, PrunApplied | PrunReverted):
            pruned = True
            continue
        context.apply(_without_report(record) if pruned else record)
    market = market_of(context)
    view = View(context, window, recall=recall, market=market, expectations=expectations)
    if recorded:
        shown = [record for record in records if record.seq <= last]
        found = balance(shown, context, price).to_json
        figures = replace(ledger(view, chosen), balance=found)
        live = _live(context)
        return Inspection(
            context.messages(), live, figures, (), (), *_thinking(context), _sizes(context, live)
        )
    notes, problems, edits = list[tuple[str, str]](), list[str](), list[Edit]()
    for one in chosen:
        proposal = one.propose(view)
        notes.append((one.name, proposal.note))
        problems += [proposal.problem] if proposal.problem else []
        if proposal.edits:
            last += 1
            event = prun_applied(view, "strategy", proposal.edits, strategy=one.name)
            context.apply(Record(last, 0, event))
            edits += proposal.edits
    return Inspection(
        context.messages(),
        tuple(edits),
        ledger(view, chosen),
        tuple(notes),
        tuple(problems),
        *_thinking(context),
        _sizes(context, edits),
    )


def _thinking(context: Context) -> tuple[ThinkingSum, ThinkingSum]:
    """Return the thinking that the model sees, and the thinking that it does not see although its answers are
    there."""
    unseen = context.unseen
    heads = [
        item
        for item in context.items
        if item.kind == "assistant"
        and item.is_sent
        and not (item.exchange and context.dropped(item.exchange))
        and unseen.blocks([item])
    ]
    lacking = [item for item in heads if unseen.lacks(item.seq)]
    return unseen.sum([item for item in heads if not unseen.lacks(item.seq)]), unseen.sum(lacking)


def _sizes(context: Context, edits: Sequence[Edit]) -> tuple[tuple[int, int], ...]:
    """Return the tokens of each edit's target before and after it; edits before it apply already."""
    counts, earlier = context.counts, dict[int, Edit]()
    found = list[tuple[int, int]]()
    for edit in edits:
        entry = context.entries[edit.seq]
        before, after = counts.amount(entry, earlier.get(edit.seq)), NOTHING
        match edit.kind:
            case "drop":
                parts = entry.exchange.entries if entry.exchange else (entry,)
                before = total(counts.amount(part, earlier.get(part.seq)) for part in parts)
            case "memo":
                before, after = NOTHING, Amount(counts.memo_tokens(edit))
            case "strip":
                after = counts.amount(entry, silent=True)
            case "clear" | "trim" | "repair":
                after, earlier[edit.seq] = counts.amount(entry, edit), edit
        found.append((counts.scale.tokens(*before), counts.scale.tokens(*after)))
    return tuple(found)


def _without_report(record: Record) -> Record:
    """Return a response without its report on the request, because the request had edits that are ignored here."""
    if not isinstance(record.event, AssistantMessage):
        return record
    usage = Usage(output_tokens=record.event.usage.output_tokens)
    return replace(record, event=replace(record.event, usage=usage, input_transformations=None))


def _live(context: Context) -> tuple[Edit, ...]:
    """Return the edits in effect, in the order of their decisions."""
    return tuple(
        edit
        for record in context.live_pruns()
        if isinstance(record.event, PrunApplied)
        for edit in record.event.edits
        if context.in_force(record.seq, edit)
    )
