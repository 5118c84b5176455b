"""Slash commands in a headless run. Those that need a screen or another session are refused in one line."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from prunecli.commands.command import (
    Choose,
    CompactNow,
    Copy,
    Effect,
    FillPrompt,
    InThread,
    Reconfigured,
    RunLine,
    Say,
    ShowContext,
    Submit,
    Table,
    find,
    run_line,
)
from prunecli.front.presentation.completion import is_command
from prunecli.front.presentation.entry_text import table_lines
from prunecli.runtime import Runtime
from prunecli.util.errors import NeedsInterface, PrunecliError
from prunecli.util.figures import short

_REFUSED = {
    "fork": "use --fork with -c or -r ID",
    "login": "use prunecli login",
    "mouse": "start prunecli without -p",
    "new": "leave out -c and -r",
    "quit": "the run ends by itself",
    "resume": "use -r ID",
    "rewind": "use -r ID@ENTRY --fork, or start prunecli without -p",
    "theme": "start prunecli without -p",
    "tree": "use prunecli sessions list --tree",
    "trust": "use prunecli trust, or --trust",
}
"""Commands that do not work here, with the way out for each."""


@dataclass(slots=True)
class Ran:
    """The outcome of a command: its lines, and the prompt that it sends to the model ("" for none)."""

    lines: list[str] = field(default_factory=list)
    prompt: str = ""


async def run_command(runtime: Runtime, line: str) -> Ran | None:
    """Run one of prunecli's commands; return None for any other prompt, which goes to the model.

    Raises NeedsInterface for a command that does not work here, and PrunecliError if it fails.
    """
    found = find(line[1:].split(maxsplit=1)[0]) if is_command(line) else None
    if found is None:
        return None
    if found.name in _REFUSED:
        raise NeedsInterface(f"/{found.name} does not work with -p", _REFUSED[found.name])
    ran = Ran()
    await _perform(runtime, run_line(runtime, line), ran)
    await asyncio.to_thread(runtime.session.commit)
    return ran


async def _perform(runtime: Runtime, effects: Iterable[Effect], ran: Ran) -> None:
    for effect in effects:
        match effect:
            case Submit(text):
                ran.prompt = text
            case CompactNow(focus):
                ran.lines.append(await _compacted(runtime, focus))
            case RunLine(line):
                await _perform(runtime, run_line(runtime, line), ran)
            case InThread(work=work):
                await _perform(runtime, await asyncio.to_thread(work), ran)
            case Say(text, "error"):
                message, _, hint = text.partition("\n")
                raise PrunecliError(message, hint)
            case Reconfigured():
                pass
            case _:
                ran.lines += _shown(effect)


async def _compacted(runtime: Runtime, focus: str) -> str:
    before = runtime.session.context.counts.context_tokens
    if not await runtime.compact(focus):
        raise PrunecliError("the session was not compacted")
    return f"Compacted: {short(before)} -> {short(runtime.session.context.counts.context_tokens)} tokens"


def _shown(effect: Effect) -> Sequence[str]:
    match effect:
        case Say(text) | Copy(text) | FillPrompt(text):
            return text.split("\n")
        case Table():
            return table_lines(effect)
        case ShowContext(table):
            return table_lines(table())
        case Choose(title, command, choices):
            rows = (f"/{command} {one.value}  {one.label}  {one.detail}".rstrip() for one in choices)
            return [title, *rows]
        case _:
            raise NeedsInterface("this command needs the interface", "start prunecli without -p")
