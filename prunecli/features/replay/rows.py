"""The figures of a replay: one row for each strategy and session, and their totals."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from textwrap import wrap
from typing import Any, Literal, TypeAlias, get_args

from prunecli.features.replay.prefix import Validation
from prunecli.model.messages import Json, Usage
from prunecli.util.figures import counted, money, share, short
from prunecli.util.frozen import frozen

_MOST = ("peak",)
"""Figures whose total is the maximum, not the sum."""
_KEPT = ("session", "agent")
Kind: TypeAlias = Literal["quotes", "paths", "symbols", "failed tests", "constraints"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""The kinds of texts that answers use later."""
Share: TypeAlias = Literal["all", "visible", "kept"]
SHARES: tuple[Share, ...] = get_args(Share)


@dataclass(slots=True)
class Row:
    """The effect of a strategy on a session. Costs are USD of prompts; tokens are those of the model.

    `cost_with_rereads` adds fetching results that an edit quotes after they were pruned or held back;
    `cost_with_any_rereads` adds those that any text quotes. `edit_regret` counts the former, `regret` the latter.
    `cache_breaks` are requests in which edits caused cached content to be written again. `thinking_breaks` are
    requests with edits in a part that had been sent, cached or not; `edits_in_round` are those inside an open tool
    round. `dropped_answers` are the model's own messages that were dropped with their results. `summaries` are those
    that only this play made; their cost includes their output. `uses` counts the texts that responses use, by
    kind: all, those that stood in the context then, and these with those that a handle in it brings back.
    """

    session: str
    agent: str
    strategy: str
    gate: str
    spill: bool
    requests: int = 0
    tokens: int = 0
    peak: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: float = 0.0
    cost_with_rereads: float = 0.0
    cost_with_any_rereads: float = 0.0
    cache_breaks: int = 0
    pruned_results: int = 0
    spilled_results: int = 0
    cut_inputs: int = 0
    regret: int = 0
    edit_regret: int = 0
    thinking_breaks: int = 0
    edits_in_round: int = 0
    dropped_answers: int = 0
    summaries: int = 0
    uses: Counter[tuple[Kind, Share]] = field(default_factory=Counter)

    def sent(self, usage: Usage, cost: float) -> None:
        """Count a request."""
        self.requests += 1
        self.peak = max(self.peak, usage.prompt_tokens)
        self._paid(usage, cost)

    def summarized(self, usage: Usage, cost: float) -> None:
        """Count a summary that the session did not have, with its output."""
        self.summaries += 1
        self._paid(usage, cost)

    def _paid(self, usage: Usage, cost: float) -> None:
        self.tokens += usage.prompt_tokens
        self.cache_read += usage.cache_read_input_tokens or 0
        self.cache_write += usage.cache_creation_input_tokens or 0
        self.cost += cost

    @property
    def setting(self) -> tuple[str, str, bool]:
        """The key that distinguishes the rows of one session: strategy, gate and whether results are spilled."""
        return self.strategy, self.gate, self.spill

    @property
    def name(self) -> str:
        """The setting in words."""
        return f"{self.strategy} + spill" if self.spill and self.strategy != "auto" else self.strategy

    def to_json(self) -> dict[str, Json]:
        """Return the row of a session. Shares of uses are there if they were counted."""
        found = {item.name: getattr(self, item.name) for item in fields(self) if item.name != "uses"}
        if not self.uses:
            return found
        by_kind = {kind: [self.uses[kind, share] for share in SHARES] for kind in KINDS}
        return {**found, "kept_visible": self.used("visible"), "kept": self.used("kept"), "uses": by_kind}

    def used(self, share: Share, kinds: Sequence[Kind] = KINDS) -> float:
        """Return which part of the texts that responses use was visible, or kept; 1 without any."""
        return ratio(*(sum(self.uses[kind, one] for kind in kinds) for one in (share, SHARES[0])))

    def total_to_json(self) -> dict[str, Json]:
        """Return the row of a total: no session, no agent."""
        return {key: value for key, value in self.to_json().items() if key not in _KEPT}


def totals(rows: Iterable[Row]) -> list[Row]:
    """Return one row for each setting, in order of appearance."""
    found: dict[tuple[str, str, bool], Row] = {}
    for row in rows:
        whole = found.setdefault(row.setting, Row("", "", *row.setting))
        for item in fields(Row):
            if item.type in (int, float):
                one: Any = getattr(row, item.name)
                before: Any = getattr(whole, item.name)
                setattr(whole, item.name, max(before, one) if item.name in _MOST else before + one)
        whole.uses += row.uses
    return list(found.values())


@frozen
class Spread:
    """A setting's cost relative to no pruning, with any quote charged: in all, the mean per session, and how far
    both may be off, as 1.96 standard errors over the sessions."""

    name: str
    whole: float
    mean: float
    whole_error: float
    mean_error: float

    def to_json(self) -> dict[str, Json]:
        return {item.name: getattr(self, item.name) for item in fields(self)}


def spread(sessions: Sequence[Sequence[Row]], setting: object) -> Spread:
    """Return the spread of a setting over the sessions. The error of the whole is that of a ratio of sums."""
    pairs = [(rows[0].cost, next(row for row in rows if row.setting == setting)) for rows in sessions]
    paid = [(base, row.cost_with_any_rereads) for base, row in pairs if base]
    if not paid:
        return Spread(pairs[0][1].name if pairs else "", 1.0, 1.0, 0.0, 0.0)
    count, base = len(paid), sum(one for one, _ in paid)
    whole = sum(cost for _, cost in paid) / base
    parts = [cost / one for one, cost in paid]
    mean = sum(parts) / count
    if count == 1:
        return Spread(pairs[0][1].name, whole, mean, 0.0, 0.0)
    wide = 1.96 * (count / (count - 1)) ** 0.5
    off = sum((cost - whole * one) ** 2 for one, cost in paid) ** 0.5 / base
    return Spread(
        pairs[0][1].name,
        whole,
        mean,
        wide * off,
        wide * sum((one - mean) ** 2 for one in parts) ** 0.5 / count,
    )


def ratio(value: float, base: float) -> float:
    """Return a value relative to the base; 1 if the base is 0."""
    return value / base if base else 1.0


_LENGTHS = ((20, "to 20"), (80, "21 to 80"), (1 << 62, "over 80"))
_LEGEND = (
    "cost: relative to no pruning · + edits, + any: plus fetching what an edit, or any answer, quotes later",
    "breaks: requests that wrote cached content again · shortened: long results sent in part · "
    "quoted: removed texts that anything, or an edit, quotes later",
)
HEAD = ("strategy", "cost", "+ edits", "+ any", "tokens", "peak", "breaks", "pruned", "shortened", "quoted")


@frozen
class Report:
    """All rows of a replay, session by session. The first row of each session is without pruning. `setup` says what
    was assumed for all of them: the gate, the cache and the prices."""

    sessions: Sequence[Sequence[Row]]
    validation: Validation
    money: Callable[[float], str] = money
    setup: str = ""

    @property
    def totals(self) -> list[Row]:
        """One row for each setting. The first row is without pruning."""
        return totals(row for rows in self.sessions for row in rows)

    @property
    def spreads(self) -> list[Spread]:
        """The spread of each setting but the first."""
        settings = [row.setting for row in self.totals[1:]]
        return [spread(self.sessions, setting) for setting in settings]


KEPT = ("texts used later", "visible", "or by a handle", *(f"visible {kind}" for kind in KINDS))
SPREAD = ("+ any", "in all", "95%", "per session", "95%")


def _spread_cells(one: Spread) -> tuple[str, ...]:
    return (
        one.name,
        f"{one.whole:.3f}",
        f"±{one.whole_error:.3f}",
        f"{one.mean:.3f}",
        f"±{one.mean_error:.3f}",
    )


def _kept_cells(row: Row) -> tuple[str, ...]:
    shares = row.used("visible"), row.used("kept"), *(row.used("visible", [kind]) for kind in KINDS)
    return row.name, *(f"{share:.3f}" for share in shares)


def lines(report: Report, width: int | None = None) -> Iterator[str]:
    """Yield the lines of the table, for a terminal of this width."""
    whole = report.totals
    yield from _wrapped(answer(report), width)
    yield ""
    yield from _aligned([HEAD, *map(partial(cells_of, base=whole[0]), whole)], width)
    yield from _wrapped(filter(None, (*_LEGEND, report.setup)), width)
    if len(report.sessions) > 1 and len(whole) > 1:
        yield from ("", *_aligned([SPREAD, *map(_spread_cells, report.spreads)], width))
    if whole[0].uses:
        yield from ("", *_aligned([KEPT, *map(_kept_cells, whole)], width))
    agents = sorted({rows[0].agent for rows in report.sessions})
    if len(agents) > 1:
        groups = [(name, [rows for rows in report.sessions if rows[0].agent == name]) for name in agents]
        yield from ("", *_ratios("+ any, by agent", groups, whole, width))
    groups = [(name, _of_length(report.sessions, above, most)) for above, most, name in _lengths()]
    if sum(bool(found) for _, found in groups) > 1:
        yield from ("", *_ratios("+ any, by requests", groups, whole, width))
    yield from ("", *_wrapped(checked(report.validation), width))


def answer(report: Report) -> Iterator[str]:
    """Yield three lines: the cheapest setting, its savings, and its risk."""
    whole = report.totals
    base = whole[0]
    best = min(whole, key=lambda row: (row.cost_with_any_rereads, row is not base))
    what = f"{counted(len(report.sessions), 'session')}, {counted(base.requests, 'request')}"
    if best is base:
        yield f"Cheapest: no pruning ({what})"
        if len(whole) == 1:
            yield f"No strategy was replayed; without pruning the prompts cost {report.money(base.cost)}"
        elif not base.cost:
            yield "These prompts are free, so no strategy would have saved money"
        else:
            yield f"No strategy would have cost less than {report.money(base.cost)}"
        yield "Risk: none"
        return
    saved = base.cost - best.cost_with_any_rereads
    yield f"Cheapest: {best.name}, gate {best.gate} ({what})"
    yield (
        f"Would have saved {report.money(saved)} of {report.money(base.cost)} "
        f"({share(saved / base.cost)}), with removed content fetched again whenever it is quoted"
    )
    yield f"Risk: {'; '.join(_risks(report, best))}"


def _risks(report: Report, best: Row) -> Iterator[str]:
    """Yield the risks of a setting."""
    counts = {"pruned": best.pruned_results, "shortened": best.spilled_results}
    parts = [f"{count:,} {name}" for name, count in counts.items() if count] or ["0 pruned"]
    removed = f"{' and '.join(parts)} {'result' if sum(counts.values()) == 1 else 'results'}"
    if best.regret:
        quoted = (
            f"{counted(best.regret, 'removed text')} {'was' if best.regret == 1 else 'were'} quoted later"
        )
        yield f"{quoted}, {best.edit_regret:,} by edits, with {removed}"
    else:
        one = sum(counts.values()) == 1
        yield f"the {removed} was not quoted later" if one else f"none of {removed} was quoted later"
    if best.dropped_answers:
        yield f"drops {best.dropped_answers:,} of the model's own answers"
    if best.thinking_breaks:
        edited = f"{counted(best.thinking_breaks, 'request')} changed content already sent"
        yield f"{edited}, which loses thinking on models that bind it"
    if len(report.sessions) > 1:
        worst = max(report.sessions, key=lambda rows: _part(rows, best.setting))
        part = f"{_part(worst, best.setting):.2f} times the cost of no pruning"
        yield f"worst session: {part} ({worst[0].session})"


def _part(rows: Sequence[Row], setting: object) -> float:
    row = next(row for row in rows if row.setting == setting)
    return ratio(row.cost_with_any_rereads, rows[0].cost)


def cells_of(row: Row, base: Row) -> tuple[str, ...]:
    """Return the cells of a row, below `HEAD`."""
    costs = (row.cost, row.cost_with_rereads, row.cost_with_any_rereads)
    return (
        row.name,
        *(f"{ratio(cost, base.cost):.3f}" for cost in costs),
        short(row.tokens),
        short(row.peak),
        *(f"{count:,}" for count in (row.cache_breaks, row.pruned_results, row.spilled_results)),
        f"{row.regret:,}/{row.edit_regret:,}",
    )


def _ratios(
    title: str,
    groups: Iterable[tuple[str, Sequence[Sequence[Row]]]],
    whole: Sequence[Row],
    width: int | None,
) -> Iterator[str]:
    """Yield a table of costs for each setting and group of sessions, relative to no pruning and including repeated
    fetches."""
    columns = [[title, *(row.name for row in whole[1:])]]
    for name, sessions in groups:
        if sessions:
            found = {row.setting: row for row in totals(row for rows in sessions for row in rows)}
            base = found[whole[0].setting].cost
            parts = (ratio(found[row.setting].cost_with_any_rereads, base) for row in whole[1:])
            columns.append([f"{name} ({len(sessions)})", *(f"{part:.3f}" for part in parts)])
    yield from _aligned(list(zip(*columns, strict=True)), width)


def _lengths() -> Iterator[tuple[int, int, str]]:
    above = 0
    for most, name in _LENGTHS:
        yield above, most, name
        above = most


def _of_length(sessions: Sequence[Sequence[Row]], above: int, most: int) -> list[Sequence[Row]]:
    return [rows for rows in sessions if above < rows[0].requests <= most]


def checked(found: Validation) -> Iterator[str]:
    """Yield lines on the error of the prediction against the recordings' reports."""
    median, most = found.at(0.5), found.at(0.95)
    if median is None or most is None:
        yield "Not checked: no session reports the usage of two requests"
        return
    yield (
        f"Prompt sizes against {len(found.errors):,} reports: median error {median:.2%}, "
        f"95th percentile {most:.1%}; summed up without later reports {found.drift:+.1%}, "
        f"in a session up to {max(found.drifts, key=abs):+.1%}"
    )
    if found.reported:
        yield (
            f"Cache reads: {short(found.predicted)} predicted, {short(found.reported)} reported "
            f"({found.predicted / found.reported - 1:+.1%})"
        )


def _aligned(cells: Sequence[Sequence[str]], width: int | None) -> Iterator[str]:
    """Yield the rows of a table. One that is too wide is split into several, each with the first column."""
    widths = [max(len(row[at]) for row in cells) for at in range(len(cells[0]))]
    for number, part in enumerate(_split(widths, width)):
        if number:
            yield ""
        for row in cells:
            rest = (row[at].rjust(widths[at]) for at in part)
            yield "  ".join((row[0].ljust(widths[0]), *rest)).rstrip()


def _split(widths: Sequence[int], width: int | None) -> list[range]:
    """Return the columns after the first in parts of equal number that fit the width, as few as possible."""
    last = len(widths)
    for parts in range(1, last):
        size = -(-(last - 1) // parts)
        found = [range(at, min(at + size, last)) for at in range(1, last, size)]
        needed = max(widths[0] + sum(widths[at] + 2 for at in part) for part in found)
        if width is None or needed <= width or size == 1:
            return found
    return []


def _wrapped(texts: Iterable[str], width: int | None) -> Iterator[str]:
    for text in texts:
        yield from [text] if width is None else wrap(text, width, subsequent_indent="  ")
