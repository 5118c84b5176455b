"""The rows of the session list, and the details of the marked one."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from prunecli.front.presentation import fuzzy
from prunecli.session.session_search import Hit
from prunecli.session.store import Listed
from prunecli.tui.transcript.rows import clip, width_of
from prunecli.util.figures import counted, money, short
from prunecli.util.frozen import frozen
from prunecli.util.paths import worktree_name
from prunecli.util.sanitize import one_line

if TYPE_CHECKING:
    from prunecli.runtime.sessions import Costs

MINUTE, HOUR, DAY = 60, 3_600, 86_400
MOST_FUZZY = 50


@frozen
class Row:
    listed: Listed
    hit: Hit | None = None


def rows_of(all_: Sequence[Listed], hits: Sequence[Hit], query: str, *, in_words: bool) -> list[Row]:
    """Return the rows: one for each hit, or the sessions that match the filter.

    A session matches if its name, directory or prompts contain every word. If no session does, those match whose
    title contains the letters in order.
    """
    if in_words:
        by_path = {one.path: one for one in all_}
        return [Row(by_path[hit.path], hit) for hit in hits if hit.path in by_path]
    words = query.lower().split()
    if not words:
        return [Row(one) for one in all_]
    found = [one for one in all_ if _holds(one, words)]
    if not found:
        labels: dict[str, list[Listed]] = {}
        for one in all_:
            labels.setdefault(one.label, []).append(one)
        found = [one for label in fuzzy.best("".join(words), labels, MOST_FUZZY) for one in labels[label]]
    return [Row(one) for one in found]


def _holds(one: Listed, words: Sequence[str]) -> bool:
    digest = one.digest
    text = f"{one.id}\n{digest.name}\n{digest.cwd}\n{digest.first}\n{digest.last}".lower()
    return all(word in text for word in words)


def age(now_ms: int, then_ms: int) -> str:
    """Format an age in at most ten characters: now, 5m, 3h, 12d, 2026-01-31."""
    seconds = (now_ms - then_ms) // 1000
    if seconds < MINUTE:
        return "now"
    for size, unit, most in ((MINUTE, "m", HOUR), (HOUR, "h", DAY), (DAY, "d", 60 * DAY)):
        if seconds < most:
            return f"{seconds // size}{unit}"
    return f"{datetime.fromtimestamp(then_ms / 1000).astimezone():%Y-%m-%d}"


def details(row: Row, width: int) -> Content:
    """Return the first and last prompt and other facts, in four lines."""
    listed, digest = row.listed, row.listed.digest
    lines = [_said("first", digest.first, width), _said("last", digest.last, width)]
    if row.hit:
        hit = row.hit
        before, found, after = hit.excerpt[: hit.at], hit.excerpt[hit.at : hit.end], hit.excerpt[hit.end :]
        marked = (one_line(before), (one_line(found), "bold $accent"), one_line(after))
        lines[1] = Content.assemble((f"{one_line(hit.who):>6} ", "$muted"), *marked)
    held = f"{digest.entries} entries" if digest.entries else _prompts(digest.prompts)
    facts = [", ".join(digest.spent), held, digest.cwd or "unknown directory"]
    facts += (
        [f"{'handed off from' if digest.is_handoff else 'fork of'} {digest.parent}"] if digest.parent else []
    )
    lines.append(Content.styled(clip(one_line(" · ".join(filter(None, facts))), width), "$muted"))
    lines.append(Content.styled(clip(one_line(listed.id), width), "$muted"))
    return Content("\n").join(lines)


def _prompts(number: int) -> str:
    return counted(number, "prompt")


def _said(label: str, text: str, width: int) -> Content:
    words = clip(one_line(" ".join(text.split())), max(4, width - 8))
    return Content.assemble((f"{label:>6} ", "$muted"), words)


class SessionRows(Widget):
    """The rows in view, one of them marked. Column widths depend on the rows."""

    can_focus = False

    class Picked(Message):
        def __init__(self, again: bool) -> None:
            super().__init__()
            self.again = again

    def __init__(self) -> None:
        super().__init__()
        self.rows: Sequence[Row] = ()
        self.at = 0
        self._first = 0
        self._costs: Costs | None = None
        self._now = 0
        self._here = True

    @property
    def chosen(self) -> Row | None:
        return self.rows[self.at] if self.rows else None

    def show(self, rows: Sequence[Row], costs: "Costs | None", now_ms: int, *, here: bool) -> None:
        """Show these rows; the mark keeps its index if possible. Without `costs`, show the number of prompts."""
        self.rows, self._costs, self._now, self._here = rows, costs, now_ms, here
        self.at = max(0, min(self.at, len(rows) - 1))
        self.refresh()

    def move(self, step: int) -> None:
        self.at = max(0, min(self.at + step, len(self.rows) - 1))
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        index = self._first + event.y
        if 0 <= index < len(self.rows):
            again, self.at = index == self.at, index
            self.refresh()
            self.post_message(self.Picked(again))

    def render(self) -> Content:
        width, height = self.size
        self._first = max(self.at - height + 1, min(self._first, self.at), 0)
        shown = self.rows[self._first : self._first + height]
        lines = [self._line(row, width, marked=self._first + y == self.at) for y, row in enumerate(shown)]
        return Content("\n").join(lines)

    def _line(self, row: Row, width: int, *, marked: bool) -> Content:
        digest = row.listed.digest
        right = [
            age(self._now, row.listed.changed),
            short(digest.context) if digest.context else "",
            money(self._costs.of_session(digest)) if self._costs else _prompts(digest.prompts),
        ]
        figures = f"{right[0]:>10} {right[1]:>7} {right[2]:>{8 if self._costs else 11}} "
        room = width - len(figures) - 2
        if room < 16:
            figures, room = "", width - 2
        label = ("fork: " if digest.is_copy else "") + one_line(row.listed.label)
        where = one_line(digest.head if self._here else digest.cwd.rstrip("/").rsplit("/", 1)[-1])
        if worktree := worktree_name(digest.cwd):
            where = " · ".join(filter(None, (f"worktree {one_line(worktree)}", where if self._here else "")))
        excerpt = one_line(row.hit.excerpt) if row.hit else ""
        beside = excerpt or where
        most = room if not beside else max(8, room * (2 if excerpt else 3) // 5)
        label = clip(label, most)
        beside = clip(beside, max(0, room - width_of(label) - 2)) if beside else ""
        gap = " " * max(0, room - width_of(label) - width_of(beside) - 1)
        line = Content.assemble(
            " ", (label, "$foreground"), gap, (beside, "$muted"), " ", (figures, "$muted")
        )
        return line.stylize_before("on $selection" if marked else "on $panel")
