"""The one ledger behind the status bar, `/prune-stats`, `/context` and replay."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, fields, replace

from prunecli.context.again import shown_in
from prunecli.context.counting import Clearing
from prunecli.context.exchange import Entry
from prunecli.context.impact import Overlay
from prunecli.context.state import Context
from prunecli.context.strategy import Chosen, Proposal, propose_all
from prunecli.context.tokens import total
from prunecli.context.view import View
from prunecli.model.edits import Edit
from prunecli.model.events import PrunApplied, PruneSource
from prunecli.model.messages import Json
from prunecli.util.figures import counted, in_tokens, share, short
from prunecli.util.frozen import frozen


@frozen
class Ledger:
    """Tokens of the context, as the endpoint counts them.

    `context_tokens` is the whole next request, `window` that of the model, `limit` the tokens at which room is made,
    0 if unknown; `limit_words` say how. scanned: originals of the answers and tool results
    that no summary replaced, so all that can be pruned; no prune or undo changes it.
    pruned: net tokens withheld now, with those of dropped answers. cleared: tokens that the endpoint is expected to
    clear from its copy of the next request; not part of `pruned`. held: the part of live results that was held back
    because they were too long; never sent, so not part of the others. protected: live results that the strategy would
    not touch now. kept: whole results that a compaction kept and no strategy prunes; of the others, they
    are part of scanned only. `spared` has the reasons by seq, computed on first use, which must be before the context
    changes. balance: returns the savings and costs of pruning in USD, by public name, if prices are known.
    """

    scanned_tokens: int = 0
    pruned_tokens: int = 0
    protected_results: int = 0
    protected_tokens: int = 0
    context_tokens: int = 0
    window: int = 0
    cleared_tokens: int = 0
    cleared_tool_uses: int = 0
    held_tokens: int = 0
    held_results: int = 0
    kept_tokens: int = field(default=0, compare=False)
    kept_results: int = field(default=0, compare=False)
    spared: Mapping[int, str] = field(default_factory=dict, compare=False)
    limit: int = field(default=0, compare=False)
    limit_words: str = field(default="", compare=False)
    balance: Callable[[], Mapping[str, Json]] = field(default=dict, compare=False)

    @property
    def used(self) -> float:
        """The share of the limit that is in use."""
        limit = self.limit or self.window
        return self.context_tokens / limit if limit else 0.0

    def used_words(self, mark: str = "") -> str:
        """Return `152K of 170K tokens (89%), window 1.0M`. `mark` says whether it is an estimate."""
        limit = self.limit or self.window
        beyond = f", window {short(self.window)}" if limit < self.window else ""
        return f"{mark}{short(self.context_tokens)} of {in_tokens(limit)} ({share(self.used)}){beyond}"

    @property
    def clearing(self) -> Clearing:
        """The tokens that the endpoint is expected to clear itself."""
        return Clearing(self.cleared_tokens, self.cleared_tool_uses)

    @property
    def protected_words(self) -> str:
        """The protected tokens in words: `~6.5K tokens in 1 result`."""
        said = _in_results(self.protected_tokens, self.protected_results)
        kept = _in_results(self.kept_tokens, self.kept_results)
        return f"{said}, besides {kept} kept by a summary" if self.kept_results else said

    @property
    def held_words(self) -> str:
        """The tokens held back in words: `~9.4K tokens of 2 long results not sent`, "" for none."""
        many = "s" * (self.held_results != 1)
        said = f"~{in_tokens(self.held_tokens)} of {self.held_results} long result{many} not sent"
        return said if self.held_results else ""

    def to_json(self) -> dict[str, Json]:
        """Return the figures under their public names."""
        names = [item.name for item in fields(self) if item.compare]
        return {**{name: getattr(self, name) for name in names}, **self.balance()}


def ledger(view: View, chosen: Sequence[Chosen]) -> Ledger:
    """Compute the current ledger.

    Results held back only by a minimum or the gate are not protected. This takes as long as the strategies, plus a
    sum over the live results.
    """
    counts = view.context.counts
    amounts = view.measured("amount", counts.amount)
    proposals = [proposal for _, proposal in propose_all(replace(view, forced=True), chosen)]
    touched = _touched(view, proposals)
    protected = [amounts[entry] for entry in view.results if entry.seq not in touched]
    is_held = (entry for entry in view.results if entry.spilled and shown_in(view.context, entry.seq) < 0)
    held = [entry.held_tokens for entry in is_held]
    kept = [counts.amount(entry) for entry in _kept(view.context)] if view.context.boundary >= 0 else []
    scale = counts.scale
    return Ledger(
        round(scale.tokens(*counts.scanned) * view.context.prune_history.drift(scale)),
        view.context.prune_history.shown_of(counts.pruned, scale),
        len(protected),
        scale.tokens(*total(protected)),
        counts.context_tokens,
        view.window,
        *counts.clearing,
        scale.tokens(sum(held)),
        len(held),
        scale.tokens(*total(kept)),
        len(kept),
        _Spared(view, proposals, touched),
    )


def _in_results(tokens: int, count: int) -> str:
    return f"{'~' * bool(tokens)}{in_tokens(tokens)} in {counted(count, 'result')}"


def _kept(context: Context) -> Iterator[Entry]:
    """Yield the results that a compaction kept and the next request shows whole."""
    for item in context.items:
        if item.seq < context.boundary and not (item.exchange and context.dropped(item.exchange)):
            parts = item.exchange.results if item.exchange else [item]
            yield from (part for part in parts if part.prunable and context.text_edit(part.seq) is None)


def _touched(view: View, proposals: Sequence[Proposal]) -> set[int]:
    """Return the entries that these proposals would change."""
    entries = view.context.entries
    edits = [edit for proposal in proposals for edit in proposal.edits]
    found = {edit.seq for edit in edits}
    for edit in edits:
        if edit.kind == "drop" and (exchange := entries[edit.seq].exchange):
            found.update([result.seq for result in exchange.results])
    return found


class _Spared(Mapping[int, str]):
    """The reason for each protected result, by seq; computed on first use."""

    def __init__(self, view: View, proposals: Sequence[Proposal], touched: set[int]) -> None:
        self._view = view
        self._proposals = proposals
        self._touched = touched

    def __getitem__(self, seq: int) -> str:
        entry = self._view.context.entries[seq]
        if seq in self._touched or not entry.prunable or not self._view.live(entry):
            raise KeyError(seq)
        reasons = (proposal.why(entry) for proposal in reversed(self._proposals))
        return self._view.locked(entry) or next(filter(None, reasons), "")

    def __iter__(self) -> Iterator[int]:
        return (entry.seq for entry in self._view.results if entry.seq not in self._touched)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def prun_applied(
    view: View,
    source: PruneSource,
    edits: Sequence[Edit],
    *,
    strategy: str | None = None,
    memo: str | None = None,
    reason: str = "",
) -> PrunApplied:
    """Return the event of a decided prune, with phi-core's four fields derived from its edits.

    If thinking that no longer fits is to be left out, the same event also does that, so that an undo restores both.
    """
    context = view.context
    seqs: dict[int, None] = {}
    if view.leaves_out and any(edit.kind != "strip" for edit in edits):
        planned = PrunApplied(source, tuple(edits))
        stripped = tuple(Edit("strip", seq) for seq in Overlay(context, [planned]).stale())
    else:
        stripped = ()
    for edit in edits:
        entry = context.entries[edit.seq]
        if edit.kind == "drop" and entry.exchange:
            seqs.update((one.seq, None) for one in entry.exchange.entries)
        elif edit.kind != "memo":
            seqs[edit.seq] = None
    stamps = tuple(context.entries[seq].timestamp for seq in seqs)
    removed = sum(edit.tokens_saved for edit in edits)
    return PrunApplied(source, (*edits, *stripped), strategy, stamps, removed, len(stamps), memo, reason)
