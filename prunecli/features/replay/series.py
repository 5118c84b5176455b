"""The course of a play, request by request, for plots: the context by kind of content, the cost and the events."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Literal, TypeAlias

from prunecli.context.exchange import Entry
from prunecli.context.spill import kind_of
from prunecli.features.replay.replayer import Replayer, Sent
from prunecli.features.replay.rows import HEAD, Report, Row, answer, cells_of, checked
from prunecli.front.html import STYLE, head
from prunecli.model.messages import Json
from prunecli.util.figures import money
from prunecli.util.sanitize import one_line

Content: TypeAlias = Literal["fixed", "user", "model", "read", "command", "search", "other"]
CONTENTS: tuple[Content, ...] = ("fixed", "user", "model", "read", "command", "search", "other")
"""The kinds of content, from the bottom of a plot to its top: system prompt and tools, user messages, answers,
results."""
_OF_RESULTS: dict[str, Content] = {"bash": "command", "print": "read", "read": "read", "search": "search"}
MOST_POINTS = 400
MOST_SESSIONS = 40
"""Maximum sessions with plots; the most expensive ones are chosen."""


@dataclass(slots=True)
class Series:
    """One play. For each request, `layers` has the tokens of each kind, and `cost` the USD up to and including it.

    The other fields are numbers of requests: those whose edits broke the cache, those whose edits changed sent
    content, and those whose responses quoted removed content.
    """

    name: str = ""
    layers: list[tuple[int, ...]] = field(default_factory=list)
    cost: list[float] = field(default_factory=list)
    breaks: list[int] = field(default_factory=list)
    edits: list[int] = field(default_factory=list)
    regrets: list[int] = field(default_factory=list)
    _kinds: dict[int, Content] = field(default_factory=dict)

    def watch(self, player: Replayer, sent: Sent) -> None:
        """Record a request. `Replayer` calls this."""
        number = len(self.cost)
        self.layers.append(self._layers(player))
        self.cost.append((self.cost[-1] if self.cost else 0.0) + sent.cost)
        if sent.broke:
            self.breaks.append(number)
        if sent.before and player.cache.changed:
            self.edits.append(number)
        if player.regrets.new:
            self.regrets.append(number)

    def _layers(self, player: Replayer) -> tuple[int, ...]:
        context, counts = player.context, player.context.counts
        sums = dict.fromkeys(CONTENTS, 0.0)
        sums["fixed"] = player.cache.totals[0]
        # A damaged log may lack the record of a request, so that there are items which were added after the last one.
        for item, (start, end) in zip(context.items, pairwise(player.cache.totals), strict=False):
            whole = end - start
            if item.exchange is None:
                sums["user"] += whole
                continue
            for result in item.exchange.results if whole else ():
                if not context.dropped(item.exchange):
                    raw, exact, words = counts.amount(result, context.text_edit(result.seq))
                    part = counts.factor * (raw + words) + exact
                    sums[self._kind(result)] += part
                    whole -= part
            sums["model"] += whole
        return tuple(round(sums[kind]) for kind in CONTENTS)

    def _kind(self, result: Entry) -> Content:
        if result.seq not in self._kinds:
            kind = kind_of(result.call, result.touches) if result.call else "other"
            reads = result.touches is not None and bool(result.touches.reads) and not result.touches.changes
            self._kinds[result.seq] = _OF_RESULTS.get(kind or ("read" if reads else ""), "other")
        return self._kinds[result.seq]

    def to_json(self) -> dict[str, Json]:
        """Return the data for the page. Of a long session, only some requests are included, with their events."""
        count = len(self.cost)
        step = max(1, -(-count // MOST_POINTS))
        kept = [*range(0, count, step)]
        return {
            "name": self.name,
            "step": step,
            "layers": [[self.layers[at][kind] for at in kept] for kind in range(len(CONTENTS))],
            "cost": [round(self.cost[at], 6) for at in kept],
            "last": round(self.cost[-1], 6) if self.cost else 0,
            "breaks": [at / step for at in self.breaks],
            "edits": [at / step for at in self.edits],
            "regrets": [at / step for at in self.regrets],
        }


class Courses:
    """The plays of the most expensive sessions. Those of other sessions are dropped, so they take no memory."""

    def __init__(self, most: int = MOST_SESSIONS) -> None:
        self._most = most
        self._count = 0
        self._kept: list[tuple[float, int, str, Sequence[Series]]] = []

    def add(self, name: str, plays: Sequence[Series]) -> None:
        """Add a session, whose first play is without pruning."""
        if not plays or not plays[0].cost:
            return
        self._count += 1
        heappush(self._kept, (plays[0].cost[-1], -self._count, name, plays))
        if len(self._kept) > self._most:
            heappop(self._kept)

    def __iter__(self) -> Iterator[tuple[str, Sequence[Series]]]:
        """Yield the names and plays, the most expensive session first."""
        return ((name, plays) for *_, name, plays in sorted(self._kept, reverse=True))


_NAMES = {
    "fixed": "system and tools",
    "user": "your words",
    "model": "the model's words and calls",
    "read": "files",
    "command": "commands",
    "search": "searches",
    "other": "other results",
}
_HERE = Path(__file__).parent


def page(report: Report, courses: Courses) -> str:
    return "\n".join(_page(report, courses)) + "\n"


def _page(report: Report, courses: Courses) -> Iterator[str]:
    script = (_HERE / "page.js").read_text("utf-8")
    yield from head("prunecli replay", STYLE.read_text("utf-8"), script)
    yield "<h1>What each strategy would have sent</h1>"
    yield from (f"<p class=answer>{_text(line)}</p>" for line in answer(report))
    yield from _table(report.totals)
    yield "<p class=dim>Costs are relative to no pruning. “+ edits” and “+ any” add fetching what an edit, or any "
    yield "answer, quotes later. Breaks: requests that wrote cached content again. Spilled: long results sent in "
    yield "part. Regret: removed texts that anything, or an edit, quotes later."
    yield from (f"<br>{_text(line)}" for line in (report.setup, *checked(report.validation)) if line)
    yield "</p><h2>One session</h2>"
    yield '<nav><label>Session <select id="session"></select></label></nav>'
    if len(report.sessions) > MOST_SESSIONS:
        yield f"<p class=dim>The {MOST_SESSIONS} most expensive of {len(report.sessions)} sessions.</p>"
    yield '<h3>Cost so far</h3><p class=dim>Without fetching removed content again.</p><div id="cost"></div>'
    yield '<h3>Context by kind of content</h3><div id="legend" class="legend"></div><div id="plots"></div>'
    yield f'<script type="application/json" id="data">{_data(courses)}</script>'
    yield f"<script>{script}</script></body></html>"


def _table(rows: Sequence[Row]) -> Iterator[str]:
    yield "<div class=wide><table><thead><tr>"
    yield "".join(f"<th>{name}</th>" for name in HEAD) + "</tr></thead><tbody>"
    for row in rows:
        name, *cells = map(_text, cells_of(row, rows[0]))
        first = f'<td title="{money(row.cost)} of prompts">{name}</td>'
        yield f"<tr>{first}" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
    yield "</tbody></table></div>"


def _data(courses: Courses) -> str:
    """Return the plays as JSON, escaped so that no text of a session can end the script element."""
    data = {
        "kinds": [_NAMES[kind] for kind in CONTENTS],
        "sessions": [
            {"name": one_line(name), "plays": [series.to_json() for series in plays]}
            for name, plays in courses
        ],
    }
    text = json.dumps(data, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _text(text: str) -> str:
    return escape(one_line(text))
