"""Slash commands in an editor: the list of them, and their effects as text and questions."""

import asyncio
from typing import TYPE_CHECKING

from acp.schema import AvailableCommand, AvailableCommandInput, UnstructuredCommandInput

from prunecli.agent.decide import Done
from prunecli.commands.command import (
    Choice,
    Choose,
    Confirm,
    EditFile,
    Reconfigured,
    Say,
    Table,
    find,
    offered,
)
from prunecli.features.acp.texts import fenced, noticed, ours
from prunecli.features.acp.texts import table as table_text
from prunecli.front import effects as base
from prunecli.runtime import Runtime

if TYPE_CHECKING:
    from prunecli.features.acp.editor_session import EditorSession

MOST_OPTIONS = 8
"""Maximum choices offered as a question; more choices are listed as text."""


def commands(runtime: Runtime) -> list[AvailableCommand]:
    """Return the commands for the editor's menu, including those of the user and the project."""
    return [
        AvailableCommand(
            name=name,
            description=text,
            input=AvailableCommandInput(root=UnstructuredCommandInput(hint="arguments")),
        )
        for name, text, _ in offered(runtime)
        if not ((found := find(name, runtime.config.installed)) and Effects.kind in found.not_in)
    ]


class Effects(base.Effects):
    kind = "editor"

    def __init__(self, session: "EditorSession") -> None:
        super().__init__(session.runtime)
        self._session = session

    async def type(self, line: str) -> Done | None:
        """Run a typed line, and write what it recorded. Raises what `Runtime.submit` raises."""
        done = await self.command(line)
        await asyncio.to_thread(self.runtime.session.commit)
        return done

    def say(self, said: Say) -> None:
        text = said.text if said.level == "info" else f"{said.level}: {said.text}"
        if text.strip():
            self._session.feed.tell(noticed(text))

    def table(self, table: Table) -> None:
        self._session.feed.tell(ours(table_text(table)))

    def copy(self, text: str, what: str) -> None:
        self._session.feed.tell(ours(f"Here is {what}:\n\n{fenced(text)}"))

    def change(self, effect: base.Program) -> None:
        if isinstance(effect, Reconfigured):
            self._session.show_commands()
        else:
            self.elsewhere()

    async def edit(self, effect: EditFile) -> None:
        then = f", then type /{effect.then}" if effect.then else ""
        self.say(Say(f"Open {effect.path} in the editor{then}."))

    async def confirm(self, effect: Confirm) -> Done | None:
        options = Choice("yes", effect.verb), Choice("no", "Cancel")
        value = await self._session.questions.choose(Choose(effect.line, "", options))
        return await self.answered(effect.then) if value == "yes" else None

    async def choose(self, choose: Choose) -> Done | None:
        if len(choose.choices) > MOST_OPTIONS:
            return await super().choose(choose)
        value = await self._session.questions.choose(choose)
        return await self.command(f"/{choose.command} {value}") if value else None
