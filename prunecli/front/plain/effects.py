"""Carries out the effects of commands in the plain interface."""

from collections.abc import Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, Any, TypeVar, assert_never

from prunecli.agent.decide import Done
from prunecli.commands.command import (
    AskSecret,
    Choose,
    Confirm,
    EditFile,
    Quit,
    Reconfigured,
    Say,
    SetMouse,
    SetTheme,
    SwitchSession,
    Table,
)
from prunecli.front import effects as base
from prunecli.front.effects import at_once
from prunecli.front.plain.lines import columns
from prunecli.front.presentation.entry_text import choice_lines, chosen, ours, table_lines
from prunecli.runtime import outside
from prunecli.util.sanitize import source, visible

if TYPE_CHECKING:
    from prunecli.front.plain.loop import PlainLoop

T = TypeVar("T")


class Effects(base.Effects):
    """Nothing here waits: `Talk.work` runs what takes time to its end."""

    def __init__(self, talk: "PlainLoop") -> None:
        super().__init__(talk.runtime)
        self._talk = talk

    def type(self, line: str) -> None:
        at_once(self.command(line))
        self._talk.keep()

    def say(self, said: Say) -> None:
        mark = "" if said.level == "info" else f"{said.level}: "
        self._print([mark + ours(line) if not at else ours(line) for at, line in _numbered(said.text)])

    def table(self, table: Table) -> None:
        self._print(table_lines(table, columns()))

    def copy(self, text: str, what: str) -> None:
        self._print([f"No clipboard in plain mode. Here is {what}:", *source(text).split("\n")])

    def fill(self, text: str) -> None:
        """Propose text: Enter sends it, any other input replaces it."""
        self._talk.proposed = text

    def change(self, effect: base.Program) -> None:
        """Change the program. A theme only prints a note here; the mouse means nothing."""
        match effect:
            case SwitchSession():
                with self.complaining():
                    self._talk.read_resumed()  # a short one was printed when the runtime switched to it
            case Quit():
                self._talk.leaving = True
            case SetTheme():
                self._talk.out("Plain output has no colors.")
            case SetMouse() | Reconfigured():
                pass
            case _:
                assert_never(effect)

    async def run(self, words: str, begin: Callable[[], Coroutine[Any, Any, T]]) -> T | None:
        if words:
            self._talk.out(f"{ours(words)} ...")
        return self._talk.work(begin)

    async def submit(self, text: str) -> None:
        self._talk.say(text)

    async def choose(self, choose: Choose) -> Done | None:
        self._print(choice_lines(choose))
        try:
            answer = self._talk.lines.answer("number, or Enter to cancel: ")
        except KeyboardInterrupt:
            answer = None
        if not (answer or "").strip():
            return None
        found = chosen(choose, answer or "")
        if found is None:
            self._print([f"No choice named {visible((answer or '').strip())}."])
            return None
        return await self.command(f"/{choose.command} {found.value}")

    async def confirm(self, effect: Confirm) -> Done | None:
        self._print([ours(effect.line)])
        try:
            answer = self._talk.lines.answer(f"{ours(effect.verb)}? [y/N] ")
        except KeyboardInterrupt:
            answer = None
        agreed = (answer or "").strip().lower() in ("y", "yes")
        return await self.answered(effect.then) if agreed else None

    async def ask_secret(self, asked: AskSecret) -> Done | None:
        try:
            secret = self._talk.lines.secret(f"{ours(asked.title)} (not shown): ")
        except KeyboardInterrupt:
            secret = None
        return await self.answered(lambda: asked.then(secret)) if secret is not None else None

    async def edit(self, effect: EditFile) -> None:
        setup = self.runtime.setup

        async def edited() -> bool:
            await outside.edit_file(effect.path, setup.environ, setup.cwd)
            return True

        if self._talk.work(edited) and effect.then:
            await self.command(f"/{effect.then}")

    def _print(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._talk.out(line)


def _numbered(text: str) -> list[tuple[int, str]]:
    return list(enumerate(visible(text).split("\n")))
