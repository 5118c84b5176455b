"""Turns transcript entries, tables and questions into lines of text. Pure.

prunecli's own words are converted to ASCII, for all screen readers and terminals. Other text is kept.
"""

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from textwrap import wrap

from prunecli.commands.command import Choice, Choose, Table
from prunecli.front.presentation.entries import (
    Assistant,
    Diff,
    Divider,
    Entry,
    Level,
    Notice,
    Output,
    Prompt,
    ToolCall,
    ToolState,
)
from prunecli.front.presentation.questions import Sheet
from prunecli.runtime import Status
from prunecli.util.figures import counted, money, short
from prunecli.util.sanitize import one_line, source, visible

DIFF_LINES = 60
"""Maximum lines of a diff to show; the rest are counted."""

COMMAND_LINES, FAILED_LINES = 10, 3
"""Last lines of output to show: of a command, and of any other call that failed."""

LEAST_WORDS = 12
"""Minimum width of a column of words when a table is fitted to the available width."""

_ASCII = str.maketrans(
    {"✂": "", "·": "-", "−": "-", "→": "->", "…": "...", "’": "'", "×": "x", "✓": "", "—": "-"}
    | {"☐": "[ ]", "▸": "[>]", "☑": "[x]"}
)
_STATES = {
    ToolState.OK: "done",
    ToolState.ERROR: "failed",
    ToolState.DENIED: "denied",
    ToolState.INTERRUPTED: "interrupted",
}

_NO_CALLS = ("attached", "notice", "sent")
"""Entries that look like calls on the screen but are not."""


def ours(text: str) -> str:
    """Replace the program's non-ASCII characters with ASCII."""
    return text.translate(_ASCII).strip()


def entry_lines(entry: Entry, *, afterwards: bool = False) -> list[str]:
    """Return the lines of an entry; [] for entries that are shown elsewhere or not at all (thinking, waiting calls).

    `afterwards`: the start of a call was not printed, so its end includes the argument.
    """
    match entry:
        case Prompt(text):
            return [f"> {line}" for line in source(text).split("\n")]
        case Assistant(text) if text.strip():
            return source(text.strip("\n")).split("\n")
        case ToolCall():
            return _call_lines(entry, afterwards=afterwards)
        case Notice(text, level):
            text = f"error: {text}" if level is Level.ERROR else text
            return [ours(line) for line in visible(text).split("\n")]
        case Divider(text):
            return [f"-- {ours(one_line(text))} --"]
        case _:
            return []


def _call_lines(call: ToolCall, *, afterwards: bool) -> list[str]:
    name, argument = one_line(call.name), one_line(call.argument)
    if call.state is ToolState.RUNNING:
        return [f"[{name}] {argument}".rstrip()]
    state = _STATES.get(call.state)
    if state is None:
        return []
    said = f": {ours(one_line(call.outcome))}" if call.outcome else ""
    if call.name in _NO_CALLS:
        return [f"[{name}] {argument}{said}"]
    took = f" ({call.duration_ms / 1000:.1f} s)" if call.duration_ms and call.duration_ms >= 1000 else ""
    about = f"{argument} - " if afterwards and argument else ""
    lines = [f"[{name}] {about}{state}{said}{took}"]
    if isinstance(call.body, Diff):
        return lines + diff_lines(call.body)
    most = COMMAND_LINES if call.name == "bash" else FAILED_LINES if call.state is ToolState.ERROR else 0
    if not isinstance(call.body, Output) or not most or call.body.text.strip() in call.outcome:
        return lines  # the outcome says it all
    return lines + _last_lines(call.body.text, most)


def _last_lines(text: str, most: int) -> list[str]:
    lines = source(text.rstrip("\n")).split("\n")
    rest = [f"  ... {counted(len(lines) - most, 'earlier line')}"] if len(lines) > most else []
    return rest + [f"  {line}" for line in lines[-most:]]


def diff_lines(diff: Diff, most: int = DIFF_LINES) -> list[str]:
    lines = source(diff.text).split("\n") if diff.text else []
    rest = [f"  ... and {len(lines) - most} more lines"] if len(lines) > most else []
    return [f"  {line}" for line in lines[:most]] + rest


def table_lines(table: Table, room: int = 0) -> list[str]:
    """Return a table in aligned columns, with its note below. Columns of words wrap to fit into `room` cells; 0 means
    no limit."""
    rows = [tuple(map(_cell, row)) for row in (table.headings, *table.rows)]
    widths = [max(len(row[at]) for row in rows if at < len(row)) for at in range(len(table.headings))]
    wordy = [at for at in range(len(widths)) if at not in table.right]
    excess = sum(widths) + 2 * len(widths) - room if room else 0
    while excess > 0 and wordy and widths[widest := max(wordy, key=widths.__getitem__)] > LEAST_WORDS:
        widths[widest], excess = widths[widest] - 1, excess - 1
    lines = [f"{ours(one_line(table.title))}:"]
    for row in rows:
        wrapped = [wrap(cell, widths[at]) if widths[at] else [] for at, cell in enumerate(row[: len(widths)])]
        for texts in zip_longest(*wrapped, fillvalue="") if any(wrapped) else [()]:
            cells = [
                text.rjust(widths[at]) if at in table.right else text.ljust(widths[at])
                for at, text in enumerate(texts)
            ]
            lines.append("  " + "  ".join(cells).rstrip())
    note = table.lines_note or table.note
    return lines + ([ours(line) for line in visible(note).split("\n")] if note else [])


def _cell(text: str) -> str:
    return ours(one_line(text))


def choice_lines(choose: Choose) -> list[str]:
    return [
        f"{ours(one_line(choose.title))}",
        *(f"  {ours(one_line(line))}" for line in choose.about.split("\n") if line),
        *(_choice(number, choice) for number, choice in enumerate(choose.choices, 1)),
    ]


def _choice(number: int, choice: Choice) -> str:
    detail = f" - {_cell(choice.detail)}" if choice.detail else ""
    return f"  {number}. {_cell(choice.label)}{detail}{' (now)' if choice.current else ''}"


def chosen(choose: Choose, answer: str) -> Choice | None:
    """Return the choice for an answer: its number, value or label."""
    answer = answer.strip()
    if answer.isdigit() and 1 <= int(answer) <= len(choose.choices):
        return choose.choices[int(answer) - 1]
    return next(
        (
            choice
            for choice in choose.choices
            if answer.lower() in (choice.value.lower(), choice.label.lower())
        ),
        None,
    )


def sheet_lines(sheet: Sheet) -> list[str]:
    """Return the complete question, with nothing shortened, so that users see all of what they approve."""
    lines = [ours(sheet.title)]
    lines += [f"  {line}" for line in sheet.text.split("\n")]
    lines += [f"  ({sheet.beside})"] if sheet.beside else []
    if sheet.diff:
        lines += diff_lines(sheet.diff, most=1_000_000)
    for change in sheet.changes:
        lines.append("  ".join(filter(None, (f"  {change.verb}", change.path, change.outcome))))
        lines += diff_lines(change.diff, most=1_000_000) if change.diff else []
    if sheet.reason:
        lines.append(f"Reason: {ours(sheet.reason)}")
    lines += [f"{sheet.wall}."] if sheet.wall else []
    lines.append(f"1 or y: {sheet.yes}")
    if sheet.rule:
        lines.append(f"2 or a: yes, and don't ask again for {sheet.rule} until you quit")
        lines += [f"  ({sheet.covers})"] if sheet.covers else []
        lines.append("p: yes, always in this project")
    refusal = "no, drop it" if sheet.changes else "no"
    lines.append(
        f"{3 if sheet.rule else 2} or n: {refusal}; any other text does too, and tells the model why"
    )
    return lines


def status_line(status: Status) -> str:
    """Return the mode, model, context, pruning and cost in one line."""
    ledger = status.ledger
    about = "about " if status.estimated and ledger.context_tokens else ""
    parts = [
        f"mode {status.mode}" if status.trusted else f"mode {status.mode}, untrusted: read-only",
        one_line(status.model),
        f"context {ledger.used_words(about)}",
        f"pruned {short(ledger.pruned_tokens)}" if status.pruning else "pruning off",
        *([f"saved {money(status.saved)}"] if status.saved is not None else []),
        *([ledger.clearing.words] if ledger.cleared_tokens else []),
        money(status.bill.cost),
        *status.more,
    ]
    if status.held:
        parts.append(ours(one_line(status.held)))
    return f"({', '.join(parts)})"


def joined(groups: Iterable[Sequence[str]]) -> list[str]:
    lines: list[str] = []
    for group in groups:
        if group:
            lines += [*([""] if lines else []), *group]
    return lines
