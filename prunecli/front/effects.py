"""Carries out the effects of commands: the base of the screen, the plain interface, headless runs and editors."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar, TypeAlias, TypeVar, assert_never

from prunecli.agent.decide import Done
from prunecli.commands.command import (
    AskSecret,
    Choose,
    Command,
    CompactNow,
    Confirm,
    Copy,
    EditFile,
    Effect,
    FillPrompt,
    InThread,
    PickSession,
    Quit,
    Reconfigured,
    RunLine,
    Say,
    SetMouse,
    SetTheme,
    ShowScreen,
    Submit,
    SwitchSession,
    Table,
    Work,
    find,
    run_line,
)
from prunecli.runtime import Runtime
from prunecli.util.errors import PrunecliError

T = TypeVar("T")
Words: TypeAlias = Say | Table | Copy | FillPrompt
Program: TypeAlias = SetTheme | SetMouse | Reconfigured | SwitchSession | Quit


class Effects(ABC):
    """Carries out effects, one after the other. A front end overrides what it does in its own way.

    A front end without an event loop, or with one that only starts work, calls `at_once`.
    """

    kind: ClassVar[str] = ""
    """The name of this front end in `NOT_IN` of a command that does not work here."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime

    async def command(self, line: str) -> Done | None:
        """Run a typed line such as `/prune`. Return the end of the agent's run, None if there was no run."""
        word = line.strip().removeprefix("/").partition(" ")[0]
        found = find(word, self.runtime.config.installed) if self.kind else None
        if found and self.kind in found.not_in:
            self.refuse(found)
            return None
        return await self.perform(run_line(self.runtime, line))

    async def perform(self, effects: Iterable[Effect]) -> Done | None:
        done: Done | None = None
        for effect in effects:
            match effect:
                case Say() | Table() | Copy() | FillPrompt():
                    self._tell(effect)
                case SetTheme() | SetMouse() | Reconfigured() | SwitchSession() | Quit():
                    self.change(effect)
                case _:
                    done = await self._work(effect) or done
        return done

    def _tell(self, effect: Words) -> None:
        match effect:
            case Say():
                self.say(effect)
            case Table():
                self.table(effect)
            case Copy(text, what):
                self.copy(text, what)
            case FillPrompt(text):
                self.fill(text)
            case _:
                assert_never(effect)

    async def _work(
        self,
        effect: ShowScreen
        | Choose
        | Confirm
        | PickSession
        | AskSecret
        | EditFile
        | Submit
        | CompactNow
        | RunLine
        | Work
        | InThread,
    ) -> Done | None:
        match effect:
            case ShowScreen():
                return await self.show(effect)
            case Choose():
                return await self.choose(effect)
            case Confirm():
                return await self.confirm(effect)
            case PickSession():
                return await self.pick(effect)
            case AskSecret():
                return await self.ask_secret(effect)
            case EditFile():
                return await self.edit(effect)
            case Submit(text):
                return await self.submit(text)
            case CompactNow(focus):
                return await self.compact(focus)
            case RunLine(line):
                return await self.command(line)
            case Work() | InThread():
                return await self.work(effect)
            case _:
                assert_never(effect)

    # What each front end does -----------------------------------------------------------------------------

    @abstractmethod
    def say(self, said: Say) -> None: ...

    @abstractmethod
    def table(self, table: Table) -> None: ...

    def elsewhere(self) -> None:
        """Say that something does not work here."""
        self.say(Say("This needs a terminal: run `prunecli` in one."))

    def refuse(self, command: Command) -> None:
        """Say what to do instead of a command that does not work here."""
        self.say(Say(command.not_in[self.kind]))

    def complain(self, error: PrunecliError) -> None:
        self.say(Say(f"{error.message}\n{error.hint}".strip(), "error"))

    async def run(self, _: str, begin: Callable[[], Coroutine[Any, Any, T]]) -> T | None:
        """Run what takes time, described in words. Return None if it was stopped or if it failed and that is said."""
        return await begin()

    # What is the same unless a front end does more ---------------------------------------------------------

    def copy(self, text: str, _: str, /) -> None:
        self.say(Say(text))

    def fill(self, text: str) -> None:
        self.say(Say(f"Suggested prompt: {text}"))

    def change(self, effect: Program) -> None:
        if not isinstance(effect, Reconfigured):
            self.elsewhere()

    async def show(self, screen: ShowScreen) -> Done | None:
        return await self.perform(screen.instead())

    async def choose(self, choose: Choose) -> Done | None:
        rows = (
            f"/{choose.command} {choice.value}  {choice.label}  {choice.detail}".rstrip()
            for choice in choose.choices
        )
        self.say(Say("\n".join([choose.title, *rows])))
        return None

    async def confirm(self, effect: Confirm) -> Done | None:
        """Say the line and act: nobody can be asked here."""
        self.say(Say(effect.line))
        return await self.answered(effect.then)

    async def pick(self, effect: PickSession) -> Done | None:
        return await self.choose(effect.choose())

    async def ask_secret(self, _: AskSecret, /) -> Done | None:
        self.elsewhere()
        return None

    async def edit(self, _: EditFile, /) -> Done | None:
        self.elsewhere()
        return None

    async def submit(self, text: str) -> Done | None:
        return await self.run("", partial(self.runtime.submit, text))

    async def compact(self, focus: str) -> Done | None:
        await self.run("", partial(self.runtime.compact, focus))
        return None

    async def work(self, effect: Work | InThread) -> Done | None:
        begin = effect.work if isinstance(effect, Work) else partial(threaded, effect)
        effects: Sequence[Effect] = ()
        with self.complaining():
            effects = await self.run(effect.words, begin) or ()
        return await self.perform(effects)

    async def answered(self, answer: Callable[[], Sequence[Effect]]) -> Done | None:
        """Carry out the effects of an answer. Its errors are shown."""
        effects: Sequence[Effect] = ()
        with self.complaining():
            effects = answer()
        return await self.perform(effects)

    @contextmanager
    def complaining(self) -> Iterator[None]:
        try:
            yield
        except PrunecliError as error:
            self.complain(error)


async def threaded(effect: InThread) -> Sequence[Effect]:
    """Run the work of an effect in a thread. Raises PrunecliError; if it is canceled, the work is told to end."""
    try:
        return await asyncio.to_thread(effect.work)
    except asyncio.CancelledError:
        effect.stop()
        raise


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    work.close()
    raise RuntimeError("a front end without an event loop waits for an effect")
