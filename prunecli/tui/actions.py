"""What keys do that are not about typing."""

from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING

from prunecli.agent.permissions import MODES, Mode
from prunecli.bindings import ACTIONS
from prunecli.errors import PrunecliError
from prunecli.tui import outside
from prunecli.tui.transcript.entries import Level

if TYPE_CHECKING:
    from prunecli.tui.conversation import Conversation
    from prunecli.tui.widgets.question import Question

TWICE_SECONDS = 2.0
"""A second press within it counts as twice."""


class Actions:
    """The actions of one conversation, by their names in `keys.ACTIONS`."""

    def __init__(self, conversation: "Conversation") -> None:
        self._conversation = conversation
        self._frame = frame = conversation.frame
        self._pressed: dict[str, float] = {}
        self._auto_question: Question | None = None
        self._auto_allowed = ""
        transcript = frame.transcript
        self._deeds: dict[str, Callable[[], object]] = {
            "interrupt": self._interrupt,
            "quit": self._quit,
            "leave": self._leave,
            "cycle_mode": self._cycle_mode,
            "take_back": self._take_back,
            "edit": lambda: frame.run_worker(self._edit(), group="editor", exclusive=True),
            "commands": self._open_palette,
            "show_keys": self._show_keys,
            "find": frame.open_search,
            "browse": self._browse,
            "page_up": transcript.page_up,
            "page_down": transcript.page_down,
            "top": transcript.home,
            "bottom": transcript.end,
            "previous_prompt": transcript.previous_prompt,
            "next_prompt": transcript.next_prompt,
            "fold_all": transcript.toggle_all,
        }

    def do(self, name: str) -> bool:
        """Does it; False for a name that is none of these."""
        deed = self._deeds.get(name)
        if name not in self._pressed:
            self.forget()
        if deed is not None:
            deed()
        return deed is not None

    def forget(self) -> None:
        """Something else was done: what was pressed before it does not count as the first press of two."""
        self._pressed = {}

    def _again(self, name: str) -> bool:
        """Whether this was pressed a moment ago too."""
        now = monotonic()
        again = now - self._pressed.get(name, float("-inf")) < TWICE_SECONDS
        self._pressed = {} if again else {name: now}
        return again

    def _interrupt(self) -> None:
        frame = self._frame
        if self._conversation.runs.interrupt():
            frame.activity.hint("stopping …")
        elif frame.focused is frame.transcript:
            frame.prompt.focus()
        elif not frame.prompt.is_empty:
            self.forget()
        elif checks := [one for one in frame.app.workers if one.group == "command" and one.is_running]:
            checks[0].cancel()
        elif self._again("interrupt"):
            self._conversation.rewind()
        else:
            frame.activity.hint(f"{frame.keys.hint('interrupt')} again: go back to an earlier prompt")

    def _quit(self) -> None:
        frame = self._frame
        key = frame.keys.hint("quit")
        if selected := frame.get_selected_text():
            frame.program.copy_to_clipboard(selected)
            frame.activity.hint("copied")
        elif self._again("quit"):
            frame.program.leave()
        elif self._conversation.runs.interrupt():
            frame.activity.hint(f"stopping … {key} again quits", "$warning")
        else:
            frame.activity.hint(f"{key} again quits", "$warning")

    def _leave(self) -> None:
        if not self._conversation.runs.busy or self._again("leave"):
            self._frame.program.leave()
        else:
            self._frame.activity.hint(
                f"{self._frame.keys.hint('leave')} again stops the agent and quits", "$warning"
            )

    def _cycle_mode(self) -> None:
        runtime = self._conversation.runtime
        current, asked = runtime.gatekeeper.mode, self._auto_question
        if asked is not None:  # pressed again: on to the mode after it
            self._auto_answered(allowed=False)
            return
        if current == "auto":
            self._auto_allowed = runtime.session.id
        mode = MODES[(MODES.index(current) + 1) % len(MODES)]
        if mode == "auto" and self._auto_allowed != runtime.session.id:
            self._ask_for_auto()
        else:
            self._use_mode(mode)

    def _use_mode(self, mode: Mode) -> None:
        self._conversation.runtime.set_mode(mode)
        self._conversation.show_status()
        self._frame.activity.hint(_MODE_HELP[mode])

    def _ask_for_auto(self) -> None:
        """One key too many must not end all questions."""
        from prunecli.tui.widgets.question import choice

        answers = (("Yes", "for the rest of this session"), ("No", f"{MODES[0]}: ask first"))
        self._auto_question = choice(
            "Run everything without asking (mode auto)?",
            answers,
            lambda row: self._auto_answered(allowed=row == 0),
            leave=1,
            marked=1,
        )
        self._frame.ask(self._auto_question)

    def _auto_answered(self, *, allowed: bool) -> None:
        if self._auto_question is not None:
            self._frame.answered(self._auto_question)
            self._auto_question = None
        if allowed:
            self._auto_allowed = self._conversation.runtime.session.id
        self._use_mode("auto" if allowed else MODES[0])

    def _take_back(self) -> None:
        text = self._conversation.runs.take_back()
        if text is not None:
            prompt = self._frame.prompt
            prompt.set_text(text if prompt.is_empty else f"{text}\n\n{prompt.typed}")
            self._conversation.show_waiting()

    def _open_palette(self) -> None:
        from prunecli.tui.screens.palette import palette

        frame = self._frame

        def chosen(value: str | None) -> None:
            if value is None:
                return
            if value.startswith("/"):
                self._conversation.command(value)
            elif not self.do(value):
                frame.prompt.focus()
                frame.prompt.press(frame.keys.of(value)[0])

        frame.app.push_screen(palette(frame.keys), chosen)

    def _browse(self) -> None:
        self._frame.transcript.focus()
        self._frame.activity.hint("Up and Down move, Enter folds, r restores, Esc goes back")

    def _show_keys(self) -> None:
        from prunecli.tui.screens.keys import keys_screen

        self._frame.app.push_screen(keys_screen(self._frame.keys, ACTIONS))

    async def _edit(self) -> None:
        """The prompt in the user's editor."""
        frame, cwd = self._frame, self._conversation.runtime.setup.cwd
        try:
            async with frame.program.lent():
                text = await outside.edit_text(frame.prompt.typed, frame.program.environ, cwd)
        except PrunecliError as error:
            self._conversation.complain(error)
        except OSError as error:
            why = f"The prompt can't be put into a file: {error.strerror}"
            self._conversation.say(why, Level.ERROR)
        else:
            frame.prompt.set_text(text)


_MODE_HELP = {
    "ask": "ask: reads and harmless commands pass, the rest is asked",
    "edits": "edits: changes in the workspace pass too",
    "plan": "plan: only reads pass",
    "auto": "auto: everything passes but what a deny rule names",
}
