"""The user's manual edits of a node of the context.

An edit is planned as events, or refused with a reason. It needs no request to the model and bypasses the gate. Edits
are idempotent.
"""

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from prunecli.context import prun, render
from prunecli.context.again import shown_again, shown_in, withheld
from prunecli.context.cuts import call_shown, cut
from prunecli.context.exchange import Entry, Exchange
from prunecli.context.inputs import long_texts
from prunecli.context.labels import Key
from prunecli.context.ledger import prun_applied
from prunecli.context.outline import Outline
from prunecli.context.prun import MAX_MEMO_CHARS, entry_ranges
from prunecli.context.redo import undo, undoable
from prunecli.context.state import KEPT, RESTORED, Context
from prunecli.context.todo_list import CURRENT
from prunecli.context.view import View
from prunecli.model.edits import Edit
from prunecli.model.events import Event, Pinned, PrunApplied, PrunReverted
from prunecli.plugins.features import available
from prunecli.util.figures import counted
from prunecli.util.frozen import frozen

Act: TypeAlias = Literal["prune", "memo", "restore", "in_place", "pin", "undo"]
"""`restore` appends the original at the end; `in_place` puts it back where it was."""

BY_HAND = "by hand"
"""The reason recorded for a prune made in the inspector."""


@frozen
class Plan:
    """The events that an edit would record, and a short description.

    Without events, `refusal` is the reason. `entries` are the restored ones, `whole` the dropped exchanges that must
    come back with them. `brief` is a shorter description, so that a narrow screen has room for the price.
    """

    events: tuple[Event, ...] = ()
    what: str = ""
    refusal: str = ""
    entries: tuple[int, ...] = ()
    whole: tuple[int, ...] = ()
    brief: str = ""

    @property
    def allowed(self) -> bool:
        """Whether the plan has any events."""
        return bool(self.events)


def refused(why: str) -> Plan:
    """Return a plan without events, refused for this reason."""
    return Plan(refusal=why)


def plan(view: View, outline: Outline, act: Act, key: Key, memo: str = "") -> Plan:
    """Plan an edit of a node. A memo without text is planned as if it had a short one."""
    if act == "undo":
        return _undo(view)
    if key.kind in ("system", "instructions", "tools"):
        return refused("the system prompt and the tools always stay")
    match act:
        case "prune":
            return _prune(view, outline, key)
        case "memo":
            return _memo(view, outline, key, memo)
        case "restore":
            return at_the_end(view.context, _below(view, outline, key))
        case "in_place":
            return in_place(view.context, _below(view, outline, key))
        case "pin":
            return _pin(view, outline, key)


# Pruning -----------------------------------------------------------------------------------------------------


def _prune(view: View, outline: Outline, key: Key) -> Plan:
    if key.kind == "memo":
        return _without_memo(view, key)
    if key.kind == "turn":
        return _prune_turn(view, outline, key)
    entry = view.context.entries[key.seq]
    if key.kind == "result":
        return _clear(view, [entry], "this result")
    if key.kind == "prompt":
        return _prune_prompt(view, entry)
    assert entry.exchange is not None  # noqa: S101  # every other node is a part of one
    if key.kind == "calls" and any(map(long_texts, entry.exchange.calls)):
        return plan_inputs(view, [entry.seq])
    return _drop(view, [entry.exchange], "")


def plan_range(view: View, seqs: Sequence[int], memo: str = "") -> Plan:
    """Plan to prune these entries: an answer goes with its results, a result alone is cleared. Your words stay.

    What is pinned or in progress stays, unless nothing else is named. A memo stands in place of whole exchanges.
    """
    entries = [view.context.entries[seq] for seq in seqs]
    exchanges = {
        one.exchange.seq: one.exchange
        for one in entries
        if one.exchange and (memo or one.kind == "assistant")
    }
    others = [
        entry
        for entry in entries
        if entry.prunable and not (entry.exchange and entry.exchange.seq in exchanges)
    ]
    free = [one for one in exchanges.values() if not _is_kept(view, one) and not view.context.dropped(one)]
    alone = [one for one in others if not _is_kept(view, one) and not _is_pruned(one, view)]
    if not (free or alone):
        free, alone = list(exchanges.values()), others
    if memo and len(memo) > MAX_MEMO_CHARS:
        return refused(f"this memo has {len(memo):,} characters, at most {MAX_MEMO_CHARS:,} are allowed")
    parts = [_drop(view, free, memo)] if free else []
    parts += [_clear(view, alone, _entries([one.seq for one in alone]))] if alone else []
    made = [part for part in parts if part.allowed]
    if not made:
        return refused(parts[0].refusal if parts else "your messages always stay")
    edits = [e for part in made for one in part.events if isinstance(one, PrunApplied) for e in one.edits]
    pins = [one for part in made for one in part.events if isinstance(one, Pinned)]
    what = " and ".join(part.what for part in made)
    return Plan((*pins, _applied(view, edits, memo or None)), what, brief=what)


def plan_inputs(view: View, seqs: Sequence[int]) -> Plan:
    """Plan to shorten the inputs of these answers' calls; a result stands for its answer."""
    entries = (view.context.entries[seq] for seq in seqs)
    exchanges = {one.exchange.seq: one.exchange for one in entries if one.exchange}
    edits, why = list[Edit](), ""
    for exchange in exchanges.values():
        dropped = "its exchange is already dropped" if view.context.dropped(exchange) else ""
        reason = _untouchable(view, exchange) or dropped
        calls = () if reason else (call_shown(view, exchange.head, call) for call in exchange.calls)
        found = [edit for call in calls if (edit := cut(view, exchange.head, call, long_texts(call)))]
        edits += found
        why = why or reason or ("" if found else "its input has no long text that is still shown")
    if not edits:
        return refused(why or "only calls have an input")
    pinned = tuple(seq for seq in dict.fromkeys(edit.seq for edit in edits) if seq in view.context.pinned)
    free = [Pinned(pinned, pinned=False)] if pinned else []
    brief = f"shorten the input{'s' * (len(edits) > 1)} of {counted(len(edits), 'call')}"
    return Plan((*free, _applied(view, edits)), f"{'unpin and ' if pinned else ''}{brief}", brief=brief)


def _prune_turn(view: View, outline: Outline, key: Key) -> Plan:
    turn = outline.turn(key.seq)
    if turn.head is not None and turn.head.kind == "summary":
        return _prune_prompt(view, turn.head)
    results = [entry for head in turn.items for entry in _results(head)]
    if not results:
        return refused("no tool result in this turn; your messages always stay")
    if results == [turn.head]:
        return _prune_prompt(view, results[0])
    free = [entry for entry in results if not _is_kept(view, entry)]
    found = _clear(view, free, "the only result of this turn")
    if found.allowed or any(_is_pruned(entry, view) for entry in free):
        return found
    return _clear(view, results, "the only result of this turn")


def _prune_prompt(view: View, head: Entry) -> Plan:
    if head.kind == "summary":
        return refused(available("a summary can't be pruned; /rewind goes back before it"))
    if head.kind == "command":
        return _clear(view, [head], "this attachment" if head.is_attached else "the output of this command")
    return refused("your messages always stay")


def _is_kept(view: View, item: Entry | Exchange) -> bool:
    """Return whether an edit of a whole turn skips this item. Protection by an undo or a summary stops only
    strategies, not the user."""
    return view.locked(item) not in ("", RESTORED, KEPT, CURRENT)


def _results(head: Entry) -> list[Entry]:
    if head.exchange:
        return head.exchange.results
    return [head] if head.kind == "command" else []


def _clear(view: View, entries: Sequence[Entry], what: str) -> Plan:
    edits: list[Edit] = []
    why = ""
    for entry in entries:
        reason, edit = cleared(view, entry)
        why = why or reason
        edits += [edit] if edit else []
    if not edits:
        return refused(why)
    pinned = tuple(edit.seq for edit in edits if edit.seq in view.context.pinned)
    count = f"{len(edits)} of {len(entries)} results" if len(entries) > 1 else what
    free = [Pinned(pinned, pinned=False)] if pinned else []
    what = f"{'unpin and ' if pinned else ''}clear {count}"
    return Plan((*free, _applied(view, edits)), what, brief=f"clear {count}")


def cleared(view: View, entry: Entry) -> tuple[str, Edit | None]:
    """Return the edit that clears a result, or the reason why there is none."""
    if why := _untouchable(view, entry):
        return why, None
    if entry.exchange and view.context.dropped(entry.exchange):
        return "its exchange is already dropped", None
    edit = view.text_edit(entry)
    if edit is not None and edit.kind == "clear":
        return "already pruned", None
    made = prun.cleared(view, entry)
    return ("" if made else "its placeholder would not be shorter"), made


def _untouchable(view: View, item: Entry | Exchange) -> str:
    """Return why even the user cannot prune this item, or "".

    An edit must not split calls from their results, or remove content that the model has not seen yet.
    """
    entries = item.entries if isinstance(item, Exchange) else [item]
    home = entries[0].exchange.seq if entries[0].exchange else entries[0].seq
    if not view.context.is_shown(home):
        return f"it is summarized{available('; /undo takes the last summary back')}"
    return "in progress: the model has not answered it yet" if view.in_progress(item) else ""


def _drop(view: View, exchanges: Sequence[Exchange], memo: str) -> Plan:
    """Drop exchanges, and leave a memo in their place if it has text."""
    free: list[Exchange] = []
    why = ""
    for exchange in exchanges:
        reason = _untouchable(view, exchange)
        if not reason and view.context.dropped(exchange):
            reason = "already dropped"
        if not reason and not exchange.head.wire:
            reason = "it is not part of the request"
        why = why or reason
        free += [] if reason else [exchange]
    edits = view.keeping_thinking([view.drop(exchange) for exchange in free])
    if not edits:
        return refused(
            why or "the open tool loop must begin with its thinking: drop it after the next prompt"
        )
    chosen = [exchange for exchange in free if any(edit.seq == exchange.seq for edit in edits)]
    if memo:
        text = render.memo(memo, entry_ranges(view, chosen), by="user")
        note = Edit("memo", chosen[0].seq, None, text, 0, view.count(text))
        edits = (note, *edits)
    if (net := sum(edit.tokens_saved for edit in edits)) <= 0:
        return refused(f"this would add {view.told(-net):,} tokens, not save any")
    pinned = tuple(entry.seq for one in chosen for entry in one.entries if entry.seq in view.context.pinned)
    unpin = [Pinned(pinned, pinned=False)] if pinned else []
    count = "this exchange" if len(chosen) == 1 else counted(len(chosen), "exchange")
    results = sum(len(exchange.results) for exchange in chosen)
    with_them = f" with {counted(results, 'result')}" if results else ""
    what = f"{'unpin and ' if pinned else ''}drop {count}{with_them}"
    brief = "replace with a memo" if memo else f"drop {count}"
    what += ", memo in place" if memo else ""
    return Plan((*unpin, _applied(view, edits, memo or None)), what, brief=brief)


def _applied(view: View, edits: Sequence[Edit], memo: str | None = None) -> PrunApplied:
    return prun_applied(view, "user", edits, memo=memo, reason=BY_HAND)


# Memos -------------------------------------------------------------------------------------------------------


def _memo(view: View, outline: Outline, key: Key, words: str) -> Plan:
    if key.kind == "memo":
        return refused("already a memo: p removes it, r restores its exchanges")
    if len(words) > MAX_MEMO_CHARS:
        return refused(f"this memo has {len(words):,} characters, at most {MAX_MEMO_CHARS:,} are allowed")
    if key.kind == "prompt":
        is_attached = view.context.entries[key.seq].is_attached
        return refused("a memo replaces exchanges only" if is_attached else "your messages always stay")
    words = words.strip() or "(your words)"
    if key.kind == "turn":
        turn = outline.turn(key.seq)
        exchanges = [head.exchange for head in turn.children if head.exchange]
        free = [one for one in exchanges if not view.context.dropped(one) and not _is_kept(view, one)]
        if not exchanges:
            return refused("no exchange in this turn; your messages always stay")
        return _drop(view, free or exchanges, words)
    exchange = view.context.entries[key.seq].exchange
    assert exchange is not None  # noqa: S101  # only turns and the preamble have none
    return _drop(view, [exchange], words)


def _without_memo(view: View, key: Key) -> Plan:
    """Plan the same drops without their memo: revert the prune, then prune again."""
    event = view.context.pruns[key.part].event
    edits = event.edits if isinstance(event, PrunApplied) else ()
    drops = [edit for edit in edits if edit.kind == "drop" and view.context.in_force(key.part, edit)]
    again = prun_applied(view, "user", drops, reason="without its memo")
    return Plan((PrunReverted((key.part,)), again), "remove this memo; its exchanges stay dropped")


# Restoring ---------------------------------------------------------------------------------------------------


def at_the_end(context: Context, seqs: Iterable[int]) -> Plan:
    """Show the originals of these entries again, pinned, at the end. Earlier messages stay unchanged."""
    seqs = list(seqs)
    gone = withheld(context, seqs)
    pruned = [entry for entry in gone if not _is_only_held(context, entry)]
    gone = pruned or gone  # undo prunes first; show held-back parts only if there are no prunes
    fresh = [entry for entry in gone if shown_in(context, entry.seq) < 0]
    if not gone:
        left_out = any(context.edits_of(seq) for seq in seqs)
        return refused(
            "only its thinking was left out: restore it in place" if left_out else "nothing pruned here"
        )
    if not fresh:
        return refused(f"already shown again in entry {shown_in(context, gone[0].seq)}")
    seqs_shown = {entry.seq for entry in fresh}
    named = [one.seq for one in fresh if one.kind != "result" or _head(one).seq not in seqs_shown]
    typed = f"/restore {' '.join(map(str, named))}"
    what = f"show {_entries(named)} again at the end"
    return Plan((shown_again(fresh, typed),), what, entries=tuple(named))


def _is_only_held(context: Context, entry: Entry) -> bool:
    """Return whether a result is shown in part because it was too long, and not because of a prune."""
    dropped = entry.exchange is not None and context.dropped(entry.exchange)
    head = entry.exchange.seq if entry.exchange else entry.seq
    edited = context.text_edit(entry.seq) is not None
    return entry.spilled is not None and context.is_shown(head) and not (dropped or edited)


def in_place(context: Context, seqs: Sequence[int]) -> Plan:
    """Revert the edits of these entries and pin the entries. Skip those that are shown again at the end.

    A result of a dropped exchange brings back the whole exchange.
    """
    targets: dict[int, None] = {}
    named: dict[int, None] = {}
    copied = {seq: at for seq in seqs if (at := shown_in(context, seq)) >= 0}
    for seq in [seq for seq in seqs if seq not in copied]:
        exchange = context.entries[seq].exchange
        found = [exchange.seq] if exchange and context.dropped(exchange) else []
        found += [seq] if context.edits_of(seq) else []
        targets.update(dict.fromkeys(found))
        is_part = exchange is not None and exchange.seq != seq and exchange.seq in seqs
        named.update(dict.fromkeys([seq] if found and not (is_part and seq not in found) else []))
    if not targets:
        if copied:
            return refused(
                f"already shown again in entry {next(iter(copied.values()))}: prune that one first"
            )
        held = any(context.entries[seq].spilled for seq in seqs)
        return refused("shortened: restore it at the end" if held else "nothing pruned here")
    whole = tuple(seq for seq in targets if seq not in named)
    with_it = f" with all of {_entries(whole)}" if whole else ""
    entries = tuple(named)
    what = f"restore and pin {_entries(entries)} in place{with_it}"
    brief = f"restore {_entries(entries)} in place"
    return Plan((PrunReverted(tuple(targets)),), what, entries=entries, whole=whole, brief=brief)


def _below(view: View, outline: Outline, key: Key) -> list[int]:
    """Return the entries of a node. For a memo: the entries it replaces."""
    context = view.context
    if key.kind == "memo":
        event = context.pruns[key.part].event
        edits = event.edits if isinstance(event, PrunApplied) else ()
        return [edit.seq for edit in edits if edit.kind == "drop" and context.in_force(key.part, edit)]
    if key.kind == "turn":
        return [part.seq for head in outline.turn(key.seq).items for part in _with_results(head)]
    entry = context.entries[key.seq]
    return [entry.seq] if key.kind == "result" else [part.seq for part in _with_results(entry)]


def _head(entry: Entry) -> Entry:
    return entry.exchange.head if entry.exchange else entry


def _with_results(head: Entry) -> list[Entry]:
    return head.exchange.entries if head.exchange else [head]


def _entries(seqs: Sequence[int]) -> str:
    return f"entry {seqs[0]}" if len(seqs) == 1 else f"{len(seqs)} entries"


def _out_by(context: Context, prun: int, event: PrunApplied) -> set[int]:
    """Return the entries that a prune still withholds, or shows shortened."""
    found: set[int] = set()
    for edit in event.edits:
        if edit.kind in ("clear", "trim", "cut", "drop") and context.in_force(prun, edit):
            entry = context.entries[edit.seq]
            found.update(one.seq for one in (_with_results(entry) if edit.kind == "drop" else [entry]))
    return found


def _undo(view: View) -> Plan:
    live = undoable(view.context)
    event = live[-1].event if live else None
    if not isinstance(event, PrunApplied):
        return refused("no prune to undo")
    who = {"model": "the model's", "user": "your", "strategy": f"{event.strategy or 'a strategy'}'s"}
    left = len(_out_by(view.context, live[-1].seq, event))
    some = f"{left} of " if left < event.messages_removed else ""
    count = f"{some}{event.messages_removed} entr{'y' if event.messages_removed == 1 else 'ies'}"
    events = undo(view.context, live[-1:])
    pins = ", and pin again" if len(events) > 1 else ""
    brief = f"undo {who[event.source]} last prune"
    return Plan(events, f"{brief} ({count}){pins}", brief=brief)


# Pins --------------------------------------------------------------------------------------------------------


def pinnable(context: Context, seqs: Iterable[int]) -> tuple[int, ...]:
    """Return those of these entries that strategies may prune, before or after an undo."""
    later = [context.entries[seq] for seq in seqs if seq > context.boundary]
    return tuple(entry.seq for entry in later if entry.exchange or entry.kind == "command")


def _pin(view: View, outline: Outline, key: Key) -> Plan:
    context = view.context
    if key.kind == "memo":
        return refused("memos are never pruned automatically")
    if key.kind == "turn":
        found = [item.seq for item in outline.turn(key.seq).items]
    else:
        entry = context.entries[key.seq]
        found = [entry.seq if key.kind == "result" or not entry.exchange else entry.exchange.seq]
    seqs = pinnable(context, found)
    if not seqs:
        return refused("strategies never prune this")
    pinned = tuple(seq for seq in seqs if seq in context.pinned)
    if len(pinned) == len(seqs):
        return Plan(
            (Pinned(pinned, pinned=False),), f"unpin {_entries(pinned)}: may be pruned automatically again"
        )
    free = tuple(seq for seq in seqs if seq not in pinned and not _is_pruned(context.entries[seq], view))
    if not free:
        return refused("pruned; R restores it in place and pins it")
    return Plan((Pinned(free),), f"pin {_entries(free)}: never pruned automatically")


def _is_pruned(entry: Entry, view: View) -> bool:
    dropped = entry.exchange is not None and view.context.dropped(entry.exchange)
    edit = view.context.text_edit(entry.seq)
    return dropped or (edit is not None and edit.kind != "cut")
