"""/context: the entries of the next request, in the inspector or as a table."""

from collections.abc import Mapping, Sequence

from prunecli.commands.command import Effect, ShowScreen, Table, refuse
from prunecli.context.exchange import Entry
from prunecli.context.labels import summary_label
from prunecli.context.state import Context
from prunecli.model.messages import plain_text
from prunecli.runtime import Runtime
from prunecli.util.figures import in_tokens, short


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Inspect and edit the context; /context table lists it."""
    if arguments == "table":
        return [table(runtime)]
    refuse("context", arguments.split(), "nothing or table")
    return [
        ShowScreen("prunecli.features.inspector.screen:ContextScreen", (runtime,), lambda: [table(runtime)])
    ]


def table(runtime: Runtime) -> Table:
    status = runtime.status()
    context, ledger = runtime.session.context, status.ledger
    fixed = short(context.counts.fixed)
    rows: list[tuple[str, ...]] = [("", "system prompt and tools", fixed, fixed, "live", "always first")]
    for item in context.items:
        parts = zip(_parts(item), _tokens(context, item), strict=True)
        rows += [_row(context, ledger.spared, entry, tokens) for entry, tokens in parts]
    mark = "~" if status.estimated else ""
    note = (
        f"{ledger.used_words(mark)} · "
        f"scanned ~{short(ledger.scanned_tokens)} · pruned ~{short(ledger.pruned_tokens)} · "
        f"protected {ledger.protected_words}"
    )
    note += f" · {ledger.held_words}" if ledger.held_results else ""
    if ledger.cleared_tokens:
        note += f" · {ledger.clearing.words}, oldest first"
    return Table("Context", ("entry", "what", "tokens", "size", "state", "why"), tuple(rows), (0, 2, 3), note)


def _parts(item: Entry) -> list[Entry]:
    return item.exchange.entries if item.exchange else [item]


def _tokens(context: Context, item: Entry) -> list[int]:
    """Return the tokens that each part of an item takes now. The model's notes count with the answer."""
    counts, results = context.counts, _parts(item)[1:]
    if item.exchange and context.dropped(item.exchange):
        taken = [0] * len(results)
    else:
        shown = [(result.seq, counts.amount(result, context.text_edit(result.seq))) for result in results]
        taken = [counts.scale.tokens(*amount) - counts.cleared.get(seq, 0) for seq, amount in shown]
    return [counts.tokens_of([item]) - sum(taken), *taken]


def _row(context: Context, spared: Mapping[int, str], entry: Entry, tokens: int) -> tuple[str, ...]:
    edit = context.text_edit(entry.seq)
    dropped = entry.exchange is not None and context.dropped(entry.exchange)
    kinds = {"clear": "cleared", "trim": "trimmed", "cut": "input trimmed", "repair": "repaired"}
    state = "dropped" if dropped else kinds[edit.kind] if edit else "live"
    why = context.locked(entry.seq)
    if not why:
        why = spared.get(entry.seq, "")
    if entry.spilled:
        held = f"{in_tokens(context.counts.scale.tokens(entry.held_tokens))} not sent"
        why = f"{held}; {why}" if why else held
    size = short(context.counts.told(entry) or 0)
    return (str(entry.seq), _what(entry), short(max(0, tokens)), size, state, why)


def _what(entry: Entry) -> str:
    if entry.kind == "result" and entry.call:
        given = next((str(value) for value in entry.call.input.values()), "")
        return f"  {entry.call.name} {given}"[:60].split("\n")[0]
    if entry.kind == "summary":
        return summary_label(entry)
    content = getattr(entry.event, "content", ())
    first = plain_text(content).strip().split("\n")[0][:56]
    return ("> " if entry.kind in ("user", "command") else "") + (first or "(tool calls)")
