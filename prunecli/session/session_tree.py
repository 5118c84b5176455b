"""The tree of sessions with their copies and tasks, as lines of a list."""

from collections.abc import Sequence

from prunecli.session.store import Listed
from prunecli.util.frozen import frozen


@frozen
class Member:
    """A session in the tree. `lines` draws its branch ("" for a root).

    `parent` is the session it was copied from, up to record `at`; "" and None if the session was not copied.
    """

    session: Listed
    lines: str = ""
    parent: str = ""
    at: int | None = None


def family(listed: Sequence[Listed]) -> list[Member]:
    """Return the sessions in tree order: roots as listed, children below their parent, oldest first.

    A copy whose parent is not listed is a root.
    """
    origins = {one.id: _origin(one) for one in listed}
    known = {one.id for one in listed}
    children: dict[str, list[Listed]] = {}
    roots: list[Listed] = []
    for one in listed:
        parent = origins[one.id][0]
        if parent in known and parent != one.id:
            children.setdefault(parent, []).append(one)
        else:
            roots.append(one)
    members: list[Member] = []
    todo = [(root, "", "") for root in reversed(roots)]
    while todo:
        one, lines, below = todo.pop()
        members.append(Member(one, lines, *origins[one.id]))
        young = sorted(children.pop(one.id, []), key=lambda child: (child.started, child.id))
        for child in reversed(young):
            last = child is young[-1]
            todo.append((child, below + ("└ " if last else "├ "), below + ("  " if last else "│ ")))
    return members


def _origin(one: Listed) -> tuple[str, int | None]:
    """Return the parent's id ("" for none) and the seq of the last copied record."""
    digest = one.digest
    return digest.parent, digest.parent_at if digest.parent and digest.parent_at >= 0 else None
