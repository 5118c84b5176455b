"""The table for the terminal: the cheapest setting with its savings and risk, followed by the figures."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from prunecli.figures import counted, money, share, short
from prunecli.frozen import frozen
from prunecli.replay.rows import Row, ratio, totals
from prunecli.replay.validation import Validation

_LENGTHS = ((20, "to 20"), (80, "21 to 80"), (1 << 62, "over 80"))
_HEAD = ("strategy", "cost", "+ edits", "+ any", "tokens", "peak", "breaks", "pruned", "spilled", "regret")


@frozen
class Report:
    """All rows of a replay, session by session. The first row of each session is without pruning."""

    sessions: Sequence[Sequence[Row]]
    validation: Validation
    money: Callable[[float], str] = money

    @property
    def totals(self) -> list[Row]:
        """One row for each setting. The first row is without pruning."""
        return totals(row for rows in self.sessions for row in rows)


def lines(report: Report) -> Iterator[str]:
    """Yield the lines of the table."""
    whole = report.totals
    yield from answer(report)
    yield ""
    yield from _table(whole)
    agents = sorted({rows[0].agent for rows in report.sessions})
    if len(agents) > 1:
        groups = [(name, [rows for rows in report.sessions if rows[0].agent == name]) for name in agents]
        yield from ("", *_ratios("by agent", groups, whole))
    groups = [(name, _of_length(report.sessions, above, most)) for above, most, name in _lengths()]
    if sum(bool(found) for _, found in groups) > 1:
        yield from ("", *_ratios("by requests", groups, whole))
    yield from ("", *checked(report.validation))


def answer(report: Report) -> Iterator[str]:
    """Yield three lines: the cheapest setting, its savings, and its risk."""
    whole = report.totals
    base = whole[0]
    best = min(whole, key=lambda row: (row.cost_with_any_rereads, row is not base))
    what = f"{counted(len(report.sessions), 'session')}, {counted(base.requests, 'request')}"
    if best is base:
        yield f"Cheapest: no pruning ({what})"
        yield f"No strategy would have cost less than {report.money(base.cost)}"
        yield "Risk: none"
        return
    saved = base.cost - best.cost_with_any_rereads
    yield f"Cheapest: {best.name}, gate {best.gate} ({what})"
    yield (
        f"Would have saved {report.money(saved)} of {report.money(base.cost)} "
        f"({share(saved / base.cost)}), with removed content fetched again whenever it is quoted"
    )
    worst = max(report.sessions, key=lambda rows: _part(rows, best.setting))
    yield (
        f"Risk: {best.regret:,} of {best.pruned_results + best.spilled_results:,} shortened or cleared results were "
        f"quoted later, {best.edit_regret:,} by edits; "
        f"worst session: {_part(worst, best.setting):.2f} times the cost of no pruning"
    )


def _part(rows: Sequence[Row], setting: object) -> float:
    found = next(row for row in rows if row.setting == setting)
    return ratio(found.cost_with_any_rereads, rows[0].cost)


def _table(rows: Sequence[Row]) -> Iterator[str]:
    base = rows[0]
    cells: list[tuple[str, ...]] = [_HEAD]
    for row in rows:
        costs = (row.cost, row.cost_with_rereads, row.cost_with_any_rereads)
        cells.append(
            (
                row.name if row is base or row.strategy == "no_pruning" else f"{row.name} ({row.gate})",
                *(f"{ratio(cost, base.cost):.3f}" for cost in costs),
                short(row.tokens),
                short(row.peak),
                f"{row.cache_breaks:,}",
                f"{row.pruned_results:,}",
                f"{row.spilled_results:,}",
                f"{row.regret:,}/{row.edit_regret:,}",
            )
        )
    yield from _aligned(cells)
    yield "cost: relative to no pruning · + edits, + any: plus fetching what an edit, or any answer, quotes later"


def _ratios(
    title: str, groups: Iterable[tuple[str, Sequence[Sequence[Row]]]], whole: Sequence[Row]
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
    yield from _aligned(list(zip(*columns, strict=True)))


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
        yield "Not checked: the recordings report no usage"
        return
    yield (
        f"Prompt sizes against {len(found.errors):,} reports: median error {median:.2%}, "
        f"95th percentile {most:.1%}"
    )
    if found.reported:
        yield (
            f"Cache reads: {short(found.predicted)} predicted, {short(found.reported)} reported "
            f"({found.predicted / found.reported - 1:+.1%})"
        )


def _aligned(cells: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(row[at]) for row in cells) for at in range(len(cells[0]))]
    for row in cells:
        first, *rest = (
            cell.ljust(width) if not at else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join((first, *rest)).rstrip()
