"""The application around the frame: colors, terminal, signals, and everything after the first frame."""

import asyncio
import gc
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual import events
from textual.app import App, SuspendNotSupported
from textual.driver import Driver
from textual.filter import Monochrome
from textual.screen import Screen
from textual.theme import Theme as TextualTheme
from textual.widgets import Input, TextArea
from textual.worker import WorkerFailed

from prunecli.tui import look, terminal
from prunecli.tui.first_keys import FirstKeys
from prunecli.tui.screens.frame import Frame
from prunecli.tui.slices import once
from prunecli.tui.startup import Startup
from prunecli.tui.terminal_input import Burst
from prunecli.util.errors import ConfigError, PrunecliError
from prunecli.util.lazy import lazy
from prunecli.util.paths import Places

if TYPE_CHECKING:
    from prunecli.runtime import Runtime
    from prunecli.tui import defect, themes
    from prunecli.tui import inline as tui_inline
    from prunecli.tui.conversation import Conversation
    from prunecli.tui.themes import Theme
    from prunecli.tui.transcript.palette import Palette
else:
    defect = lazy("prunecli.tui.defect")
    themes = lazy("prunecli.tui.themes")
    tui_inline = lazy("prunecli.tui.inline")

SWITCH_SECONDS = 0.0005
"""Seconds that the I/O threads wait for a busy event loop, for each key. Python's default is 0.005."""
STOP_SECONDS = 3.0
"""Seconds allowed for the work to shut down cleanly on exit."""

CSS = """
Frame { background: $background; color: $foreground; overflow: hidden; }
Dialog, Dialog:ansi { color: $foreground; }
Input > .input--placeholder, Input:ansi > .input--placeholder { color: $muted; text-style: none; }
Frame:inline { height: 70vh; min-height: 12; border: none; }
ModalScreen:inline { height: 70vh; border: none; }
Masthead { height: 1; }
Welcome { height: 1fr; padding: 0 2 1 2; content-align: left bottom; }
#transcript { height: 1fr; margin: 0 0 0 1; }
Activity, Waiting, .-above { height: 1; }
Menu { overlay: screen; height: 0; width: 1fr; background: $panel; }
StatusLines { height: 2; }
Frame.-low.-asking { Masthead, Activity, Waiting, .-above, StatusLines { max-height: 0; } }
Prompt, Prompt:focus {
    height: auto; max-height: 40%; border: none; border-top: solid $faint; padding: 0 1;
    background: $background; scrollbar-size-vertical: 1;
}
Input > .input--cursor, Prompt .text-area--cursor { text-style: none; }
Prompt .editor--glyph { color: $accent; text-style: bold; background: $background; }
Prompt .text-area--placeholder { color: $muted; }
Prompt.-shell, Prompt.-shell:focus { border-top: solid $warning; }
Prompt.-shell .editor--glyph { color: $warning; }
Prompt, Prompt:focus { border-title-align: right; border-title-color: $muted; }
"""


class PrunecliApp(App[int], inherit_bindings=False):
    """The Textual application for one terminal and one runtime. `make` creates the runtime in a thread."""

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
        self._filters = [look.Colorless() if isinstance(one, Monochrome) else one for one in self._filters]
        self._startup = Startup(self, make, prompt)
        self._places = places
        self._cwd = cwd
        self._chosen: Theme | None = None
        self._leaving = self._lent = self._gone = self._is_looking = False
        self.failure: PrunecliError | None = None
        self.defect: BaseException | None = None
        self.runtime: Runtime | None = None
        self.conversation: Conversation | None = None
        self.frame = Frame(places.shown(cwd))
        if self._look is None or (self.has_few_colors and not self._look.theme.ansi):
            self._chosen = _house_theme(places, few_colors=self.has_few_colors)
            self._look = look.Look(self._chosen.to_textual(), mouse=self.mouse)
        self._apply_first(self._look.theme)

    @property
    def mouse(self) -> bool:
        return self._look.mouse if self._look else True

    def get_default_screen(self) -> Screen[None]:
        return self.frame

    def _build_driver(
        self, headless: bool, inline: bool, mouse: bool, size: tuple[int, int] | None
    ) -> Driver:
        """Build prunecli's driver in inline mode too, where Textual would use its own."""
        if inline and not headless:
            self.driver_class = tui_inline.InlineDriver
        return super()._build_driver(headless, False, mouse, size)

    @property
    def palette(self) -> "Palette":
        if self._chosen is None:
            raise RuntimeError("no theme yet: the runtime is not ready")
        return self._chosen.palette

    # Startup -----------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """Start everything that the first frame does not need, after the waiting keys."""
        self.call_after_refresh(once, self, 0.01, self._opened)
        self.app_resume_signal.subscribe(self, lambda _: self.refresh(layout=True))

    def _opened(self) -> None:
        gc.freeze()
        gc.set_threshold(20_000, 20, 50)
        gc.enable()
        sys.setswitchinterval(SWITCH_SECONDS)
        self._tell(terminal.KEEP_TITLE)
        self.show_state("")
        self.run_worker(self._begin(self._startup), group="begin")

    async def _begin(self, startup: Startup) -> None:
        try:
            await startup.run()
        except PrunecliError as error:
            self.failure = error
            self.exit()

    def meet(self, runtime: "Runtime", theme: "Theme") -> None:
        self.runtime = runtime
        self._begun_at = runtime.session, len(runtime.session.records)
        self._take_theme(theme)
        if isinstance(self._driver, terminal.CarefulDriver):
            self._driver.set_mouse(runtime.config.ui.mouse)
        self.frame.keys.use(runtime.config.ui.keys)
        self.frame.prompt.edit_like(runtime.config.ui.editing)

    # Colors -------------------------------------------------------------------------------------------------

    def use_theme(self, name: str, *, configured: bool = False) -> None:
        """Switch colors. A theme the user did not just choose is limited to the terminal's colors."""

        try:
            few = configured and self.has_few_colors
            self._take_theme(themes.theme_for(self._places, name, few_colors=few))
        except ConfigError as error:
            if self.conversation is not None:
                self.conversation.complain(error)

    def use_configured(self) -> None:
        if self.runtime is not None:
            ui = self.runtime.config.ui
            self.use_theme(ui.theme, configured=True)
            self.use_mouse(ui.mouse)
            self.frame.keys.use(ui.keys)
            self.frame.prompt.edit_like(ui.editing)

    def _take_theme(self, theme: "Theme") -> None:
        """Apply a theme, and save the configured theme for the first frame of the next start."""
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
        self.refresh_css(animate=False)  # needed even if only the colors of the same theme changed

    def _apply_first(self, theme: TextualTheme) -> None:
        """Apply a theme while nothing is on the screen. Setting `theme` would parse the style sheets twice."""
        self.register_theme(theme)
        self.set_reactive(App.theme, theme.name)
        self.set_class(theme.dark, "-dark-mode", update=False)
        self.set_class(not theme.dark, "-light-mode", update=False)
        self._refresh_truecolor_filter(self.ansi_theme)
        self.stylesheet.set_variables(self.get_css_variables())

    # Keys ----------------------------------------------------------------------------------------------------

    async def on_event(self, event: events.Event) -> None:
        """Send keys and pastes straight to the focused widget, which handles them completely.

        If a widget left some keys to the application's bindings, those keys could take effect after letters typed
        later whenever another part of the screen is busy. Until a widget has the focus, the prompt gets every key.
        Keys that arrive before the prompt is mounted wait in its queue.
        """
        typed = isinstance(event, events.Key | events.Paste) and not event.is_forwarded
        if typed and self.focused is None and self.screen_stack[-1:] == [self.frame]:
            self.frame.prompt._forward_event(event)
        elif isinstance(event, Burst) and not isinstance(self.focused, TextArea | Input):
            for key in event.as_keys():
                await self.on_event(key.set_sender(self))
        else:
            await super().on_event(event)

    @property
    def keys_wait(self) -> bool:
        return isinstance(self._driver, terminal.CarefulDriver) and self._driver.has_unread

    def _end_batch(self) -> None:
        """Wake every screen, so that a change below the top one during the batch is painted too.

        Textual wakes only the application, and a covered screen stays as it was until its next message.
        """
        super()._end_batch()
        if not self._batch_count:
            for screen in self.screen_stack:
                screen.check_idle()

    # The terminal --------------------------------------------------------------------------------------------

    def _tell(self, sequence: str) -> None:
        if self._driver is not None and not self.is_headless:
            self._driver.write(sequence)

    def show_state(self, what: str) -> None:
        """Show the agent's state in the window title, after what the session is about; "" for none."""
        about = self.conversation.title if self.conversation else ""
        name = f"{about or 'prunecli'} · {self._cwd.name or '/'}"
        self._tell(terminal.title(f"{name} · {what}" if what else name))

    def notify_user(self, what: str) -> None:
        """Send a desktop notification, unless the terminal has the focus."""
        if not self._is_looking:
            self._tell(terminal.notification(f"prunecli {what} · {self._cwd.name}"))

    def on_app_focus(self, event: events.AppFocus) -> None:
        event.prevent_default()
        self._is_looking = True

    def on_app_blur(self, event: events.AppBlur) -> None:
        """Note that the terminal lost the focus.

        The prompt keeps its own focus: a paste or a key may still come.
        """
        event.prevent_default()
        self._is_looking = False

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[None]:
        """Hand the terminal to another program, such as an editor. Raises PrunecliError if that is impossible."""
        suspended = self.suspend()
        try:
            suspended.__enter__()
        except SuspendNotSupported:
            raise PrunecliError("this terminal cannot open an editor") from None
        self._lent = True
        try:
            yield
        finally:
            self._lent = False
            suspended.__exit__(None, None, None)  # with an error, it would not take the terminal back

    def use_mouse(self, on: bool) -> None:
        if isinstance(self._driver, terminal.CarefulDriver):
            self._driver.set_mouse(on)

    def copy_to_clipboard(self, text: str, *, told: bool = True) -> None:
        """Copy by OSC 52, which works over ssh too; with `told`, also by programs, and show where the text is."""
        super().copy_to_clipboard(text)
        if told and self.conversation is not None:
            self.run_worker(self.conversation.effects.copied(text), group="copy")

    # The end -------------------------------------------------------------------------------------------------

    def leave(self, code: int = 0) -> None:
        """Exit, after the work has shut down cleanly."""
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
            await self.conversation.prompt_store.close()

    async def close(self) -> None:
        await self._settle(STOP_SECONDS)
        if self.runtime is not None:
            await self.runtime.close()

    def signaled(self, number: int) -> None:
        if number == signal.SIGINT and self._lent:
            return  # Ctrl+C in the editor
        driver = self._driver
        if isinstance(driver, terminal.CarefulDriver) and driver.is_gone:
            self.action_hang_up()
        else:
            self.leave(128 + number)

    def action_hang_up(self) -> None:
        """Handle a lost terminal: shut the work down without drawing or restoring anything."""
        if not self._gone:
            self._gone = True
            self.run_worker(self._hang_up(), group="leave")

    async def _hang_up(self) -> None:
        await self._settle(STOP_SECONDS / 2)
        if self.runtime is not None:
            await self.runtime.close()
        os._exit(128 + signal.SIGHUP)  # a normal exit would wait for a terminal that does not answer

    def leave_behind(self) -> None:
        if self.runtime is not None and not self._gone:
            session, records = self._begun_at
            since = records if session is self.runtime.session else 0
            tui_inline.leave_behind(self.runtime, since, conversation=self._inline)

    def _handle_exception(self, error: Exception) -> None:
        """End the program after an internal error; `run_tui` reports it once the terminal is restored."""
        self.defect = self.defect or (error.error if isinstance(error, WorkerFailed) else error)
        super()._handle_exception(error)

    def failed_in_loop(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Handle an exception in an event loop callback like one in any other handler; asyncio would only log it."""
        error = context.get("exception")
        if isinstance(error, Exception) and "handle" in context:
            self._handle_exception(error)
        else:
            loop.default_exception_handler(context)

    def _fatal_error(self) -> None:
        """Suppress the traceback on the screen, since it is written to a file."""
        self._close_messages_no_wait()


def _house_theme(places: Places, *, few_colors: bool) -> "Theme":
    """Return the theme to use when no look or theme is saved, or when the terminal has few colors."""

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
    """Run the application until the user leaves, and return the exit code. Raises what `make` raises."""
    app = PrunecliApp(make, places, cwd, environ, prompt, first_keys, inline=inline)
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(app.failed_in_loop)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        loop.add_signal_handler(number, app.signaled, number)
    try:
        code = await app.run_async(mouse=app.mouse and not inline, inline=inline)
    finally:
        await app.close()
    if app.failure is not None:
        raise app.failure
    if app.defect is not None or code is None:  # Textual ended the application: nobody called `leave`
        return defect.report(app.defect or RuntimeError("the interface ended"), app.runtime, places)
    app.leave_behind()
    return code
