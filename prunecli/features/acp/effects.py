"""Slash commands in an editor: the list of them, and their effects as text and questions."""

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, assert_never

from acp.schema import AvailableCommand, AvailableCommandInput, UnstructuredCommandInput

from prunecli.agent.decide import Done
from prunecli.commands.command import (
    AskSecret,
    Choose,
    CompactNow,
    Copy,
    EditFile,
    Effect,
    FillPrompt,
    GoOn,
    InThread,
    PickSession,
    Quit,
    Reconfigured,
    RewindNow,
    RunLine,
    Say,
    SetMouse,
    SetTheme,
    ShowContext,
    ShowTask,
    Submit,
    SwitchSession,
    Table,
    find,
    offered,
    run_line,
)
from prunecli.features.acp.texts import fenced, noticed, ours, table
from prunecli.runtime import Runtime
from prunecli.util.errors import PrunecliError

if TYPE_CHECKING:
    from prunecli.features.acp.editor_session import EditorSession

NOT_HERE = {
    "fork": "Start prunecli in a terminal to fork a session.",
    "login": "Run `prunecli login` in a terminal.",
    "mouse": "The editor draws the screen.",
    "new": "Start a new session in the editor.",
    "quit": "Close the session in the editor.",
    "resume": "Open another session in the editor.",
    "rewind": "An editor can't remove messages. Run `prunecli -r` in a terminal to rewind.",
    "theme": "The editor draws the screen.",
    "tree": "Open another session in the editor.",
}
"""Commands that need the terminal interface or would replace the editor's session, with an alternative for each."""

ELSEWHERE = "This needs a terminal: run `prunecli` in one."
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
        if name not in NOT_HERE
    ]


class Effects:
    def __init__(self, session: "EditorSession") -> None:
        self._session = session
        self._runtime = session.runtime

    async def command(self, line: str) -> Done | None:
        """Run a typed line such as `/prune`. Return the end of the agent's run, None if there was no run.

        Raises what `Runtime.submit` raises.
        """
        word = line.strip().removeprefix("/").partition(" ")[0]
        found = find(word)
        if found and found.name in NOT_HERE:
            self._say(NOT_HERE[found.name])
            return None
        done = await self.perform(run_line(self._runtime, line))
        await asyncio.to_thread(self._runtime.session.commit)
        return done

    async def perform(self, effects: Iterable[Effect]) -> Done | None:
        done: Done | None = None
        for effect in effects:
            match effect:
                case Submit(text):
                    done = await self._runtime.submit(text)
                case GoOn():
                    done = await self._runtime.go_on()
                case RunLine(line):
                    done = await self.command(line) or done
                case CompactNow(focus):
                    await self._runtime.compact(focus)
                case InThread():
                    done = await self._in_thread(effect) or done
                case Choose():
                    done = await self._choose(effect) or done
                case EditFile(path, then):
                    self._say(f"Open {path} in the editor" + (f", then type /{then}." if then else "."))
                case (
                    PickSession()
                    | SwitchSession()
                    | RewindNow()
                    | SetTheme()
                    | SetMouse()
                    | AskSecret()
                    | Quit()
                ):
                    self._say(ELSEWHERE)
                case _:
                    self._tell(effect)
        return done

    def _tell(self, effect: Say | Table | ShowContext | ShowTask | Copy | FillPrompt | Reconfigured) -> None:
        match effect:
            case Say(text, level):
                self._say(text if level == "info" else f"{level}: {text}")
            case Table():
                self._session.feed.tell(ours(table(effect)))
            case ShowContext(rows):
                self._session.feed.tell(ours(table(rows())))
            case ShowTask():
                self._say(ELSEWHERE)
            case Copy(text, what):
                self._session.feed.tell(ours(f"Here is {what}:\n\n{fenced(text)}"))
            case FillPrompt(text):
                self._say(f"Suggested prompt: {text}")
            case Reconfigured():
                self._session.show_commands()
            case _:
                assert_never(effect)

    def _say(self, text: str) -> None:
        if text.strip():
            self._session.feed.tell(noticed(text))

    async def _in_thread(self, effect: InThread) -> Done | None:
        try:
            more = await asyncio.to_thread(effect.work)
        except PrunecliError as error:
            more = [Say(f"{error.message}\n{error.hint}".strip(), "error")]
        except asyncio.CancelledError:
            effect.stop()
            raise
        return await self.perform(more)

    async def _choose(self, choose: Choose) -> Done | None:
        if len(choose.choices) > MOST_OPTIONS:
            lines = [f"/{choose.command} {one.value}  {one.label}  {one.detail}" for one in choose.choices]
            self._say("\n".join([choose.title, *lines]))
            return None
        value = await self._session.questions.choose(choose)
        return await self.command(f"/{choose.command} {value}") if value else None
