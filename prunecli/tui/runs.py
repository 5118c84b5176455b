"""Runs: what the user says becomes work of the agent, one piece at a time, which Esc stops."""

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import TYPE_CHECKING

from textual.worker import Worker

from prunecli.agent.decide import Done
from prunecli.errors import ProviderError, PrunecliError, StorageFailed, ToolError
from prunecli.model.events import UserMessage
from prunecli.model.messages import plain_text
from prunecli.runtime import Runtime
from prunecli.runtime.shell import shell
from prunecli.tui.live_command import LiveCommand
from prunecli.tui.transcript.entries import Level

if TYPE_CHECKING:
    from prunecli.tui.conversation import Conversation

TRY_AGAIN = "Press Enter on an empty prompt to try again."


class Runs:
    """Starts and stops the work of one runtime."""

    def __init__(self, runtime: Runtime, front: "Conversation") -> None:
        self._runtime = runtime
        self._front = front
        self._worker: Worker[None] | None = None
        self.can_go_on = False
        self.loading = False
        self._idle = asyncio.Event()

    @property
    def busy(self) -> bool:
        """Whether something runs."""
        return self._worker is not None and not self._worker.is_finished

    def submit(self, text: str) -> None:
        """Says something to the idle agent."""
        self._start("Waiting for the model", lambda: self._runtime.submit(text))

    def go_on(self) -> None:
        """Goes on from where the session is."""
        self._start("Waiting for the model", self._runtime.go_on)

    def load(self, read: Callable[[], Awaitable[None]]) -> None:
        """Reads a session; what is said meanwhile is heard when it is there."""

        async def run() -> None:
            self.loading = True
            try:
                await read()
            finally:
                self.loading = False

        self._start("Reading the session", run)

    def compact(self, focus: str) -> None:
        """Has the model summarise the older part of the session."""

        async def run() -> Done | None:
            await self._runtime.compact(focus)
            return None

        self._start("Summarising", run)

    def shell(self, command: str, *, show_model: bool) -> None:
        """Runs a command of the user's own."""

        async def run() -> Done | None:
            live = LiveCommand(self._front, command if show_model else f"! {command}")
            try:
                text = await shell(self._runtime, command, show_model=show_model, progress=live.progress)
            except (asyncio.CancelledError, ToolError) as error:
                live.failed(interrupted=isinstance(error, asyncio.CancelledError))
                raise
            if show_model:
                live.recorded()
            else:
                live.done(text)
            return None

        self._start(f"Running {command}", run)

    def _start(self, words: str, work: Callable[[], Awaitable[Done | None]]) -> None:
        if self.busy:
            self._front.say("The agent is working: Esc stops it.", Level.WARNING)
            return
        self.can_go_on = False
        self._front.planning.withdraw()
        self._worker = self._front.frame.run_worker(self._run(words, work), group="run")

    async def _run(self, words: str, work: Callable[[], Awaitable[Done | None]]) -> None:
        """Does the work and says how it went wrong, if it did."""
        begun = monotonic()
        interrupted = failed = False
        self._idle.clear()
        self._front.began(words)
        self._front.frame.program.show_state("working")
        try:
            done = await work()
            self._front.warn("")
            if done is not None:
                interrupted = done.reason == "interrupted"
                self.can_go_on = failed = done.reason != "finished"
                if done.note:
                    self._front.say(done.note, Level.WARNING if done.reason == "limit" else Level.INFO)
        except asyncio.CancelledError:
            interrupted = True
            self._front.say("Interrupted.")
        except ProviderError as error:
            self.can_go_on = True
            self._front.say("\n".join(filter(None, [error.message, error.hint, TRY_AGAIN])), Level.ERROR)
        except StorageFailed as error:
            self.can_go_on = True
            self._front.warn(f"{error.message}. Nothing runs until the session can be written. {TRY_AGAIN}")
        except PrunecliError as error:
            self._front.complain(error)
        except ToolError as error:
            self._front.say(str(error), Level.ERROR)
        finally:
            self._idle.set()
            self._front.frame.program.show_state("")
            self._front.ended(monotonic() - begun, interrupted=interrupted)
            if not (interrupted or failed or self.can_go_on):
                self._front.frame.call_later(self._afterwards)

    def _afterwards(self) -> None:
        """What was said to a shell command, or at the last moment, is heard now; a plan is asked about."""
        if self.busy:
            return
        if any(self.waiting()):
            self.go_on()
        else:
            self._front.planning.offer()

    def interrupt(self) -> bool:
        """Stops the work; False if there is none."""
        if self._worker is None or self._worker.is_finished:
            return False
        self._worker.cancel()
        return True

    async def stopped(self, seconds: float) -> None:
        """Stops the work and waits until it has left everything in order, at most so long."""
        if self.interrupt():
            try:
                await asyncio.wait_for(self._idle.wait(), seconds)
            except TimeoutError:
                pass  # it does not end: leaving matters more

    # What waits ----------------------------------------------------------------------------------------------

    def waiting(self) -> tuple[list[str], list[str]]:
        """What was said and is not heard yet: steering, and what waits for the end."""
        mailbox = self._runtime.mailbox
        return [_words(one) for one in mailbox.steering], [_words(one) for one in mailbox.follow_ups]

    def take_all(self) -> list[tuple[str, bool]]:
        """Takes all that waits out, in order; with each whether it waits for the end."""
        steering, follow_ups = self.waiting()
        self._runtime.mailbox.steering.clear()
        self._runtime.mailbox.follow_ups.clear()
        return [(text, False) for text in steering] + [(text, True) for text in follow_ups]

    def take_back(self) -> str | None:
        """Takes the last message that waits out again; None if none waits."""
        mailbox = self._runtime.mailbox
        for queue in (mailbox.follow_ups, mailbox.steering):
            if queue:
                return _words(queue.pop())
        return None


def _words(message: UserMessage) -> str:
    return plain_text(message.content)
