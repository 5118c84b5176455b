"""The one ledger: status bar, `/prune-stats`, `/context` and replay take their figures from here (PRUNING.md 10)."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

from prunecli.context.strategy import Chosen, propose_all
from prunecli.context.view import View
from prunecli.model.edits import Edit
from prunecli.model.events import PrunApplied, PruneSource
from prunecli.model.messages import Json


@dataclass(frozen=True, slots=True)
class Ledger:
    """Tokens since the compaction boundary; `context_tokens` is the whole next request, `window` what fits.

    scanned: originals of all tool results. pruned: net tokens withheld now. protected: live results that the
    strategy would not touch now, with reasons by seq in `spared`.
    """

    scanned_tokens: int = 0
    pruned_tokens: int = 0
    protected_results: int = 0
    protected_tokens: int = 0
    context_tokens: int = 0
    window: int = 0
    spared: Mapping[int, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Json]:
        """The figures under their names of FORMATS.md."""
        return {key: value for key, value in asdict(self).items() if key != "spared"}


def ledger(view: View, chosen: Sequence[Chosen]) -> Ledger:
    """The ledger of now. What only a minimum or the gate holds back is not protected."""
    context = view.context
    touched: set[int] = set()
    reasons: dict[int, str] = {}
    for _, proposal in propose_all(replace(view, forced=True), chosen):
        touched |= {edit.seq for edit in proposal.edits}
        reasons |= proposal.spared
    kept = [
        entry
        for entry in view.results
        if entry.seq not in touched and not (entry.exchange and entry.exchange.seq in touched)
    ]
    return Ledger(
        context.tally.scanned_tokens,
        context.tally.pruned_tokens,
        len(kept),
        sum(view.tokens(entry) for entry in kept),
        context.tally.context_tokens,
        view.window,
        {entry.seq: view.locked(entry) or reasons.get(entry.seq, "") for entry in kept},
    )


def prun_applied(
    view: View,
    source: PruneSource,
    edits: Sequence[Edit],
    *,
    strategy: str | None = None,
    memo: str | None = None,
    reason: str = "",
) -> PrunApplied:
    """The event of a decided prune, with the four fields of phi-core's record worked out from its edits."""
    context = view.context
    seqs: dict[int, None] = {}
    for edit in edits:
        entry = context.entries[edit.seq]
        if edit.kind == "drop" and entry.exchange:
            seqs.update((one.seq, None) for one in entry.exchange.entries)
        elif edit.kind != "memo":
            seqs[edit.seq] = None
    stamps = tuple(context.entries[seq].timestamp for seq in seqs)
    removed = sum(edit.tokens_saved for edit in edits)
    return PrunApplied(source, tuple(edits), strategy, stamps, removed, len(stamps), memo, reason)
