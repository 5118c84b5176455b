"""/tree: the sessions of this directory, each below the session that it was copied from or is a task of."""

from collections.abc import Sequence

from prunecli.commands.command import WORKING, Choice, Choose, Effect, Say, refuse
from prunecli.runtime import Runtime
from prunecli.runtime.user_shell import is_busy
from prunecli.session.session_tree import Member, family
from prunecli.util.figures import age

NOT_IN = {"headless": "use prunecli sessions list --tree", "editor": "Open another session in the editor."}


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Choose a session from the tree of copies in this directory."""
    refuse("tree", arguments.split())
    if is_busy(runtime):
        return [WORKING]
    now = runtime.setup.clock()
    choices = [
        Choice(
            member.session.id,
            f"{member.lines}{member.session.label}",
            _facts(member, now),
            member.session.id == runtime.session.id,
        )
        for member in family(runtime.store.list(runtime.setup.cwd))
    ]
    if not choices:
        return [Say("No sessions in this directory yet.")]
    return [Choose("Sessions in this directory", "resume", tuple(choices))]


def _facts(member: Member, now: int) -> str:
    parts = age(now - member.session.changed), _origin(member), member.session.digest.head
    return " · ".join(filter(None, parts))


def _origin(member: Member) -> str:
    if member.at is None:
        return "handoff" if member.session.digest.is_handoff else ""
    return f"task of entry {member.at}" if member.session.is_task else f"fork at {member.at}"
