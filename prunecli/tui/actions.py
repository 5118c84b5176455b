"""The actions of keys that do not edit text."""

import os
import signal
from collections.abc import Callable, Sequence
from time import monotonic
from typing import TYPE_CHECKING

from prunecli.commands.command import Choice, Choose, Table, all_commands
from prunecli.front.presentation.entries import Level
from prunecli.plugins.app import Installed
from prunecli.plugins.features import available, has_command
from prunecli.runtime import Runtime, outside
from prunecli.runtime.clipboard import clipped
from prunecli.safety.permissions.verdict import Mode
from prunecli.tui.port import Port
from prunecli.tui.program import Program
from prunecli.tui.runs import Runs
from prunecli.tui.screens.frame import Frame
from prunecli.util.bindings import ACTIONS, Action, Keys, shown
from prunecli.util.errors import PrunecliError
from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    from prunecli.tui.screens import choose, table
    from prunecli.tui.screens.choose import ChooseScreen
    from prunecli.tui.widgets import bar_words
else:
    choose = lazy("prunecli.tui.screens.choose")
    table = lazy("prunecli.tui.screens.table")
    bar_words = lazy("prunecli.tui.widgets.bar_words")

_TYPING = frozenset({"submit", "newline", "follow_up", "older", "newer", "complete", "commands"})
"""Actions that only make sense while typing; the palette leaves them out."""
TWICE_SECONDS = 2.0
"""Seconds within which a second press of a key counts as a repetition."""


class Actions:
    """The actions of one conversation, by their names in `bindings.ACTIONS`."""

    def __init__(self, runtime: Runtime, port: Port, frame: Frame, program: Program, runs: Runs) -> None:
        self._runtime = runtime
        self._port = port
        self._frame = frame
        self._program = program
        self._runs = runs
        self._pressed: dict[str, float] = {}
        transcript = frame.transcript
        deeds: dict[str, Callable[[], object]] = {
            "interrupt": self._interrupt,
            "quit": self._quit,
            "leave": self._leave,
            "background": self._background,
            "summarize": self._runs.summarize,
            "cycle_mode": self._cycle_mode,
            "take_back": self._take_back,
            "paste_image": lambda: port.run(self._paste_image(), "paste", exclusive=True),
            "edit": lambda: port.run(self._edit(), "editor", exclusive=True),
            "commands": self._open_palette,
            "show_keys": self._show_keys,
            "suspend": lambda: port.run(self._suspend(), "suspend", exclusive=True),
            "redraw": lambda: frame.app.refresh(layout=True),
            "find": frame.open_search,
            "browse": self._browse,
            "page_up": transcript.page_up,
            "page_down": transcript.page_down,
            "top": transcript.home,
            "bottom": transcript.end,
            "previous_prompt": transcript.previous_prompt,
            "next_prompt": transcript.next_prompt,
            "todos": frame.toggle_todos,
            "fold_all": transcript.toggle_all,
        }
        names = {action.name for action in offered(runtime.config.installed)}
        self._actions = {name: deed for name, deed in deeds.items() if name in names}

    def do(self, name: str) -> bool:
        """Run an action; return False if there is none of this name."""
        deed = self._actions.get(name)
        if (
            name in ("commands", "show_keys") and self._frame.app.screen is not self._frame
        ):  # pressed twice before it opened
            return True
        if name not in self._pressed:
            self.forget()
        if deed is not None:
            deed()
        return deed is not None

    def forget(self) -> None:
        """Forget the last key and its hint, so that the next press does not count as a repetition."""
        if self._pressed:
            self._port.hint("")
        self._pressed = {}

    def typed(self) -> None:
        """Forget the last key, unless it emptied the prompt: the message of that may come after the key."""
        if not self._frame.prompt.is_empty:
            self.forget()

    def _again(self, name: str) -> bool:
        now = monotonic()
        again = now - self._pressed.get(name, float("-inf")) < TWICE_SECONDS
        self._pressed = {} if again else {name: now}
        return again

    def _interrupt(self) -> None:
        frame, port = self._frame, self._port
        if self._runs.interrupt():
            port.hint("stopping …")
        elif frame.focused is frame.transcript:
            frame.prompt.focus()
        elif not frame.prompt.is_empty:
            self.forget()
        elif checks := [
            worker for worker in frame.app.workers if worker.group == "command" and worker.is_running
        ]:
            checks[0].cancel()
        elif not has_command("rewind", self._runtime.config.installed):
            return
        elif self._again("interrupt"):
            port.command("/rewind")
        else:
            key = frame.keys.hint("interrupt")
            port.hint(f"{key} again to go back to an earlier prompt", seconds=TWICE_SECONDS)

    def _background(self) -> None:
        moved = any(part.to_background() for part in self._runtime.parts.values())
        self._port.hint("moving it to the background …" if moved else "The agent is not running a command")

    def _quit(self) -> None:
        frame, port = self._frame, self._port
        key = frame.keys.hint("quit")
        if selected := frame.get_selected_text():
            self._program.copy_to_clipboard(selected)
        elif self._again("quit"):
            self._program.leave()
        elif self._runs.interrupt():
            port.hint(f"Stopping … {key} again to quit", "$warning", seconds=TWICE_SECONDS)
        else:
            port.hint(f"{key} again to quit{self._losing_jobs()}", "$warning", seconds=TWICE_SECONDS)

    def _leave(self) -> None:
        losing, key = self._losing_jobs(), self._frame.keys.hint("leave")
        if not (self._runs.busy or losing) or self._again("leave"):
            self._program.leave()
        else:
            stops = "stop the agent and " if self._runs.busy else ""
            self._port.hint(f"{key} again to {stops}quit{losing}", "$warning", seconds=TWICE_SECONDS)

    def _losing_jobs(self) -> str:
        """Return the end of a hint that quitting ends jobs, "" if none run."""
        losing = ", ".join(filter(None, (part.working() for part in self._runtime.parts.values())))
        return f" · this ends {losing}" if losing else ""

    def _cycle_mode(self) -> None:
        """Switch to the next mode. Auto mode has its own way in, `/permissions auto`."""
        keeper = self._runtime.gatekeeper
        keeper.mode = _NEXT_MODE[keeper.mode]
        self._port.show_status()
        self._port.hint(_MODE_HELP[keeper.mode])

    def _take_back(self) -> None:
        text = self._runs.take_back()
        if text is not None:
            self._port.prompt.give_back(text)

    def _open_palette(self) -> None:
        frame = self._frame

        def chosen(value: str | None) -> None:
            if value is None:
                return
            if value.startswith("/"):
                self._port.command(value)
            elif not self.do(value):
                frame.prompt.focus()
                frame.prompt.press(frame.keys.of(value)[0])

        self._port.push_screen(_palette(frame.keys, self._runtime.config.installed), chosen)

    def _browse(self) -> None:
        self._frame.transcript.focus()
        self._port.hint("Up/Down to move · Enter to fold or open · Esc to go back · r to restore")

    async def _suspend(self) -> None:
        """Stop the program and what was started with it, until the shell continues it."""
        if os.getpgrp() == os.getsid(0):  # not a job of a shell: nobody could continue it
            self._port.hint("No shell to return to")
            return
        try:
            async with self._program.lent():
                os.kill(0, signal.SIGSTOP)
        except PrunecliError as error:
            self._port.complain(error)

    def _show_keys(self) -> None:
        runtime, shown = self._runtime, self._frame.status
        bar = bar_words.bar_rows(shown.status, shown.cache, runtime.balance.now) if shown.status else []
        self._port.push_screen(
            table.TableScreen(_keys_table(bar, self._frame.keys, runtime.config.installed))
        )

    async def _paste_image(self) -> None:
        """Attach the image in the clipboard. Without one, paste the text last cut or copied in the prompt."""
        prompt, setup = self._frame.prompt, self._runtime.setup
        try:
            found = await clipped(self._program.environ, setup.cwd, setup.places.clipped)
        except PrunecliError as error:
            if self._frame.app.clipboard:
                prompt.action_paste()
            else:
                self._port.complain(error)
        except OSError as error:
            self._port.say(f"Cannot keep the image: {error.filename}: {error.strerror}", Level.ERROR)
        else:
            if found:
                prompt.clip(f'@"{found.path}"', f"{found.width}x{found.height}")
            elif self._frame.app.clipboard:
                prompt.action_paste()
            else:
                self._port.hint("No image in the clipboard")

    async def _edit(self) -> None:
        frame, cwd = self._frame, self._runtime.setup.cwd
        try:
            async with self._program.lent():
                text = await outside.edit_text(frame.prompt.typed, self._program.environ, cwd)
        except PrunecliError as error:
            self._port.complain(error)
        except OSError as error:
            why = f"Cannot write the prompt to a file: {error.strerror}"
            self._port.say(why, Level.ERROR)
        else:
            frame.prompt.set_text(text)


_NEXT_MODE: dict[Mode, Mode] = {"ask": "edits", "edits": "plan", "plan": "ask", "auto": "ask"}


def offered(installed: Installed) -> list[Action]:
    """Return the actions without those of features that are not there."""
    there = (one for one in ACTIONS if not one.command or has_command(one.command, installed))
    return [one._replace(help=available(one.help, installed)) for one in there]


_MODE_HELP = {
    "ask": "ask: runs reads and harmless commands, asks about the rest",
    "edits": "edits: also changes workspace files without asking",
    "plan": "plan: reads only",
}


def _keys_table(bar: Sequence[tuple[str, str]], keys: Keys, installed: Installed) -> "Table":
    rows: list[tuple[str, ...]] = [("" if at else "Bar", *row) for at, row in enumerate(bar)]
    group = ""
    for action in offered(installed):
        named = action.group if action.group != group else ""
        rows.append((named, " ".join(map(shown, keys.of(action.name))), action.help))
        group = action.group
    note = 'Change keys under [ui.keys] in config.toml, such as submit = "ctrl+s"'
    return Table(
        "The bar and the keys", ("", "part, key", "what it says, what it does"), tuple(rows), note=note
    )


def _palette(keys: Keys, installed: Installed) -> "ChooseScreen":
    """Return the palette; its result is `/command` or the name of an action."""

    commands = [
        Choice(f"/{command.name}", f"/{command.name}", command.help) for command in all_commands(installed)
    ]
    actions = [
        Choice(one.name, one.name.replace("_", " "), f"{shown(keys.of(one.name)[0])} · {one.help}")
        for one in offered(installed)
        if one.name not in _TYPING and keys.of(one.name)
    ]
    return choose.ChooseScreen(Choose("Commands", "", (*commands, *actions)))
