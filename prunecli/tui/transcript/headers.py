"""One-line headers of entries: tool calls and thoughts in aligned columns, prompts, notices, rules, marks."""

from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style

from prunecli.front.presentation.entries import Diff, Level, Origin, ToolCall, ToolState
from prunecli.tui.transcript.markdown import Sheet
from prunecli.tui.transcript.palette import UNDERLINE, Inks, mix
from prunecli.tui.transcript.rows import Row, clip, width_of
from prunecli.util.figures import duration, short
from prunecli.util.sanitize import one_line

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
RESTORE = "restore"

_ICONS = {
    ToolState.WAITING: "◌",
    ToolState.OK: "✓",
    ToolState.ERROR: "✗",
    ToolState.DENIED: "⊘",
    ToolState.INTERRUPTED: "■",
}
PROMPT_MARKS = {Origin.PROMPT: "❯ ", Origin.STEERING: "↳ ", Origin.FOLLOW_UP: "+ ", Origin.SHELL: "! "}
PRUNE_MARK = "✂ "
"""The prefix of notices about prunes, which are shown among the calls."""
NOTICE_MARKS = {Level.INFO: "· ", Level.WARNING: "! ", Level.ERROR: "✗ "}

_IN_PART = " · in part"
"""Takes the place of the number of lines or characters held back, if that does not fit."""
_NAME = 5  # width of the name column; a longer name shifts only its own line
_TIME = 7
_TOKENS = 10
_NARROW, _NARROWEST = 50, 36


class Face(NamedTuple):
    """The contents of a header line. `frame` is the step of the spinner while the call runs."""

    icon: str
    icon_style: Style
    name: str
    subject: str
    outcome: str = ""
    outcome_style: Style | None = None
    time: str = ""
    size: str = ""
    pruned: str = ""
    fold: str = " "
    subject_style: Style | None = None


def tool_face(call: ToolCall, folded: bool, elapsed_ms: int | None, frame: int, inks: Inks) -> Face:
    """Build the header of a tool call; `elapsed_ms` is the widget's own count while it runs."""
    icon, style = _ICONS.get(call.state, SPINNER[frame % len(SPINNER)]), inks.muted
    if call.pruned:
        icon = "✂"
    elif call.state is ToolState.OK:
        icon, style = ("±" if isinstance(call.body, Diff) else icon), inks.success
    elif call.state is ToolState.ERROR:
        style = inks.error
    elif call.state in (ToolState.DENIED, ToolState.INTERRUPTED):
        style = inks.warning
    elif call.state is ToolState.RUNNING:
        style = inks.accent
    outcome = call.outcome
    if not outcome and call.state in (ToolState.DENIED, ToolState.INTERRUPTED):
        outcome = str(call.state)
    milliseconds = elapsed_ms if call.duration_ms is None else call.duration_ms
    return Face(
        icon,
        style,
        one_line(call.name),
        _first_line(call.argument),
        one_line(outcome),
        inks.error if call.state is ToolState.ERROR else inks.muted,
        "" if milliseconds is None else duration(milliseconds),
        "" if call.tokens is None else f"{short(call.tokens)} tok",
        one_line(call.pruned),
        " " if not foldable(call) else "▸" if folded else "▾",
    )


def foldable(call: ToolCall) -> bool:
    return call.body is not None or long_argument(call)


def long_argument(call: ToolCall) -> bool:
    """Return whether the argument must be repeated below the line, because most screens are too narrow for it."""
    return len(call.argument) > 50 or "\n" in call.argument


def header_cells(call: ToolCall) -> int:
    return 4 + max(_NAME, width_of(call.name)) + 4 + _TIME + _TOKENS + 2


def _first_line(text: str) -> str:
    first, feed, _ = text.strip("\n").partition("\n")
    return one_line(first) + (" …" if feed else "")


def header_row(face: Face, sheet: Sheet) -> Row:
    """Lay out a row in aligned columns: icon, name, subject, outcome, time, size, fold mark."""
    inks, width = sheet.inks, sheet.width
    name_style = inks.muted if face.pruned else inks.strong
    right = _right_column(face, width)
    left = [Segment(f"{face.icon} ", face.icon_style), Segment(f"{face.name:<{_NAME}}  ", name_style)]
    used = sum([width_of(segment.text) for segment in left])
    if not face.time and _is_clipped(face, width - used - len(right) - 1):
        right = right.lstrip()  # without a time, the column has room for words
    room = max(0, width - used - len(right) - 1)
    hot: tuple[int, int] | None = None
    if face.pruned:
        outcome, style = clip(f"{face.pruned} · ", max(0, room - len(RESTORE) - 3)), inks.muted
        rest = width_of(outcome) + len(RESTORE)
    else:
        outcome, style = face.outcome, face.outcome_style or inks.muted
        rest = width_of(outcome)
    if rest and not face.pruned and rest > room // 2:
        most = max(room // 2, room - width_of(face.subject) - 3)
        outcome = _fitted(outcome, most)
        rest = width_of(outcome)
    subject = clip(face.subject, max(0, room - (rest + 3 if rest else 0)))
    left.append(Segment(subject, face.subject_style or (inks.muted if face.pruned else inks.text)))
    used += width_of(subject)
    if rest:
        gap = "   " if subject else ""
        left.append(Segment(gap + outcome, style))
        used += len(gap) + width_of(outcome)
    if face.pruned:
        left.append(Segment(RESTORE, mix(inks.accent, UNDERLINE)))
        hot = (used, used + len(RESTORE))
        used += len(RESTORE)
    padding = width - used - len(right)
    if right and padding > 0:
        left += [Segment(" " * padding, inks.text), Segment(right, inks.muted)]
        used = width
    return Row(left, used, 2, hot=hot)


def _fitted(outcome: str, most: int) -> str:
    """Cut an outcome to this width. That only a part of the result was sent stays visible."""
    said, _, held = outcome.rpartition(" · ")
    room = most - width_of(_IN_PART)
    if width_of(outcome) <= most or not said or not held.endswith(" not sent") or room < width_of(_IN_PART):
        return clip(outcome, most)
    return clip(said, room) + _IN_PART


def _is_clipped(face: Face, room: int) -> bool:
    return width_of(face.subject) + width_of(face.outcome) + 3 * bool(face.outcome) > room


def _right_column(face: Face, width: int) -> str:
    if width < _NARROWEST:
        return ""
    size = f"{face.size:>{_TOKENS}}" if face.size or not face.pruned else " " * _TOKENS
    time = f"{face.time:>{_TIME}}" if width >= _NARROW else ""
    if face.pruned:
        return f"  {face.fold}"
    return f"{time}{size} {face.fold}"


def mark_row(pruned: str, sheet: Sheet) -> Row:
    inks = sheet.inks
    text = clip(f"✂ {one_line(pruned)} · ", max(0, sheet.width - len(RESTORE)))
    cells = width_of(text)
    segments = [Segment(text, inks.muted), Segment(RESTORE, mix(inks.accent, UNDERLINE))]
    return Row(segments, cells + len(RESTORE), 2, hot=(cells, cells + len(RESTORE)))


def fold_row(more: str, sheet: Sheet, folded: bool) -> Row:
    """Return the line that folds or unfolds a long prompt. The line is not copied with the text."""
    text = clip(f"{'▸' if folded else '▾'} {more}", sheet.width)
    row = Row([Segment(text, sheet.inks.muted)], width_of(text), 2 if folded else len(text))
    row.join = None if folded else ""
    return row


def divider_row(label: str, sheet: Sheet) -> Row:
    """Return a rule with a label."""
    inks, width = sheet.inks, sheet.width
    if not label:
        return Row([Segment("─" * width, inks.faint)], width)
    words = clip(one_line(label), max(1, width - 8))
    left = max(0, min(3, width - width_of(words) - 2))
    after = max(0, width - left - width_of(words) - 2)
    segments = [
        Segment("─" * left, inks.faint),
        Segment(f" {words} ", inks.muted),
        Segment("─" * after, inks.faint),
    ]
    return Row(segments, left + width_of(words) + 2 + after, left + 1)
