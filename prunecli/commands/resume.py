"""/resume: open an earlier session."""

from collections.abc import Sequence
from datetime import datetime, tzinfo

from prunecli.commands.command import (
    WORKING,
    Choice,
    Choose,
    Effect,
    InThread,
    PickSession,
    RunLine,
    Say,
    switched,
    unquoted,
)
from prunecli.plugins.features import features
from prunecli.runtime import Runtime
from prunecli.runtime.importers import importer_of, is_agent, titles
from prunecli.runtime.sessions import facts_of
from prunecli.runtime.user_shell import is_busy
from prunecli.util.errors import SessionLocked, SessionNotFound
from prunecli.util.figures import counted

ALIASES = ("sessions",)
_AGENTS = ", ".join(list(titles(features()))[:2])
_OTHERS = f"; {_AGENTS} … list theirs" if _AGENTS else ""
HELP = f"Resume a session: /resume ID; --fork copies it, --view is read-only{_OTHERS}."
NOT_IN = {"headless": "use -r ID", "editor": "Open another session in the editor."}
_MOST_CHOICES = 30


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Resume a session, or let the user choose one."""
    if is_busy(runtime):
        return [WORKING]
    if arguments:
        wanted, _, how = arguments.rpartition(" ")
        if how not in ("--fork", "--view"):
            wanted, how = arguments, ""
        if is_agent(wanted, runtime.config.installed):
            return _of_agent(runtime, wanted, how)
        path, unheard = runtime.store.find(unquoted(wanted)), runtime.status().waiting
        try:
            runtime.resume(path, writable=how != "--view", fork=how == "--fork")
        except SessionLocked as locked:
            return [_offer(locked)]
        except OSError as error:
            raise SessionNotFound(f"{error.filename}: {error.strerror}") from error
        return switched(
            () if runtime.resuming else unheard
        )  # a long session gets the messages once it is loaded
    if all(path == runtime.session.path for path in runtime.store.paths()):
        return [Say("No earlier sessions.")]
    return [PickSession(lambda: _choose(runtime))]


def words(runtime: Runtime, before: str) -> Sequence[tuple[str, str]]:
    return (
        []
        if before
        else [(agent, f"sessions of {title}") for agent, title in titles(runtime.config.installed).items()]
    )


def _of_agent(runtime: Runtime, wanted: str, how: str) -> Sequence[Effect]:
    """Let the user choose a session of another agent, or import the named one, then resume it."""
    setup = runtime.setup
    agent, _, given = wanted.partition(":")
    if not given:
        return [PickSession(lambda: _choose_of(runtime, agent), agent)]

    def work() -> Sequence[Effect]:
        done = importer_of(agent, runtime.config.installed).hand_over(
            wanted, setup.environ, setup.cwd, runtime.store
        )
        return [RunLine(f"/resume {done.path.stem} {how}".strip()), Say(done.note)]

    return [InThread(f"Importing a session of {titles(runtime.config.installed)[agent]}", work)]


def _choose_of(runtime: Runtime, agent: str) -> Choose:
    setup, problems, name = runtime.setup, list[str](), titles(runtime.config.installed)[agent]
    found = list(importer_of(agent, runtime.config.installed).listed(setup.environ, setup.cwd, problems))
    now = setup.clock()
    choices = tuple(
        Choice(f"{agent}:{one.id}", one.label, facts_of(one, now)) for one in found[:_MOST_CHOICES]
    )
    newest = f", the newest {_MOST_CHOICES} of {len(found)}" if len(found) > _MOST_CHOICES else ""
    title = f"Sessions of {name} in this directory{newest}" if found else f"No sessions of {name} here"
    return Choose(title, "resume", choices, about="\n".join(f"Cannot read {problem}" for problem in problems))


def _local(milliseconds: int, zone: tzinfo | None) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000).astimezone(zone)


def _choose(runtime: Runtime) -> Choose:
    choices = tuple(
        Choice(
            one.id,
            one.label,
            " · ".join(
                filter(
                    None,
                    (
                        f"{_local(one.changed, runtime.setup.zone):%Y-%m-%d %H:%M}",
                        counted(one.digest.prompts, "prompt"),
                        "fork" * one.digest.is_copy,
                        one.digest.head,
                    ),
                )
            ),
        )
        for one in runtime.store.list(runtime.setup.cwd)
        if one.id != runtime.session.id and not one.is_task
    )
    return Choose("Sessions of this directory", "resume", choices)


def _offer(locked: SessionLocked) -> Choose:
    id_ = locked.path.stem
    return Choose(
        locked.message,
        "resume",
        (
            Choice(f"{id_} --fork", "Open a copy", "continue from here in a separate session"),
            Choice(f"{id_} --view", "View it", "read-only"),
        ),
    )
