"""/rewind: return to the point before an earlier prompt, with or without the files, or go forward again."""

from collections.abc import Sequence
from dataclasses import replace

from prunecli.commands.command import (
    WORKING,
    Choice,
    Choose,
    Effect,
    InThread,
    Say,
    Table,
    Work,
    is_costly,
    weighed,
)
from prunecli.context.labels import act_words
from prunecli.features.rewind.part import saver_of
from prunecli.features.rewind.restoring import Outlook
from prunecli.features.rewind.rewinding import Rewind, effect_of, outlook_of, points_of
from prunecli.model.codec import well_formed
from prunecli.runtime import Runtime
from prunecli.session.timeline import Point
from prunecli.util.errors import SnapshotFailed, UsageError
from prunecli.util.figures import age, counted

WHAT = {"both": (True, True), "conversation": (True, False), "files": (False, True)}
NOT_IN = {
    "headless": "use -r ID@ENTRY --fork, or start prunecli without -p",
    "editor": "An editor can't remove messages. Run `prunecli -r` in a terminal to rewind.",
}
NOW = "now"
"""The argument of a choice that has already shown the price."""
_NAMED = 3


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Rewind to an earlier prompt: conversation, files or both; can be reversed."""
    if runtime.running:
        return [WORKING]
    found = points_of(runtime)
    if not found:
        return [Say("Nothing to rewind yet.")]
    if not arguments:
        return [InThread("Checking the files", lambda: _picker(runtime, found))]
    number, what, now = [*arguments.split(maxsplit=2), "", ""][:3]
    point = next((one for one in found if number == str(one.seq)), None)
    if point is None or what not in (*WHAT, "show", "") or now not in ("", NOW):
        raise UsageError(f"/rewind {arguments}: no such point", "/rewind lists them")
    if what in WHAT:
        if not now and what != "files":
            return [InThread("Weighing the rewind", lambda: _priced(runtime, point, what))]
        return [_rewind(runtime, point, what)]
    return [InThread("Checking the files", lambda: _asked(runtime, point, show=what == "show"))]


def _rewind(runtime: Runtime, point: Point, what: str) -> Work:
    conversation, files = WHAT[what]
    text = point.text if conversation and not point.forward else ""
    return Work("Rewinding", Rewind(runtime, point.seq, conversation, files, text))


def _priced(runtime: Runtime, point: Point, what: str) -> Sequence[Effect]:
    effect = effect_of(runtime, point.seq)
    return weighed(runtime, effect, "Rewind", lambda: [_rewind(runtime, point, what)])


def _title(point: Point) -> str:
    where = "Forward to" if point.forward else "Rewind to before"
    return f"{where}: {point.text.strip().split(chr(10))[0]}"


def _looked(runtime: Runtime, seqs: list[int]) -> tuple[list[Outlook], str]:
    """Return the file changes that a rewind to each point would make, and why files cannot be restored ("" if they
    can)."""
    if saver_of(runtime).off:
        return [Outlook() for _ in seqs], saver_of(runtime).off
    try:
        return outlook_of(runtime, seqs), ""
    except SnapshotFailed as error:
        return [Outlook() for _ in seqs], error.message


def _picker(runtime: Runtime, found: Sequence[Point]) -> Sequence[Effect]:
    outlooks, why = _looked(runtime, [point.seq for point in found])
    now = runtime.setup.clock()
    choices = [
        Choice(str(point.seq), _label(point), _detail(point, outlook, now))
        for point, outlook in zip(found, outlooks, strict=True)
    ]
    title = (
        "Rewind to before …, or forward again" if any(one.forward for one in found) else "Rewind to before …"
    )
    note: list[Effect] = [Say(f"Only the conversation can be rewound: {why}.")] if why else []
    return [*note, Choose(title, "rewind", tuple(choices))]


def _label(point: Point) -> str:
    first = point.text.strip().split("\n")[0] or "(no text)"
    return f"↷ forward to: {first}" if point.forward else first


def _detail(point: Point, outlook: Outlook, now: int) -> str:
    prompts = f"{counted(point.prompts, 'prompt')} undone by a rewind" if point.forward else ""
    return _joined(age(now - point.at), prompts, _counts(point, outlook))


def _counts(point: Point, outlook: Outlook) -> str:
    """Return the changed files and lines: since an earlier point, or by going forward to a later one."""
    if not outlook.changes:
        return ""
    files = len(outlook.changes)
    added, removed = outlook.added, outlook.removed
    if point.forward:
        added, removed = removed, added
    lines = f" +{added} −{removed}" if added or removed else ""
    return f"{counted(files, 'file')}{lines}"


def _asked(runtime: Runtime, point: Point, *, show: bool) -> Sequence[Effect]:
    """Ask what to rewind: conversation, files or both. Rewinds the conversation alone if no file would change."""
    (outlook,), why = _looked(runtime, [point.seq])
    left = ", ".join(map(well_formed, outlook.unknown))
    unchanged = f"No files to restore: {why or 'the agent has changed none since'}."
    if left:
        unchanged = f"Cannot restore unsaved files: {left}."
    if show and not outlook.changes:
        return [Say(unchanged)]
    effect = effect_of(runtime, point.seq)
    cost = act_words(effect, runtime.policy.limit) if is_costly(effect) else ""
    if not outlook.changes and not cost:
        return [Say(unchanged), _rewind(runtime, point, "conversation")]
    seq = point.seq
    choices: tuple[Choice, ...] = (
        Choice(f"{seq} both {NOW}", "Conversation and files", _joined(cost, _named(outlook))),
        Choice(f"{seq} conversation {NOW}", "Conversation only", _joined(cost, "keep the files")),
        Choice(f"{seq} files", "Files only", "keep the conversation"),
        Choice(f"{seq} show", "Show the file changes", _counts(point, outlook)),
    )
    if not outlook.changes:
        what = "Go forward" if point.forward else "Rewind the conversation"
        choices = (Choice(f"{seq} conversation {NOW}", what, cost),)
    asked = Choose(_title(point), "rewind", choices)
    if show:
        note = f"cannot be restored: {left}" if left else ""
        return [replace(_table(point, outlook), note=note, back=asked)]
    if not outlook.changes:
        return [Say(unchanged), asked]
    return [Say(f"Cannot restore unsaved files: {left}.", "warning"), asked] if left else [asked]


def _joined(*words: str) -> str:
    return " · ".join(filter(None, words))


def _named(outlook: Outlook) -> str:
    names = [f"{well_formed(change.path)}{'' if change.new else ' (deleted)'}" for change in outlook.changes]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    foreign = (
        f"; also edited by you: {', '.join(map(well_formed, outlook.foreign[:_NAMED]))}"
        if outlook.foreign
        else ""
    )
    return f"{', '.join(names[:_NAMED])}{more}{foreign}"


def _table(point: Point, outlook: Outlook) -> Table:
    """Return a table of the files, counting added and removed lines as the preceding choices do."""
    rows, changed = [], "changes it" if point.forward else "changes it back"
    for change in outlook.changes:
        what = "restores it" if change.old is None else "deletes it" if change.new is None else changed
        plus, minus = (change.added, change.removed) if point.forward else (change.removed, change.added)
        lines = "binary" if change.added < 0 else f"+{plus} −{minus}"
        yours = "changed by others since" if change.path in outlook.foreign else ""
        rows.append((well_formed(change.path), what, lines, yours))
    when = "by it" if point.forward else "since then"
    return Table("File changes", ("file", "the rewind", when, ""), tuple(rows), (2,))
