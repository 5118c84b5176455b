"""Runs: work started by prompts and commands, one run at a time. Esc stops it."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import Any

from textual.worker import Worker

from prunecli.agent.decide import Done
from prunecli.agent.on_return import ahead
from prunecli.agent.oversized import PromptTooLarge
from prunecli.commands.command import WORKING
from prunecli.context.compaction import CompactionPlan
from prunecli.context.economics import cold
from prunecli.front.presentation.activity import SUMMARIZING
from prunecli.front.presentation.entries import Level, Origin, Prompt, ToolCall, ToolState
from prunecli.front.presentation.outcomes import has_failure
from prunecli.front.presentation.presenter import STOPPED, TAIL_LINES, command_output
from prunecli.front.presentation.streaming import NOTHING
from prunecli.model.events import AssistantMessage, Record, UserMessage
from prunecli.model.messages import Text
from prunecli.model.notes import typed
from prunecli.model.signals import SessionEvent
from prunecli.runtime import Runtime
from prunecli.runtime.running import prepare
from prunecli.runtime.user_shell import shell
from prunecli.session.running_call import USER_COMMAND
from prunecli.session.session import Session
from prunecli.tui.asking import Planning
from prunecli.tui.port import Port
from prunecli.tui.transcript_feed import TranscriptFeed
from prunecli.tui.widgets.completer import Completer
from prunecli.tui.widgets.fitting import GAP
from prunecli.util.errors import (
    PromptBlocked,
    ProviderError,
    PrunecliError,
    SessionError,
    StorageFailed,
    ToolError,
)
from prunecli.util.figures import money

TRY_AGAIN = "Press Enter on an empty prompt to try again"
GOES_ON = "Resumes automatically; Enter on an empty prompt to retry now, Esc to stop waiting"
SAY_AGAIN = "Enter to send again"
UNSEEN = "not shown to the model"
UNSAVED = "not saved yet"
AWAY_MS = 30_000
"""How long nothing was typed before somebody is taken to be away."""


class Runs:
    """The runs of one runtime. Output that is not in the log goes to `feed`."""

    def __init__(
        self, runtime: Runtime, front: Port, feed: TranscriptFeed, planning: Planning, completer: Completer
    ) -> None:
        self._runtime = runtime
        self._front = front
        self._feed = feed
        self._planning = planning
        self._completer = completer
        self.deciding = "/trust" in runtime.opening
        """Whether the trust question at startup is open; prompts wait for its answer."""
        self._worker: Worker[None] | None = None
        self.can_go_on = False
        self._stalled = False
        self._looking: Worker[None] | None = None
        self.loading = False
        self._offered: int | None = None
        """The last response before the cold cache for which a summary was offered."""
        self._preparing: Worker[None] | None = None
        self._unprepared: Session | None = None
        """The session in which a summary could not be prepared."""
        self._draft: str | None = None
        self._drafted_at = 0
        """When the draft last changed, in unix ms."""
        self._idle = asyncio.Event()

    @property
    def busy(self) -> bool:
        return self._worker is not None and not self._worker.is_finished

    def submit(self, text: str, *, follow_up: bool = False) -> None:
        """Send a prompt. During a run, the prompt steers the agent, or with `follow_up` waits until the run ends."""
        if self.deciding:  # the trust question is still open
            self.queue(text, follow_up=follow_up)
        elif not self.busy:
            self._begin(self._run("Waiting for the model", lambda: self._send(text), said=text))
        elif self._completer.is_unanswered(text):
            self._front.run(self._submit_completed(text, follow_up=follow_up), "complete-sent")
        else:
            self.queue(text, follow_up=follow_up)

    async def _send(self, text: str) -> Done:
        return await self._runtime.submit(await self._completer.completed(text))

    async def _submit_completed(self, text: str, *, follow_up: bool) -> None:
        self.submit(await self._completer.completed(text), follow_up=follow_up)

    def queue(self, text: str, *, follow_up: bool) -> None:
        try:
            (self._runtime.follow_up if follow_up else self._runtime.steer)(text)
        except PromptTooLarge as error:
            self._front.complain(error)
            self._front.prompt.give_back(text)
        self._front.show_waiting()

    def go_on(self) -> None:
        self.start("Waiting for the model", self._runtime.go_on)

    def load(self, read: Callable[[], Awaitable[None]]) -> None:
        """Load a session. Messages sent meanwhile are queued."""

        async def run() -> None:
            self.loading = True
            try:
                await read()
            finally:
                self.loading = False

        self.start("Reading the session", run)

    def shell(self, command: str, *, show_model: bool) -> None:
        line = f"{'!' if show_model else '!!'}{command}"

        async def run() -> None:
            live = LiveCommand(self._feed, self._runtime.session, command, show_model=show_model)
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
            except StorageFailed:
                if not live.unsaved():
                    self._front.prompt.give_back(line)
                raise
            if show_model:
                live.remove()
            else:
                live.done(text)

        self.start(f"Running {command}", run, line=line)

    def start(self, words: str, work: Callable[[], Awaitable[object]], line: str = "") -> None:
        """Begin work. During a run, refuse it, and put the typed line back."""
        if self.busy:
            self._front.say(WORKING.text, Level(WORKING.level))
            if line:
                self._front.prompt.give_back(line)
        else:
            self._begin(self._run(words, work))

    def _begin(self, run: Coroutine[Any, Any, None]) -> None:
        self.can_go_on = self._stalled = False
        self.stop_preparing()
        self._planning.withdraw()
        self._worker = self._front.run(run, "run")

    async def _run(self, words: str, work: Callable[[], Awaitable[object]], said: str = "") -> None:
        """Run the work and show any error. `said` is the prompt that the work sends."""
        begun, before = monotonic(), len(self._runtime.session.records)
        interrupted = failed = False
        self._idle.clear()
        self._front.began(words)
        try:
            with self._returned(said):
                done = await work()
            self._front.warn("")
            if isinstance(done, Done):
                interrupted = done.reason == "interrupted"
                self.can_go_on = failed = done.reason != "finished"
                if done.note and not self._is_end_shown():
                    self._front.say(done.note, Level.WARNING if done.reason == "limit" else Level.INFO)
        except asyncio.CancelledError:
            interrupted = True
            self._front.say("Interrupted.")
        except ProviderError as error:
            self.can_go_on = True
            self._front.wake()
            if not has_failure(self._runtime.session.records[before:]):
                self._front.complain(error)
            self._front.say(TRY_AGAIN)
        except StorageFailed as error:
            self.can_go_on = self._stalled = self._runtime.unfinished
            path = self._runtime.session.path
            why = error.message.removeprefix(f"{path}: ") if path else error.message
            way = error.hint or "check the disk"
            next_step = GOES_ON if self._stalled else "" if self._front.prompt.is_empty else SAY_AGAIN
            self._front.warn(f"Cannot write the session: {why}. Paused: {way}. {next_step}".rstrip())
        except PrunecliError as error:
            self._front.complain(error)
        except ToolError as error:
            self._front.say(str(error), Level.ERROR)
        finally:
            self._idle.set()
            well = not (interrupted or failed or self.can_go_on)
            self._front.ended(monotonic() - begun, interrupted=interrupted, well=well)

    @contextmanager
    def _returned(self, said: str) -> Iterator[None]:
        """Put the prompt back if it could not be recorded."""
        before = len(self._runtime.session.records)
        try:
            yield
        except (PromptBlocked, PromptTooLarge, SessionError, asyncio.CancelledError):
            new = self._runtime.session.records[before:]
            if said and not any(isinstance(record.event, UserMessage) for record in new):
                self._front.prompt.give_back(said)
            raise

    def _is_end_shown(self) -> bool:
        items = self._runtime.session.context.items
        last = items[-1].event if items else None
        return isinstance(last, AssistantMessage) and last.stop_reason in STOPPED

    def keep(self) -> None:
        """Write decisions made between runs to disk. During a run, the run does that."""
        if not self.busy:
            self._front.run(self._keep(), "keep")

    async def _keep(self) -> None:
        try:
            await asyncio.to_thread(self._runtime.session.commit)
        except StorageFailed as error:
            self._front.complain(error)

    def _offer_summary(self) -> None:
        """Say, once for each time the cache expires, that a summary costs less than sending a long session again."""
        context, policy = self._runtime.session.context, self._runtime.policy
        if self.busy or self._offered == context.last_response or policy.compaction.on_return != "offer":
            return
        if cold(context, policy.market):
            self._offered = context.last_response
            if found := policy.on_return(context):
                words = found.words(policy.market, self._front.prompt.keys.hint("summarize"))
                self._front.hint(GAP.join(words), seconds=None)

    def _prepare_summary(self) -> None:
        """Prepare a summary of a long session whose cache is about to expire, if nobody is there.
        Where one failed or was stopped, no other is tried."""
        runtime = self._runtime
        policy, session, draft = runtime.policy, runtime.session, self._front.prompt.typed
        if not policy.compaction.ahead or self.busy or session is self._unprepared or session.read_only:
            return
        now = policy.market.now or 0
        if draft != self._draft:
            self._draft, self._drafted_at = draft, now
        found = ahead(policy, session.context) if now - self._drafted_at >= AWAY_MS else None
        limit, spent = runtime.run_limits.max_cost, runtime.spending.spent
        if found and not runtime.unfinished and found.fits(policy.market, limit, spent):
            self._unprepared = session
            self._preparing = self._front.run(self._prepare(found.plan), "ahead")

    async def _prepare(self, plan: CompactionPlan) -> None:
        before = self._runtime.bill.cost
        try:
            why = await prepare(self._runtime, plan)
        except PrunecliError as error:
            self._front.complain(error)
            return
        spent = self._runtime.bill.cost - before
        if why:
            paid = f", but cost {money(spent)}" if spent else ""
            self._front.say(f"No summary was prepared{paid}: {why}", Level.WARNING)
        else:
            self._unprepared = None
            said = f"Prepared a summary for {money(spent)}, in case you come back after the cache expires"
            self._front.say(said)

    def stop_preparing(self) -> None:
        if self._preparing is not None:
            self._preparing.cancel()
            self._preparing = None

    def summarize(self) -> None:
        """Summarize a long, cold session before it is sent again."""
        if self.busy:
            return
        if found := self._runtime.policy.on_return(self._runtime.session.context):
            self._front.hint("")
            self.start(SUMMARIZING, partial(self._runtime.compact, plan=found.plan))
        else:
            self._front.hint(
                "A summary pays only for a long session whose cache expired; /compact makes one anyway"
            )

    def interrupt(self) -> bool:
        """Stop the run; return False if there is none."""
        if self._worker is None or self._worker.is_finished:
            stalled, self._stalled = self._stalled, False
            if stalled:
                self._front.say(TRY_AGAIN)
            return stalled
        self._worker.cancel()
        return True

    def tick(self) -> None:
        """Retry a failed write, and offer or prepare a summary. Called once a second."""
        self._offer_summary()
        self._prepare_summary()
        if self._stalled and not self.busy and (self._looking is None or self._looking.is_finished):
            self._looking = self._front.run(self._look(), "mend")

    async def _look(self) -> None:
        try:
            await asyncio.to_thread(self._runtime.session.mend)
        except StorageFailed:
            return
        if self._stalled and not self.busy:
            self.go_on()

    async def stopped(self, seconds: float) -> None:
        """Stop the run and wait at most this many seconds for it to end cleanly."""
        if self.interrupt():
            try:
                await asyncio.wait_for(self._idle.wait(), seconds)
            except TimeoutError:
                pass  # exit anyway

    # Queued messages -----------------------------------------------------------------------------------------

    def waiting(self) -> tuple[list[str], list[str]]:
        mailbox = self._runtime.mailbox
        return [typed(one) for one in mailbox.steering], [typed(one) for one in mailbox.follow_ups]

    def take_all(self) -> list[tuple[str, bool]]:
        """Remove all queued messages and return them in order, each with whether it is a follow-up."""
        steering, follow_ups = self.waiting()
        self._runtime.mailbox.steering.clear()
        self._runtime.mailbox.follow_ups.clear()
        return [(text, False) for text in steering] + [(text, True) for text in follow_ups]

    def take_back(self) -> str | None:
        """Remove the last queued message and return it; return None if there is none."""
        mailbox = self._runtime.mailbox
        for queue in (mailbox.follow_ups, mailbox.steering):
            if queue:
                text = typed(queue.pop())
                self._front.show_waiting()
                return text
        return None


class LiveCommand:
    """A running `!cmd`: its line in the transcript with its latest output, until the log record replaces it."""

    def __init__(self, feed: TranscriptFeed, session: Session, typed: str, *, show_model: bool) -> None:
        self._feed = feed
        self._about = "" if show_model else UNSEEN
        self._printed: str | None = None
        self._removed = False
        self._key = f"{USER_COMMAND}{typed}"
        self._leave = session.subscribe(self._hear)
        self._typed = feed.add(Prompt(typed, Origin.SHELL))
        self._output = feed.add(ToolCall("output", self._about, ToolState.RUNNING))

    def progress(self, text: str) -> None:
        lines = text.rstrip("\n").split("\n")[-TAIL_LINES:]
        self._feed.set_tail(self._output, lines)

    def so_far(self, text: str) -> None:
        self._printed = text

    def _hear(self, event: SessionEvent) -> None:
        match event:
            case Record(event=UserMessage((Text(self._key), *_), "command")) if not self._about:
                self.remove()
            case _:
                pass

    def remove(self) -> None:
        """Remove the live rows, because the log now shows the command or it did not run."""
        self._leave()
        self._removed = True
        self._feed.put(self._typed, NOTHING)
        self._feed.put(self._output, NOTHING)

    def done(self, text: str) -> None:
        self._leave()
        self._feed.put(self._output, replace(command_output(text), argument=self._about))

    def unsaved(self) -> bool:
        """Show the output of a command that could not be recorded, until it is. Return False if it did not run."""
        if self._printed is None:
            self.remove()
        elif not self._removed:
            self._feed.put(self._output, replace(command_output(self._printed), argument=UNSAVED))
        return self._printed is not None

    def failed(self, *, interrupted: bool) -> None:
        """Show that the command was stopped or could not run. A stopped command that the model can see is in the
        log."""
        if interrupted and not self._about:
            self.remove()
            return
        self._leave()
        stopped = replace(command_output(self._printed or ""), state=ToolState.INTERRUPTED, outcome="")
        failed = stopped if interrupted else ToolCall("output", state=ToolState.ERROR)
        self._feed.put(self._output, replace(failed, argument=self._about))
