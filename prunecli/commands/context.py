"""/context: the entries of the next request, in the inspector or as a table."""

from collections.abc import Mapping, Sequence

from prunecli.commands.command import Effect, ShowContext, Table
from prunecli.context.exchange import Entry
from prunecli.context.state import Context
from prunecli.figures import share, short
from prunecli.inspector.labels import summary_label
from prunecli.model.messages import plain_text
from prunecli.runtime import Runtime


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Inspect and edit the context; /context table lists it."""
    if arguments == "table":
        return [table(runtime)]
    return [ShowContext(lambda: table(runtime))]


def table(runtime: Runtime) -> Table:
    """List every entry of the context with its tokens and state."""
    status = runtime.status()
    context, ledger = runtime.session.context, status.ledger
    rows = [_row(context, ledger.spared, entry) for item in context.items for entry in _parts(item)]
    used = share(ledger.context_tokens / ledger.window) if ledger.window else "-"
    mark = "~" if status.estimated else ""
    note = (
        f"{mark}{short(ledger.context_tokens)} of {short(ledger.window)} tokens ({used}) with system prompt and "
        f"tools · scanned ~{short(ledger.scanned_tokens)} · pruned ~{short(ledger.pruned_tokens)} · "
        f"protected {ledger.protected_words}"
    )
    note += f" · {ledger.held_words}" if ledger.held_results else ""
    if ledger.cleared_tokens:
        note += f" · {ledger.clearing.words}, oldest first"
    return Table("Context", ("entry", "what", "tokens", "state", "why"), tuple(rows), (0, 2), note)


def _parts(item: Entry) -> list[Entry]:
    return item.exchange.entries if item.exchange else [item]


def _row(context: Context, spared: Mapping[int, str], entry: Entry) -> tuple[str, ...]:
    edit = context.text_edit(entry.seq)
    dropped = entry.exchange is not None and context.dropped(entry.exchange)
    kinds = {"clear": "cleared", "trim": "trimmed", "repair": "repaired"}
    state = "dropped" if dropped else kinds[edit.kind] if edit else "live"
    why = context.locked(entry.seq)
    if not why:
        why = spared.get(entry.seq, "")
    if entry.spilled:
        held = f"{short(context.counts.told_raw(entry.held_tokens))} tokens held back"
        why = f"{held}; {why}" if why else held
    return (str(entry.seq), _what(entry), short(context.counts.told(entry) or 0), state, why)


def _what(entry: Entry) -> str:
    if entry.kind == "result" and entry.call:
        given = next((str(value) for value in entry.call.input.values()), "")
        return f"  {entry.call.name} {given}"[:60].split("\n")[0]
    if entry.kind == "summary":
        return summary_label(entry)
    content = getattr(entry.event, "content", ())
    first = plain_text(content).strip().split("\n")[0][:56]
    return ("> " if entry.kind in ("user", "command") else "") + (first or "(tool calls)")
