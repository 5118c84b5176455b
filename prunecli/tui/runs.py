"""Runs: what the user says becomes work of the agent, one piece at a time, which Esc stops."""

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import TYPE_CHECKING

from textual.worker import Worker

from prunecli.agent.decide import Done
from prunecli.agent.oversized import PromptTooLarge
from prunecli.errors import ProviderError, PrunecliError, SessionError, StorageFailed, ToolError
from prunecli.model.events import AssistantMessage, UserMessage
from prunecli.model.notes import typed
from prunecli.runtime import Runtime
from prunecli.runtime.shell import shell
from prunecli.tui.live_command import LiveCommand
from prunecli.tui.messages import Wake
from prunecli.tui.showing.doing import SUMMARISING
from prunecli.tui.showing.present import STOPPED
from prunecli.tui.transcript.entries import Level

if TYPE_CHECKING:
    from prunecli.commands.command import RewindNow
    from prunecli.tui.conversation import Conversation

TRY_AGAIN = "Press Enter on an empty prompt to try again."
GOES_ON = "It then goes on by itself; Enter on an empty prompt tries now, Esc leaves it."
SAY_AGAIN = "Enter sends it again."


class Runs:
    """Starts and stops the work of one runtime."""

    def __init__(self, runtime: Runtime, front: "Conversation") -> None:
        self._runtime = runtime
        self._front = front
        self._worker: Worker[None] | None = None
        self.can_go_on = False
        self._stalled = False
        self._looking: Worker[None] | None = None
        self.loading = False
        self._idle = asyncio.Event()

    @property
    def busy(self) -> bool:
        """Whether something runs."""
        return self._worker is not None and not self._worker.is_finished

    def submit(self, text: str) -> None:
        """Says something to the idle agent."""
        self._start("Waiting for the model", lambda: self._submit(text))

    async def _submit(self, text: str) -> Done:
        """What can't be recorded was not said: it comes back into the prompt."""
        before = len(self._runtime.session.records)
        try:
            return await self._runtime.submit(await self._front.completer.completed(text))
        except (PromptTooLarge, SessionError, asyncio.CancelledError):
            new = self._runtime.session.records[before:]
            if not any(isinstance(record.event, UserMessage) for record in new):
                self._front.give_back(text)
            raise

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

        self._start(SUMMARISING, run)

    def rewind(self, asked: "RewindNow") -> None:
        """Goes back or forward, and fills the prompt with what was said there."""
        from prunecli.runtime.rewinding import rewind

        async def run() -> Done | None:
            conversation, files = asked.conversation, asked.files
            restored = await rewind(self._runtime, asked.seq, conversation=conversation, files=files)
            self._front.take(Wake())  # what is said now stands below what the rewind shows
            if files:
                self._front.say(restored.words)
            for path, why in restored.left:
                self._front.say(f"{path} stays as it is: {why}", Level.WARNING)
            if asked.text:
                self._front.fill_prompt(asked.text)
            return None

        self._start("Going back", run)

    def shell(self, command: str, *, show_model: bool) -> None:
        """Runs a command of the user's own."""

        async def run() -> Done | None:
            live = LiveCommand(self._front, command, show_model=show_model)
            try:
                text = await shell(
                    self._runtime,
                    command,
                    show_model=show_model,
                    progress=live.progress,
                    so_far=live.so_far,
                )
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
        self.can_go_on = self._stalled = False
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
                if done.note and not self._record_says():
                    self._front.say(done.note, Level.WARNING if done.reason == "limit" else Level.INFO)
        except asyncio.CancelledError:
            interrupted = True
            self._front.say("Interrupted.")
        except ProviderError as error:
            self.can_go_on = True
            self._front.say("\n".join(filter(None, [error.message, error.hint, TRY_AGAIN])), Level.ERROR)
        except StorageFailed as error:
            self.can_go_on = self._stalled = self._runtime.unfinished
            path = self._runtime.session.path
            why = error.message.removeprefix(f"{path}: ") if path else error.message
            way = error.hint or "check the disk"
            self._front.warn(
                f"The session can't be written: {why}. Nothing runs until it can: {way}. "
                + (GOES_ON if self._stalled else SAY_AGAIN)
            )
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

    def _record_says(self) -> bool:
        """Whether the last answer shows by itself how it ended."""
        items = self._runtime.session.context.items
        last = items[-1].event if items else None
        return isinstance(last, AssistantMessage) and last.stop_reason in STOPPED

    def _afterwards(self) -> None:
        """What was said to a shell command, or at the last moment, is heard now; a plan is asked about."""
        if self.busy:
            return
        self._front.show_guide()
        if any(self.waiting()):
            self.go_on()
        else:
            self._front.planning.offer()

    def keep(self) -> None:
        """Makes durable what was decided while nothing runs; work does that for itself."""
        if not self.busy:
            self._front.frame.run_worker(self._keep(), group="keep")

    async def _keep(self) -> None:
        try:
            await asyncio.to_thread(self._runtime.session.commit)
        except StorageFailed as error:
            self._front.complain(error)

    def interrupt(self) -> bool:
        """Stops the work; False if there is none."""
        if self._worker is None or self._worker.is_finished:
            stalled, self._stalled = self._stalled, False
            if stalled:
                self._front.say(TRY_AGAIN)
            return stalled
        self._worker.cancel()
        return True

    def tick(self) -> None:
        """Looks whether a session that could not be written can be by now."""
        if self._stalled and not self.busy and (self._looking is None or self._looking.is_finished):
            self._looking = self._front.frame.run_worker(self._look(), group="mend")

    async def _look(self) -> None:
        try:
            await asyncio.to_thread(self._runtime.session.mend)
        except StorageFailed:
            return
        if self._stalled and not self.busy:
            self.go_on()

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
        return [typed(one) for one in mailbox.steering], [typed(one) for one in mailbox.follow_ups]

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
                return typed(queue.pop())
        return None
