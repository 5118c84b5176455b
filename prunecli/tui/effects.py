"""What commands answer with, done on the screen. Imported with the first command."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

from prunecli.commands.command import (
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
    Say,
    SetMouse,
    SetTheme,
    ShowContext,
    Submit,
    SwitchSession,
    Table,
    run_line,
)
from prunecli.errors import PrunecliError
from prunecli.runtime import Runtime
from prunecli.tui import outside
from prunecli.tui.showing.outcomes import counted
from prunecli.tui.transcript.entries import Level

if TYPE_CHECKING:
    from prunecli.tui.conversation import Conversation


class Effects:
    """Runs commands of one runtime and does what they answer."""

    def __init__(self, runtime: Runtime, conversation: "Conversation") -> None:
        self._runtime = runtime
        self._conversation = conversation
        self._app = conversation.frame.program

    def run(self, line: str) -> None:
        """Runs a typed line such as `/model sonnet` and does what it answers."""
        self.perform(run_line(self._runtime, line))
        self._conversation.show_status()

    def perform(self, effects: Iterable[Effect]) -> None:
        """Does effects in their order."""
        conversation, app = self._conversation, self._app
        for effect in effects:
            match effect:
                case Say(text, level):
                    conversation.say(text, Level(level))
                case Choose(grave=True):
                    conversation.asking.choose(effect)
                case Table() | ShowContext() | Choose() | AskSecret() | PickSession():
                    self._open(effect)
                case Submit(text):
                    conversation.submit(text)
                case SetTheme() | SetMouse() | Reconfigured():
                    self._dress(effect)
                case EditFile(path, then):
                    app.run_worker(self._edit(path, then), group="editor")
                case GoOn() | CompactNow() | RewindNow():
                    self._work(effect)
                case FillPrompt(text):
                    conversation.fill_prompt(text)
                case Copy(text, what):
                    self._copy(text, what)
                case InThread(words, work):
                    app.run_worker(self._in_thread(words, work), group="command", exclusive=True)
                case Quit():
                    app.leave()
                case SwitchSession():
                    conversation.go_on_resuming()  # a short one is there: the runtime said so when it happened
                case _:
                    assert_never(effect)

    def _work(self, effect: GoOn | CompactNow | RewindNow) -> None:
        """What takes its time, and Esc stops."""
        runs = self._conversation.runs
        match effect:
            case GoOn():
                runs.go_on()
            case CompactNow(focus):
                runs.compact(focus)
            case RewindNow():
                runs.rewind(effect)

    def _dress(self, effect: SetTheme | SetMouse | Reconfigured) -> None:
        """How it looks and what it listens to."""
        app, ui = self._app, self._runtime.config.ui
        match effect:
            case SetTheme(name):
                app.use_theme(name)
            case SetMouse(on):
                app.use_mouse(on)
            case Reconfigured():
                app.use_theme(ui.theme, configured=True)
                app.use_mouse(ui.mouse)
                app.frame.keys.use(ui.keys)

    def _open(self, effect: Table | ShowContext | Choose | AskSecret | PickSession) -> None:
        """What has a screen of its own."""
        match effect:
            case Table():
                self._table(effect)
            case ShowContext():
                self._inspect()
            case Choose():
                self._choose(effect)
            case AskSecret():
                self._ask_secret(effect)
            case PickSession():
                from prunecli.tui.picking import Picking

                Picking(self._conversation).begin()

    def _copy(self, text: str, what: str) -> None:
        """By OSC 52, which works over ssh too; nothing is written to a file."""
        self._app.copy_to_clipboard(text)
        self._conversation.say(f"Copied {what}: {counted(len(text), 'character')}.")

    def _ask_secret(self, asked: AskSecret) -> None:
        from prunecli.tui.screens.secret import SecretScreen

        def given(secret: str | None) -> None:
            if secret is not None:
                self._guarded(lambda: asked.then(secret))

        self._app.push_screen(SecretScreen(asked.title), given)

    def _guarded(self, answer: Callable[[], Sequence[Effect]]) -> None:
        """Does what is answered, or says what went wrong."""
        try:
            effects = answer()
        except PrunecliError as error:
            self._conversation.complain(error)
        else:
            self.perform(effects)
        self._conversation.show_status()

    async def _in_thread(self, words: str, work: Callable[[], Sequence[Effect]]) -> None:
        activity = self._conversation.frame.activity
        activity.hint(f"{words} …", seconds=None)
        try:
            effects = await asyncio.to_thread(work)
        except asyncio.CancelledError:
            activity.hint("stopped")
            raise
        except PrunecliError as error:
            activity.clear_hint()
            self._conversation.complain(error)
        else:
            activity.clear_hint()
            self.perform(effects)
        self._conversation.show_status()

    def _table(self, table: Table) -> None:
        from prunecli.tui.screens.table import TableScreen

        self._app.push_screen(TableScreen(table, self._conversation.frame.prompt.put))

    def _inspect(self) -> None:
        from prunecli.tui.screens.context import ContextScreen

        frame = self._conversation.frame
        self._app.push_screen(
            ContextScreen(self._runtime, lambda: self._app.palette, lambda: frame.activity.asking)
        )

    def _choose(self, choose: Choose) -> None:
        """A list to choose from; themes are tried on while one looks through them."""
        from prunecli.tui.screens.choose import ChooseScreen

        app, before = self._app, self._app.theme
        themes = choose.command == "theme"

        def look(choice: Choice) -> None:
            if themes:
                app.use_theme(choice.value)

        def chosen(value: str | None) -> None:
            if value is not None:
                self.run(f"/{choose.command} {value}")
            elif themes:
                app.use_theme(before)

        app.push_screen(ChooseScreen(choose, look), chosen)

    async def _edit(self, path: Path, then: str) -> None:
        try:
            async with self._app.lent():
                await outside.edit_file(path, self._app.environ, self._runtime.setup.cwd)
        except PrunecliError as error:
            self._conversation.complain(error)
        else:
            if then:
                self.run(f"/{then}")
