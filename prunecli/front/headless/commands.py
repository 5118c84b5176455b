"""Slash commands in a headless run. Those that need a screen or another session are refused in one line."""

import asyncio
from dataclasses import dataclass, field

from prunecli.agent.decide import Done
from prunecli.commands.command import Command, Say, Table, find
from prunecli.front import effects as base
from prunecli.front.presentation.completion import is_command
from prunecli.front.presentation.entry_text import table_lines
from prunecli.runtime import Runtime
from prunecli.util.errors import NeedsInterface, PrunecliError
from prunecli.util.figures import in_tokens, short


@dataclass(slots=True)
class Ran:
    """The outcome of a command: its lines, and the prompt that it sends to the model ("" for none)."""

    lines: list[str] = field(default_factory=list)
    prompt: str = ""


async def run_command(runtime: Runtime, line: str) -> Ran | None:
    """Run one of prunecli's commands; return None for any other prompt, which goes to the model.

    Raises NeedsInterface for a command that does not work here, and PrunecliError if it fails.
    """
    if not is_command(line) or _find(runtime, line) is None:
        return None
    effects = Effects(runtime)
    await effects.command(line)
    await asyncio.to_thread(runtime.session.commit)
    return effects.ran


def _find(runtime: Runtime, line: str) -> Command | None:
    return find(line[1:].split(maxsplit=1)[0], runtime.config.installed)


class Effects(base.Effects):
    kind = "headless"

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(runtime)
        self.ran = Ran()

    def say(self, said: Say) -> None:
        if said.level == "error":
            message, _, hint = said.text.partition("\n")
            raise PrunecliError(message, hint)
        self.ran.lines += said.text.split("\n")

    def table(self, table: Table) -> None:
        self.ran.lines += table_lines(table)

    def complain(self, error: PrunecliError) -> None:
        raise error

    def elsewhere(self) -> None:
        raise NeedsInterface("this command needs the interface", "start prunecli without -p")

    def refuse(self, command: Command) -> None:
        raise NeedsInterface(f"/{command.name} does not work with -p", command.not_in[self.kind])

    async def submit(self, text: str) -> Done | None:
        self.ran.prompt = text
        return None

    async def compact(self, focus: str) -> Done | None:
        before = self.runtime.session.context.counts.context_tokens
        if not await self.runtime.compact(focus):
            raise PrunecliError("the session was not summarized")
        after = self.runtime.session.context.counts.context_tokens
        self.say(Say(f"Compacted: {short(before)} -> {in_tokens(after)}"))
        return None
