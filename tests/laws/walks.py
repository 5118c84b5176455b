"""The strategies as slow, obvious walks over everything: what the indexes must agree with."""

from collections.abc import Callable
from typing import Any

from prunecli.context.exchange import Entry, Exchange
from prunecli.context.strategies import adaptive, aggressive, opencode, pi, prune_old_observations
from prunecli.context.view import NEVER, View
from prunecli.model.edits import Edit
from prunecli.model.events import PrunApplied


def walk_pi(view: View, options: Any) -> list[Edit]:
    recent = view.turn_start(options.protected_turns)
    used = freed = 0
    edits: list[Edit] = []
    for entry in reversed(view.results):
        if entry.seq >= recent or pi._kept_tool(entry.tool_name, options):
            continue
        if used < options.prune_protect:
            used += pi._tokens(view, entry)
        elif not entry.is_error and not view.locked(entry):
            freed += pi._tokens(view, entry)
            what = f"output pruned — ~{pi._tokens(view, entry):,} tokens"
            if edit := view.replaced("clear", entry, view.placeholder(entry, what)):
                edits.append(edit)
    return edits[::-1] if freed >= options.prune_minimum or view.forced else []


def walk_opencode(view: View, options: Any) -> list[Edit]:
    recent = view.turn_start(options.protected_turns)
    stop = max((seq for seq in view.context.entries if _cleared_by_opencode(view, seq)), default=-1)
    total = freed = 0
    edits: list[Edit] = []
    for entry in reversed(view.results):
        if entry.seq < stop:
            break
        if entry.seq >= recent or entry.is_error or entry.tool_name in options.protected_tools:
            continue
        total += opencode._tokens(view, entry)
        if total > options.prune_protect and not view.locked(entry):
            freed += opencode._tokens(view, entry)
            if edit := view.replaced("clear", entry, view.with_handle(entry, opencode.PLACEHOLDER)):
                edits.append(edit)
    return edits[::-1] if freed > options.prune_minimum or view.forced else []


def _cleared_by_opencode(view: View, seq: int) -> bool:
    if view.pending.get(seq):
        return False
    stack = [(view.context.pruns[prun].event, edit) for prun, edit in view.context.edits_of(seq)]
    return any(
        isinstance(event, PrunApplied) and event.strategy == "opencode" and edit.kind == "clear"
        for event, edit in stack
    )


def _eligible(view: View, options: Any) -> list[Entry]:
    exchanges, keep = view.exchanges, options.keep_last_assistants
    if keep > len(exchanges):
        return []
    cutoff = exchanges[-keep].seq if keep > 0 else NEVER
    entries = (view.context.entries[seq] for seq in sorted(view.context.entries))
    return [
        entry
        for entry in entries
        if entry.prunable and entry.seq < cutoff and adaptive.is_eligible(view, entry, options.tools)
    ]


def walk_aggressive(view: View, options: Any) -> list[Edit]:
    text = options.hard_clear.placeholder
    edits = [view.replaced("clear", e, view.with_handle(e, text)) for e in _eligible(view, options)]
    return [edit for edit in edits if edit]


def walk_adaptive(view: View, options: Any) -> list[Edit]:
    window, total = 4 * view.window, view.total_chars(adaptive.IMAGE_CHARS)
    if total / window < options.soft_trim_ratio and not view.forced:
        return []
    candidates = _eligible(view, options)
    edits: dict[int, Edit] = {}
    shown: dict[int, int] = {}
    for entry in candidates:
        shown[entry.seq] = view.shown_chars(entry)
        text = adaptive.trimmed(entry, options.soft_trim)
        if text is not None and view.text_edit(entry) is None:
            if edit := view.replaced("trim", entry, view.with_handle(entry, text)):
                edits[entry.seq] = edit
            total += len(text) - shown[entry.seq]
            shown[entry.seq] = len(text)
    least = 0 if view.forced else options.min_prunable_tool_chars
    if options.hard_clear.enabled and sum(shown.values()) >= least:
        placeholder = options.hard_clear.placeholder
        for entry in candidates:
            if total / window < options.hard_clear_ratio:
                break
            if edit := view.replaced("clear", entry, view.with_handle(entry, placeholder)):
                edits[entry.seq] = edit
            total += len(placeholder) - shown[entry.seq]
    return [edits[seq] for seq in sorted(edits)]


def walk_prune_old_observations(view: View, options: Any) -> list[Edit]:
    exchanges, keep = view.exchanges, max(0, options.keep_last_n)
    start = exchanges[-keep].seq if 0 < keep <= len(exchanges) else -1 if keep else NEVER
    long = [e for e in view.results if e.seq < start and prune_old_observations._is_long(view, e, options)]
    edits = [prune_old_observations._trimmed(view, entry, options) for entry in long]
    return [edit for edit in edits if edit]


def _droppable(view: View, exchanges: list[Exchange]) -> list[Edit]:
    return list(
        view.keeping_thinking([view.drop(e) for e in exchanges if e.head.is_sent and not view.locked(e)])
    )


def walk_keep_last_n_steps(view: View, options: Any) -> list[Edit]:
    exchanges = list(view.exchanges)
    return _droppable(view, exchanges[: max(0, len(exchanges) - max(0, options.n))])


def walk_token_aware(view: View, options: Any) -> list[Edit]:
    used, gone = view.fixed_tokens, list[Exchange]()
    for exchange in reversed(view.exchanges):
        if exchange.head.is_sent:
            used += view.shown_tokens(exchange)
            if used > options.max_tokens:
                gone.append(exchange)
    return _droppable(view, gone[::-1])


WALKS: dict[str, Callable[[View, Any], list[Edit]]] = {
    "pi": walk_pi,
    "opencode": walk_opencode,
    "aggressive": walk_aggressive,
    "adaptive": walk_adaptive,
    "prune_old_observations": walk_prune_old_observations,
    "keep_last_n_steps": walk_keep_last_n_steps,
    "token_aware": walk_token_aware,
}

assert aggressive.Options is adaptive.Options
