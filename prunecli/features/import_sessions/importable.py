"""The sessions of other agents that `prunecli sessions import` offers: those of this directory, newest first."""

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import typer

from prunecli.cli.progress import working
from prunecli.runtime.sessions import facts_of
from prunecli.session.importers.finding import listed, search
from prunecli.session.importers.handoff import find
from prunecli.session.importers.known_agents import AGENTS, is_agent, title_of
from prunecli.session.session_search import Hit
from prunecli.session.store import Listed
from prunecli.util.errors import UsageError
from prunecli.util.sanitize import one_line, visible

_LABEL = 60


class Importable:
    """The sessions that the arguments name. `agents` are those named without a session, or else all agents."""

    def __init__(self, environ: Mapping[str, str], cwd: Path) -> None:
        self._environ = environ
        self._cwd = cwd
        self._agents: Sequence[str] = AGENTS

    def paths_of(self, given: Sequence[str]) -> list[Path] | None:
        """Return the named files and sessions; None if the user is to choose. Raises PrunecliError."""
        alone = [word for word in given if word in AGENTS]
        if alone and len(alone) < len(given):
            raise UsageError(
                f"{alone[0]}: no session given", f"use {alone[0]}:ID or {alone[0]}:last together with files"
            )
        self._agents = alone or AGENTS
        if alone or not given:
            return None
        return [self._path(word) for word in given]

    def _path(self, word: str) -> Path:
        if word.startswith("@") and not os.path.exists(word):
            title_of(word.partition(":")[0])  # report an unknown agent as such, not as a missing file
        return find(word, self._environ, self._cwd).path if is_agent(word) else Path(word)

    def choose(self, *, as_json: bool, ask: Callable[[str], str] | None) -> list[Path]:
        """Print the list, ask for numbers and return those sessions. Without `ask` (no terminal), only print it."""
        problems: list[str] = []
        found: list[tuple[str, Listed]] = []
        with working(lambda: f"looking for sessions, {len(found)} found"):
            for agent in self._agents:
                found += ((agent, one) for one in listed(agent, self._environ, self._cwd, problems))
        found.sort(key=lambda pair: pair[1].changed, reverse=True)
        for problem in problems:
            typer.echo(f"prunecli: cannot read {visible(one_line(problem))}", err=True)
        if as_json:
            typer.echo(json.dumps([_row(agent, one) for agent, one in found], indent=1))
            return []
        now = int(time.time() * 1000)
        for number, (agent, one) in enumerate(found, 1):
            typer.echo(visible(f"{_named(number, agent, one)}  ({facts_of(one, now)})"))
            typer.echo(visible(f"      {agent}:{one.id}"))
        if not found:
            names = ", ".join(map(title_of, self._agents))
            typer.echo(visible(f"no sessions of {names} in {self._cwd}"))
        elif ask is not None:
            return _asked(found, ask)
        else:
            typer.echo("import one with: prunecli sessions import @AGENT:ID")
        return []


def _named(number: int, agent: str, one: Listed) -> str:
    return f"{number:>4}  {title_of(agent)}: {one_line(one.label)[:_LABEL]}"


def _asked(found: Sequence[tuple[str, Listed]], ask: Callable[[str], str]) -> list[Path]:
    """Ask for numbers until all are valid; an empty answer cancels. Words list the sessions that contain them."""
    while True:
        try:
            typed = ask("numbers to import, words to search for, or Enter to cancel: ")
        except EOFError:
            return []
        words = typed.replace(",", " ").split()
        if not all(word.isdecimal() for word in words):
            _print_hits(found, typed)
            continue
        wrong = [word for word in words if not 1 <= int(word) <= len(found)]
        if not wrong:
            return [found[int(word) - 1][1].path for word in words]
        typer.echo(visible(f"not a number from 1 to {len(found)}: {wrong[0]}"))


def _print_hits(found: Sequence[tuple[str, Listed]], query: str) -> None:
    """Print the sessions with a message, output or command that contains all the words, each with its first hit."""
    numbers = {one.path: number for number, (_, one) in enumerate(found, 1)}
    shown = set[Path]()
    for hit in search([one for _, one in found], query):
        if isinstance(hit, Hit) and hit.path not in shown:
            shown.add(hit.path)
            number = numbers[hit.path]
            typer.echo(visible(_named(number, *found[number - 1])))
            typer.echo(visible(f"      {hit.who}: {hit.excerpt}"))
    if not shown:
        typer.echo("no matches")


def _row(agent: str, one: Listed) -> dict[str, object]:
    """Return a session as `sessions import --json` prints it: times in unix ms."""
    digest = one.digest
    return {
        "agent": agent,
        "id": one.id,
        "name": digest.name,
        "cwd": digest.cwd,
        "started": digest.started,
        "changed": one.changed,
        "bytes": one.size,
        "prompts": digest.prompts,
        "context_tokens": digest.context,
        "models": list(digest.spent),
        "first_prompt": digest.first,
        "last_prompt": digest.last,
        "file": str(one.path),
    }
