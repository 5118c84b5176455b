"""A long session comes onto the screen: its end at once, the rest while the keyboard goes on working.

It is read, folded and presented in slices of a few milliseconds; who types is given way.
"""

import asyncio
import gc
from collections.abc import Iterator, Sequence
from time import monotonic
from typing import TYPE_CHECKING

from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.errors import SessionNotFound
from prunecli.model.events import Record
from prunecli.runtime.resuming import Resuming
from prunecli.tui.showing.changes import Anew
from prunecli.tui.showing.present import Presenter, present_of

if TYPE_CHECKING:
    from prunecli.tui.conversation import Conversation

SLICE_SECONDS = 0.004
"""So long the loop is kept at a time; a key goes through several turns of the loop until it is on the screen."""
TYPING_SECONDS = 0.25
"""Who typed so long ago is still typing."""
GIVE_WAY_SECONDS = 0.006
AT_A_TIME = 100
"""Records that are presented anew in one step."""


async def painted(conversation: "Conversation") -> None:
    """Waits until what was put onto the screen stands there."""
    done = asyncio.Event()
    conversation.frame.call_after_refresh(done.set)
    await done.wait()


class Pace:
    """Tells when the others are to have their turn."""

    def __init__(self, conversation: "Conversation") -> None:
        self._conversation = conversation
        self._until = monotonic() + SLICE_SECONDS

    async def rest(self) -> None:
        """To be awaited after a step that gave nothing: who has nothing to do doesn't keep the processor busy."""
        await asyncio.sleep(GIVE_WAY_SECONDS)
        self._until = monotonic() + SLICE_SECONDS

    async def breathe(self) -> bool:
        """To be awaited after each step; True where the others had their turn."""
        if monotonic() < self._until:
            return False
        gc.freeze()  # what was read stays: looking through all of it for garbage would hold a key up
        typing = monotonic() - self._conversation.typed_at < TYPING_SECONDS
        await asyncio.sleep(GIVE_WAY_SECONDS if typing else 0)
        self._until = monotonic() + SLICE_SECONDS
        return True


class Arriving:
    """Brings the session that the runtime is resuming."""

    def __init__(self, conversation: "Conversation", resuming: Resuming) -> None:
        self._conversation = conversation
        self._resuming = resuming
        self._presenter = conversation.presenter(resuming.context)
        self._rewound = False

    def show_end(self) -> None:
        """Shows the end of the file, without tokens: how the endpoint counts is known when all is read. Where it
        can't be read nothing is shown: reading the rest will say why."""
        try:
            records = self._resuming.tail()
        except OSError:
            return
        context = Context(Chars4())
        for record in records:
            context.apply(record)
        self._conversation.stage.show_end(self._conversation.presenter(context, figures=False), records)

    async def run(self) -> None:
        """Reads it all and hands it over. Raises PrunecliError; the runtime then keeps the session it has."""
        conversation, resuming = self._conversation, self._resuming
        try:
            await painted(conversation)
            await self._read()
            await self._present_again()
            self._presenter.abandon()
            await asyncio.to_thread(resuming.make_ready)
            conversation.prepared, said = self._presenter, conversation.runs.take_all()
            resuming.finish()
            conversation.frame.call_later(conversation.hear_all, said)
        except OSError as error:
            raise SessionNotFound(f"{error.filename or resuming.path}: {error.strerror}") from error
        finally:
            if conversation.runtime.resuming is resuming:
                conversation.runtime.drop_resuming()
                conversation.show_session(conversation.runtime.session)
                conversation.say("The session was not opened. /resume opens it again.")
                conversation.take_all_back()
        conversation.frame.run_worker(self._put_above(), group="begin")

    async def _read(self) -> None:
        resuming, pace = self._resuming, Pace(self._conversation)
        for step in resuming.steps():
            self._present(step.records)
            if not step.records:
                await pace.rest()
            elif await pace.breathe():
                percent = min(99, 100 * step.read // max(1, resuming.size))
                self._conversation.frame.activity.show(f"Reading the session: {percent} %")
        self._present(resuming.answered())

    def _present(self, records: Sequence[Record]) -> None:
        for record in () if self._rewound else records:
            changes = self._presenter.take(record)
            self._rewound = self._rewound or any(isinstance(change, Anew) for change in changes)

    async def _present_again(self) -> None:
        """After a rewind only what leads to the present is shown."""
        if self._rewound:
            self._presenter = self._conversation.presenter(self._resuming.context)
            pace = Pace(self._conversation)
            for _ in self._presented(self._presenter):
                await pace.breathe()

    def _presented(self, presenter: Presenter) -> Iterator[None]:
        present = present_of(self._resuming.records)
        for start in range(0, len(present), AT_A_TIME):
            for event in present[start : start + AT_A_TIME]:
                presenter.take(event)
            yield

    async def _put_above(self) -> None:
        pace = Pace(self._conversation)
        for _ in self._conversation.stage.put_above():
            await pace.breathe()
