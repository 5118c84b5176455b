"""Measures what prunes kept out of each request, as the endpoint counted it while it was included.

A result makes the prompt longer once, by the tokens that the endpoint counts for it. That measurement is kept with
the result, so the later savings of pruning it are known better than from any estimate of its text. What could not be
measured so, such as an attachment of the first message, makes the prompt shorter by its tokens when it is pruned.
"""

from bisect import bisect_right
from collections.abc import Sequence
from operator import itemgetter

from prunecli.context.counted import Changes, EntryTokens, Item, Report, added_by, reported_thinking
from prunecli.context.exchange import Entry
from prunecli.context.tokens import NOTHING, RANGE, Amount, Scale, total

_WORDS_SHARE = 20
"""Words are only estimated. If they make up more than 1/20 of the new content, nothing is measured."""
_MOST_BESIDE = 2
"""What left a prompt is measured only if it is at least twice the estimate of what else changed."""
_MEDIA_RANGE = 8.0
"""Like `RANGE`, for results that are mostly images or documents: pages differ, and sizes may be unknown."""


class KeptOut:
    """The measurements from the reports of a log. Measurements made before a rewind are kept."""

    def __init__(self, tokens: EntryTokens) -> None:
        self._tokens = tokens
        self._rates: dict[int, float] = {}
        self._at: dict[int, Amount] = {}
        self._scales: list[tuple[int, Scale]] = []
        """The scales so far, each with the first response or change of the model that it is for."""
        self._now = NOTHING
        self._items: dict[int, Item] = {}
        """The items that something was kept out of, at the last report."""

    def clear(self) -> None:
        """Switch to another branch."""
        self._now = NOTHING
        self._items = {}

    def scale_at(self, response: int, newest: Scale) -> Scale:
        """Return the scale when this response came, which later ones do not change; `newest` before any."""
        at = bisect_right(self._scales, response, key=itemgetter(0))
        return self._scales[at - 1][1] if at else newest

    def _use(self, at: int, scale: Scale) -> None:
        if not self._scales or not self._scales[-1][1].weighs_like(scale):
            self._scales.append((at, scale))

    def rescaled(self, at: int, scale: Scale) -> None:
        """Switch to a model that counts tokens differently."""
        self._use(at, scale)
        for item in self._items.values():
            item.kept = None
        self._now = total(self._kept(item, scale) for item in self._items.values())

    def at(self, response: int) -> Amount:
        """Return the tokens that prunes kept out of the request of this response."""
        return self._at.get(response, NOTHING)

    def attempted(self, report: Report, scale: Scale) -> None:
        """Record a request for a summary, or one that was billed without an answer. Prunes kept the same
        content out of it. Nothing is measured, because such a request is not folded again after a rewind."""
        changed = (self._kept(now, scale).minus(self._kept(then, scale)) for then, now in report.changes)
        self._at[report.response] = self._now.plus(total(changed))

    def reported(
        self,
        report: Report,
        altered: Changes,
        new: Sequence[Entry],
        grown: int | None,
        moved: Amount,
        scale: Scale,
    ) -> None:
        """Record a report. `grown` is the growth of the prompt since the previous report, None if unknown, `new` the
        entries that it added, and `moved` the estimate of what its changes added. `altered` are those changes that
        did more than append."""
        self._use(report.response, scale)
        results = [part for part in new if part.prunable]
        if grown is not None and not self._measure_gone(report.changes, altered, grown, scale) and results:
            self._measure(report.changes, altered, results, grown, moved, scale)
        for then, now in report.changes:
            if _is_whole(then) and _is_whole(now):
                continue
            before, after = self._kept(then, scale), self._kept(now, scale)
            self._now = self._now.plus(after).minus(before)
            if now is not None and after is not NOTHING:
                self._items[now.head.seq] = now
            elif then is not None:
                self._items.pop(then.head.seq, None)
        if self._now != NOTHING:
            self._at.setdefault(report.response, self._now)

    def _measure(
        self,
        changes: Changes,
        altered: Changes,
        results: Sequence[Entry],
        grown: int,
        moved: Amount,
        scale: Scale,
    ) -> None:
        """Record the endpoint's count of the results that are new in this report."""
        amounts = [self._tokens.amount(part) for part in results]
        new = amounts[0] if len(amounts) == 1 else total(amounts)
        expected = scale.factor * new.raw + new.exact
        if expected <= 0:
            return
        if altered:
            if any(_hides_a_guess(*change) for change in altered):
                return
            seqs = [part.seq for change in altered for item in change if item for part in item.parts]
            if not self._rates.keys().isdisjoint(seqs):
                moved = added_by(changes, lambda item: self._shown(item, scale))
        if abs(moved.words) * _WORDS_SHARE > new.raw + new.exact:
            return
        self._set(results, (grown - scale.weight(*moved.minus(new))) / expected, new, scale)

    def _measure_gone(self, changes: Changes, altered: Changes, grown: int, scale: Scale) -> bool:
        """Record the endpoint's count of results that prunes took out of this report and that were never measured, if
        little else changed. Return whether it did."""
        gone = [
            part
            for then, now in altered
            if then is not None and now is not None
            for part in then.whole
            if part.prunable and now.hides(part) and part.seq not in self._rates
        ]
        if not gone or any(_hides_a_guess(*change) for change in altered):
            return False
        lost = total(map(self._tokens.amount, gone))
        rest = added_by(changes, lambda item: self._shown(item, scale)).plus(lost)
        expected = scale.factor * lost.raw + lost.exact
        if expected <= 0 or _MOST_BESIDE * (abs(rest.raw) + abs(rest.words)) > lost.raw + lost.exact:
            return False
        return self._set(gone, (scale.weight(*rest) - grown) / expected, lost, scale)

    def _set(self, results: Sequence[Entry], rate: float, amount: Amount, scale: Scale) -> bool:
        """Keep this rate of results, if it is plausible."""
        most = RANGE if amount.raw > amount.exact else _MEDIA_RANGE
        is_plausible = scale.share / most <= rate <= most
        if is_plausible:
            self._rates.update((part.seq, rate) for part in results)
        return is_plausible

    def _shown(self, item: Item, scale: Scale) -> Amount:
        memos = Amount(sum(map(self._tokens.memo_tokens, item.memos)))
        parts = () if item.hidden else item.parts
        return total((memos, *(self._amount(part, item, scale) for part in parts)))

    def _amount(self, part: Entry, item: Item, scale: Scale) -> Amount:
        if part.seq in item.edits:
            return self._tokens.amount(part, item.edits[part.seq])
        return self._whole(part, scale) if part.prunable else self._tokens.amount(part, silent=item.silent)

    def _whole(self, part: Entry, scale: Scale) -> Amount:
        """Return the amount of an entry without edits or thinking, in the endpoint's tokens if they were measured."""
        amount = self._tokens.amount(part, silent=part.kind == "assistant")
        if (rate := self._rates.get(part.seq)) is None:
            return amount
        return Amount(exact=round(rate * (scale.factor * amount.raw + amount.exact)))

    def _kept(self, item: Item | None, scale: Scale) -> Amount:
        if item is None or _is_whole(item):
            return NOTHING
        if item.kept is None:
            gone = [part for part in item.parts if item.hides(part)]
            shown = [] if item.hidden else [self._amount(part, item, scale) for part in gone]
            memos = Amount(sum(map(self._tokens.memo_tokens, item.memos)))
            item.kept = total(self._whole(part, scale) for part in gone).minus(total((memos, *shown)))
        return item.kept


def _is_whole(item: Item | None) -> bool:
    """Return whether nothing is kept out of an item."""
    return item is None or not (item.hidden or item.edits or item.memos)


def _hides_a_guess(then: Item | None, now: Item | None) -> bool:
    """Return whether thinking of unknown size was removed from the prompt or came back."""
    flipped = then is not None and now is not None and then.silent != now.silent
    return flipped and now is not None and reported_thinking(now.head) is None
