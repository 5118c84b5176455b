"""The application around the frame: colours, terminal, signals, and what comes after the first frame."""

import asyncio
import gc
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from textual import events
from textual.app import App, SuspendNotSupported
from textual.driver import Driver
from textual.screen import Screen
from textual.theme import Theme as TextualTheme

from prunecli.errors import ConfigError, PrunecliError
from prunecli.paths import Places
from prunecli.tui import look, terminal
from prunecli.tui.beginning import Beginning
from prunecli.tui.first_keys import FirstKeys
from prunecli.tui.screens.frame import Frame

if TYPE_CHECKING:
    from prunecli.runtime import Runtime
    from prunecli.tui.conversation import Conversation
    from prunecli.tui.themes import Theme
    from prunecli.tui.transcript.palette import Palette

SWITCH_SECONDS = 0.0005
"""So long the threads that read the keyboard and write the screen wait for a busy event loop; Python's 0.005 are ten
of them for each key."""
STOP_SECONDS = 3.0
"""So long the work may take to leave everything in order when the program ends."""

CSS = """
Frame { background: $background; color: $foreground; }
Frame:inline { height: 70vh; min-height: 12; border: none; }
ModalScreen:inline { height: 70vh; border: none; }
Masthead { height: 1; }
Welcome { height: 1fr; padding: 0 2 1 2; content-align: left bottom; }
#transcript { height: 1fr; margin: 0 0 0 1; }
Activity, Waiting { height: 1; }
Menu { overlay: screen; height: 0; width: 1fr; background: $panel; }
StatusLines { height: 2; }
Prompt, Prompt:focus {
    height: auto; max-height: 40%; border: none; border-top: solid $faint; padding: 0 1;
    background: $background; scrollbar-size-vertical: 1;
}
Prompt .editor--glyph { color: $accent; text-style: bold; background: $background; }
Prompt .text-area--placeholder { color: $muted; }
Prompt.-shell, Prompt.-shell:focus { border-top: solid $warning; }
Prompt.-shell .editor--glyph { color: $warning; }
Prompt, Prompt:focus { border-title-align: right; border-title-color: $muted; }
"""


class PrunecliApp(App[int], inherit_bindings=False):
    """One terminal, one runtime. `make` makes the runtime, after the first frame and in a thread."""

    CSS = CSS
    ENABLE_COMMAND_PALETTE = False

    def __init__(
        self,
        make: "Callable[[], Runtime]",
        places: Places,
        cwd: Path,
        environ: Mapping[str, str],
        prompt: str = "",
        first_keys: FirstKeys = FirstKeys(),  # noqa: B008  # immutable
        *,
        inline: bool = False,
    ) -> None:
        self.first_keys = first_keys
        self._inline = inline
        self._look = self._kept_look = look.load(places.data / "look.json")
        self.environ = environ
        self.has_few_colors = look.has_few_colors(environ)
        super().__init__(driver_class=terminal.TerminalDriver)
        self._beginning = Beginning(self, make, prompt)
        self._places = places
        self._cwd = cwd
        self._chosen: Theme | None = None
        self._leaving = self._lent = self._gone = self._is_looking = False
        self.failure: PrunecliError | None = None
        self.defect: Exception | None = None
        self.runtime: Runtime | None = None
        self.conversation: Conversation | None = None
        self.frame = Frame(places.shown(cwd))
        if self._look is None or (self.has_few_colors and not self._look.theme.ansi):
            self._chosen = _house_theme(places, few_colors=self.has_few_colors)
            self._look = look.Look(self._chosen.to_textual(), mouse=self.mouse)
        self._wear_first(self._look.theme)

    @property
    def mouse(self) -> bool:
        """Whether the mouse is listened to at first."""
        return self._look.mouse if self._look else True

    def get_default_screen(self) -> Screen[None]:
        """The frame."""
        return self.frame

    def _build_driver(
        self, headless: bool, inline: bool, mouse: bool, size: tuple[int, int] | None
    ) -> Driver:
        """Our own driver for the inline mode too: Textual would take its own."""
        if inline and not headless:
            from prunecli.tui.inline import InlineDriver

            self.driver_class = InlineDriver
        return super()._build_driver(headless, False, mouse, size)

    @property
    def palette(self) -> "Palette":
        """The colours of the transcript."""
        if self._chosen is None:
            raise RuntimeError("the theme is read with the runtime")
        return self._chosen.palette

    # Beginning -----------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """Everything that is not needed for the first frame comes after it, and after the keys that wait."""
        self.call_after_refresh(self.set_timer, 0.01, self._opened)
        self.app_resume_signal.subscribe(self, lambda _: self.refresh(layout=True))

    def _opened(self) -> None:
        """The first frame is on the screen and the keyboard works."""
        gc.freeze()
        gc.set_threshold(20_000, 20, 50)
        gc.enable()
        sys.setswitchinterval(SWITCH_SECONDS)
        self._tell(terminal.KEEP_TITLE)
        self.show_state("")
        self.run_worker(self._begin(self._beginning), group="begin")

    async def _begin(self, beginning: Beginning) -> None:
        try:
            await beginning.run()
        except PrunecliError as error:
            self.failure = error
            self.exit()

    def meet(self, runtime: "Runtime", theme: "Theme") -> None:
        """The runtime is there, and the theme that it is configured to have."""
        self.runtime = runtime
        self._begun_at = runtime.session, len(runtime.session.records)
        self._take_theme(theme)
        if isinstance(self._driver, terminal.CarefulDriver):
            self._driver.set_mouse(runtime.config.ui.mouse)
        self.frame.keys.use(runtime.config.ui.keys)

    # Colours -------------------------------------------------------------------------------------------------

    def use_theme(self, name: str, *, configured: bool = False) -> None:
        """Other colours from now on; of a theme that nobody chose just now as many as the terminal has."""
        from prunecli.tui import themes

        try:
            few = configured and self.has_few_colors
            self._take_theme(themes.theme_for(self._places, name, few_colors=few))
        except ConfigError as error:
            if self.conversation is not None:
                self.conversation.complain(error)

    def _take_theme(self, theme: "Theme") -> None:
        """Wears a theme; the configured one is kept for the next first frame."""
        self._chosen = theme
        config = self.runtime.config.ui if self.runtime else None
        wanted = look.Look(theme.to_textual(), config.mouse if config else True)
        if self._look is None or wanted.theme != self._look.theme:
            self._wear(wanted.theme)
        self._look = wanted
        if config and theme.name == config.theme and wanted != self._kept_look:
            self._kept_look = wanted
            look.save(self._places.data / "look.json", wanted)
        if self.conversation is not None:
            self.frame.transcript.set_palette(theme.palette)

    def _wear(self, theme: TextualTheme) -> None:
        self.register_theme(theme)
        self.theme = theme.name
        self.refresh_css(animate=False)  # also where only the colours of a theme of this name are others

    def _wear_first(self, theme: TextualTheme) -> None:
        """As `_wear`, while nothing is on the screen: setting the theme would have everything parsed twice."""
        self.register_theme(theme)
        self.set_reactive(App.theme, theme.name)
        self.set_class(theme.dark, "-dark-mode", update=False)
        self.set_class(not theme.dark, "-light-mode", update=False)
        self._refresh_truecolor_filter(self.ansi_theme)
        self.stylesheet.set_variables(self.get_css_variables())

    # Keys ----------------------------------------------------------------------------------------------------

    async def on_event(self, event: events.Event) -> None:
        """Keys and pastes take one way: from here to the widget that has the focus, which does all that they mean.

        A widget that left some of its keys to this application's bindings would see these keys take effect after
        letters that were typed later, whenever another part of the screen is busy. Until something has the focus
        the prompt gets them all; what comes before it is mounted waits in its queue.
        """
        typed = isinstance(event, events.Key | events.Paste) and not event.is_forwarded
        if typed and self.focused is None and self.screen_stack[-1:] == [self.frame]:
            self.frame.prompt._forward_event(event)
        else:
            await super().on_event(event)

    @property
    def keys_wait(self) -> bool:
        """Whether keys were pressed that are not even read."""
        return isinstance(self._driver, terminal.CarefulDriver) and self._driver.has_unread

    # The terminal --------------------------------------------------------------------------------------------

    def _tell(self, sequence: str) -> None:
        """Tells the terminal something beside the screen."""
        if self._driver is not None and not self.is_headless:
            self._driver.write(sequence)

    def show_state(self, what: str) -> None:
        """The window's title with what the agent does, "" for nothing."""
        name = f"prunecli · {self._cwd.name or '/'}"
        self._tell(terminal.title(f"{name} · {what}" if what else name))

    def notify_user(self, what: str) -> None:
        """A notification of the desktop, unless the user is looking."""
        if not self._is_looking:
            self._tell(terminal.notification(f"prunecli {what} · {self._cwd.name}"))

    def on_app_focus(self, event: events.AppFocus) -> None:
        """The terminal has the keyboard."""
        event.prevent_default()
        self._is_looking = True

    def on_app_blur(self, event: events.AppBlur) -> None:
        """It says that it has not. The prompt keeps the focus: a paste or a key may come all the same."""
        event.prevent_default()
        self._is_looking = False

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[None]:
        """The terminal belongs to another program, an editor, for a while. Raises PrunecliError where it can't."""
        suspended = self.suspend()
        try:
            suspended.__enter__()
        except SuspendNotSupported:
            raise PrunecliError("this terminal can't be lent to an editor") from None
        self._lent = True
        try:
            yield
        finally:
            self._lent = False
            suspended.__exit__(None, None, None)  # told of an error it would not take the terminal back

    def use_mouse(self, on: bool) -> None:
        """Listens to the mouse from now on, or leaves it to the terminal."""
        if isinstance(self._driver, terminal.CarefulDriver):
            self._driver.set_mouse(on)

    # The end -------------------------------------------------------------------------------------------------

    def leave(self, code: int = 0) -> None:
        """Ends the program: the work first leaves everything in order."""
        if not self._leaving:
            self._leaving = True
            self.run_worker(self._leave(code), group="leave")

    async def _leave(self, code: int) -> None:
        await self._settle(STOP_SECONDS)
        self._tell(terminal.RESTORE_TITLE)
        self.exit(code)

    async def _settle(self, seconds: float) -> None:
        if self.conversation is not None:
            await self.conversation.runs.stopped(seconds)
            await self.conversation.keeping.close()

    async def close(self) -> None:
        """Whatever way the program ended: the work is stopped and the session's file closed."""
        await self._settle(STOP_SECONDS)
        if self.runtime is not None:
            await self.runtime.close()

    def signalled(self, number: int) -> None:
        """A signal that ends the program, with the terminal as it was before (TUI-04)."""
        if number == signal.SIGINT and self._lent:
            return  # Ctrl+C in the editor
        driver = self._driver
        if isinstance(driver, terminal.CarefulDriver) and driver.is_gone:
            self.action_hang_up()
        else:
            self.leave(128 + number)

    def action_hang_up(self) -> None:
        """The terminal is gone: nothing can be drawn or restored, the work still ends well (TUI-05)."""
        if not self._gone:
            self._gone = True
            self.run_worker(self._hang_up(), group="leave")

    async def _hang_up(self) -> None:
        await self._settle(STOP_SECONDS / 2)
        if self.runtime is not None:
            await self.runtime.close()
        os._exit(128 + signal.SIGHUP)  # a normal end would wait for a terminal that does not answer

    def leave_behind(self) -> None:
        """In inline mode the conversation stays in the terminal when the program is gone."""
        if self._inline and self.runtime is not None and not self._gone:
            from prunecli.tui.inline import leave_behind

            session, records = self._begun_at
            leave_behind(self.runtime, records if session is self.runtime.session else 0)

    def _handle_exception(self, error: Exception) -> None:
        """A defect ends the program; `run_tui` says so when the terminal is back."""
        self.defect = self.defect or error
        super()._handle_exception(error)

    def _fatal_error(self) -> None:
        """No traceback: it is written to a file."""
        self._close_messages_no_wait()


def _house_theme(places: Places, *, few_colors: bool) -> "Theme":
    """What the first frame ever wears, and every first frame where there are few colours."""
    from prunecli.tui import themes

    return themes.load_theme(places, themes.FEW_COLORS if few_colors else themes.DEFAULT)


async def run(
    make: "Callable[[], Runtime]",
    places: Places,
    cwd: Path,
    environ: Mapping[str, str],
    prompt: str,
    first_keys: FirstKeys,
    *,
    inline: bool = False,
) -> int:
    """Shows the runtime until the user leaves; the exit code. Raises what `make` raises."""
    app = PrunecliApp(make, places, cwd, environ, prompt, first_keys, inline=inline)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        loop.add_signal_handler(number, app.signalled, number)
    try:
        code = await app.run_async(mouse=app.mouse and not inline, inline=inline)
    finally:
        await app.close()
    if app.failure is not None:
        raise app.failure
    if app.defect is not None:
        from prunecli.tui.defect import report

        return report(app.defect, app.runtime, places)
    app.leave_behind()
    return code or 0
