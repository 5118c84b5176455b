"""Carries out the effects of commands on the screen. Imported with the first command."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import assert_never

from prunecli.commands.command import (
    WORKING,
    AskSecret,
    Choice,
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
    run_line,
)
from prunecli.front.presentation.entries import Level
from prunecli.runtime import Runtime, outside
from prunecli.runtime.clipboard import copied
from prunecli.tui.asking import Asking
from prunecli.tui.port import Port
from prunecli.tui.program import Program
from prunecli.tui.runs import Runs
from prunecli.util.errors import ConfigError, PrunecliError
from prunecli.util.figures import counted


class Effects:
    """The runner of commands and their effects. `resume` shows the session that is being loaded."""

    def __init__(
        self,
        runtime: Runtime,
        port: Port,
        program: Program,
        runs: Runs,
        asking: Asking,
        resume: Callable[[], None],
    ) -> None:
        self._runtime = runtime
        self._port = port
        self._program = program
        self._runs = runs
        self._asking = asking
        self._resume = resume

    def run(self, line: str) -> None:
        """Run a typed line such as `/model sonnet`. A line that has to wait for the agent returns to the prompt."""
        effects = run_line(self._runtime, line)
        if WORKING in effects:
            self._port.prompt.give_back(line)
        self.perform(effects)
        self._port.show_status()

    def perform(self, effects: Iterable[Effect]) -> None:
        port = self._port
        for effect in effects:
            match effect:
                case Say(text, level):
                    port.say(text, Level(level))
                case Choose(grave=True):
                    self._asking.choose(effect)
                case Table() | ShowContext() | ShowTask() | Choose() | AskSecret() | PickSession():
                    self._open(effect)
                case Submit(text):
                    self._runs.submit(text)
                case SetTheme() | SetMouse() | Reconfigured():
                    self._dress(effect)
                case EditFile(path, then):
                    port.run(self._edit(path, then), "editor")
                case GoOn() | CompactNow() | RewindNow() | RunLine():
                    self._work(effect)
                case FillPrompt(text):
                    port.prompt.fill(text)
                case Copy(text, what):
                    self._program.copy_to_clipboard(text, told=False)
                    port.run(self.copied(text, what), "copy")
                case InThread():
                    port.run(self._in_thread(effect), "command", exclusive=True)
                case Quit():
                    self._program.leave()
                case SwitchSession():
                    self._resume()  # a short session is shown when the runtime switches to it
                case _:
                    assert_never(effect)

    def _work(self, effect: GoOn | CompactNow | RewindNow | RunLine) -> None:
        """Start another command, or work that takes time and that Esc can stop."""
        runs = self._runs
        match effect:
            case GoOn():
                runs.go_on()
            case CompactNow(focus):
                runs.compact(focus)
            case RewindNow():
                runs.rewind(effect)
            case RunLine(line):
                self.run(line)

    def _dress(self, effect: SetTheme | SetMouse | Reconfigured) -> None:
        program = self._program
        match effect:
            case SetTheme():
                self._guarded(lambda: self._set_theme(effect))
            case SetMouse(on):
                program.use_mouse(on)
            case Reconfigured():
                program.use_configured()

    def _set_theme(self, effect: SetTheme) -> Sequence[Effect]:
        """Switch to a theme. Raises ConfigError for an invalid one, and the current one stays."""
        from prunecli.tui.themes import load_theme

        load_theme(self._runtime.setup.places, effect.name)
        effects = effect.then()
        self._program.use_theme(effect.name)
        return effects

    def _open(self, effect: Table | ShowContext | ShowTask | Choose | AskSecret | PickSession) -> None:
        match effect:
            case Table():
                self._table(effect)
            case ShowContext():
                self._inspect()
            case ShowTask(number, session):
                from prunecli.features.subagents.screen import TaskScreen

                self._port.push_screen(TaskScreen(self._runtime, number, session))
            case Choose():
                self._choose(effect)
            case AskSecret():
                self._ask_secret(effect)
            case PickSession(_, agent):
                from prunecli.tui.session_picker import picker_of

                picker_of(agent, self._runtime, self._port).begin()

    async def copied(self, text: str, what: str = "") -> None:
        """Copy by the programs of this machine too, and say where the text is: in a hint if nothing is named."""
        where = await copied(text, self._program.environ, self._runtime.setup.cwd)
        if what:
            self._port.say(where.told(what, counted(len(text), "character")))
        else:
            self._port.hint(where.hint)

    def _ask_secret(self, asked: AskSecret) -> None:
        from prunecli.tui.screens.choose import SecretScreen

        def given(secret: str | None) -> None:
            if secret is not None:
                self._guarded(lambda: asked.then(secret))

        self._port.push_screen(SecretScreen(asked.title), given)

    def _guarded(self, answer: Callable[[], Sequence[Effect]]) -> None:
        try:
            effects = answer()
        except PrunecliError as error:
            self._port.complain(error)
        else:
            self.perform(effects)
        self._port.show_status()

    async def _in_thread(self, effect: InThread) -> None:
        port = self._port
        port.hint(f"{effect.words} …", seconds=None)
        try:
            effects = await asyncio.to_thread(effect.work)
        except asyncio.CancelledError:
            effect.stop()
            port.hint("stopped")
            raise
        except PrunecliError as error:
            port.hint("")
            port.complain(error)
        else:
            port.hint("")
            self.perform(effects)
        port.show_status()

    def _table(self, table: Table) -> None:
        from prunecli.tui.screens.table import TableScreen, UnfoldingScreen

        screen = UnfoldingScreen if any(table.below) else TableScreen

        def closed(by_key: bool | None) -> None:
            if by_key and table.back is not None:
                self._choose(table.back)

        self._port.push_screen(screen(table, self._port.prompt.put), closed)

    def _inspect(self) -> None:
        from prunecli.features.inspector.screen import ContextScreen

        program, prompt = self._program, self._port.prompt
        self._port.push_screen(ContextScreen(self._runtime, lambda: program.palette, prompt))

    def _choose(self, choose: Choose) -> None:
        """Show a list of choices. A marked theme is previewed."""
        from prunecli.tui.screens.choose import ChooseScreen

        program, before = self._program, self._program.theme
        themes = choose.command == "theme"

        def look(choice: Choice) -> None:
            if themes:
                with suppress(ConfigError):  # choosing the theme reports it
                    self._set_theme(SetTheme(choice.value))

        def chosen(value: str | None) -> None:
            if value is not None:
                self.run(f"/{choose.command} {value}")
            if themes and program.theme != value:
                program.use_theme(before)

        self._port.push_screen(ChooseScreen(choose, look), chosen)

    async def _edit(self, path: Path, then: str) -> None:
        try:
            async with self._program.lent():
                await outside.edit_file(path, self._program.environ, self._runtime.setup.cwd)
        except PrunecliError as error:
            self._port.complain(error)
        else:
            if then:
                self.run(f"/{then}")
