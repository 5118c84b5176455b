"""Carries out the effects of commands in the plain interface."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, assert_never

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
    run_line,
)
from prunecli.features.rewind.rewinding import rewind
from prunecli.front.plain.lines import columns
from prunecli.front.presentation.entry_text import choice_lines, chosen, ours, table_lines
from prunecli.runtime import outside
from prunecli.util.errors import PrunecliError
from prunecli.util.sanitize import one_line, source, visible

if TYPE_CHECKING:
    from prunecli.front.plain.talk import Talk


class Effects:
    def __init__(self, talk: "Talk") -> None:
        self._talk = talk

    def command(self, line: str) -> None:
        self.perform(run_line(self._talk.runtime, line))
        self._talk.keep()

    def perform(self, effects: Iterable[Effect]) -> None:
        """Carry out effects in order. Mouse effects do nothing here; a theme only prints a note."""
        talk = self._talk
        for effect in effects:
            match effect:
                case Submit(text):
                    talk.say(text)
                case GoOn():
                    talk.work(talk.runtime.go_on)
                case CompactNow(focus):
                    talk.work(partial(talk.runtime.compact, focus))
                case EditFile():
                    self._edit(effect)
                case InThread(words, work):
                    talk.out(f"{ours(words)} ...")
                    self._guarded(work)
                case RunLine(line):
                    self.command(line)
                case Quit():
                    talk.leaving = True
                case PickSession(choose):
                    self._choose(choose())
                case SwitchSession():
                    self._guarded(self._switched)
                case RewindNow():
                    self._rewind(effect)
                case SetTheme():
                    talk.out("Plain output has no colors.")
                case SetMouse() | Reconfigured():
                    pass
                case _:
                    self._tell(effect)

    def _switched(self) -> Sequence[Effect]:
        """Load a long session now; a short one was printed when the runtime switched to it."""
        self._talk.read_resumed()
        return []

    def _tell(
        self, effect: Say | Table | ShowContext | ShowTask | Choose | Copy | AskSecret | FillPrompt
    ) -> None:
        match effect:
            case Say(text, level):
                mark = "" if level == "info" else f"{level}: "
                self._print([mark + ours(line) if not at else ours(line) for at, line in _numbered(text)])
            case Table():
                self._print(table_lines(effect, columns()))
            case ShowContext(table):
                self._print(table_lines(table(), columns()))
            case ShowTask():
                self._print(self._talk.lines_of(effect.session))
            case Choose():
                self._choose(effect)
            case Copy(text, what):
                self._print([f"No clipboard in plain mode. Here is {what}:", *source(text).split("\n")])
            case AskSecret():
                self._ask_secret(effect)
            case FillPrompt(text):
                self._propose(text)
            case _:
                assert_never(effect)

    def _rewind(self, effect: RewindNow) -> None:
        talk = self._talk
        restored = talk.work(
            lambda: rewind(talk.runtime, effect.seq, conversation=effect.conversation, files=effect.files)
        )
        if restored is not None:
            if effect.files:
                self._print([ours(visible(restored.words))])
            self._print(
                f"{one_line(path)} was not changed: {ours(one_line(why))}" for path, why in restored.left
            )
            self._propose(effect.text)

    def _propose(self, text: str) -> None:
        """Propose text: Enter sends it, any other input replaces it."""
        self._talk.proposed = text

    def _print(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._talk.out(line)

    def _choose(self, choose: Choose) -> None:
        self._print(choice_lines(choose))
        try:
            answer = self._talk.lines.answer("number, or Enter to cancel: ")
        except KeyboardInterrupt:
            answer = None
        if not (answer or "").strip():
            return
        found = chosen(choose, answer or "")
        if found is None:
            self._print([f"No choice named {visible((answer or '').strip())}."])
        else:
            self.command(f"/{choose.command} {found.value}")

    def _ask_secret(self, asked: AskSecret) -> None:
        try:
            secret = self._talk.lines.secret(f"{ours(asked.title)} (not shown): ")
        except KeyboardInterrupt:
            secret = None
        if secret is not None:
            self._guarded(lambda: asked.then(secret))

    def _guarded(self, answer: Callable[[], Sequence[Effect]]) -> None:
        try:
            effects = answer()
        except PrunecliError as error:
            self._print(["error: " + ours(error.message), *filter(None, [ours(error.hint)])])
        else:
            self.perform(effects)

    def _edit(self, effect: EditFile) -> None:
        if self._talk.work(lambda: _edited(effect, self._talk)) and effect.then:
            self.command(f"/{effect.then}")


async def _edited(effect: EditFile, talk: "Talk") -> bool:
    setup = talk.runtime.setup
    await outside.edit_file(effect.path, setup.environ, setup.cwd)
    return True


def _numbered(text: str) -> list[tuple[int, str]]:
    return list(enumerate(visible(text).split("\n")))
