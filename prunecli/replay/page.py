"""The page of `prunecli replay --html`: one file with figures, style and script that loads nothing else.

Figures are embedded as JSON and drawn as SVG. All text from sessions is escaped, and the page's content security
policy allows only the script with this hash.
"""

import json
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from prunecli.figures import money
from prunecli.replay.rows import Row
from prunecli.replay.series import CONTENTS, MOST_SESSIONS, Courses
from prunecli.replay.table import HEAD, Report, answer, cells_of, checked
from prunecli.sanitize import one_line
from prunecli.session.exporters.html import head

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
STYLE = _HERE / "page.css"
"""The style of this page, and of others with tables and plots."""


def page(report: Report, courses: Courses) -> str:
    """Return the page."""
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
