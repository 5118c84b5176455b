"""What commands changed, as a question shows it: a line for each file, with its diff."""

import os
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prunecli.front.presentation.diffing import between, lines_of
from prunecli.front.presentation.entries import Diff
from prunecli.util.figures import counted, short
from prunecli.util.frozen import frozen
from prunecli.util.sanitize import one_line

if TYPE_CHECKING:
    from prunecli.safety.proposals.changes import Change, Proposal

MOST_BYTES = 400_000
"""Maximum size of a file whose diff is shown."""
MOST_DIFFS = 200
MANY = 12
"""A new or deleted folder with more files is shown in one line."""


@frozen
class ShownChange:
    """A changed file or folder: what happened to it in a word, its path, and the outcome in a few ("+14 −3")."""

    verb: str
    path: str
    outcome: str = ""
    diff: Diff | None = None


def shown_changes(proposal: "Proposal") -> tuple[ShownChange, ...]:
    """Return what a question shows of a proposal, the files that control other programs first. Reads the files."""
    folders = {change.full: change for change in proposal.changes if _is_whole_folder(change)}
    alone: list[Change] = []
    within: defaultdict[str, list[Change]] = defaultdict(list)
    for change in proposal.changes:
        if _in_repository(change.path):
            continue  # git tells about it in its own words
        top = _topmost(change, folders)
        if change.controls or change.secret or not top:
            alone.append(change)
        else:
            within[top].append(change)
    shown = list[ShownChange]()
    for top, changes in within.items():
        files = [change for change in changes if not _is_folder(change)]
        if len(files) > MANY:
            shown.append(_folder(folders[top], files))
        else:
            alone += files or [folders[top]]
    above = {path for change in alone if not _is_folder(change) for path in _parents(change.full)}
    alone = [change for change in alone if not (_is_whole_folder(change) and change.full in above)]
    alone.sort(key=lambda change: (not (change.controls or change.secret), change.root, change.path))
    rows = (_row(proposal, change, number < MOST_DIFFS) for number, change in enumerate(alone))
    words = (ShownChange("git", word) for word in _in_git(proposal))
    return (*words, *rows, *sorted(shown, key=lambda one: one.path))


def changed_in_words(proposal: "Proposal") -> str:
    """Return how much was changed: "2 files and the repository"."""
    files = [one for one in proposal.changes if not _is_folder(one) and not _in_repository(one.path)]
    folders = [one for one in proposal.changes if _is_folder(one) and not _in_repository(one.path)]
    count = [counted(len(files), "file")] if files else [counted(len(folders), "folder")] if folders else []
    return " and ".join([*count, *(["the repository"] if _in_git(proposal) else [])])


def _in_git(proposal: "Proposal") -> list[str]:
    """Return what happened to the repository, in git's words if it has any for it."""
    inside = [one for one in proposal.changes if _in_repository(one.path)]
    said = [*map(one_line, proposal.git)]
    return said or ([f"{counted(len(inside), 'change')} in .git"] if inside else [])


def _row(proposal: "Proposal", change: "Change", has_room: bool) -> ShownChange:
    before, after = change.before, change.after
    verb = "new" if before is None else "deleted" if after is None else "changed"
    state = after or before
    assert state is not None  # noqa: S101
    path = _named(change)
    notes = ["controls other programs"] * change.controls + ["may contain secrets"] * change.secret
    diff, outcome = None, ""
    if change.twin:
        outcome = f"another name of {one_line(change.twin)}"
    elif state.what == "file" and (before is None or before.what == "file"):
        outcome, diff = _content(proposal, change, path) if has_room else (f"{short(state.size)} bytes", None)
        if before and after and before.digest == after.digest and before.size == after.size:
            outcome = ""
    elif state.what == "link":
        outcome = f"link to {one_line(os.fsdecode(state.digest))}"
    elif state.what != "file":
        outcome = state.what
    if after and (before is None or before.mode != after.mode):
        outcome = " · ".join(filter(None, (outcome, _mode(change))))
    return ShownChange(verb, path, " · ".join(filter(None, (outcome, *notes))), diff)


def _content(proposal: "Proposal", change: "Change", path: str) -> tuple[str, Diff | None]:
    """Return the lines added and removed, and the diff of a file that is text and not too large."""
    size = max(state.size for state in (change.before, change.after) if state)
    if size > MOST_BYTES:
        return f"{short(size)} bytes", None
    texts = list[str]()
    for new in (False, True):
        data = proposal.content(change, MOST_BYTES, new=new) or b""
        if b"\0" in data:
            return f"binary, {short(size)} bytes", None
        texts.append(data.decode("utf-8", "replace"))
    diff = between(lines_of(texts[0]), lines_of(texts[1]), path)
    if not diff.text:
        return "empty" if not size else "", None
    added, removed = diff.counts()
    return " ".join([f"+{added}"] * bool(added) + [f"−{removed}"] * bool(removed)), diff


def _mode(change: "Change") -> str:
    before, after = change.before, change.after
    assert after is not None  # noqa: S101
    if before is None:
        return "executable" if after.what == "file" and after.mode & 0o111 else ""
    if before.mode & 0o111 == after.mode & 0o111:
        return f"mode {after.mode:o}"
    return "executable" if after.mode & 0o111 else "no longer executable"


def _folder(folder: "Change", files: list["Change"]) -> ShownChange:
    verb = "new" if folder.before is None else "deleted"
    size = sum(state.size for one in files if (state := one.after or one.before))
    return ShownChange(verb, f"{_named(folder)}/", f"{counted(len(files), 'file')}, {short(size)} bytes")


def _named(change: "Change") -> str:
    return one_line(os.fsencode(change.path).decode("utf-8", "replace") or ".")


def _is_folder(change: "Change") -> bool:
    return all(state is None or state.what == "folder" for state in (change.before, change.after))


def _is_whole_folder(change: "Change") -> bool:
    return _is_folder(change) and (change.before is None or change.after is None)


def _topmost(change: "Change", folders: dict[str, "Change"]) -> str:
    """Return the outermost new or deleted folder that a change is or lies in, "" for none."""
    parts = change.full.split("/")
    return next((path for end in range(2, len(parts) + 1) if (path := "/".join(parts[:end])) in folders), "")


def _parents(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def _in_repository(path: str) -> bool:
    return ".git" in path.split("/")
