"""One session of an editor: its runtime, its turns and its updates."""

import asyncio
from contextlib import suppress
from itertools import chain

from acp.interfaces import Client
from acp.schema import (
    AvailableCommandsUpdate,
    ConfigOptionUpdate,
    Cost,
    CurrentModeUpdate,
    ElicitationCapabilities,
    SessionInfoUpdate,
    StopReason,
    UsageUpdate,
)

from prunecli.agent.decide import Done
from prunecli.agent.oversized import checked
from prunecli.commands.command import run_line
from prunecli.commands.plan import plan_of
from prunecli.features.acp.effects import Effects, commands
from prunecli.features.acp.eliciting import Eliciting
from prunecli.features.acp.feed import Feed, Update
from prunecli.features.acp.prompts import EditorPrompt
from prunecli.features.acp.questions import Questions
from prunecli.features.acp.session_options import config_options
from prunecli.features.acp.texts import noticed
from prunecli.features.acp.updates import Updates
from prunecli.front.presentation.completion import as_command
from prunecli.model.events import (
    AssistantMessage,
    CompactionApplied,
    PrunApplied,
    PrunReverted,
    Record,
    SettingChanged,
    UserMessage,
)
from prunecli.model.messages import Text
from prunecli.model.notes import APPROVED, typed
from prunecli.model.signals import SessionEvent
from prunecli.runtime import Runtime
from prunecli.runtime.given_images import accepted
from prunecli.runtime.notices import opening_notices
from prunecli.util.sanitize import one_line

TITLE_CHARS = 80
REPLAYED = 200
"""Number of updates sent at a time in a replay."""
LAST_SECONDS = 2.0
"""Seconds to wait for an editor that does not read when a session is closed."""
IMAGE_ONLY = "[image]"
CONTINUE = "This session was interrupted. Send a prompt to continue."
_STOPPED: dict[str, StopReason] = {
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "refusal": "refusal",
}


class EditorSession:
    """A session opened by an editor. Turns run in their own tasks, so that a canceled request does not truncate the
    log."""

    def __init__(
        self, runtime: Runtime, client: Client, notices: list[str], able: ElicitationCapabilities
    ) -> None:
        self.runtime = runtime
        self.id = runtime.session.id
        self.feed = Feed(self._send)
        self.updates = Updates(runtime)
        self.questions = Questions(runtime, client, self.feed, self.updates)
        self._client = client
        self._effects = Effects(self)
        self._notices = notices
        self._turn: asyncio.Task[StopReason] | None = None
        self._canceled = False
        self._stops = 0
        self._opened = False
        self._shown = runtime.gatekeeper.mode, runtime.model_name, runtime.choices.effort
        self._titled = ""
        runtime.asker = self.questions.permit
        runtime.inquiries.asker = self.questions.inquire
        runtime.fill_form = Eliciting(self.id, client, self.feed, self.questions, able).ask
        self._leave = runtime.session.subscribe(self._read)

    async def _send(self, update: Update) -> None:
        await self._client.session_update(session_id=self.id, update=update)

    # Updates for the editor ----------------------------------------------------------------------------------

    def begin(self) -> None:
        """Send commands, figures and notices. The editor must already know the session."""
        self.show_commands()
        self._show_title()
        self._show_figures()
        notices = [*opening_notices(self.runtime), *self._notices]
        if self.runtime.unfinished:
            notices.append(CONTINUE)
        for notice in notices:
            self.feed.tell(noticed(notice))
        self.feed.begin()

    async def replay(self) -> None:
        self.feed.begin()
        for number, update in enumerate(self.updates.replay(), 1):
            self.feed.tell(update)
            if number % REPLAYED == 0:
                await self.feed.sent()  # lets other sessions continue meanwhile
        await self.feed.sent()

    def show_commands(self) -> None:
        listed = commands(self.runtime)
        self.feed.tell(
            AvailableCommandsUpdate(session_update="available_commands_update", available_commands=listed)
        )

    def show_choices(self) -> None:
        runtime = self.runtime
        now = runtime.gatekeeper.mode, runtime.model_name, runtime.choices.effort
        if now == self._shown:
            return
        if now[0] != self._shown[0]:
            self.feed.tell(CurrentModeUpdate(session_update="current_mode_update", current_mode_id=now[0]))
        self._shown = now
        listed = config_options(runtime)
        self.feed.tell(ConfigOptionUpdate(session_update="config_option_update", config_options=listed))

    def _show_figures(self) -> None:
        status = self.runtime.status()
        ledger = status.ledger
        self.feed.tell(
            UsageUpdate(
                session_update="usage_update",
                used=ledger.context_tokens,
                size=ledger.limit,
                cost=Cost(amount=round(status.bill.cost, 6), currency="USD"),
                field_meta={
                    "prunecli": {
                        "pruned_tokens": ledger.pruned_tokens,
                        "pruning": status.pruning,
                        "window": ledger.window,
                    }
                },
            )
        )

    def _show_title(self) -> None:
        session = self.runtime.session
        firsts = (
            record.event
            for record in session.records
            if isinstance(record.event, UserMessage) and record.event.origin == "prompt"
        )
        first = next(firsts, None)
        title = session.name or (" ".join(typed(first).split())[:TITLE_CHARS] if first else "")
        if title and title != self._titled:
            self._titled = title
            self.feed.tell(SessionInfoUpdate(session_update="session_info_update", title=one_line(title)))

    def _read(self, event: SessionEvent) -> None:
        for update in self.updates.of(event):
            self.feed.tell(update)
        if isinstance(event, Record):
            if isinstance(event.event, AssistantMessage | PrunApplied | PrunReverted | CompactionApplied):
                self._show_figures()
            if isinstance(event.event, UserMessage | SettingChanged):
                self._show_title()

    # Turns ---------------------------------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        return self._turn is not None

    async def prompt(self, given: EditorPrompt) -> StopReason:
        """Run a turn and return why it ended. A prompt during a turn steers it, and both end together.

        A prompt that came while a turn was stopping, or that the turn did not take because it failed or reached a
        limit, becomes a turn of its own. Raises PrunecliError.
        """
        stops, steering = self._stops, None
        while (turn := self._turn) is not None:
            if steering is None and not self._canceled:
                steering = self._steer(given)
            await asyncio.wait({turn})
            if steering is not None and all(one is not steering for one in self.runtime.mailbox.steering):
                return await self._ended(turn)
            if self._stops != stops:
                self._take_back(given, steering)
                self._tell_unsent(given)
                await self.feed.sent()
                return "cancelled"
            if self._turn is None:
                self._take_back(given, steering)
        self._canceled = False
        turn = self._turn = asyncio.create_task(self._run(given))
        await asyncio.wait({turn})
        return await self._ended(turn)

    async def _ended(self, turn: "asyncio.Task[StopReason]") -> StopReason:
        await self.feed.sent()
        return "cancelled" if turn.cancelled() else turn.result()

    def cancel(self) -> None:
        self._stops += 1
        if self._turn is not None and not self._canceled:
            self._canceled = True
            self._turn.cancel()

    def _steer(self, given: EditorPrompt) -> UserMessage:
        """Steer the current turn with a prompt.

        Raises PromptTooLarge, and PromptBlocked for an image or PDF file that can't be sent.
        """
        media = self.runtime.choices.media
        images = [accepted(block, number, media) for number, block in enumerate(given.images, 1)]
        words = Text(checked(given.text if given.text.strip() else IMAGE_ONLY, self.runtime.choices.window))
        message = UserMessage((words, *images), "steering")
        self.runtime.mailbox.notices.extend(given.embedded)
        self.runtime.mailbox.steering.append(message)
        return message

    def _take_back(self, given: EditorPrompt, steering: UserMessage | None) -> None:
        mailbox = self.runtime.mailbox
        mailbox.steering[:] = [one for one in mailbox.steering if one is not steering]  # others may be equal
        mailbox.taken(given.embedded)

    def _tell_unsent(self, given: EditorPrompt) -> None:
        words = one_line(given.text)[:TITLE_CHARS] or IMAGE_ONLY
        self.feed.tell(noticed(f"Stopped before this was sent to the model; send it again: {words}"))

    async def _run(self, given: EditorPrompt) -> StopReason:
        records = self.runtime.session.records
        before = len(records)

        def unsent() -> bool:
            return not any(isinstance(record.event, UserMessage) for record in records[before:])

        try:
            done = await self._work(given)
            if done is not None and done.note:
                self.feed.tell(noticed(done.note))
            return "cancelled" if self._canceled else self._reason(done)
        except asyncio.CancelledError:
            if not self._canceled:
                raise
            if unsent() and not as_command(given.text.strip()):
                self._tell_unsent(given)
            return "cancelled"
        finally:
            if unsent():
                self._take_back(given, None)
            self._turn = None
            self.show_choices()

    async def _work(self, given: EditorPrompt) -> Done | None:
        runtime = self.runtime
        if not self._opened:
            self._opened = True
            lines = chain.from_iterable(run_line(runtime, line) for line in runtime.opening)
            await self._effects.perform(lines)
            self.show_choices()
        text = given.text.strip()
        line = "" if given.images or given.embedded else as_command(text)
        if line:
            done = await self._effects.type(line)
        else:
            runtime.mailbox.notices.extend(given.embedded)
            done = await runtime.submit(text or IMAGE_ONLY, given=given.images)
        while not self._canceled and done is not None and done.reason == "finished":
            if runtime.mailbox.steering or runtime.mailbox.follow_ups:
                done = await runtime.go_on()
            elif (plan := plan_of(runtime)) and (answer := await self.questions.plan(plan)) != "no":
                runtime.gatekeeper.mode = answer
                self.show_choices()
                done = await runtime.submit(APPROVED)
            else:
                break
        return done

    def _reason(self, done: Done | None) -> StopReason:
        if done is None or done.reason == "interrupted":
            return "end_turn" if done is None else "cancelled"
        items = self.runtime.session.context.items
        last = items[-1].event if items else None
        stopped = last.stop_reason if isinstance(last, AssistantMessage) else ""
        return _STOPPED.get(stopped, "end_turn" if done.reason == "finished" else "max_turn_requests")

    async def close(self) -> None:
        """Stop the turn, record how it ended, and close the session."""
        turn = self._turn
        self.cancel()
        if turn is not None:
            await asyncio.wait({turn})
            if not turn.cancelled():
                turn.exception()  # retrieved, since nobody raises it if the request was canceled
        self._leave()
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_SECONDS):
                await self.feed.sent()
        await self.feed.close()
        await self.runtime.close()
