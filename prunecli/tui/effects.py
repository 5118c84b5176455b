"""Carries out the effects of commands on the screen. Imported with the first command."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, assert_never

from prunecli.agent.decide import Done
from prunecli.commands.command import (
    WORKING,
    AskSecret,
    Choice,
    Choose,
    Confirm,
    EditFile,
    Effect,
    InThread,
    PickSession,
    Quit,
    Reconfigured,
    Say,
    SetMouse,
    SetTheme,
    ShowScreen,
    SwitchSession,
    Table,
    Work,
    run_line,
)
from prunecli.front import effects as base
from prunecli.front.effects import at_once, threaded
from prunecli.front.presentation.activity import SUMMARIZING
from prunecli.front.presentation.entries import Level
from prunecli.plugins.app import resolved
from prunecli.runtime import Runtime, outside
from prunecli.runtime.clipboard import copied
from prunecli.tui.asking import Asking
from prunecli.tui.port import Port
from prunecli.tui.program import Program
from prunecli.tui.runs import Runs
from prunecli.tui.screens.choose import ChooseScreen, SecretScreen
from prunecli.tui.screens.table import TableScreen, UnfoldingScreen
from prunecli.tui.session_picker import picker_of
from prunecli.tui.themes import load_theme
from prunecli.util.errors import ConfigError, PrunecliError
from prunecli.util.figures import counted
from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    from prunecli.tui.screens import choose as screens_choose
else:
    screens_choose = lazy("prunecli.tui.screens.choose")


class Effects(base.Effects):
    """The runner of commands and their effects. `resume` shows the session that is being loaded.

    Nothing here waits: what takes time is started, and an answer calls back.
    """

    def __init__(
        self,
        runtime: Runtime,
        port: Port,
        program: Program,
        runs: Runs,
        asking: Asking,
        resume: Callable[[], None],
    ) -> None:
        super().__init__(runtime)
        self._port = port
        self._program = program
        self._runs = runs
        self._asking = asking
        self._resume = resume

    def type(self, line: str) -> None:
        """Run a typed line such as `/model sonnet`."""
        at_once(self.command(line))
        self._port.show_status()

    def carry_out(self, effects: Iterable[Effect]) -> None:
        at_once(self.perform(effects))

    async def command(self, line: str) -> Done | None:
        """Run a command. A line that has to wait for the agent returns to the prompt."""
        effects = run_line(self.runtime, line)
        if WORKING in effects:
            self._port.prompt.give_back(line)
        return await self.perform(effects)

    # Words and the program ---------------------------------------------------------------------------------

    def say(self, said: Say) -> None:
        self._port.say(said.text, Level(said.level))

    def complain(self, error: PrunecliError) -> None:
        self._port.complain(error)

    def table(self, table: Table) -> None:
        screen = UnfoldingScreen if any(table.below) else TableScreen

        def closed(by_key: bool | None) -> None:
            if by_key and table.back is not None:
                self._list(table.back)

        self._port.push_screen(screen(table, self._port.prompt.put), closed)

    def copy(self, text: str, what: str) -> None:
        self._program.copy_to_clipboard(text, told=False)
        self._port.run(self.copied(text, what), "copy")

    async def copied(self, text: str, what: str = "") -> None:
        """Copy by the programs of this machine too, and say where the text is: in a hint if nothing is named."""
        where = await copied(text, self._program.environ, self.runtime.setup.cwd)
        if what:
            self._port.say(where.told(what, counted(len(text), "character")))
        else:
            self._port.hint(where.hint)

    def fill(self, text: str) -> None:
        self._port.prompt.fill(text)

    def change(self, effect: base.Program) -> None:
        program = self._program
        match effect:
            case SetTheme():
                self._answered(lambda: self._set_theme(effect))
            case SetMouse(on):
                program.use_mouse(on)
            case Reconfigured():
                program.use_configured()
            case SwitchSession():
                self._resume()  # a short session is shown when the runtime switches to it
            case Quit():
                program.leave()
            case _:
                assert_never(effect)

    def _set_theme(self, effect: SetTheme) -> Sequence[Effect]:
        """Switch to a theme. Raises ConfigError for an invalid one, and the current one stays."""
        load_theme(self.runtime.setup.places, effect.name)
        effects = effect.then()
        self._program.use_theme(effect.name)
        return effects

    def _answered(self, answer: Callable[[], Sequence[Effect]]) -> None:
        at_once(self.answered(answer))
        self._port.show_status()

    # Screens and questions ---------------------------------------------------------------------------------

    async def show(self, screen: ShowScreen) -> None:
        self._port.push_screen(resolved(screen.screen)(*screen.given))

    async def choose(self, choose: Choose) -> None:
        if choose.grave:
            self._asking.choose(choose)
        else:
            self._list(choose)

    def _list(self, choose: Choose) -> None:
        """Show a list of choices. A marked theme is previewed."""
        program, before = self._program, self._program.theme
        themes = choose.command == "theme"

        def look(choice: Choice) -> None:
            if themes:
                with suppress(ConfigError):  # choosing the theme reports it
                    self._set_theme(SetTheme(choice.value))

        def chosen(value: str | None) -> None:
            if value is not None:
                self.type(f"/{choose.command} {value}")
            if themes and program.theme != value:
                program.use_theme(before)

        self._port.push_screen(ChooseScreen(choose, look), chosen)

    async def confirm(self, effect: Confirm) -> None:
        yes, no = Choice("yes", effect.verb), Choice("no", "Cancel")

        def chosen(value: str | None) -> None:
            if value == "yes":
                self._answered(effect.then)

        self._port.push_screen(
            screens_choose.ChooseScreen(Choose(effect.line, "", (yes, no)), confirms=True), chosen
        )

    async def pick(self, effect: PickSession) -> None:
        picker_of(effect.agent, self.runtime, self._port).begin()

    async def ask_secret(self, asked: AskSecret) -> None:
        def given(secret: str | None) -> None:
            if secret is not None:
                self._answered(lambda: asked.then(secret))

        self._port.push_screen(SecretScreen(asked.title), given)

    # What takes time ---------------------------------------------------------------------------------------

    async def submit(self, text: str) -> None:
        self._runs.submit(text)

    async def compact(self, focus: str) -> None:
        self._runs.start(SUMMARIZING, partial(self.runtime.compact, focus))

    async def work(self, effect: Work | InThread) -> None:
        if isinstance(effect, InThread):
            self._port.run(self._watched(effect), "command", exclusive=True)
            return

        async def run() -> None:
            self._port.run(self._afterwards(await effect.work()), "command")

        self._runs.start(effect.words, run)

    async def _afterwards(self, effects: Sequence[Effect]) -> None:
        await self.perform(effects)
        self._port.show_status()

    async def _watched(self, effect: InThread) -> None:
        port, left = self._port, "stopped"
        effects: Sequence[Effect] = ()
        port.hint(f"{effect.words} …", seconds=None)
        try:
            with self.complaining():
                effects = await threaded(effect)
            left = ""
        finally:
            port.hint(left)
        await self._afterwards(effects)

    async def edit(self, effect: EditFile) -> None:
        self._port.run(self._edit(effect), "editor")

    async def _edit(self, effect: EditFile) -> None:
        with self.complaining():
            async with self._program.lent():
                await outside.edit_file(effect.path, self._program.environ, self.runtime.setup.cwd)
            if effect.then:
                self.type(f"/{effect.then}")
