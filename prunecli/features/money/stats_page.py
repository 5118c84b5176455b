"""The page of `prunecli sessions stats --html`: one file with SVG plots and no script.

The page has the style and content security policy of the `replay` page. All text from sessions is escaped.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
from html import escape

from prunecli.features.money.usage import Sums, cells, pruning_words
from prunecli.features.money.usage_store import UsageReport
from prunecli.front.html import STYLE, head
from prunecli.util.figures import counted, money, share, short
from prunecli.util.sanitize import one_line

MOST_DAYS = 92
"""Maximum days in a plot; the newest ones are shown."""
MOST_MODELS = 6
_WIDTH, _HEIGHT, _LEFT, _BELOW = 720, 200, 52, 22
_MOST_STEP = 60.0
"""Maximum width of a day's bar with its gap."""
_STYLE = """
figure.plot { margin: .4rem 0 1rem; overflow-x: auto; }
figure.plot svg { min-width: 30rem; max-width: 60rem; }
td:first-child { white-space: normal; overflow-wrap: anywhere; min-width: 8rem; }
td.bar { width: 30%; min-width: 6rem; }
td.bar i { display: block; height: .7rem; border-radius: .15rem; background: var(--k1); min-width: 1px; }
"""
_KINDS: tuple[tuple[str, str, Callable[[Sums], int]], ...] = (
    ("cache read", "--k3", lambda sums: sums.cache_read),
    ("cache write", "--k4", lambda sums: sums.cache_write),
    ("uncached input", "--k1", lambda sums: sums.input),
    ("output", "--k6", lambda sums: sums.output),
)
_HEAD = ("requests", "prompt", "output", "hit", "cost", "prunes", "saved")


def page(report: UsageReport) -> str:
    return "\n".join(_page(report)) + "\n"


def _page(report: UsageReport) -> Iterator[str]:
    sums = report.total
    yield from head("prunecli usage", STYLE.read_text("utf-8") + _STYLE)
    yield "<h1>What your sessions used</h1>"
    requests, sessions = counted(sums.requests, "request"), counted(report.count, "session")
    yield (
        f"<p class=answer>{money(sums.cost)}{' + ?' if sums.unpriced else ''} for {requests} in {sessions}: "
        f"{short(sums.prompt)} prompt tokens, {share(sums.hit)} of them from the cache, and "
        f"{short(sums.output)} output tokens.</p>"
    )
    words = pruning_words(sums)
    yield f"<p class=answer>{words[0].upper()}{words[1:]}.</p>"
    if report.rows:
        yield from _plots(report)
    for title, parts in (
        ("Days", dict(reversed(report.days.items()))),
        ("Projects", report.projects),
        ("Models", report.models),
        ("Imported", {"other agents": report.imported} if report.foreign else {}),
    ):
        if parts:
            yield f"<h2>{title}</h2>"
            yield from _table(title, parts)
    yield "<p class=dim>“saved” is the net effect of pruning on the bill: savings minus the cost of cache breaks "
    yield "and of fetching results again. Subagent tasks are billed to their sessions. "
    yield "Imported requests were made by other agents; they are shown at our prices "
    yield "and excluded from all other figures.</p>"
    if report.damaged:
        yield f"<h2>Damaged</h2><p>{counted(len(report.damaged), 'session')}: "
        yield ", ".join(f"{_text(name)}" for name, _ in report.damaged) + "</p>"
    yield "</body></html>"


def _plots(report: UsageReport) -> Iterator[str]:
    days = _span(list(report.days))
    models = list(report.models)[:MOST_MODELS]
    by_model = report.by(lambda _, row: f"{row.day} {row.model or '(no name)'}")
    others = "other models" if len(report.models) > MOST_MODELS else ""
    series = [
        (model, f"--k{at + 1}", [_at(by_model, f"{day} {model}").cost for day in days])
        for at, model in enumerate(models)
    ]
    if others:
        rest = [
            report.days.get(day, Sums()).cost - sum(_at(by_model, f"{day} {model}").cost for model in models)
            for day in days
        ]
        series.append((others, "--k0", rest))
    yield "<h2>Cost by day and model</h2>"
    yield from _bars(days, series, money)
    sums = report.days
    kinds = [(name, color, [float(of(_at(sums, day))) for day in days]) for name, color, of in _KINDS]
    yield "<h2>Tokens by day</h2>"
    yield from _bars(days, kinds, lambda value: short(round(value)))


def _at(sums: dict[str, Sums], key: str) -> Sums:
    return sums.get(key) or Sums()


def _span(days: Sequence[str]) -> list[str]:
    """Return every day from the first to the last, at most MOST_DAYS, so that days without use are visible too."""
    last = date.fromisoformat(days[-1])
    count = min(MOST_DAYS, (last - date.fromisoformat(days[0])).days + 1)
    return [(last - timedelta(days=back)).isoformat() for back in reversed(range(count))]


def _bars(
    days: Sequence[str],
    series: Sequence[tuple[str, str, Sequence[float]]],
    words: Callable[[float], str],
) -> Iterator[str]:
    top = max((sum(values[at] for _, _, values in series) for at in range(len(days))), default=0) or 1
    step = min(_MOST_STEP, (_WIDTH - _LEFT) / len(days))
    wide = max(1.0, step - min(4.0, step * 0.2))
    yield (
        '<div class="legend">'
        + "".join(
            f'<span><i style="background:var({color})"></i>{_text(name)}</span>' for name, color, _ in series
        )
        + "</div>"
    )
    yield f'<figure class="plot"><svg viewBox="0 0 {_WIDTH} {_HEIGHT + _BELOW}" role="img">'
    for part in (0, 0.5, 1):
        y = 8 + (_HEIGHT - 8) * (1 - part)
        yield f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{words(top * part)}</text>'
    for at, day in enumerate(days):
        x, y = _LEFT + at * step, float(_HEIGHT)
        lines = [day, *(f"{name}: {words(values[at])}" for name, _, values in series if values[at])]
        yield f"<g><title>{escape(chr(10).join(map(one_line, lines)))}</title>"
        for _, color, values in series:
            high = (_HEIGHT - 8) * max(0.0, values[at]) / top
            y -= high
            if high:
                yield (
                    f'<rect x="{x:.1f}" y="{y:.2f}" width="{wide:.1f}" height="{high:.2f}" fill="var({color})"/>'
                )
        yield "</g>"
        if at % max(1, -(-len(days) // 8)) == 0:
            yield f'<text x="{x:.1f}" y="{_HEIGHT + 16}">{day[5:]}</text>'
    yield "</svg></figure>"


def _table(title: str, parts: dict[str, Sums]) -> Iterator[str]:
    most = max(sums.cost for sums in parts.values()) or 1
    yield "<div class=wide><table><thead><tr>"
    yield f"<th>{title[:-1].lower() if title.endswith('s') else 'by'}</th>"
    yield "".join(f"<th>{name}</th>" for name in _HEAD) + "<th></th></tr></thead><tbody>"
    for name, sums in parts.items():
        bar = f'<td class=bar><i style="width:{100 * sums.cost / most:.1f}%"></i></td>'
        row = "".join(f"<td>{_text(cell)}</td>" for cell in cells(sums))
        yield f"<tr><td>{_text(name)}</td>{row}{bar}</tr>"
    yield "</tbody></table></div>"


def _text(text: str) -> str:
    return escape(one_line(text))
